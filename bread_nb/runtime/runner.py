"""Runs: turns until there are no more calls, or until a call waits.

`run_agent` begins a run, `continue_run` goes on with one whose last call was settled.
Both end in the same turn loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

from pydantic import JsonValue

from bread_nb.base.wire import canonical
from bread_nb.errors import BreadError, Halt, ValidationError
from bread_nb.messages import File, StopReason, Text, assistant, user
from bread_nb.runtime.aftermath import ended_elsewhere
from bread_nb.runtime.answer import read_output, repair_request
from bread_nb.runtime.asking import ask_model
from bread_nb.runtime.deciding import Decided, decide_all, intend, note
from bread_nb.runtime.drive import Drive
from bread_nb.runtime.ending import (
    end_cancelled,
    end_failed,
    end_finished,
    end_halted,
    end_stopped,
    end_suspended,
    last_calls,
    open_checkpoints,
    results_message,
    turn_calls,
)
from bread_nb.runtime.execute import Go, carry_out
from bread_nb.runtime.hooks import Recovered, as_bread_error
from bread_nb.runtime.keeping import Results
from bread_nb.runtime.outcome import Outcome
from bread_nb.runtime.outside import closed_from_outside
from bread_nb.runtime.pending import notify, stage_question
from bread_nb.runtime.scope import Scope
from bread_nb.runtime.toolbox import assemble
from bread_nb.runtime.turn import Turn
from bread_nb.stores.records import Call, RunRow
from bread_nb.stores.store import Add, Step
from bread_nb.tools.lifecycle import ShortCircuit

__all__ = ["drive_on", "run_together"]

_BOUNDS: dict[StopReason, str] = {
    "max_tokens": "truncated:max_tokens",
    "refusal": "refusal",
    "context_exceeded": "context_exceeded",
}


async def drive_on(drive: Drive, short: ShortCircuit | Halt | None = None) -> Outcome:
    """Work on a run until it ends or waits; however it ends, its history is whole.

    Args:
        drive: The run at work.
        short: What ends it before the model is asked, if anything does.

    Raises:
        BreadError: The fault the run ended with; `RUN_CANCELLED` is for the caller to
            make of an `asyncio.CancelledError`.
    """
    kit = drive.scope.kit
    try:
        with kit.owner.at_work(kit.store):
            return await _to_an_end(drive, short)
    except BreadError as error:
        if error.code != "RUN_LOST":
            raise
        return await ended_elsewhere(drive, error)
    finally:
        await drive.keep.aclose()
        if drive.row.status not in ("working", "waiting"):
            kit.models.pop(drive.row.id, None)


async def _to_an_end(drive: Drive, short: ShortCircuit | Halt | None) -> Outcome:
    task = asyncio.current_task()
    try:
        if isinstance(short, Halt):
            raise short
        if short is not None:
            return await end_finished(drive, short.output)
        return await _turns(drive)
    except Halt as halt:
        return await end_halted(drive, halt)
    except asyncio.CancelledError:
        await _cancelled(drive)
        raise
    except BreadError as error:
        if error.code != "RUN_LOST":
            await end_failed(drive, error)
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if isinstance(error, GeneratorExit) and closed_from_outside(task):
            raise
        fault = as_bread_error(error, "AGENT_ERROR", drive.scope.kit.redactor)
        await end_failed(drive, fault)
        raise fault from error


async def _cancelled(drive: Drive) -> None:
    """End as cancelled, unless the run is in other hands by now."""
    try:
        await end_cancelled(drive)
    except BreadError as error:
        if error.code != "RUN_LOST":
            raise


async def _turns(drive: Drive) -> Outcome:
    while True:
        if last_calls(drive.history) is not None:
            ended = await _calls(drive)
            if ended is not None:
                return ended
        if drive.stopping():
            return await end_stopped(drive, "stopped", seal="[stopped]")
        # A session that is open ends by itself, and then tells what it cost.
        if drive.row.turn >= drive.agent.steps and not drive.keep:
            return await end_stopped(drive, "max_steps", seal="[stopped]")
        ended = await _turn(drive)
        if ended is not None:
            return ended


async def _turn(drive: Drive) -> Outcome | None:
    """One turn of the model; None when its calls are to be carried out."""
    toolbox = drive.toolbox
    if toolbox is None or not drive.agent.fixed_tools:
        toolbox = drive.toolbox = await assemble(drive.agent, drive.scope)
    turn = await ask_model(drive, toolbox)
    if isinstance(turn, Recovered):
        return await end_finished(drive, turn.output)
    said = bool(turn.message.parts) or turn.finish.ended is None
    spent: dict[str, JsonValue] = {
        "turn": drive.row.turn + said,
        "model": turn.name,
        "text": turn.message.text or drive.row.text,
        "files": [*drive.row.files, *map(_listed, turn.message.files)],
    }
    bound = turn.finish.ended
    if bound is None and turn.stop_reason is not None:
        bound = _BOUNDS.get(turn.stop_reason)
    if bound is not None:
        _keep_text(drive, turn)
        await drive.journal.commit(**spent)
        return await end_stopped(drive, bound, seal="[stopped]")
    if turn.message.calls:
        drive.journal.expect(**spent)
        await intend(drive, turn.message, toolbox)
        return None
    if turn.stop_reason == "pause_turn":
        drive.say(turn.message)
        await drive.journal.commit(**spent)
        return None
    return await _answered(drive, turn, spent)


async def _answered(
    drive: Drive, turn: Turn, spent: dict[str, JsonValue]
) -> Outcome | None:
    drive.journal.expect(**spent)
    try:
        output = read_output(drive.agent, turn.message.text)
    except ValidationError as error:
        if drive.row.repairs >= drive.agent.output_repairs:
            drive.say(turn.message)
            raise
        drive.say(turn.message)
        drive.history.append(user(repair_request(error)))
        await drive.journal.commit(repairs=drive.row.repairs + 1)
        return None
    return await end_finished(drive, output, message=turn.message)


async def _calls(drive: Drive) -> Outcome | None:
    """Carry out the calls of the turn; None when all have their results."""
    drive.calls = drive.calls or await turn_calls(drive.scope.store, drive.row)
    fresh = [call for call in drive.calls if call.status == "ready"]
    alone = len(fresh) == len(drive.calls)
    if fresh:
        toolbox = drive.toolbox or await assemble(drive.agent, drive.scope)
        decided = await decide_all(drive, fresh, toolbox)
        only_asks = alone and decided.asked and not decided.going
        if only_asks and decided.denied is None:
            await _keep_decisions(drive, decided, _let_go(drive), status="waiting")
            return await end_suspended(drive, decided.asked)
        await _keep_decisions(drive, decided)
        for done in await run_together(decided.going, drive.scope):
            note(drive, done)
        if decided.denied is not None:
            reason = f"denied:{decided.denied}"
            return await end_stopped(drive, reason, seal=f"[halted:{reason}]")
    if all(call.status == "done" for call in drive.calls):
        return await _close_turn(drive)
    [left] = await drive.journal.commit(_let_go(drive), status="waiting")
    if left:
        waiting = await open_checkpoints(drive.scope.store, drive.row.id)
        return await end_suspended(drive, waiting)
    drive.calls = await turn_calls(drive.scope.store, drive.row)
    return await _close_turn(drive)


async def _keep_decisions(
    drive: Drive, decided: Decided, *more: Step, **changes: JsonValue
) -> None:
    """One commit, then the questions in it are told."""
    asked = [stage_question(each, drive.scope) for each in decided.asked]
    steps = (*decided.steps, *more)
    await drive.journal.commit(*steps, denials=decided.denials, **changes)
    notify(asked, drive.scope)


def _let_go(drive: Drive) -> Step:
    """The step by which a driver gives back its own token of the turn."""
    return Add(RunRow, drive.row.id, "open", -1)


async def _close_turn(drive: Drive) -> Outcome | None:
    """All calls are settled: their results go into the history, in call order."""
    calls, drive.calls = drive.calls, []
    drive.history.append(results_message(calls))
    stuck, streak, failing = _stuck(drive, calls)
    drive.journal.expect(status="working", failures=streak, failing=failing)
    if stuck is not None:
        return await end_stopped(
            drive, f"stuck:{stuck}", seal=f"[halted:stuck:{stuck}]"
        )
    return None


async def run_together(going: Sequence[Go], scope: Scope) -> list[Call]:
    """Run calls at once; each result is kept as it arrives."""
    results = Results(scope.store)

    async def one(go: Go) -> Call:
        done = await carry_out(go, scope)
        await results.keep(done)
        return done

    if len(going) == 1:
        return [await one(going[0])]
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(go)) for go in going]
    except BaseExceptionGroup as several:
        raise _foremost(several) from None
    return [task.result() for task in tasks]


def _listed(file: File) -> JsonValue:
    listed: dict[str, JsonValue] = {"kind": "file", "uri": file.uri}
    listed["mimeType"] = file.mime_type
    return listed if file.name is None else {**listed, "name": file.name}


def _keep_text(drive: Drive, turn: Turn) -> None:
    """The words of a turn that did not end cleanly, without its calls."""
    text = turn.message.text
    if text:
        drive.say(assistant(Text(text)))


def _stuck(drive: Drive, calls: Sequence[Call]) -> tuple[str | None, int, str | None]:
    streak, failing = drive.row.failures, drive.row.failing
    limit = drive.agent.guards.identical_failures
    for call in calls:
        if call.refused_by is not None:
            continue
        if not call.failed:
            streak, failing = 0, None
            continue
        key = canonical([call.name, call.broken or call.args])
        streak, failing = (streak + 1 if key == failing else 1), key
        if 0 < limit <= streak:
            return call.name, streak, failing
    return None, streak, failing


def _foremost(several: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error that decides: a halt before anything else, then the first."""
    halts, rest = several.split(Halt)
    first: BaseException = halts or rest or several
    while isinstance(first, BaseExceptionGroup):
        first = cast("BaseException", first.exceptions[0])
    return first
