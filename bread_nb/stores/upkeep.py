"""Sessions forgotten, one at a time or by age."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from pydantic import JsonValue

from bread_nb.base.ids import now_ms
from bread_nb.stores.records import (
    Call,
    Checkpoint,
    Grant,
    RunRow,
    Session,
    crumb_log,
    message_log,
)
from bread_nb.stores.store import Claim, Drop, DropLog, Step, Store

__all__ = ["Free", "clean_sessions", "forget_session"]


Free = Callable[[Session], Awaitable[bool]]


async def _always(_session: Session) -> bool:
    return True


async def forget_session(store: Store, session_id: str, free: Free = _always) -> bool:
    """Drop a session with all that belongs to it; False when there was none.

    Its messages, runs, crumbs, calls and checkpoints go, and the grants for it and for
    its runs; grants for an agent stay. One that is not `free` stays, too.
    """
    while (session := await store.get(Session, session_id)) is not None:
        if not await free(session):
            return False
        if await _forget(store, session):
            return True
    return False


async def clean_sessions(
    store: Store,
    older_than_ms: int,
    tags: Mapping[str, str] | None = None,
    free: Free = _always,
) -> int:
    """Drop the sessions that nothing has happened in for longer than this.

    Args:
        store: The store.
        older_than_ms: Their age by `updated_at`, in milliseconds.
        tags: Only sessions with all these tags.
        free: Says of a session whether it may go.

    Returns:
        How many were dropped.
    """
    before = now_ms() - older_than_ms
    wanted: dict[str, JsonValue] = {**tags} if tags else {}
    sessions = await store.query(Session, {"tags": wanted} if wanted else None)
    old = [session for session in sessions if session.updated_at < before]
    return sum([await free(each) and await _forget(store, each) for each in old])


async def _forget(store: Store, session: Session) -> bool:
    """Drop a session as it was read; False when something has happened in it since."""
    mine = {"session_id": session.id}
    runs = await store.query(RunRow, mine)
    as_read: dict[str, JsonValue] = {
        "updated_at": session.updated_at,
        "run_id": session.run_id,
    }
    steps: list[Step] = [
        Claim(Session, session.id, as_read, {}),
        Drop(Session, session.id),
        DropLog(message_log(session.id)),
    ]
    for run in runs:
        steps += [Drop(RunRow, run.id), DropLog(crumb_log(run.id))]
    for kind in (Call, Checkpoint):
        steps += [Drop(kind, found.id) for found in await store.query(kind, mine)]
    ids = {session.id, *(run.id for run in runs)}
    steps += [
        Drop(Grant, grant.id)
        for grant in await store.query(Grant)
        if grant.scope != "agent" and grant.scope_id in ids
    ]
    return await store.atomic(*steps) is not None
