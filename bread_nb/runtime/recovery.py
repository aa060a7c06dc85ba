"""Runs taken up again: loaded from the store, by whoever may drive them now.

After a crash what is finished stays finished. A call that may have happened runs again
only if its tool says that this is safe; otherwise a person is asked what happened.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from pydantic import JsonValue

from bread_nb.base.redact import environment_secrets
from bread_nb.crumbs import HumanRequired
from bread_nb.errors import BreadError, ValidationError
from bread_nb.runtime.agent import Agent
from bread_nb.runtime.drive import Drive
from bread_nb.runtime.ending import last_calls, turn_calls
from bread_nb.runtime.journal import Journal
from bread_nb.runtime.leases import lease_alive
from bread_nb.runtime.pending import (
    ask_outcome,
    next_handle,
    notify,
    stage_question,
)
from bread_nb.runtime.run import Live
from bread_nb.runtime.scope import Kit, Scope
from bread_nb.runtime.stream import CrumbStream
from bread_nb.runtime.toolbox import assemble
from bread_nb.stores.records import Call, RunRow, Session, crumb_log
from bread_nb.stores.store import Claim, Put, Step, Store

__all__ = [
    "at_work",
    "at_work_elsewhere",
    "interrupted",
    "is_interrupted",
    "load_drive",
    "orphaned",
    "recover",
    "scope_of",
    "session_busy",
    "take_over",
]

_TRIES = 20


async def interrupted(kit: Kit) -> list[RunRow]:
    """The runs that nobody works on any more, oldest first."""
    rows = await kit.store.query(RunRow, {"status": "working"})
    rows += await kit.store.query(RunRow, {"status": "waiting"})
    found = [row for row in rows if await is_interrupted(row, kit)]
    return sorted(found, key=lambda row: (row.created_at, row.id))


async def is_interrupted(row: RunRow, kit: Kit) -> bool:
    """Whether the process that worked on a run is gone."""
    if row.id in kit.streams:
        return False
    if row.status == "working":
        mine = row.owner == kit.owner.id
        return mine or not await lease_alive(kit.store, row.owner)
    if row.status == "waiting":
        return row.open == 0 or await orphaned(kit.store, row)
    return False


async def orphaned(store: Store, row: RunRow) -> bool:
    """Whether a call of a waiting run was being carried out by a process now dead."""
    for call in await turn_calls(store, row):
        if call.status == "running" and not await lease_alive(store, call.owner):
            return True
    return False


async def at_work_elsewhere(row: RunRow, kit: Kit) -> bool:
    """Whether another living process carries out a call of a waiting run."""
    for call in await turn_calls(kit.store, row):
        others = call.status == "running" and call.owner != kit.owner.id
        if others and await lease_alive(kit.store, call.owner):
            return True
    return False


async def at_work(session: Session, kit: Kit) -> bool:
    """Whether some process, this one included, works in a session right now."""
    row = await kit.store.get(RunRow, session.run_id or "")
    if row is None:
        return False
    if row.id in kit.streams:
        return True
    if row.status == "working" and not await is_interrupted(row, kit):
        return True
    return await at_work_elsewhere(row, kit)


async def scope_of(
    kit: Kit, row: RunRow, agent: Agent | None, *, ctx: object = None
) -> Scope:
    """The scope of a stored run; its crumbs are numbered on."""
    kit.redactor.learn(*environment_secrets())
    stream = kit.streams.get(row.id)
    if stream is None:
        stream = CrumbStream(
            row.agent_id, row.id, row.session_id, redactor=kit.redactor
        ).listened(kit.publish)
        newest = await kit.store.read(crumb_log(row.id), newest=1)
        stream.seq = newest[0].seq if newest else 0
        stream = kit.streams.setdefault(row.id, stream)
    return Scope(
        kit=kit,
        agent_id=row.agent_id,
        run_id=row.id,
        session_id=row.session_id,
        stream=stream,
        ctx=ctx,
        skill=row.skill,
        hooks=agent.hooks if agent else None,
    )


async def load_drive(
    kit: Kit,
    row: RunRow,
    agent: Agent,
    *,
    live: Live,
    ctx: object = None,
    since: float | None = None,
) -> Drive:
    """A driver for a stored run, as far as the store knows it.

    `since` is when the work on it began here, if that was before now.
    """
    scope = await scope_of(kit, row, agent, ctx=ctx)
    history = await kit.histories.read(kit.store, row.session_id)
    return Drive(
        agent=agent,
        scope=scope,
        journal=Journal(scope, row, history, since=since),
        stopping=lambda: live.stop_requested,
        model=kit.models.get(row.id) or row.override or agent.model,
        input=_input_of(row, agent),
    )


def _input_of(row: RunRow, agent: Agent) -> object:
    """A run's input as the type its agent takes; as it is stored if it fits no more."""
    try:
        return agent.accepts.validate(row.input)
    except ValidationError:
        return row.input


async def take_over(kit: Kit, row: RunRow, **expect: JsonValue) -> RunRow | None:
    """Become the driver of a run that is as expected; None when it is not any more.

    What comes back is the run as the store has it now.
    """
    change: dict[str, JsonValue] = {
        "status": "working",
        "owner": kit.owner.id,
        "fence": row.fence + 1,
    }
    if expect.get("open") == 0:
        change["open"] = 1
    guard = {"fence": row.fence, "status": row.status, **expect}
    if lease := kit.owner.due():
        await kit.store.put(lease)
    return await kit.store.claim(RunRow, row.id, guard, change)


async def recover(drive: Drive) -> None:
    """Sort out the calls of an interrupted turn; this process drives the run already.

    Raises:
        BreadError: `RUN_LOST` when another process has taken the run meanwhile.
    """
    for _ in range(_TRIES):
        calls = await turn_calls(drive.scope.store, drive.row)
        if not calls or last_calls(drive.history) is None:
            return
        try:
            await _sort_out(drive, calls)
            return
        except BreadError as error:
            now = await drive.scope.store.get(RunRow, drive.row.id)
            if error.code != "RUN_LOST" or not now or now.fence != drive.row.fence:
                raise


async def _sort_out(drive: Drive, calls: Sequence[Call]) -> None:
    """One commit: what may run again, what a person must tell, what is still open.

    It fails when a call was settled by somebody else in the meantime.
    """
    toolbox = await assemble(drive.agent, drive.scope)
    steps: list[Step] = [Claim(Call, c.id, {"status": c.status}, {}) for c in calls]
    asked: list[HumanRequired] = []
    for call in calls:
        if not await _abandoned(drive, call):
            continue
        tool = toolbox.tools.get(call.name)
        if tool is not None and tool.idempotent:
            steps.append(Claim(Call, call.id, {}, {"status": "ready"}))
            continue
        schema = tool.output.json if tool is not None and tool.output else None
        handle = await next_handle(drive.scope, drive.row.handle)
        checkpoint = ask_outcome(call, handle, cast("JsonValue", schema))
        asked.append(stage_question(checkpoint, drive.scope))
        change: dict[str, JsonValue] = {
            "status": "waiting",
            "checkpoint_id": checkpoint.id,
        }
        steps += [Put(checkpoint), Claim(Call, call.id, {}, change)]
    unsettled = sum(call.status != "done" for call in calls)
    await drive.journal.commit(*steps, open=unsettled + 1)
    notify(asked, drive.scope)


async def _abandoned(drive: Drive, call: Call) -> bool:
    """Whether the call was being carried out by a process that is gone."""
    if call.status != "running":
        return False
    mine = call.owner == drive.scope.kit.owner.id
    return mine or not await lease_alive(drive.scope.store, call.owner)


def session_busy(session_id: str, who: str) -> BreadError:
    """The error for what cannot be done while `who` works in a session."""
    return BreadError(
        f"Session {session_id!r} is busy.",
        code="SESSION_BUSY",
        why=f"{who} is working in it.",
        do="wait for it, or use another session",
        context={"session_id": session_id},
    )
