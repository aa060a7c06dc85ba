"""The fields all crumbs share, and errors as they travel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from pydantic import JsonValue

from bread_nb.errors import BreadError, words_of

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
        text = words_of(error)
        name = type(error).__name__
        return ErrorInfo("AGENT_ERROR", f"{name}: {text}" if text else name)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Crumb:
    """The fields all crumbs share. `seq` numbers a run's crumbs from 1.

    A text or reasoning delta carries the number of the crumb before it and does not
    count; the log keeps deltas joined, with numbers of their own.
    """

    type: ClassVar[str] = ""
    agent_id: str
    run_id: str
    session_id: str | None = None
    timestamp: int
    seq: int | None = None
    extra: Mapping[str, JsonValue] = field(default_factory=_nothing)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownCrumb(Crumb):
    """A crumb of a newer version, kept as it came."""

    name: str = ""
