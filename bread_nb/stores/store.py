"""What a store is: seven verbs over typed records and ordered logs.

A record is one frozen value with an id. A log is a named, numbered list of JSON
entries. `atomic` does several steps or none. A new feature adds a record type, never
a verb.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue

__all__ = [
    "Add",
    "Append",
    "Claim",
    "Drop",
    "DropLog",
    "Entry",
    "Fields",
    "Put",
    "Record",
    "Step",
    "Store",
]

Fields = Mapping[str, JsonValue]


class Record(BaseModel):
    """A frozen value that is kept, found by its id.

    Subclasses set `kind`, the name of their shelf, which never changes. The fields
    `run_id`, `session_id`, `agent_id`, `status` and `created_at`, where a record has
    them, are quick to query by, apart from those in `seldom`: keeping a field quick to
    query by costs as much as keeping the record. A field's default never changes:
    bodies leave it out.
    """

    # With "constants" a number that is none is noticed when it is kept, not nulled.
    model_config = ConfigDict(
        frozen=True, extra="ignore", defer_build=True, ser_json_inf_nan="constants"
    )

    kind: ClassVar[str]
    seldom: ClassVar[frozenset[str]] = frozenset()
    id: str


R = TypeVar("R", bound=Record)


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a log: its number, from 1, and its value."""

    seq: int
    value: JsonValue


@dataclass(frozen=True, slots=True)
class Put:
    """Keep a record; with `new`, only if there is none with its id."""

    record: Record
    new: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """Change fields of a record, if it is there and its fields are as expected."""

    kind: type[Record]
    id: str
    expect: Fields
    change: Fields


@dataclass(frozen=True, slots=True)
class Add:
    """Add to a whole-number field of a record; the step's result is the new value."""

    kind: type[Record]
    id: str
    field: str
    amount: int


@dataclass(frozen=True, slots=True)
class Append:
    """Put entries at the end of a log; a number already taken fails the step."""

    log: str
    entries: Sequence[Entry]


@dataclass(frozen=True, slots=True)
class Drop:
    """Forget a record; one that is not there is no fault."""

    kind: type[Record]
    id: str


@dataclass(frozen=True, slots=True)
class DropLog:
    """Forget a log."""

    log: str


Step = Put | Claim | Add | Append | Drop | DropLog


class Store(Protocol):
    """Where everything is kept.

    All verbs may be called from any thread's event loop. A store opens itself at the
    first verb and may be closed and used again.

    Raises (all verbs):
        BreadError: `STORE_LOCKED`, `STORE_NEWER`, `STORE_UNWRITABLE` or
            `STORE_CORRUPT`; nothing was changed.
    """

    async def get(self, kind: type[R], id: str) -> R | None:
        """The record with this id, or None."""
        ...

    async def put(self, record: Record) -> None:
        """Keep a record in place of any other with its id."""
        ...

    async def claim(
        self, kind: type[R], id: str, expect: Fields, change: Fields
    ) -> R | None:
        """Change a record if it is as expected; the changed record, or None."""
        ...

    async def query(
        self,
        kind: type[R],
        where: Fields | None = None,
        *,
        newest_first: bool = False,
        limit: int | None = None,
    ) -> list[R]:
        """Records whose fields equal `where`, in the order of `created_at` and id.

        A mapping in `where` matches when the record's mapping holds all its pairs.
        """
        ...

    async def append(self, log: str, entries: Sequence[Entry]) -> None:
        """Put entries at the end of a log."""
        ...

    async def read(
        self,
        log: str,
        *,
        after: int = 0,
        limit: int | None = None,
        newest: int | None = None,
    ) -> list[Entry]:
        """Entries numbered above `after` in order; with `newest`, the last so many."""
        ...

    async def atomic(self, *steps: Step) -> list[JsonValue] | None:
        """Do all steps, or none.

        Returns one value a step (the new number for `Add`, else None), or None when a
        `Claim`, a new `Put`, an `Add` to a missing record or an `Append` found things
        otherwise than expected; then nothing was changed.
        """
        ...

    async def close(self) -> None:
        """Write what is open and let go of files and connections."""
        ...
