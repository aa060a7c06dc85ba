"""Hooks: functions of the user's that stand round a run, a task or a tool call.

`before_run` may change the input or end the call at once, `after_run` may replace the
output, `on_error` may answer a failure, `on_suspend` watches. Source: the Agents
document, "Hooks".
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from pydantic import JsonValue

from bread_nb.base.retry import RetryPolicy
from bread_nb.errors import BreadError

__all__ = [
    "Continue",
    "ErrorHandling",
    "Fail",
    "HookContext",
    "HookResult",
    "Hooks",
    "Recover",
    "Replace",
    "Retry",
    "ShortCircuit",
]


@dataclass(frozen=True, slots=True)
class Continue:
    """Go on with this input instead (`before_run`)."""

    input: object


@dataclass(frozen=True, slots=True)
class ShortCircuit:
    """End here with this output; it counts as a normal completion (`before_run`)."""

    output: object


@dataclass(frozen=True, slots=True)
class Replace:
    """Return and store this output instead (`after_run`)."""

    output: object


@dataclass(frozen=True, slots=True)
class Recover:
    """Use this output as if it had worked (`on_error`)."""

    output: object


@dataclass(frozen=True, slots=True)
class Retry:
    """Try again (`on_error`)."""


@dataclass(frozen=True, slots=True)
class Fail:
    """Fail with this error, at once (`on_error`)."""

    error: BaseException


HookResult = Continue | ShortCircuit | Replace | Recover | Retry | Fail | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HookContext:
    """What a hook is told. Fields that do not apply are None.

    `input` is the run's input, the task's input or the tool's arguments; `output` and
    `duration_ms` are set for `after_run`, `error` for `on_error`, `checkpoint_id` for
    `on_suspend`. `ctx` is the run's opaque data.
    """

    scope: Literal["agent", "task", "tool"]
    agent_id: str
    run_id: str
    session_id: str
    skill: str | None = None
    tool_name: str | None = None
    call_id: str | None = None
    credentials: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    store: object = field(default=None, repr=False)
    ctx: object = field(default=None, repr=False)
    input: object = None
    output: object = None
    duration_ms: int | None = None
    error: BreadError | None = None
    checkpoint_id: str | None = None
    checkpoint: JsonValue = None

    def but(self, **changes: object) -> HookContext:
        """The same context with other values for some fields."""
        return replace(self, **changes)  # type: ignore[arg-type]


Hook = Callable[[HookContext], "HookResult | Awaitable[HookResult]"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """Four places for a function; each may be sync or async."""

    before_run: Hook | None = None
    after_run: Hook | None = None
    on_error: Hook | None = None
    on_suspend: Hook | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorHandling:
    """What happens to an error no hook has answered: by default it is tried again."""

    retry: RetryPolicy | None = None
