"""Answers to checkpoints: claimed once, carried out, and the run goes on.

There is no other way to answer. Whoever closes the last open call of a turn drives the
run on; everybody else returns `Suspended`.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any, cast

from pydantic import JsonValue

from bread_nb.base.ids import monotonic, now_ms
from bread_nb.base.wire import dumps, json_safe
from bread_nb.crumbs import HumanResumed
from bread_nb.errors import BreadError, Halt
from bread_nb.runtime.aftermath import ended_elsewhere
from bread_nb.runtime.agent import Agent
from bread_nb.runtime.answers import (
    Approve,
    Failed,
    Give,
    Refuse,
    RunIt,
    form_changed,
    read_answer,
)
from bread_nb.runtime.closed import not_open
from bread_nb.runtime.deciding import mark_running
from bread_nb.runtime.drive import Drive, row_fields
from bread_nb.runtime.ending import (
    end_cancelled,
    end_failed,
    end_halted,
    open_checkpoints,
    turn_calls,
)
from bread_nb.runtime.execute import Done, Go, Wait, consider, settled
from bread_nb.runtime.grants import grant_for
from bread_nb.runtime.journal import store_crumbs
from bread_nb.runtime.keeping import settle_call
from bread_nb.runtime.outcome import Outcome, PendingCall, Suspended
from bread_nb.runtime.pending import (
    EDITED,
    next_handle,
    notify,
    question,
    stage_question,
)
from bread_nb.runtime.recovery import load_drive, recover, scope_of, take_over
from bread_nb.runtime.replaying import check_answer, conclude
from bread_nb.runtime.results import refusal_text
from bread_nb.runtime.run import Live
from bread_nb.runtime.runner import drive_on
from bread_nb.runtime.scope import Kit, Scope
from bread_nb.runtime.steady import to_the_end
from bread_nb.runtime.toolbox import Toolbox, assemble
from bread_nb.runtime.turn import elapsed_ms
from bread_nb.stores.records import Call, Checkpoint, Grant, RunRow
from bread_nb.stores.store import Add, Claim, Put, Step

__all__ = ["Reply", "go_on", "reply_to"]

_ENDED = ("stopped", "cancelled", "failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer on its way: to which call, of which agent, with what, since when."""

    checkpoint: Checkpoint
    call: Call | None
    row: RunRow
    agent: Agent
    answer: object
    ctx: object = None
    since: float = field(default_factory=monotonic)


async def reply_to(reply: Reply, kit: Kit, live: Live) -> Outcome:
    """Settle a checkpoint and go on with the run if it was the last open one.

    Raises:
        BreadError: `CHECKPOINT_NOT_FOUND` when somebody was faster, `INVALID_ANSWER`,
            `FORM_CHANGED` or `EDIT_REFUSED` when the call still waits.
    """
    scope = await scope_of(kit, reply.row, reply.agent, ctx=reply.ctx)
    live.run_id, live.handle = reply.row.id, reply.row.handle
    scope.stream.taps.append(live)
    try:
        settlement = await _prepare(reply, scope)
        if settlement is None:
            return await _still_waiting(reply, scope)
        given = _plain_answer(reply.answer)
        check_answer(reply.checkpoint, settlement.decision, given, scope)
        _, cancelled = await to_the_end(_claim(settlement, scope))
        try:
            if cancelled:
                raise asyncio.CancelledError
            with kit.owner.at_work(kit.store):
                await conclude(reply.checkpoint, settlement.decision, given, scope)
            drive = await _driver(reply, kit, live, scope)
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001
            return await _end_with(error, reply, kit, live)
        if drive is None:
            return await _still_waiting(reply, scope)
        return await drive_on(drive)
    finally:
        _let_go(scope, live)


async def _driver(reply: Reply, kit: Kit, live: Live, scope: Scope) -> Drive | None:
    """The driver that goes on with the run; None when something is open still.

    Nobody has driven the run since it was read unless its fence has grown.

    Raises:
        BreadError: `RUN_LOST` when the run was ended while the call was carried out.
    """
    taken = await take_over(kit, reply.row, status="waiting", open=0)
    if taken is None:
        await store_crumbs(scope, (), ())
        row = await kit.store.get(RunRow, reply.row.id) or reply.row
        if row.status in _ENDED:
            raise _lost(row, "it was ended meanwhile")
        taken = await take_over(kit, row, status="waiting", open=0)
    if taken is None:
        return None
    drive, calls = await asyncio.gather(
        _drive(taken, reply, kit, live), turn_calls(kit.store, taken)
    )
    drive.calls = calls
    return drive


async def _drive(row: RunRow, reply: Reply, kit: Kit, live: Live) -> Drive:
    """A driver that counts the time of the call, too."""
    return await load_drive(
        kit, row, reply.agent, live=live, ctx=reply.ctx, since=reply.since
    )


async def go_on(
    row: RunRow, agent: Agent, kit: Kit, live: Live, *, ctx: object = None
) -> Outcome:
    """Take up an interrupted run where it broke off.

    Raises:
        BreadError: `RUN_LOST` when another process was faster.
    """
    taken, cancelled = await to_the_end(take_over(kit, row))
    if taken is None:
        raise _lost(row, "another process was faster")
    loading = load_drive(kit, taken, agent, live=live, ctx=ctx)
    drive, again = await to_the_end(loading)
    live.run_id, live.handle = taken.id, taken.handle
    live.wake()
    drive.scope.stream.taps.append(live)
    try:
        if cancelled or again:
            raise asyncio.CancelledError
        await recover(drive)
    except asyncio.CancelledError:
        await end_cancelled(drive)
        raise
    else:
        return await drive_on(drive)
    finally:
        _let_go(drive.scope, live)


def _lost(row: RunRow, why: str) -> BreadError:
    return BreadError(
        f"Run {row.handle} was taken up by somebody else.",
        code="RUN_LOST",
        why=f"{why}.",
        do=f"%bread show {row.handle}",
    )


def _let_go(scope: Scope, live: Live) -> None:
    scope.stream.taps.remove(live)
    if not scope.stream.taps:
        scope.kit.streams.pop(scope.run_id, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Settlement:
    """A checked answer: the call's result, or the call that may run now."""

    reply: Reply
    decision: Done | Go
    edited: dict[str, JsonValue] | None = None
    grant: Grant | None = None


async def _prepare(reply: Reply, scope: Scope) -> _Settlement | None:
    """Check the answer; None when the question had to be asked anew.

    Nothing is changed when it raises: the call still waits.
    """
    checkpoint, call = reply.checkpoint, reply.call
    toolbox = await assemble(reply.agent, scope)
    answer = read_answer(checkpoint, reply.answer, toolbox)
    if call is None or call.status != "waiting":
        now = await scope.store.get(Checkpoint, checkpoint.id)
        raise not_open(checkpoint.id, now)
    match answer:
        case Refuse(reason=reason, declined=declined):
            text = refusal_text(reason, "declined" if declined else "rejected")
            done = settled(call, text, failed=True)
            refused = done.model_copy(update={"refused_by": "human"})
            return _Settlement(reply=reply, decision=Done(refused))
        case Give(value=value):
            return _Settlement(reply=reply, decision=Done(settled(call, value)))
        case Failed():
            text = "The call was cut off; nobody can tell whether it happened."
            done = settled(call, text, failed=True)
            return _Settlement(reply=reply, decision=Done(done))
        case Approve() | RunIt():
            if call.args != checkpoint.args:
                raise form_changed(checkpoint)
            if _tool_changed(checkpoint, toolbox):
                await _ask_anew(checkpoint, call, toolbox, scope)
                return None
            return await _consent(reply, answer, call, toolbox, scope)


async def _consent(
    reply: Reply,
    answer: Approve | RunIt,
    call: Call,
    toolbox: Toolbox,
    scope: Scope,
) -> _Settlement:
    checkpoint = reply.checkpoint
    edited = answer.args if isinstance(answer, Approve) else None
    if edited is not None:
        call = call.model_copy(update={"args": edited})
    tool = toolbox.tools.get(call.name)
    if tool is None:
        text = f"The tool {call.name} is not there any more."
        return _Settlement(reply=reply, decision=Done(settled(call, text, failed=True)))
    decision = await consider(call, toolbox, scope, approved=True)
    if isinstance(decision, Wait):
        raise AssertionError("an approved call is not asked again")
    if isinstance(decision, Done) and edited is not None:
        raise _edit_refused(checkpoint, decision.call)
    if isinstance(decision, Go):
        started = mark_running(decision.call, scope)
        decision = replace(decision, call=started, note=_edit_note(edited))
    grant = None
    remember = answer.remember if isinstance(answer, Approve) else None
    if remember is not None:
        grant = grant_for(checkpoint, remember, tool.perm_id)
    return _Settlement(reply=reply, decision=decision, edited=edited, grant=grant)


async def _claim(settlement: _Settlement, scope: Scope) -> None:
    """Take the checkpoint; the first answer wins.

    Raises:
        BreadError: `CHECKPOINT_NOT_FOUND`, naming what happened to it.
    """
    checkpoint, call = settlement.reply.checkpoint, settlement.decision.call
    change: dict[str, JsonValue] = {
        "status": "settled",
        "answer": _plain_answer(settlement.reply.answer),
        "edited": settlement.edited,
        "ended": end_words(settlement),
        "settled_at": now_ms(),
    }
    steps: list[Step] = [Claim(Checkpoint, checkpoint.id, {"status": "open"}, change)]
    if settlement.grant is not None:
        steps.append(Put(settlement.grant))
    if isinstance(settlement.decision, Done):
        steps += settle_call(call, was="waiting")
    else:
        steps += [Claim(Call, call.id, {"status": "waiting"}, {}), Put(call)]
        steps.append(Claim(RunRow, call.run_id, {}, {"denials": 0}))
    if lease := scope.kit.owner.due():
        steps.append(Put(lease))
    if await scope.store.atomic(*steps) is None:
        now = await scope.store.get(Checkpoint, checkpoint.id)
        raise not_open(checkpoint.id, now)
    scope.kit.owner.kept(lease)
    scope.emit(
        HumanResumed,
        checkpoint_id=checkpoint.id,
        response=_plain_answer(settlement.reply.answer),
        kind=checkpoint.ask,
    )


async def _still_waiting(reply: Reply, scope: Scope) -> Suspended:
    """Leave the run to whoever settles the rest; the time of this call is kept."""
    worked = Add(RunRow, reply.row.id, "worked_ms", elapsed_ms(reply.since))
    await store_crumbs(scope, (), (worked,))
    row = await scope.store.get(RunRow, reply.row.id) or reply.row
    waiting = await open_checkpoints(scope.store, row.id)
    return Suspended(
        pending=tuple(PendingCall.of(checkpoint) for checkpoint in waiting),
        **cast("dict[str, Any]", row_fields(row)),
    )


async def _end_with(
    error: BaseException, reply: Reply, kit: Kit, live: Live
) -> Outcome:
    """The approved call ended the run: by a halt, a hook's error or a cancel."""
    row = await kit.store.get(RunRow, reply.row.id) or reply.row
    taken = None if row.status in _ENDED else await take_over(kit, row)
    drive = await _drive(taken or row, reply, kit, live)
    if taken is None:
        lost = error if isinstance(error, BreadError) else None
        return await ended_elsewhere(drive, lost)
    if isinstance(error, Halt):
        return await end_halted(drive, error)
    if isinstance(error, asyncio.CancelledError):
        await end_cancelled(drive)
    else:
        await end_failed(drive, error)
    raise error


def _tool_changed(checkpoint: Checkpoint, toolbox: Toolbox) -> bool:
    tool = toolbox.tools.get(checkpoint.tool_name)
    known = checkpoint.source
    return bool(known and tool is not None and tool.source != known)


async def _ask_anew(
    checkpoint: Checkpoint, call: Call, toolbox: Toolbox, scope: Scope
) -> None:
    """The waiting tool itself was edited: the old consent would be for other code."""
    tool = toolbox.tools[call.name]
    handle = await next_handle(scope, checkpoint.handle.rpartition(".")[0])
    asked = question(Wait(call=call, tool=tool), scope, handle)
    asked = asked.model_copy(update={"rule": checkpoint.rule})
    withdrawn: dict[str, JsonValue] = {
        "status": "withdrawn",
        "ended": f"Asked again: {EDITED}",
        "settled_at": now_ms(),
    }
    taken = await scope.store.atomic(
        Claim(Checkpoint, checkpoint.id, {"status": "open"}, withdrawn),
        Put(asked),
        Claim(Call, call.id, {"status": "waiting"}, {"checkpoint_id": asked.id}),
    )
    if taken is None:
        raise not_open(checkpoint.id, await scope.store.get(Checkpoint, checkpoint.id))
    scope.emit(
        HumanResumed,
        checkpoint_id=checkpoint.id,
        response={"withdrawn": EDITED},
        kind=checkpoint.ask,
    )
    crumb = stage_question(asked, scope)
    scope.stream.release()
    notify([crumb], scope)


def _plain_answer(answer: object) -> JsonValue:
    try:
        plain = json_safe(answer)
    except TypeError:
        return str(answer)
    if isinstance(plain, dict):
        return {key: item for key, item in plain.items() if key != "shown"}
    return plain


def end_words(settlement: _Settlement) -> str:
    """How a form ended, in the words that are kept with it."""
    call = settlement.decision.call
    if call.refused_by == "human":
        reason = str(call.result).partition(": ")[2]
        return f"Denied: {reason}" if reason else "Denied"
    if settlement.reply.checkpoint.ask != "approval":
        return "Answered"
    return "Approved" if settlement.edited is None else "Approved with changes"


def _edit_note(edited: dict[str, JsonValue] | None) -> str:
    if edited is None:
        return ""
    return f"A person changed the arguments before approving: {dumps(edited)}"


def _edit_refused(checkpoint: Checkpoint, call: Call) -> BreadError:
    return BreadError(
        "The rules refuse the edited call.",
        code="EDIT_REFUSED",
        why=f"{call.result}",
        do=f"change it again; {checkpoint.handle} still waits",
    )
