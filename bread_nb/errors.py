"""Every exception of bread_nb.

    BreadError                    code, why, do, retryable, context
    ├── ProviderError             a model's service answered with a fault (status)
    ├── ToolError                 a tool raised
    ├── TimeoutError              an idle wait or a deadline ran out
    ├── ValidationError           a value does not fit its schema (problems)
    ├── CircuitOpenError          a breaker refuses the call for now
    ├── BreadStopped              a run in a cell ended before it was finished
    └── Halt                      a rule ends the run as a value (rule, decision)

An error says what happened, why, and what to do next. Its text is those three
lines; `code` never changes between versions.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import JsonValue

__all__ = [
    "BreadError",
    "BreadStopped",
    "CircuitOpenError",
    "Halt",
    "ProviderError",
    "TimeoutError",
    "ToolError",
    "ValidationError",
    "closest",
    "words_of",
]


class BreadError(Exception):
    """A fault with a stable code, its evidence and the next step.

    Args:
        what: One sentence that says what happened.
        code: The stable code, such as `AGENT_NOT_FOUND`.
        why: The evidence.
        do: The next step, where possible a thing that can be pasted.
        retryable: Whether the same call may work when it is tried again.
        context: JSON values for programs.
    """

    code: str = "AGENT_ERROR"

    def __init__(
        self,
        what: str,
        *,
        code: str | None = None,
        why: str = "",
        do: str = "",
        retryable: bool = False,
        context: Mapping[str, JsonValue] | None = None,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.code = code or type(self).code
        self.why = why
        self.do = do
        self.retryable = retryable
        self.context: dict[str, JsonValue] = dict(context or {})

    def lines(self) -> list[str]:
        """The lines a person reads: what and code, why, do."""
        lines = [f"{self.what} [{self.code}]"]
        if self.why:
            lines.append(f"  why  {self.why}")
        if self.do:
            lines.append(f"  do   {self.do}")
        return lines

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _render_traceback_(self) -> list[str]:
        """IPython shows these lines in place of a traceback."""
        return self.lines()


class ProviderError(BreadError):
    """A model's service answered with a fault.

    Args:
        what: One sentence that says what happened.
        status: The HTTP status, or None when there was no answer.
        retry_after: Seconds the service asked to wait, or None.
        **rest: As for `BreadError`.
    """

    code = "PROVIDER_ERROR"

    def __init__(
        self,
        what: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        code: str | None = None,
        why: str = "",
        do: str = "",
        retryable: bool = False,
        context: Mapping[str, JsonValue] | None = None,
    ) -> None:
        super().__init__(
            what, code=code, why=why, do=do, retryable=retryable, context=context
        )
        self.status = status
        self.retry_after = retry_after


class ToolError(BreadError):
    """A tool raised; the message names the exception's type."""

    code = "TOOL_ERROR"


class TimeoutError(BreadError):
    """An idle wait (`ETIMEDOUT`, retryable) or a deadline (`EDEADLINE`) ran out."""

    code = "ETIMEDOUT"


class ValidationError(BreadError):
    """A value does not fit its schema; `problems` has one line a fault."""

    code = "INVALID_INPUT"

    def __init__(
        self,
        what: str,
        *,
        problems: Iterable[str] = (),
        code: str | None = None,
        why: str = "",
        do: str = "",
        context: Mapping[str, JsonValue] | None = None,
    ) -> None:
        self.problems = list(problems)
        super().__init__(
            what,
            code=code,
            why=why or "; ".join(self.problems),
            do=do,
            context=context,
        )


class CircuitOpenError(BreadError):
    """A circuit breaker refuses the call for now."""

    code = "CIRCUIT_OPEN"


class BreadStopped(BreadError):
    """A run in a cell ended before it was finished: stopped, or at a bound."""

    code = "BreadStopped"


class Halt(BreadError):
    """A rule ends the run as a value; no layer may turn it into anything else.

    Args:
        rule: The rule that fired; the run ends with `Stopped("halt:<rule>")`.
        decision: What the gate decided, for programs.
    """

    code = "HALT"

    def __init__(
        self,
        rule: str = "unknown",
        decision: JsonValue = None,
        *,
        why: str = "",
        do: str = "",
    ) -> None:
        super().__init__(f"Halted by {rule}.", why=why, do=do)
        self.rule = rule or "unknown"
        self.decision = decision


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like `name`, or None when none is near."""
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return found[0] if found else None


def words_of(error: BaseException) -> str:
    """What an exception says, also when it cannot say it."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001
        return "its message cannot be read"
