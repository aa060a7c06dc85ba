"""What a run is made of for somebody who watches: turns, and the blocks in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

from bread_nb.crumbs import ErrorInfo, HumanRequired, ReasoningDelta, TextDelta

__all__ = [
    "Block",
    "Call",
    "CallState",
    "FileMade",
    "Form",
    "Mark",
    "Notice",
    "Prose",
    "Retried",
    "Row",
    "Stranger",
    "Turn",
    "tool_name",
]

CallState = Literal["running", "done", "failed", "denied", "waiting", "cut"]
MarkKind = Literal["model", "tool", "wait", "bad"]


def tool_name(leaf: str) -> str:
    """A tool's name as people read it: without `tool_` or `human_` in front."""
    for scope in ("tool_", "human_"):
        if leaf.startswith(scope) and len(leaf) > len(scope):
            return leaf.removeprefix(scope)
    return leaf


@dataclass(slots=True, kw_only=True)
class Prose:
    """Text of the model, or what it thought; kept in the pieces it came in."""

    id: str
    run_id: str
    delta: type[TextDelta] | type[ReasoningDelta]
    began: int
    until: int
    pieces: list[str] = field(default_factory=list[str])
    done: bool = False
    withdrawn: bool = False

    @property
    def text(self) -> str:
        """The pieces joined."""
        return "".join(self.pieces)

    @property
    def spoken(self) -> bool:
        """Whether it is text for the person, not reasoning."""
        return self.delta is TextDelta


@dataclass(slots=True, kw_only=True)
class Call:
    """One tool call, from the moment it is known to what became of it.

    `asked` holds the arguments as the agent wanted them, where a person changed them.
    `awaited` is true until the crumb with its result has come.
    """

    id: str
    call_id: str
    leaf: str
    mark: int
    args: JsonValue = None
    state: CallState = "running"
    began: int | None = None
    ms: int | None = None
    result: JsonValue = None
    returned: bool = False
    error: ErrorInfo | None = None
    partial: JsonValue = None
    decision: str | None = None
    asked: JsonValue = None
    changed: bool = False
    outcome_unknown: bool = False
    awaited: bool = True
    delegates: bool = False

    @property
    def name(self) -> str:
        """The tool's name as people read it."""
        return tool_name(self.leaf)

    @property
    def settled(self) -> bool:
        """Whether nothing more will happen to it by itself."""
        return self.state not in ("running", "waiting")


@dataclass(slots=True, kw_only=True)
class FileMade:
    """A file that the run made."""

    id: str
    uri: str
    mime: str
    name: str | None


@dataclass(slots=True, kw_only=True)
class Notice:
    """One line of news, with a figure where there is one."""

    id: str
    words: str
    done: float | None = None
    of: float | None = None


@dataclass(slots=True, kw_only=True)
class Retried:
    """A model call that is tried again; the text of the failed try is withdrawn."""

    id: str
    words: str
    withdrawn: str


@dataclass(slots=True, kw_only=True)
class Form:
    """A question to a person; `ended` is the line that stays when it is settled."""

    id: str
    crumb: HumanRequired
    mark: int
    call: Call | None = None
    asked_at: int = 0
    ended: str | None = None
    response: JsonValue = None

    @property
    def open(self) -> bool:
        """Whether it still waits."""
        return self.ended is None


@dataclass(slots=True, kw_only=True)
class Row:
    """A part of the run with a name of its own: sub-agent, step, round, loop, task.

    The story of a sub-agent's own run is kept beside it, in `Telling.stories`.
    """

    id: str
    what: Literal["agent", "step", "round", "loop", "task", "node"]
    name: str
    key: str
    began: int
    input: JsonValue = None
    state: CallState = "running"
    ms: int | None = None
    output: JsonValue = None
    returned: bool = False
    failure: str | None = None


@dataclass(slots=True, kw_only=True)
class Stranger:
    """A crumb of a newer version, shown as it came."""

    id: str
    kind: str
    raw: JsonValue


Block = Prose | Call | FileMade | Notice | Retried | Form | Row | Stranger


@dataclass(slots=True, kw_only=True)
class Turn:
    """One model turn: its blocks in the order they happened.

    It is over when the model has ended it and none of its calls is open. `number` is
    how the run counts it, once the model has ended it.
    """

    id: str
    blocks: list[Block] = field(default_factory=list[Block])
    made: int = 0
    number: int | None = None
    priced: bool = False
    over: bool = False
    retries: int = 0
    mark: int | None = None

    @property
    def text(self) -> str:
        """What the model said to the person in this turn."""
        said = [b.text for b in self.blocks if isinstance(b, Prose) and b.spoken]
        return "\n\n".join(said)


@dataclass(slots=True, kw_only=True)
class Mark:
    """One mark of the trail; `n` is the crumb after which a click shows the run."""

    kind: MarkKind
    n: int
    words: str
