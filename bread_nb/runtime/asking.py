"""Asking the model for the next turn: the request, the retries, the tokens."""

from __future__ import annotations

from bread_nb.base.retry import TRANSIENT
from bread_nb.crumbs import ErrorInfo, ModelRetry
from bread_nb.errors import BreadError
from bread_nb.messages import Native, Reasoning
from bread_nb.providers.model import ChatModel, Model, ModelRequest, split_name
from bread_nb.runtime.answer import instructions_for, wanted_schema
from bread_nb.runtime.drive import Drive
from bread_nb.runtime.hooks import (
    HookRaised,
    Recovered,
    as_bread_error,
    guarded,
)
from bread_nb.runtime.metering import Meter
from bread_nb.runtime.toolbox import Toolbox
from bread_nb.runtime.turn import Turn, take_turn

__all__ = ["ask_model"]


async def ask_model(drive: Drive, toolbox: Toolbox) -> Turn | Recovered:
    """One turn of the model, tried again as hooks and policy say.

    Raises:
        BreadError: The last failure.
    """
    empty, text = 0, None

    async def attempt(number: int) -> Turn:
        nonlocal empty
        try:
            turn = await _attempt(drive, toolbox, number)
            if _says_nothing(turn) and empty == 0:
                empty = 1
                drive.begin_turn()
                turn = await _attempt(drive, toolbox, number + 1)
        except BreadError:
            raise
        except Exception as error:
            redactor = drive.scope.kit.redactor
            raise as_bread_error(error, "AGENT_ERROR", redactor) from error
        if _says_nothing(turn):
            raise _empty(turn.name)
        return turn

    def told(error: BreadError, number: int, tries: int, wait: float) -> None:
        nonlocal text
        text = error.context.get("text") or text
        drive.begin_turn()
        drive.scope.emit(
            ModelRetry,
            attempt=number,
            attempts=tries,
            delay_ms=round(wait * 1000),
            error=ErrorInfo.of(error),
        )

    handling = drive.agent.error_handling or drive.scope.kit.error_handling
    try:
        return await guarded(
            attempt,
            drive.chain,
            drive.context,
            policy=handling.retry if handling else None,
            default=TRANSIENT,
            on_retry=told,
        )
    except HookRaised as raised:
        raise raised.error from None
    except BreadError as error:
        if text:
            error.context.setdefault("text", text)
        raise


async def _attempt(drive: Drive, toolbox: Toolbox, number: int) -> Turn:
    model = drive.scope.kit.catalog.resolve(drive.model, drive.agent.providers)
    request = ModelRequest(
        model=_model_id(drive.model, model),
        system=_system(drive, toolbox),
        messages=tuple(drive.history),
        tools=toolbox.specs,
        output_schema=wanted_schema(drive.agent),
        blobs=await drive.attachments.of(drive.history, drive.scope.kit.blob_store),
        agent_id=drive.scope.agent_id,
        run_id=drive.scope.run_id,
        attempt=number,
        fault=drive.scope.kit.fault,
        keep=drive.keep,
        turns_left=max(1, drive.agent.steps - drive.row.turn),
    )
    meter = Meter(drive, model, model.name)
    with meter.counting():
        turn = await take_turn(model, request, drive.scope, drive.spoken, meter)
    if turn.finish.temperature_dropped:
        drive.journal.expect(temperature_dropped=True)
    await meter.ended(turn.name, turn.finish)
    return turn


def _system(drive: Drive, toolbox: Toolbox) -> str:
    parts = [toolbox.instructions, instructions_for(drive.agent)]
    return "\n\n".join(part for part in parts if part)


def _model_id(source: object, model: ChatModel) -> str:
    name = source.name if isinstance(source, Model) else source
    if isinstance(name, str):
        return split_name(name)[1]
    return model.name.partition(":")[2] or model.name


def _says_nothing(turn: Turn) -> bool:
    if turn.finish.ended is not None:
        return False
    spoken = [p for p in turn.message.parts if not isinstance(p, Reasoning | Native)]
    ended = turn.stop_reason in (None, "end_turn", "stop_sequence", "tool_use")
    return ended and not any(getattr(p, "text", "call") for p in spoken)


def _empty(model: str) -> BreadError:
    return BreadError(
        f"{model} gave an empty answer.",
        code="EMPTY_RESPONSE",
        why="it was asked twice and said nothing both times.",
        do="change the request, or use another model",
    )
