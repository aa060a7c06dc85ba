"""Every exception of bread_nb.

    BreadError                    code, why, do, retryable, context
    ├── ProviderError             a model's service answered with a fault (status)
    │   └── FallbackError         all models of a Fallback failed (failures)
    ├── ToolError                 a tool raised
    ├── TimeoutError              an idle wait or a deadline ran out
    ├── ValidationError           a value does not fit its schema (problems)
    ├── CircuitOpenError          a breaker refuses the call for now (seconds)
    ├── BreadStopped              a run in a cell ended before it was finished
    └── Halt                      a rule ends the run as a value (rule, decision)

An error says what happened, why, and what to do next. Its text is those three
lines; `code` never changes between versions.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import JsonValue

__all__ = [
    "BreadError",
    "BreadStopped",
    "CircuitOpenError",
    "FallbackError",
    "Halt",
    "ProviderError",
    "TimeoutError",
    "ToolError",
    "ValidationError",
    "closest",
    "named",
    "not_yet",
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

    Attributes:
        exhausted: Whether the model's own retries have given up on it: the engine's
            unconfigured retry does not come on top.
        acted: Whether calls had already run in the turn that failed: nobody may ask
            for that turn a second time.
        replayed: Whether a recording said it: nobody waits before the next try.
    """

    code: str = "AGENT_ERROR"
    exhausted: bool = False
    acted: bool = False
    replayed: bool = False

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
    """A model's service answered with a fault; the rest is as for `BreadError`.

    Args:
        what: One sentence that says what happened.
        status: The HTTP status, or None when there was no answer.
        retry_after: Seconds the service asked to wait, or None.
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


class FallbackError(ProviderError):
    """All models of a `Fallback` failed; `failures` are theirs, in order."""

    code = "ALL_MODELS_FAILED"

    def __init__(self, failures: Sequence[tuple[str, BreadError]]) -> None:
        self.failures = tuple(error for _, error in failures)
        waits = [getattr(error, "retry_after", None) for error in self.failures]
        tried = [
            error
            for error in self.failures
            if error.retryable and isinstance(error, ProviderError | TimeoutError)
        ]
        told: list[JsonValue] = [
            {"model": name, "code": error.code, "message": error.what}
            for name, error in failures
        ]
        super().__init__(
            f"None of {len(told)} models answered.",
            status=getattr(self.failures[-1], "status", None),
            retry_after=max((wait for wait in waits if wait), default=None),
            why="; ".join(f"{name}: {e.what} [{e.code}]" for name, e in failures),
            do=self.failures[-1].do,
            retryable=any(error.retryable for error in self.failures),
            context={"failures": told},
        )
        self.exhausted = any(e.exhausted for e in self.failures) or not tried
        self.acted = self.failures[-1].acted


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
    """A circuit breaker refuses the call for now; `seconds` are left until a trial."""

    code = "CIRCUIT_OPEN"

    def __init__(
        self,
        what: str,
        *,
        seconds: float = 0.0,
        why: str = "",
        do: str = "",
        context: Mapping[str, JsonValue] | None = None,
    ) -> None:
        self.seconds = seconds
        told: dict[str, JsonValue] = {"seconds": seconds, **(context or {})}
        super().__init__(what, why=why, do=do, retryable=True, context=told)


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


def not_yet(owner: str, name: str) -> BreadError:
    """The error for a field or an option whose capability has not come yet."""
    return BreadError(
        f"{owner}({name}=...) is not available yet.",
        code="NOT_AVAILABLE",
        why="this version has no such capability.",
        do=f"leave {name} out",
    )


def words_of(error: BaseException) -> str:
    """What an exception says, also when it cannot say it."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001
        return "its message cannot be read"


def named(error: BaseException) -> str:
    """The type of an exception and what it says."""
    name, text = type(error).__name__, words_of(error)
    return f"{name}: {text}" if text else name
