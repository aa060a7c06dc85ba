"""Finding runs and open questions by what a person types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from bread_nb.base.ids import now_ms
from bread_nb.errors import BreadError
from bread_nb.runtime.resuming import not_open
from bread_nb.stores.records import Checkpoint, RunRow
from bread_nb.stores.store import Store

__all__ = ["expired_questions", "find_question", "find_run", "late", "open_questions"]

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
    found = _by_prefix(await store.query(RunRow), name)
    if found is not None:
        return found
    raise BreadError(
        f"There is no run {name!r}.",
        code="RUN_NOT_FOUND",
        why="it is no handle, no id and no unique beginning of an id here.",
        do="%bread runs",
        context={"name": name},
    )


async def find_question(store: Store, name: str) -> Checkpoint:
    """A question by its handle, its id, a unique prefix, `last`, or its run's name.

    Raises:
        BreadError: `CHECKPOINT_NOT_FOUND`, naming what happened to it.
    """
    exact = await store.get(Checkpoint, name)
    if exact is not None:
        if exact.status == "open":
            return exact
        raise not_open(name, exact)
    waiting = await open_questions(store)
    if name == "last" and waiting:
        return waiting[-1]
    named = [c for c in waiting if name in (c.handle, c.handle.rpartition(".")[0])]
    if len(named) == 1:
        return named[0]
    if len(named) > 1:
        raise _several(name, named)
    found = _by_prefix(waiting, name)
    if found is not None:
        return found
    raise not_open(name, await _ended_question(store, name))


async def _ended_question(store: Store, name: str) -> Checkpoint | None:
    """The last question that had this handle, or whose run has it."""
    ended = await store.query(Checkpoint, {"handle": name}, newest_first=True, limit=1)
    if not ended:
        every = await store.query(Checkpoint, newest_first=True)
        ended = [c for c in every if c.handle.rpartition(".")[0] == name]
    return ended[0] if ended else None


def _by_prefix(rows: Sequence[R], name: str) -> R | None:
    if len(name) < _SHORTEST_PREFIX:
        return None
    found = [row for row in rows if row.id.startswith(name) or row.id.endswith(name)]
    return found[0] if len(found) == 1 else None


def _several(name: str, waiting: Sequence[Checkpoint]) -> BreadError:
    handles = ", ".join(c.handle for c in waiting)
    return BreadError(
        f"{name} waits with {len(waiting)} questions.",
        code="SEVERAL_PENDING",
        why=f"they are {handles}.",
        do=f"%bread resume {waiting[0].handle} --approve",
        context={"handles": [c.handle for c in waiting]},
    )
