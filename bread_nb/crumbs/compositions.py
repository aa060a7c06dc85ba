"""Crumbs of what runs are made into: sub-agents, steps, loops, plans and tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import JsonValue

from bread_nb.crumbs.crumb import Crumb

__all__ = [
    "ContextFold",
    "ContextRestore",
    "EvalVerdict",
    "IterationEnd",
    "IterationStart",
    "LoopEnd",
    "LoopStart",
    "NodeEnd",
    "NodeStart",
    "PlanCreated",
    "ScheduleFired",
    "SkillLoaded",
    "StepEnd",
    "StepStart",
    "SubagentEnd",
    "SubagentStart",
    "TaskEnd",
    "TaskStart",
]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SubagentStart(Crumb):
    """A delegated run began."""

    type: ClassVar[str] = "subagent:run:start"
    parent_agent_id: str
    subagent_id: str
    input: JsonValue = None
    skill: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SubagentEnd(Crumb):
    """A delegated run ended."""

    type: ClassVar[str] = "subagent:run:end"
    parent_agent_id: str
    subagent_id: str
    output: JsonValue
    duration_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class StepStart(Crumb):
    """A pipeline step began."""

    type: ClassVar[str] = "pipeline:step:start"
    pipeline_id: str
    step_index: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class StepEnd(Crumb):
    """A pipeline step ended."""

    type: ClassVar[str] = "pipeline:step:end"
    pipeline_id: str
    step_index: int
    output: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LoopStart(Crumb):
    """An agent-driven loop began."""

    type: ClassVar[str] = "loop:start"
    loop_id: str
    pipeline: list[str]
    max_iterations: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class IterationStart(Crumb):
    """A round of a loop began."""

    type: ClassVar[str] = "loop:iteration:start"
    loop_id: str
    iteration: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class IterationEnd(Crumb):
    """A round of a loop ended."""

    type: ClassVar[str] = "loop:iteration:end"
    loop_id: str
    iteration: int
    output: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LoopEnd(Crumb):
    """A loop ended."""

    type: ClassVar[str] = "loop:end"
    loop_id: str
    status: Literal["completed", "exhausted", "failed"]
    iterations: int
    result: JsonValue = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TaskStart(Crumb):
    """A registered one-shot began."""

    type: ClassVar[str] = "task:start"
    task_run_id: str
    task_id: str
    model: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TaskEnd(Crumb):
    """A registered one-shot ended."""

    type: ClassVar[str] = "task:end"
    task_run_id: str
    task_id: str
    status: Literal["completed", "failed"]
    duration_ms: int
    usage: JsonValue = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ContextFold(Crumb):
    """A stretch of the transcript was folded out of what the model reads."""

    type: ClassVar[str] = "context:fold"
    fold_id: str
    messages: int
    summary: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ContextRestore(Crumb):
    """A folded stretch came back."""

    type: ClassVar[str] = "context:restore"
    fold_id: str
    messages: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PlanCreated(Crumb):
    """A plan of steps was made."""

    type: ClassVar[str] = "plan:created"
    plan_id: str
    steps: list[JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class NodeStart(Crumb):
    """A node of a recursion began."""

    type: ClassVar[str] = "recurse:node:start"
    node_id: str
    task: str
    depth: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class NodeEnd(Crumb):
    """A node of a recursion ended."""

    type: ClassVar[str] = "recurse:node:end"
    node_id: str
    depth: int
    verdict: str
    blocker: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class EvalVerdict(Crumb):
    """A judge graded work."""

    type: ClassVar[str] = "eval:verdict"
    status: Literal["satisfied", "needs_revision", "failed"]
    score: float | None = None
    critique: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ScheduleFired(Crumb):
    """A due job was started."""

    type: ClassVar[str] = "schedule:fired"
    job_id: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SkillLoaded(Crumb):
    """A skill's text and tools were unlocked."""

    type: ClassVar[str] = "skill:loaded"
    skill_id: str
