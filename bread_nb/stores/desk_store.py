"""The verbs of a store whose work is done at a desk, on a thread of its own."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar, cast

from pydantic import JsonValue

from bread_nb.stores import sql
from bread_nb.stores.bodies import record_of, value_of
from bread_nb.stores.steps import Group, Key, Prepared, prepare
from bread_nb.stores.store import Append, Claim, Entry, Fields, Put, Record, Step
from bread_nb.stores.store_errors import check_key, taken
from bread_nb.stores.writer import Desk, Job, Writer

__all__ = ["DeskStore", "Row", "StoreDesk"]

R = TypeVar("R", bound=Record)
T = TypeVar("T")
Row = tuple[str, bytes]
Line = tuple[int, bytes]

_AT_EXIT = 10.0


class StoreDesk(Desk, Protocol):
    """What can be done at the desk; `asked` is when somebody began to wait for it."""

    def body(self, key: Key, asked: float) -> bytes | None:
        """The body of a record."""
        ...

    def find(self, kind: type[Record], query: sql.Query, asked: float) -> list[Row]:
        """Records that match, id and body."""
        ...

    def lines(self, query: sql.Query, asked: float) -> list[Line]:
        """Entries of a log, number and body."""
        ...

    def change(self, steps: Sequence[Prepared], asked: float) -> Group | None:
        """Do all steps or none."""
        ...


class DeskStore:
    """A store with one thread, which starts at the first verb and ends at `close`.

    Args:
        desk: Makes the desk of a new thread.
        place: The store, for a person.
    """

    def __init__(self, desk: Callable[[], StoreDesk], place: str) -> None:
        self.place = place
        self._desk = desk
        self._gate = threading.Lock()
        self._writer: Writer[StoreDesk] | None = None
        self._end: Callable[[], object] | None = None

    async def get(self, kind: type[R], id: str) -> R | None:
        """The record with this id, or None."""
        key = (kind.kind, check_key(id))
        body = await self._ask(lambda desk, asked: desk.body(key, asked))
        return None if body is None else record_of(kind, id, body, self.place)

    async def put(self, record: Record) -> None:
        """Keep a record in place of any other with its id."""
        await self._change([Put(record)])

    async def claim(
        self, kind: type[R], id: str, expect: Fields, change: Fields
    ) -> R | None:
        """Change a record if it is as expected; the changed record, or None."""
        group = await self._change([Claim(kind, id, expect, change)])
        if group is None:
            return None
        return record_of(kind, id, group.draft(kind, id).text(), self.place)

    async def query(
        self,
        kind: type[R],
        where: Fields | None = None,
        *,
        newest_first: bool = False,
        limit: int | None = None,
    ) -> list[R]:
        """Records whose fields equal `where`, in the order of `created_at` and id."""
        query = sql.select(kind, where or {}, newest_first=newest_first, limit=limit)
        rows = await self._ask(lambda desk, asked: desk.find(kind, query, asked))
        return [record_of(kind, id, body, self.place) for id, body in rows]

    async def append(self, log: str, entries: Sequence[Entry]) -> None:
        """Put entries at the end of a log.

        Raises:
            BreadError: `STORE_CONFLICT` when a number is taken.
        """
        if entries and await self._change([Append(log, entries)]) is None:
            raise taken(log, entries[0].seq)

    async def read(
        self,
        log: str,
        *,
        after: int = 0,
        limit: int | None = None,
        newest: int | None = None,
    ) -> list[Entry]:
        """Entries numbered above `after` in order; with `newest`, the last so many."""
        query = sql.entries(check_key(log), after, limit, newest)
        lines = await self._ask(lambda desk, asked: desk.lines(query, asked))
        place = self.place
        return [Entry(seq, value_of(body, place, log, seq)) for seq, body in lines]

    async def atomic(self, *steps: Step) -> list[JsonValue] | None:
        """Do all steps, or none; the value of each step, or None."""
        if not steps:
            return []
        group = await self._change(steps)
        return None if group is None else group.values

    async def close(self) -> None:
        """Do what was asked for, let go of the database and end the thread."""
        with self._gate:
            writer, self._writer = self._writer, None
            end, self._end = self._end, None
        if writer is None or end is None:
            return
        last: Job[StoreDesk] = Job(_nothing)
        if writer.finish(last):
            await last.future
        end()

    async def _change(self, steps: Sequence[Step]) -> Group | None:
        prepared = prepare(steps)
        return await self._ask(lambda desk, asked: desk.change(prepared, asked))

    async def _ask(self, work: Callable[[StoreDesk, float], T]) -> T:
        job: Job[StoreDesk] = Job(work)
        writer = self._writer
        while writer is None or not writer.take(job):
            writer = self._successor(writer)
        return cast("T", await job.future)

    def _successor(self, before: Writer[StoreDesk] | None) -> Writer[StoreDesk]:
        """A writer at work, in place of none or of one that takes no more jobs."""
        with self._gate:
            writer = self._writer
            if writer is None or writer is before:
                writer = self._writer = Writer(self._desk())
                # Also called when the store is forgotten, and at the process's exit.
                self._end = weakref.finalize(self, _finish, writer)
            return writer


def _nothing(desk: StoreDesk, asked: float) -> None:
    """Work that is done as soon as it is reached."""


def _finish(writer: Writer[StoreDesk]) -> None:
    writer.finish()
    writer.wait(_AT_EXIT)
