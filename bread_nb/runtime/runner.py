"""Runs: turns until there are no more calls, or until a call waits.

`run_agent` begins a run, `continue_run` goes on with one whose last call was settled.
Both end in the same turn loop.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from pydantic import JsonValue

from bread_nb.base.ids import now_ms
from bread_nb.base.wire import canonical
from bread_nb.errors import BreadError, Halt, ValidationError
from bread_nb.messages import File, StopReason, Text, Usage, assistant, user
from bread_nb.runtime.aftermath import ended_elsewhere
from bread_nb.runtime.answer import read_output, repair_request
from bread_nb.runtime.asking import ask_model
from bread_nb.runtime.drive import Drive
from bread_nb.runtime.ending import (
    end_cancelled,
    end_failed,
    end_finished,
    end_halted,
    end_stopped,
    end_suspended,
    last_calls,
    results_message,
    turn_calls,
)
from bread_nb.runtime.execute import Done, Go, Wait, carry_out, decide
from bread_nb.runtime.hooks import Recovered, as_bread_error
from bread_nb.runtime.keeping import Results, settle_call
from bread_nb.runtime.outcome import Outcome, Stopped
from bread_nb.runtime.pending import notify, question, stage_question
from bread_nb.runtime.scope import Scope
from bread_nb.runtime.toolbox import Toolbox, assemble
from bread_nb.runtime.turn import Turn
from bread_nb.stores.records import Call, Checkpoint, RunRow
from bread_nb.stores.store import Add, Put, Step
from bread_nb.tools.lifecycle import ShortCircuit

__all__ = ["drive_on", "mark_running", "run_together"]

_BOUNDS: dict[StopReason, str] = {
    "max_tokens": "truncated:max_tokens",
    "refusal": "refusal",
    "context_exceeded": "context_exceeded",
}


async def drive_on(drive: Drive, short: ShortCircuit | None = None) -> Outcome:
    """Work on a run until it ends or waits; however it ends, its history is whole.

    Args:
        drive: The run at work.
        short: What ends it before the model is asked, if anything does.

    Raises:
        BreadError: The fault the run ended with; `RUN_CANCELLED` is for the caller to
            make of an `asyncio.CancelledError`.
    """
    try:
        return await _to_an_end(drive, short)
    except BreadError as error:
        if error.code != "RUN_LOST":
            raise
        return await ended_elsewhere(drive, error)
    finally:
        if drive.row.status not in ("working", "waiting"):
            drive.scope.kit.models.pop(drive.row.id, None)


async def _to_an_end(drive: Drive, short: ShortCircuit | None) -> Outcome:
    try:
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
    except Exception as error:
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
        if drive.row.turn >= drive.agent.steps:
            return await end_stopped(drive, "max_steps", seal="[stopped]")
        ended = await _turn(drive)
        if ended is not None:
            return ended


async def _turn(drive: Drive) -> Outcome | None:
    """One turn of the model; None when its calls are to be carried out."""
    toolbox = drive.toolbox = await assemble(drive.agent, drive.scope)
    turn = await ask_model(drive, toolbox)
    if isinstance(turn, Recovered):
        return await end_finished(drive, turn.output)
    spent: dict[str, JsonValue] = {
        "turn": drive.row.turn + 1,
        "model": turn.model if ":" in turn.model else drive.row.model,
        "usage": _add(drive.row, turn.usage),
        "text": turn.message.text or drive.row.text,
        "files": [*drive.row.files, *map(_listed, turn.message.files)],
    }
    bound = _BOUNDS.get(turn.stop_reason) if turn.stop_reason else None
    if bound is not None:
        _keep_text(drive, turn)
        await drive.journal.commit(**spent)
        return await end_stopped(drive, bound, seal="[stopped]")
    if turn.message.calls and turn.stop_reason != "pause_turn":
        await _keep_intents(drive, turn, spent)
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


async def _keep_intents(drive: Drive, turn: Turn, spent: dict[str, JsonValue]) -> None:
    """One commit: the message, and an intent for each of its calls."""
    row, scope = drive.row, drive.scope
    number = row.turn + 1
    made = turn.message.calls
    counts = Counter(row.calls)
    counts.update(call.name for call in made)
    intents: list[Call] = []
    for index, call in enumerate(made):
        intent = Call(
            id=f"{row.id}/{number}/{index}",
            run_id=row.id,
            session_id=row.session_id,
            agent_id=scope.agent_id,
            turn=number,
            index=index,
            call_id=call.id,
            name=call.name,
            args=call.args,
            broken=call.broken,
            created_at=now_ms(),
        )
        intents.append(intent)
    drive.say(turn.message)
    drive.calls = intents
    await drive.journal.commit(
        *(Put(intent) for intent in intents),
        calls=dict(counts),
        open=len(intents) + 1,
        **spent,
    )


async def _calls(drive: Drive) -> Outcome | None:
    """Carry out the calls of the turn; None when all have their results."""
    drive.calls = drive.calls or await turn_calls(drive.scope.store, drive.row)
    fresh = [call for call in drive.calls if call.status == "ready"]
    alone = len(fresh) == len(drive.calls)
    if fresh:
        toolbox = drive.toolbox or await assemble(drive.agent, drive.scope)
        bound = await _decide_and_run(drive, fresh, toolbox)
        if bound is not None:
            return bound
    if alone and all(call.status == "done" for call in drive.calls):
        return await _close_turn(drive)
    [left] = await drive.journal.commit(
        Add(RunRow, drive.row.id, "open", -1), status="waiting"
    )
    if left:
        return await end_suspended(drive)
    drive.calls = await turn_calls(drive.scope.store, drive.row)
    return await _close_turn(drive)


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


async def _decide_and_run(
    drive: Drive, calls: Sequence[Call], toolbox: Toolbox
) -> Stopped | None:
    """Decide in call order, keep the decisions in one commit, then run together."""
    going: list[Go] = []
    asked: list[Checkpoint] = []
    steps: list[Step] = []
    denials, denied = drive.row.denials, None
    for call in calls:
        match await decide(call, toolbox, drive.scope):
            case Go() as go:
                denials = 0
                going.append(replace(go, call=mark_running(go.call, drive.scope)))
                steps.append(Put(going[-1].call))
            case Wait() as wait:
                checkpoint = question(wait, drive.scope, drive.row.handle)
                asked.append(checkpoint)
                waiting = _waiting(wait.call, checkpoint)
                steps += [Put(checkpoint), Put(waiting)]
                _note(drive, waiting)
            case Done(call=done):
                denials += done.refused_by == "gate"
                steps += settle_call(done)
                _note(drive, done)
        if 0 < drive.agent.guards.denials <= denials:
            denied = call.name
            break
    staged = [stage_question(checkpoint, drive.scope) for checkpoint in asked]
    await drive.journal.commit(*steps, denials=denials)
    notify(staged, drive.scope)
    for done in await run_together(going, drive.scope):
        _note(drive, done)
    if denied is None:
        return None
    reason = f"denied:{denied}"
    return await end_stopped(drive, reason, seal=f"[halted:{reason}]")


async def run_together(going: Sequence[Go], scope: Scope) -> list[Call]:
    """Run calls at once; each result is kept as it arrives."""
    results = Results(scope.store)

    async def one(go: Go) -> Call:
        done = await carry_out(go, scope)
        await results.keep(done)
        return done

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(go)) for go in going]
    except BaseExceptionGroup as several:
        raise _foremost(several) from None
    return [task.result() for task in tasks]


def _note(drive: Drive, call: Call) -> None:
    """Know a call as it is now; the calls of a turn stand in their order."""
    drive.calls[call.index] = call


def mark_running(call: Call, scope: Scope) -> Call:
    """The call as started by this process; it may have happened from now on."""
    return call.model_copy(
        update={
            "status": "running",
            "decided": True,
            "owner": scope.kit.owner.id,
            "started_at": now_ms(),
        }
    )


def _waiting(call: Call, checkpoint: Checkpoint) -> Call:
    return call.model_copy(
        update={
            "status": "waiting",
            "decided": True,
            "checkpoint_id": checkpoint.id,
        }
    )


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


def _add(row: RunRow, usage: Usage) -> dict[str, JsonValue]:
    total = Usage(**row.usage) + usage
    return {name: getattr(total, name) for name in Usage.__slots__}


def _foremost(several: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error that decides: a halt before anything else, then the first."""
    halts, rest = several.split(Halt)
    first: BaseException = halts or rest or several
    while isinstance(first, BaseExceptionGroup):
        first = cast("BaseException", first.exceptions[0])
    return first
