"""Finding runs and open questions by what a person types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from pydantic import JsonValue

from bread_nb.base.ids import now_ms
from bread_nb.errors import BreadError
from bread_nb.runtime.closed import ended_words, not_open
from bread_nb.runtime.leases import lease_alive
from bread_nb.runtime.outcome import PendingCall
from bread_nb.runtime.recovery import orphaned
from bread_nb.stores.records import Checkpoint, RunRow, Session
from bread_nb.stores.store import Store

__all__ = [
    "expired_questions",
    "find_question",
    "find_run",
    "find_session",
    "late",
    "open_questions",
]

R = TypeVar("R", Checkpoint, RunRow)
_SHORTEST_PREFIX = 4


async def open_questions(store: Store) -> list[Checkpoint]:
    """All open questions, oldest first."""
    return await store.query(Checkpoint, {"status": "open"})


async def expired_questions(store: Store) -> list[Checkpoint]:
    """The open questions whose time is over."""
    return [
        checkpoint for checkpoint in await open_questions(store) if late(checkpoint)
    ]


def late(checkpoint: Checkpoint) -> bool:
    """Whether the time for an answer is over."""
    return checkpoint.expires_at is not None and checkpoint.expires_at <= now_ms()


async def find_run(store: Store, name: str) -> RunRow:
    """A run by its handle, its id, a unique prefix of the id, or `last`.

    Raises:
        BreadError: `RUN_NOT_FOUND`.
    """
    found = await _run_named(store, name)
    if found is not None:
        return found
    if name == "last":
        raise _no_run_yet()
    raise BreadError(
        f"There is no run {name!r}.",
        code="RUN_NOT_FOUND",
        why="it is no handle, no id and no unique beginning of an id here.",
        do="%bread runs",
        context={"name": name},
    )


async def _run_named(store: Store, name: str) -> RunRow | None:
    if name == "last":
        newest = await store.query(RunRow, newest_first=True, limit=1)
        if newest:
            return newest[0]
    exact = await store.get(RunRow, name)
    if exact is not None:
        return exact
    named = await store.query(RunRow, {"handle": name}, newest_first=True, limit=1)
    if named:
        return named[0]
    return _by_prefix(await store.query(RunRow), name)


async def find_session(store: Store, name: str) -> str:
    """The session a person means: one of this name, or that of the run of this handle.

    A name that is neither is that of a new session.
    """
    if await store.get(Session, name) is None:
        named = await store.query(RunRow, {"handle": name}, newest_first=True, limit=1)
        return named[0].session_id if named else name
    return name


async def find_question(store: Store, name: str) -> Checkpoint:
    """A question by its handle, its id, a unique prefix, or by its run's name.

    A run may be called `last`: that is the last run, whether it waits or not.

    Raises:
        BreadError: `CHECKPOINT_NOT_FOUND`, naming what happened to it, or what waits
            in its place; `SEVERAL_PENDING` for a run with several questions.
    """
    exact = await store.get(Checkpoint, name)
    if exact is not None:
        if exact.status == "open":
            return exact
        raise not_open(name, exact)
    waiting = await open_questions(store)
    if name != "last":
        named = [c for c in waiting if name == c.handle]
        found = named[0] if named else _by_prefix(waiting, name)
        if found is not None:
            return found
    row = await _run_named(store, name)
    if row is not None:
        return await _of_run(store, row, waiting, last=name == "last")
    if name == "last":
        raise _no_run_yet()
    raise not_open(name, await _ended_question(store, name))


async def _of_run(
    store: Store, row: RunRow, waiting: Sequence[Checkpoint], *, last: bool
) -> Checkpoint:
    """The one question that a run waits with."""
    own = [checkpoint for checkpoint in waiting if checkpoint.run_id == row.id]
    if len(own) == 1:
        return own[0]
    if own:
        raise _several(row.handle, own)
    where: dict[str, JsonValue] = {"run_id": row.id}
    ended = await store.query(Checkpoint, where, newest_first=True, limit=1)
    gone = row.status == "working" and not await lease_alive(store, row.owner)
    if gone or (row.status == "waiting" and await orphaned(store, row)):
        raise _broken_off(row)
    raise _idle(row, ended, waiting, last=last)


async def _ended_question(store: Store, name: str) -> Checkpoint | None:
    """The last question that had this handle."""
    ended = await store.query(Checkpoint, {"handle": name}, newest_first=True, limit=1)
    return ended[0] if ended else None


def _by_prefix(rows: Sequence[R], name: str) -> R | None:
    if len(name) < _SHORTEST_PREFIX:
        return None
    found = [row for row in rows if row.id.startswith(name) or row.id.endswith(name)]
    return found[0] if len(found) == 1 else None


def _no_run_yet() -> BreadError:
    return BreadError(
        "There is no run yet.",
        code="RUN_NOT_FOUND",
        why="nothing has run in this store.",
        do="%bread agents",
        context={"name": "last"},
    )


def _idle(
    row: RunRow,
    ended: Sequence[Checkpoint],
    waiting: Sequence[Checkpoint],
    *,
    last: bool,
) -> BreadError:
    """The error for an answer to a run that waits for none, naming what does."""
    why = [f"it is {'at work' if row.status == 'working' else row.status}"]
    why += [ended_words(checkpoint) for checkpoint in ended]
    why.append(_all_that_waits(waiting))
    return BreadError(
        f"{f'The last run, {row.handle},' if last else row.handle} does not wait.",
        code="CHECKPOINT_NOT_FOUND",
        why=f"{'; '.join(why)}.",
        do=f"%bread resume {waiting[-1].handle}" if waiting else "%bread runs",
        context={"run": row.handle, "waiting": [c.handle for c in waiting]},
    )


def _broken_off(row: RunRow) -> BreadError:
    """The error for an answer to a run that has to be taken up first."""
    return BreadError(
        f"{row.handle} does not wait.",
        code="CHECKPOINT_NOT_FOUND",
        why="its process is gone, and nobody has taken it up again.",
        do=f"%bread recover {row.handle}",
        context={"run": row.handle, "waiting": []},
    )


def _all_that_waits(waiting: Sequence[Checkpoint]) -> str:
    if not waiting:
        return "no run waits for a person"
    named = [f"{c.handle} ({PendingCall.of(c).tool})" for c in waiting]
    return f"{', '.join(named)} {'waits' if len(named) == 1 else 'wait'} for a person"


def _several(name: str, waiting: Sequence[Checkpoint]) -> BreadError:
    handles = ", ".join(c.handle for c in waiting)
    return BreadError(
        f"{name} waits with {len(waiting)} questions.",
        code="SEVERAL_PENDING",
        why=f"they are {handles}.",
        do=f"%bread resume {waiting[0].handle} --approve",
        context={"handles": [c.handle for c in waiting]},
    )
