"""The ends of a run: finished, waiting, stopped at a bound, failed, cancelled.

Every end leaves a history that can be sent again: each call has exactly one result,
in call order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from pydantic import JsonValue

from bread_nb.base.ids import now_ms
from bread_nb.base.wire import dumps, json_safe
from bread_nb.crumbs import ErrorInfo, GateHalted, HumanResumed, RunEnd, RunFailed
from bread_nb.errors import BreadError, Halt, ValidationError
from bread_nb.messages import Message, Text, ToolResult, assistant
from bread_nb.runtime.drive import Drive, common_fields
from bread_nb.runtime.outcome import Finished, PendingCall, Stopped, Suspended
from bread_nb.runtime.results import files_of
from bread_nb.stores.records import Call, Checkpoint, RunRow
from bread_nb.stores.store import Claim, Step, Store

__all__ = [
    "end_cancelled",
    "end_failed",
    "end_finished",
    "end_halted",
    "end_stopped",
    "end_suspended",
    "last_calls",
    "open_checkpoints",
    "results_message",
    "turn_calls",
]

CANCELLED = "cancelled by user"


async def end_finished(
    drive: Drive, output: object, *, message: Message | None = None
) -> Finished:
    """Finish: after-hooks, then one commit with the answer and the end.

    Args:
        drive: The run at work.
        output: The output, checked.
        message: The model's last message; without one, or when a hook replaces the
            output, the history gets the output itself.
    """
    final, chain = output, drive.chain
    if chain.hooks:
        worked = drive.journal.worked_ms
        final = await chain.after(drive.context(output=output, duration_ms=worked))
    replaced = message is None or final is not output
    if replaced:
        final = _fitting(drive, final)
    dumped = _dumped(drive, final)
    if replaced:
        message = assistant(Text(_as_text(dumped)))
    assert message is not None
    if message.text or not replaced:
        drive.history.append(message)
    drive.journal.ending = True
    drive.scope.stream.stage(
        RunEnd,
        output=dumped,
        duration_ms=drive.journal.worked_ms,
        files=list(drive.row.files) or None,
    )
    await drive.journal.commit(
        drive.journal.release(),
        status="finished",
        turn=_turns(drive),
        output=dumped,
        text=message.text or drive.row.text,
    )
    return Finished(output=final, **_fields(drive))


async def end_suspended(drive: Drive, waiting: Sequence[Checkpoint]) -> Suspended:
    """Wait: the run is let go of and goes on when the last call is settled."""
    for checkpoint in waiting:
        context = drive.context(
            tool_name=checkpoint.tool_name, checkpoint_id=checkpoint.id
        )
        await drive.chain.on_suspend(context)
    pending = tuple(PendingCall.of(checkpoint) for checkpoint in waiting)
    return Suspended(pending=pending, **_fields(drive))


async def end_stopped(
    drive: Drive, reason: str, *, seal: str, note: str | None = None
) -> Stopped:
    """Stop at a bound, with the last text kept and open calls sealed."""
    drive.journal.ending = True
    await _seal(drive, seal)
    withdrawn = await _withdraw(drive, "the run was ended")
    drive.scope.stream.stage(
        RunEnd,
        output=drive.row.text,
        duration_ms=drive.journal.worked_ms,
        files=list(drive.row.files) or None,
        stop_reason=reason,
        note=note,
    )
    await drive.journal.commit(
        *withdrawn,
        drive.journal.release(),
        status="stopped",
        stop_reason=reason,
    )
    return Stopped(reason=reason, **_fields(drive))


async def end_halted(drive: Drive, halt: Halt) -> Stopped:
    """Stop because a rule said so."""
    drive.scope.emit(GateHalted, rule=halt.rule, reason=halt.why or None)
    reason = f"halt:{halt.rule}"
    return await end_stopped(
        drive, reason, seal=f"[halted:{halt.rule}]", note=halt.why or None
    )


async def end_failed(drive: Drive, error: BaseException) -> None:
    """Fail: the error is told and kept; the caller raises it."""
    drive.journal.ending = True
    drive.scope.stream.withdraw(RunEnd)
    await _seal(drive, "[failed: the run ended in an error]")
    withdrawn = await _withdraw(drive, "the run failed")
    info = ErrorInfo.of(error)
    drive.scope.stream.stage(RunFailed, error=info)
    redact = drive.scope.kit.redactor.text
    await drive.journal.commit(
        *withdrawn,
        drive.journal.release(),
        status="failed",
        turn=_turns(drive, 1),
        text="".join(drive.spoken) or _said(error) or drive.row.text,
        error={"code": info.code, "message": redact(info.message)},
    )


def _turns(drive: Drive, least: int = 0) -> int:
    """The turns of a run that ends, one that was cut included."""
    return max(drive.row.turn, drive.begun, least)


def _said(error: BaseException) -> str:
    """What the model had said before the run failed, also in a try before the last."""
    text = error.context.get("text") if isinstance(error, BreadError) else None
    return text if isinstance(text, str) else ""


async def end_cancelled(drive: Drive) -> None:
    """End now, because somebody said so; the text so far stays in the history."""
    drive.journal.ending = True
    said = "".join(drive.spoken)
    await _seal(drive, CANCELLED)
    withdrawn = await _withdraw(drive, "the run was ended")
    if said:
        drive.history.append(assistant(Text(said)))
    error = ErrorInfo("RUN_CANCELLED", "Stopped by you.")
    drive.scope.stream.stage(RunFailed, error=error)
    await drive.journal.commit(
        *withdrawn,
        drive.journal.release(),
        status="cancelled",
        turn=_turns(drive, 1),
        text=said or drive.row.text,
    )


def last_calls(history: Sequence[Message]) -> Message | None:
    """The last assistant message, when its calls have no results after it yet."""
    if history and history[-1].role == "assistant" and history[-1].calls:
        return history[-1]
    return None


async def turn_calls(store: Store, row: RunRow) -> list[Call]:
    """The calls of a run's current turn, in call order."""
    found = await store.query(Call, {"run_id": row.id, "turn": row.turn})
    return sorted(found, key=lambda call: call.index)


def results_message(calls: Sequence[Call]) -> Message:
    """The results of a turn as one message, in call order."""
    return Message("tool", tuple(map(_result, calls)))


def _result(call: Call) -> ToolResult:
    files = files_of(call) if call.files else ()
    return ToolResult(call.call_id, call.name, call.result, call.failed, files)


async def _seal(drive: Drive, text: str) -> None:
    """Give every open call of the last message a result.

    What the message asks for decides: the store has no call of it when the commit that
    should have kept them failed.
    """
    asking = last_calls(drive.history)
    if asking is None:
        return
    stored = await turn_calls(drive.scope.store, drive.row)
    known = {c.call_id: c for c in stored if c.status == "done"}
    change: dict[str, JsonValue] = {"status": "done", "result": text, "failed": True}
    await drive.journal.commit(
        *(Claim(Call, c.id, {}, change) for c in stored if c.status != "done")
    )
    sealed = (
        _result(done)
        if (done := known.get(c.id))
        else ToolResult(c.id, c.name, text, failed=True)
        for c in asking.calls
    )
    drive.history.append(Message("tool", tuple(sealed)))


async def open_checkpoints(store: Store, run_id: str) -> list[Checkpoint]:
    """The questions of a run that nobody has answered, in call order."""
    found = await store.query(Checkpoint, {"run_id": run_id, "status": "open"})
    return sorted(found, key=lambda each: (len(each.call), each.call))


async def _withdraw(drive: Drive, why: str) -> list[Step]:
    """Take back the open questions of a run that ends."""
    change: dict[str, JsonValue] = {
        "status": "withdrawn",
        "ended": f"Withdrawn: {why}",
        "settled_at": now_ms(),
    }
    steps: list[Step] = []
    for checkpoint in await open_checkpoints(drive.scope.store, drive.row.id):
        steps.append(Claim(Checkpoint, checkpoint.id, {"status": "open"}, change))
        drive.scope.emit(
            HumanResumed,
            checkpoint_id=checkpoint.id,
            response={"withdrawn": why},
            kind=checkpoint.ask,
        )
    return steps


def _fitting(drive: Drive, output: object) -> object:
    """What a hook has put in place of the answer, as the type the agent promises."""
    try:
        return drive.agent.returns.validate(output)
    except ValidationError as error:
        raise ValidationError(
            "The output that a hook left does not fit the output schema.",
            code="INVALID_OUTPUT",
            problems=error.problems,
            do="return a value of output_schema from the hook",
        ) from None


def _dumped(drive: Drive, output: object) -> JsonValue:
    try:
        return json_safe(drive.agent.returns.dump(output))
    except (TypeError, ValueError) as error:
        raise BreadError(
            "The output cannot be stored.",
            code="INVALID_OUTPUT",
            why=f"{error}.",
            do="return JSON values from after_run hooks and formats",
        ) from None


def _as_text(value: JsonValue) -> str:
    return value if isinstance(value, str) else dumps(value)


def _fields(drive: Drive) -> dict[str, Any]:
    return cast("dict[str, Any]", common_fields(drive))
