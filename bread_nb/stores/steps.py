"""Steps worked out on records in memory: what is to be kept, or that it cannot be.

Every store does the same here: it hands in the bodies of the records whose fields a
step looks at, and writes what comes out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import assert_never, cast

from pydantic import JsonValue

from bread_nb.stores.bodies import (
    Column,
    Columns,
    as_expected,
    body_of,
    check_fields,
    column,
    columns_in,
    columns_of,
    copied,
    defaults_of,
    fields_of,
    text_of,
)
from bread_nb.stores.store import Add, Append, Claim, Drop, DropLog, Put, Record, Step
from bread_nb.stores.store_errors import check_key

__all__ = ["Draft", "Group", "Keep", "Key", "Lines", "Prepared", "prepare", "reads"]

Key = tuple[str, str]
Body = bytes | str


@dataclass(frozen=True, slots=True)
class Keep:
    """A `Put` with its record as text."""

    kind: type[Record]
    id: str
    columns: Columns
    body: str
    new: bool


@dataclass(frozen=True, slots=True)
class Lines:
    """An `Append` with its entries as text."""

    log: str
    entries: list[tuple[int, str]]


Prepared = Keep | Claim | Add | Lines | Drop | DropLog


def prepare(steps: Sequence[Step]) -> list[Prepared]:
    """Steps with records and entries as text, so that later changes do not count.

    Raises:
        ValueError: When a value has no JSON form or a field is not of its kind.
    """
    return [_prepared(step) for step in steps]


def _prepared(step: Step) -> Prepared:
    match step:
        case Put(record, new):
            key = check_key(record.id)
            return Keep(type(record), key, columns_of(record), body_of(record), new)
        case Append(log, entries):
            lines = [(entry.seq, text_of(entry.value)) for entry in entries]
            return Lines(check_key(log), lines)
        case Claim(kind, id, expect, change):
            check_fields(kind, expect)
            check_fields(kind, change)
            if "id" in change:
                raise ValueError(f"the id of a {kind.kind} never changes")
            return Claim(kind, check_key(id), copied(expect), copied(change))
        case Add(kind, _, name, _):
            check_fields(kind, {name: None})
        case Drop() | DropLog():
            pass
        case _:
            assert_never(step)
    check_key(step.log if isinstance(step, DropLog) else step.id)
    return step


def reads(steps: Sequence[Prepared]) -> list[Key]:
    """The records whose bodies a group of steps must know."""
    keys: dict[Key, None] = {}
    for step in steps:
        if isinstance(step, Claim | Add) or (isinstance(step, Keep) and step.new):
            keys[step.kind.kind, step.id] = None
    return list(keys)


@dataclass(slots=True)
class Draft:
    """One record as a group of steps leaves it.

    `columns` holds the columns that are to be written. `there` says whether the
    store has the record already, None when nobody has looked.
    """

    kind: type[Record]
    id: str
    there: bool | None
    body: Body | None
    columns: Columns = field(default_factory=dict[str, Column])
    fields: dict[str, JsonValue] | None = None
    changed: bool = False

    @property
    def gone(self) -> bool:
        """Whether there is no such record."""
        return self.body is None

    def text(self) -> str:
        """The body to be written, or as it was read."""
        if self.fields is not None and self.changed:
            return text_of(cast("JsonValue", self.fields), self.kind)
        body = self.body or ""
        return body if isinstance(body, str) else body.decode()


class Group:
    """Steps that happen together or not at all.

    Args:
        steps: The steps, prepared.
        held: The bodies of the records that `reads` named, None where there is none.
        place: The store, for a person.
    """

    def __init__(
        self, steps: Sequence[Prepared], held: Mapping[Key, Body | None], place: str
    ) -> None:
        self._steps = steps
        self._held = held
        self._place = place
        self._drafts: dict[Key, Draft] = {}
        self.logs: list[Lines | DropLog] = []
        self.values: list[JsonValue] = []

    def work(self) -> bool:
        """Work out all steps; False when one found things otherwise than expected."""
        return all(self._step(step) for step in self._steps)

    @property
    def drafts(self) -> list[Draft]:
        """The records to be written or, where they have no body, dropped."""
        return [draft for draft in self._drafts.values() if draft.changed]

    def draft(self, kind: type[Record], id: str) -> Draft:
        """The record with this id as the steps so far leave it."""
        key = (kind.kind, id)
        found = self._drafts.get(key)
        if found is None:
            looked = key in self._held
            body = self._held.get(key)
            there = body is not None if looked else None
            found = self._drafts[key] = Draft(kind, id, there, body)
        return found

    def _step(self, step: Prepared) -> bool:
        value: JsonValue = None
        match step:
            case Keep():
                if not self._keep(step):
                    return False
            case Claim():
                if not self._claim(step):
                    return False
            case Add():
                value = self._add(step)
                if value is None:
                    return False
            case Lines() | DropLog():
                self.logs.append(step)
            case Drop():
                draft = self.draft(step.kind, step.id)
                draft.body, draft.fields, draft.changed = None, None, True
            case _:
                assert_never(step)
        self.values.append(value)
        return True

    def _keep(self, step: Keep) -> bool:
        draft = self.draft(step.kind, step.id)
        if step.new and draft.body is not None:
            return False
        draft.body, draft.fields, draft.changed = step.body, None, True
        draft.columns = dict(step.columns)
        return True

    def _claim(self, step: Claim) -> bool:
        draft = self.draft(step.kind, step.id)
        fields = self._fields(draft)
        if fields is None or not as_expected(step.kind, fields, step.expect):
            return False
        self._set(draft, fields, step.change)
        return True

    def _add(self, step: Add) -> int | None:
        draft = self.draft(step.kind, step.id)
        fields = self._fields(draft)
        if fields is None:
            return None
        value = fields.get(step.field, defaults_of(step.kind).get(step.field))
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError(f"{step.field} of a {step.kind.kind} is no whole number")
        self._set(draft, fields, {step.field: value + step.amount})
        return value + step.amount

    def _fields(self, draft: Draft) -> dict[str, JsonValue] | None:
        if draft.fields is None and draft.body is not None:
            draft.fields = fields_of(draft.kind, draft.id, draft.body, self._place)
        return draft.fields

    def _set(
        self,
        draft: Draft,
        fields: dict[str, JsonValue],
        change: Mapping[str, JsonValue],
    ) -> None:
        if not change:
            return
        fields.update(change)
        draft.changed = True
        for name in columns_in(draft.kind):
            if name in change:
                draft.columns[name] = column(name, change[name])
