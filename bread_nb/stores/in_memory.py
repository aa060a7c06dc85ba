"""The store that keeps everything in dictionaries, for tests and short lives.

What is kept is JSON text, so that no caller can change it and what comes back is what
any other store would give back.
"""

from __future__ import annotations

import threading
from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import JsonValue

from bread_nb.stores.bodies import (
    check_fields,
    columns_of,
    fields_of,
    matches,
    record_of,
    value_of,
)
from bread_nb.stores.steps import Draft, Group, Lines, prepare, reads
from bread_nb.stores.store import (
    Append,
    Claim,
    DropLog,
    Entry,
    Fields,
    Put,
    Record,
    Step,
)
from bread_nb.stores.store_errors import check_key, taken

__all__ = ["InMemoryStore"]

R = TypeVar("R", bound=Record)

_PLACE = "in memory"


@dataclass(slots=True)
class _Log:
    """The entries of a log by number, and the numbers in order."""

    lines: dict[int, str] = field(default_factory=dict[int, str])
    order: list[int] = field(default_factory=list[int])


class InMemoryStore:
    """A store that forgets everything with the process."""

    def __init__(self) -> None:
        self.place = _PLACE
        self._gate = threading.Lock()
        self._shelves: dict[str, dict[str, str]] = {}
        self._logs: dict[str, _Log] = {}

    async def get(self, kind: type[R], id: str) -> R | None:
        """The record with this id, or None."""
        with self._gate:
            body = self._body(kind.kind, check_key(id))
        return None if body is None else record_of(kind, id, body, _PLACE)

    async def put(self, record: Record) -> None:
        """Keep a record in place of any other with its id."""
        self._change([Put(record)])

    async def claim(
        self, kind: type[R], id: str, expect: Fields, change: Fields
    ) -> R | None:
        """Change a record if it is as expected; the changed record, or None."""
        group = self._change([Claim(kind, id, expect, change)])
        if group is None:
            return None
        return record_of(kind, id, group.draft(kind, id).text(), _PLACE)

    async def query(
        self,
        kind: type[R],
        where: Fields | None = None,
        *,
        newest_first: bool = False,
        limit: int | None = None,
    ) -> list[R]:
        """Records whose fields equal `where`, in the order of `created_at` and id."""
        wanted = where or {}
        check_fields(kind, wanted)
        with self._gate:
            bodies = list(self._shelves.get(kind.kind, {}).items())
        records = [
            record_of(kind, id, body, _PLACE)
            for id, body in bodies
            if matches(kind, fields_of(kind, id, body, _PLACE), wanted)
        ]
        records.sort(key=_by_time, reverse=newest_first)
        return records if limit is None else records[: max(limit, 0)]

    async def append(self, log: str, entries: Sequence[Entry]) -> None:
        """Put entries at the end of a log.

        Raises:
            BreadError: `STORE_CONFLICT` when a number is taken.
        """
        if entries and self._change([Append(log, entries)]) is None:
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
        with self._gate:
            kept = self._logs.get(check_key(log), _Log())
            numbers = kept.order[bisect_right(kept.order, after) :]
            if newest is not None:
                numbers = numbers[max(len(numbers) - max(newest, 0), 0) :]
            if limit is not None:
                numbers = numbers[: max(limit, 0)]
            lines = [(seq, kept.lines[seq]) for seq in numbers]
        return [Entry(seq, value_of(text, _PLACE, log, seq)) for seq, text in lines]

    async def atomic(self, *steps: Step) -> list[JsonValue] | None:
        """Do all steps, or none; the value of each step, or None."""
        group = self._change(steps)
        return None if group is None else group.values

    async def close(self) -> None:
        """Nothing to let go of; everything is kept."""

    def _change(self, steps: Sequence[Step]) -> Group | None:
        prepared = prepare(steps)
        with self._gate:
            held = {key: self._body(*key) for key in reads(prepared)}
            group = Group(prepared, held, _PLACE)
            if not group.work():
                return None
            if not self._free(group.logs):
                return None
            bodies = [(draft, draft.text()) for draft in group.drafts]
            for step in group.logs:
                self._write_log(step)
            for draft, text in bodies:
                self._write(draft, text)
        return group

    def _free(self, steps: Sequence[Lines | DropLog]) -> bool:
        """Whether no number of these entries is taken."""
        dropped: set[str] = set()
        added: set[tuple[str, int]] = set()
        for step in steps:
            if isinstance(step, DropLog):
                dropped.add(step.log)
                added = {place for place in added if place[0] != step.log}
                continue
            kept = None if step.log in dropped else self._logs.get(step.log)
            for seq, _ in step.entries:
                if (step.log, seq) in added or (kept and seq in kept.lines):
                    return False
                added.add((step.log, seq))
        return True

    def _write_log(self, step: Lines | DropLog) -> None:
        if isinstance(step, DropLog):
            self._logs.pop(step.log, None)
            return
        kept = self._logs.setdefault(step.log, _Log())
        for seq, text in step.entries:
            kept.lines[seq] = text
            insort(kept.order, seq)

    def _body(self, kind: str, id: str) -> str | None:
        return self._shelves.get(kind, {}).get(id)

    def _write(self, draft: Draft, text: str) -> None:
        shelf = self._shelves.setdefault(draft.kind.kind, {})
        if draft.gone:
            shelf.pop(draft.id, None)
        else:
            shelf[draft.id] = text


def _by_time(record: Record) -> tuple[bool, int, str]:
    made = columns_of(record)["created_at"]
    return isinstance(made, int), made if isinstance(made, int) else 0, record.id
