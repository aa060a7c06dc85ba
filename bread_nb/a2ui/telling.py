"""What has been told of a run so far, and the few ways in which it grows.

The fold itself is in the `tell_*` modules, one function a crumb; `Story` puts them
together. Everything that changes is noted in `changes`, for whoever draws.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from bread_nb.a2ui.blocks import (
    Block,
    Call,
    FileMade,
    Form,
    Mark,
    MarkKind,
    Prose,
    Row,
    Turn,
)
from bread_nb.a2ui.spending import Spending
from bread_nb.a2ui.words import say
from bread_nb.crumbs import Crumb, GateHalted, RunEnd, RunFailed

__all__ = ["Changes", "State", "Telling"]

State = Literal[
    "starting",
    "asking",
    "thinking",
    "writing",
    "tools",
    "waiting",
    "resuming",
    "stopping",
    "interrupted",
    "finished",
    "bound",
    "stopped",
    "failed",
]

WORKING: frozenset[State] = frozenset(
    {"starting", "asking", "thinking", "writing", "tools", "resuming", "stopping"}
)
ENDED: frozenset[State] = frozenset({"finished", "bound", "stopped", "failed"})


@dataclass(slots=True)
class Changes:
    """What changed since somebody last looked; ordered, each thing once."""

    head: bool = True
    forms: bool = False
    turns: dict[str, Turn] = field(default_factory=dict[str, Turn])
    blocks: dict[str, Block] = field(default_factory=dict[str, Block])
    gone: dict[str, Block] = field(default_factory=dict[str, Block])
    marks: dict[int, Mark] = field(default_factory=dict[int, Mark])


class Telling:
    """The facts, turns and blocks of one run."""

    def __init__(self, run_id: str | None = None) -> None:
        self.agent = ""
        self.run_id: str | None = run_id
        self.model: str | None = None
        self.model_asked: str | None = None
        self.steps: int | None = None
        self.state: State = "starting"
        self.since = 0
        self.seq = 0
        self.at = 0
        self.turns: list[Turn] = []
        self.trail: list[Mark] = []
        self.calls: dict[str, Call] = {}
        self.running: dict[str, Call] = {}
        self.forms: dict[str, Form] = {}
        self.open_forms: dict[str, Form] = {}
        self.files: dict[str, FileMade] = {}
        self.rows: dict[str, Row] = {}
        self.stories: dict[str, Telling] = {}
        self.refused: dict[str, str] = {}
        self.spending = Spending()
        self.end: RunEnd | RunFailed | None = None
        self.halted: GateHalted | None = None
        self.changes = Changes()
        self.tail: Prose | None = None
        self._worked = 0
        self._segment: int | None = None

    # -- what others read ------------------------------------------------------

    @property
    def ended(self) -> bool:
        """Whether the run is over."""
        return self.state in ENDED

    @property
    def working(self) -> bool:
        """Whether time spent now is working time."""
        return self.state in WORKING

    def elapsed(self, now: int) -> int:
        """Working milliseconds up to `now`; waiting for a person is not working."""
        running = 0
        if self._segment is not None and self.working:
            running = max(now - self._segment, 0)
        return self._worked + running

    def every_call(self) -> list[Call]:
        """All calls of this run, in order, those of sub-agents not among them."""
        return [b for t in self.turns for b in t.blocks if isinstance(b, Call)]

    def take_changes(self) -> Changes:
        """What changed since the last time; from now on counted anew."""
        taken, self.changes = self.changes, Changes(head=False)
        return taken

    # -- how it grows ----------------------------------------------------------

    def enter(self, state: State, at: int) -> None:
        """The run is in this state from `at` on."""
        if state == self.state:
            return
        if self.ended and state in WORKING:
            self.end = self.halted = None
        if self._segment is not None and self.working:
            self._worked += max(at - self._segment, 0)
        self.state, self.since = state, at
        self._segment = at if self.working else None
        self.changes.head = True

    def begin_clock(self, at: int) -> None:
        """The first crumb: time counts from here."""
        if self._segment is None and self.working:
            self._segment, self.since = at, at

    def turn(self, *, spoken: bool = False) -> Turn:
        """The turn things belong to now.

        Args:
            spoken: The model has begun to answer; when the turn before is over, this
                begins the next one.
        """
        if not self.turns or (spoken and self.turns[-1].over and self.at_rest):
            self.turns.append(Turn(id=f"t{len(self.turns) + 1}"))
        turn = self.turns[-1]
        self.changes.turns[turn.id] = turn
        if spoken and turn.mark is None:
            words = say("mark_model", {"n": len(self.turns)})
            turn.mark = self.mark("model", words)
        return turn

    @property
    def at_rest(self) -> bool:
        """Whether no call runs and nobody is asked."""
        return not self.running and not self.open_forms

    @property
    def busy(self) -> bool:
        """Whether a tool or a sub-agent works, whoever else waits."""
        tools = any(not call.delegates for call in self.running.values())
        return tools or any(story.working for story in self.stories.values())

    def next_id(self, turn: Turn) -> str:
        """An id for the next block of this turn."""
        turn.made += 1
        return f"{turn.id}b{turn.made}"

    def add(self, turn: Turn, block: Block) -> None:
        """Put a block at the end of a turn."""
        turn.blocks.append(block)
        self.changes.turns[turn.id] = turn
        self.changes.blocks[block.id] = block

    def touch(self, block: Block) -> None:
        """Note that a block changed."""
        self.changes.blocks[block.id] = block

    def take_out(self, turn: Turn, block: Block) -> None:
        """Remove a block that is not shown any more."""
        turn.blocks.remove(block)
        self.changes.turns[turn.id] = turn
        self.changes.blocks.pop(block.id, None)
        self.changes.gone[block.id] = block

    def touch_turn(self, call: Call) -> None:
        """Note that the figures of a call's turn changed."""
        number = int(call.id.removeprefix("t").partition("b")[0])
        turn = self.turns[number - 1]
        self.changes.turns[turn.id] = turn

    def mark(self, kind: MarkKind, words: str = "") -> int:
        """Add a mark to the trail; returns its place."""
        self.trail.append(Mark(kind=kind, n=self.seq, words=words))
        place = len(self.trail) - 1
        self.changes.marks[place] = self.trail[place]
        return place

    def remark(self, place: int, kind: MarkKind, words: str) -> None:
        """Say something else at a mark that is there already."""
        mark = self.trail[place]
        mark.kind, mark.words, mark.n = kind, words, max(mark.n, self.seq)
        self.changes.marks[place] = mark

    # -- the open end of the text ----------------------------------------------

    def open_tail(self, block: Prose) -> None:
        """Further pieces of the same kind go to this block."""
        self.tail = block

    def close_tail(self) -> None:
        """The text that was being written is complete."""
        if self.tail is not None:
            self.tail.done = True
            self.touch(self.tail)
            self.tail = None

    def rest(self, crumb: Crumb) -> None:
        """A call or a question is settled: what the run does now."""
        if self.ended:
            return
        if self.busy:
            self.enter("tools", crumb.timestamp)
        elif self.open_forms:
            self.enter("waiting", crumb.timestamp)
        elif self.running:
            self.enter("tools", crumb.timestamp)
        else:
            if self.turns:
                self.turns[-1].over = True
            self.enter("asking", crumb.timestamp)
