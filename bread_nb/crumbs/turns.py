"""Crumbs of a run: its turns, its tools, its people and its bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import JsonValue

from bread_nb.crumbs.crumb import Crumb, ErrorInfo

__all__ = [
    "BudgetWarn",
    "FileGenerated",
    "GateDecided",
    "GateHalted",
    "HumanRequired",
    "HumanResumed",
    "ModelRetry",
    "ModelUsed",
    "ReasoningDelta",
    "RunEnd",
    "RunFailed",
    "RunStart",
    "TextDelta",
    "ToolCalled",
    "ToolFailed",
    "ToolInputDelta",
    "ToolInputEnd",
    "ToolInputStart",
    "ToolPartial",
    "ToolReturned",
]

HumanKind = Literal["input", "approval", "outcome", "halt"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RunStart(Crumb):
    """A run began; `input` is what the before-hooks left."""

    type: ClassVar[str] = "agent:run:start"
    input: JsonValue
    skill: str | None = None
    model: str | None = None
    steps: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RunEnd(Crumb):
    """A run ended; with a `stop_reason` it ended at a bound."""

    type: ClassVar[str] = "agent:run:end"
    output: JsonValue
    duration_ms: int
    files: list[JsonValue] | None = None
    stop_reason: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RunFailed(Crumb):
    """A run ended in an error."""

    type: ClassVar[str] = "agent:error"
    error: ErrorInfo


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TextDelta(Crumb):
    """A piece of the answer."""

    type: ClassVar[str] = "text:delta"
    delta: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ReasoningDelta(Crumb):
    """A piece of what the model thinks."""

    type: ClassVar[str] = "reasoning:delta"
    delta: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class FileGenerated(Crumb):
    """A file was made and stored."""

    type: ClassVar[str] = "file:generated"
    uri: str
    mime_type: str
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ToolInputStart(Crumb):
    """The model began to write the arguments of a call."""

    type: ClassVar[str] = "tool:input:start"
    tool_call_id: str
    tool_name: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ToolInputDelta(Crumb):
    """A piece of a call's arguments."""

    type: ClassVar[str] = "tool:input:delta"
    tool_call_id: str
    delta: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ToolInputEnd(Crumb):
    """The arguments of a call are written."""

    type: ClassVar[str] = "tool:input:end"
    tool_call_id: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ToolCalled(Crumb):
    """A tool starts, with the arguments the hooks left."""

    type: ClassVar[str] = "tool:call"
    tool_call_id: str
    tool_name: str
    args: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ToolReturned(Crumb):
    """A tool returned."""

    type: ClassVar[str] = "tool:result"
    tool_call_id: str
    tool_name: str
    result: JsonValue
    duration_ms: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ToolPartial(Crumb):
    """A tool tells of its progress."""

    type: ClassVar[str] = "tool:result:partial"
    tool_call_id: str
    tool_name: str
    result: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ToolFailed(Crumb):
    """A call failed, was refused or was cut short; the model is told."""

    type: ClassVar[str] = "tool:error"
    tool_call_id: str
    tool_name: str
    error: ErrorInfo
    duration_ms: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class HumanRequired(Crumb):
    """A call waits for a person.

    `schema` is the JSON Schema of the answer's `answer` or edited `args`; `args` are
    the call's arguments; `rule` is why it asks.
    """

    type: ClassVar[str] = "human:required"
    checkpoint_id: str
    tool_name: str
    schema: JsonValue
    kind: HumanKind
    prompt: str | None = None
    args: JsonValue = None
    tool_call_id: str | None = None
    rule: str | None = None
    effect: str | None = None
    handle: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class HumanResumed(Crumb):
    """A person (or an expiry, or the end of the run) settled a checkpoint."""

    type: ClassVar[str] = "human:resumed"
    checkpoint_id: str
    response: JsonValue
    kind: HumanKind


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class GateDecided(Crumb):
    """The gate refused or asked; `rule` and `reason` say why."""

    type: ClassVar[str] = "gate:decision"
    tool_name: str
    decision: Literal["allow", "ask", "deny"]
    rule: str
    reason: str | None = None
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class GateHalted(Crumb):
    """A rule ended the run."""

    type: ClassVar[str] = "gate:halt"
    rule: str
    reason: str | None = None
    spent: float | None = None
    cap: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class BudgetWarn(Crumb):
    """A budget is nearly spent."""

    type: ClassVar[str] = "budget:warn"
    rule: str
    spent: float
    cap: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ModelUsed(Crumb):
    """One model call ended.

    `cost` is unknown when None, never 0 by default; with `partial` it may have been
    more. `kind` is `turn`, `cut` for a try that gave no answer, or `session` for the
    end of several `turns` that a program made by itself: their cost, and the tokens
    they did not tell. With
    `temperature_dropped` the service refused the temperature and answered without it.
    """

    type: ClassVar[str] = "model:usage"
    model: str
    turn: int
    usage: JsonValue
    stop_reason: str | None = None
    cost: float | None = None
    currency: str | None = None
    cost_source: str | None = None
    partial: bool | None = None
    kind: str = "turn"
    turns: int | None = None
    temperature_dropped: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ModelRetry(Crumb):
    """A model call is tried again; text of the failed try is withdrawn.

    `model` is who is asked next, where it is another model.
    """

    type: ClassVar[str] = "model:retry"
    attempt: int
    attempts: int
    delay_ms: int
    error: ErrorInfo
    model: str | None = None
