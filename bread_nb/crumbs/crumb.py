"""The fields all crumbs share, and errors as they travel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import ClassVar

from pydantic import JsonValue

from bread_nb.errors import BreadError, named

__all__ = [
    "Crumb",
    "ErrorInfo",
    "UnknownCrumb",
]


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """An error as it travels: no cause, no stack."""

    code: str
    message: str
    why: str = ""
    do: str = ""
    retryable: bool = False
    context: Mapping[str, JsonValue] | None = None

    @staticmethod
    def of(error: BaseException) -> ErrorInfo:
        """What an exception says; one without a code is an `AGENT_ERROR`."""
        if isinstance(error, BreadError):
            return ErrorInfo(
                error.code,
                error.what,
                error.why,
                error.do,
                error.retryable,
                error.context or None,
            )
        return ErrorInfo("AGENT_ERROR", named(error))

    def error(self) -> BreadError:
        """A real exception that says the same."""
        return BreadError(
            self.message,
            code=self.code,
            why=self.why,
            do=self.do,
            retryable=self.retryable,
            context=self.context,
        )


def _nothing() -> dict[str, JsonValue]:
    """No further fields; `dict[…]` as a factory takes seven times as long."""
    return {}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Crumb:
    """The fields all crumbs share. `seq` numbers a run's crumbs from 1.

    A text or reasoning delta carries the number of the crumb before it and does not
    count; the log keeps deltas joined, with numbers of their own. Comparing and showing
    are written once here: making them for each type took half of the import.
    """

    type: ClassVar[str] = ""
    agent_id: str
    run_id: str
    session_id: str | None = None
    timestamp: int
    seq: int | None = None
    extra: Mapping[str, JsonValue] = field(default_factory=_nothing)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        names = [each.name for each in fields(self)]
        return all(getattr(self, name) == getattr(other, name) for name in names)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        told = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self))
        return f"{type(self).__name__}({', '.join(told)})"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class UnknownCrumb(Crumb):
    """A crumb of a newer version, kept as it came."""

    name: str = ""
