"""What the gate is asked and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from bread_nb.base.effects import Effect, Unknown
from bread_nb.base.names import Origin, leaf_name, perm_id

__all__ = ["Action", "Allow", "Ask", "Deny", "HaltRun", "Rule", "Verdict"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One call that somebody wants to make: who, which tool, with what, to what end.

    `approved` says that a person has approved this very call; `ctx` is the run's opaque
    data.
    """

    agent_id: str
    run_id: str
    session_id: str
    origin: Origin
    args: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    effect: Effect = Unknown()
    approved: bool = False
    ctx: object = field(default=None, repr=False)

    @property
    def tool(self) -> str:
        """The tool's permission id, such as `tool:publish`."""
        return perm_id(self.origin)

    @property
    def leaf(self) -> str:
        """The name the model reads."""
        return leaf_name(self.origin)


@dataclass(frozen=True, slots=True)
class Allow:
    """The call may go ahead."""

    rule: str = "default"


@dataclass(frozen=True, slots=True)
class Ask:
    """A person decides; `always` means no rule may be added that skips the question."""

    rule: str
    reason: str | None = None
    always: bool = False


@dataclass(frozen=True, slots=True)
class Deny:
    """The call is refused; `reason` reaches the model."""

    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class HaltRun:
    """The run ends here."""

    rule: str
    reason: str = ""


Verdict = Allow | Ask | Deny | HaltRun
Rule = Callable[[Action], "Verdict | bool | str | None"]
