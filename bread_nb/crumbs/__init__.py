"""Every event a run may drop, and their form on the wire.

A crumb tells; it never decides. The types and fields are bread's, the wire form is
JSON in camelCase. `from_wire(to_wire(crumb)) == crumb` for every type; a type this
version does not know is kept as an `UnknownCrumb`. The crumbs of compositions are
loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bread_nb.base.later import names_of
from bread_nb.crumbs.codec import from_wire, to_wire
from bread_nb.crumbs.crumb import Crumb, ErrorInfo, UnknownCrumb
from bread_nb.crumbs.turns import (
    BudgetWarn,
    FileGenerated,
    GateDecided,
    GateHalted,
    HumanRequired,
    HumanResumed,
    ModelRetry,
    ModelUsed,
    ReasoningDelta,
    RunEnd,
    RunFailed,
    RunStart,
    TextDelta,
    ToolCalled,
    ToolFailed,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
    ToolPartial,
    ToolReturned,
)

if TYPE_CHECKING:
    from bread_nb.crumbs.compositions import (
        ContextFold,
        ContextRestore,
        EvalVerdict,
        IterationEnd,
        IterationStart,
        LoopEnd,
        LoopStart,
        NodeEnd,
        NodeStart,
        PlanCreated,
        ScheduleFired,
        SkillLoaded,
        StepEnd,
        StepStart,
        SubagentEnd,
        SubagentStart,
        TaskEnd,
        TaskStart,
    )

__all__ = [
    "BudgetWarn",
    "ContextFold",
    "ContextRestore",
    "Crumb",
    "ErrorInfo",
    "EvalVerdict",
    "FileGenerated",
    "GateDecided",
    "GateHalted",
    "HumanRequired",
    "HumanResumed",
    "IterationEnd",
    "IterationStart",
    "LoopEnd",
    "LoopStart",
    "ModelRetry",
    "ModelUsed",
    "NodeEnd",
    "NodeStart",
    "PlanCreated",
    "ReasoningDelta",
    "RunEnd",
    "RunFailed",
    "RunStart",
    "ScheduleFired",
    "SkillLoaded",
    "StepEnd",
    "StepStart",
    "SubagentEnd",
    "SubagentStart",
    "TaskEnd",
    "TaskStart",
    "TextDelta",
    "ToolCalled",
    "ToolFailed",
    "ToolInputDelta",
    "ToolInputEnd",
    "ToolInputStart",
    "ToolPartial",
    "ToolReturned",
    "UnknownCrumb",
    "from_wire",
    "to_wire",
]


__getattr__ = names_of(__name__, {"compositions": __all__})
