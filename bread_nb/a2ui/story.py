"""The story of a run: a pure fold over its crumbs, the same for card and picture.

It never looks at a clock or a store: equal crumbs give an equal story, live, after a
restart, and cut off at any crumb. Crumbs of sub-agents fold into stories of their own,
which stand as rows in the story of the run that started them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from bread_nb import crumbs as c
from bread_nb.a2ui.blocks import Row
from bread_nb.a2ui.tell_calls import CALLS, required, resumed
from bread_nb.a2ui.tell_parts import PARTS, begin, refresh
from bread_nb.a2ui.tell_turns import TURNS
from bread_nb.a2ui.telling import Telling

__all__ = ["Story"]

_FOLD: dict[type[c.Crumb], Callable[[Any, Any], None]] = {**TURNS, **CALLS, **PARTS}
_QUIET = frozenset({c.ToolInputDelta, c.ToolInputEnd})
_Delta = (c.TextDelta, c.ReasoningDelta)


class Story(Telling):
    """All that a person may see of a run, as far as its crumbs have come."""

    @staticmethod
    def of(crumbs: Iterable[c.Crumb]) -> Story:
        """The story that these crumbs tell."""
        story = Story()
        for crumb in crumbs:
            story.accept(crumb)
        return story

    def accept(self, crumb: c.Crumb) -> None:
        """Take in one more crumb; text of the open block goes the short way."""
        tail = self.tail
        kind = type(crumb)
        if (
            tail is not None
            and kind is tail.delta
            and isinstance(crumb, _Delta)
            and crumb.run_id == tail.run_id
        ):
            tail.pieces.append(crumb.delta)
            tail.until = crumb.timestamp
            return
        if kind in _QUIET:
            return
        self.changes.head = True
        if self.run_id is None:
            self.run_id = crumb.run_id
        if crumb.run_id != self.run_id and not self._composes(crumb):
            self._pass_on(crumb)
        else:
            self._take(crumb)

    def _take(self, crumb: c.Crumb) -> None:
        kind = type(crumb)
        self.at = crumb.timestamp
        self.agent = self.agent or crumb.agent_id
        self.begin_clock(crumb.timestamp)
        if crumb.seq is not None:
            self.seq = max(self.seq, crumb.seq)
        elif kind not in _Delta:
            self.seq += 1
        if kind not in _Delta:
            self.close_tail()
        fold = _FOLD.get(kind)
        if fold is not None:
            fold(self, crumb)
        if isinstance(crumb, c.SubagentStart) and crumb.run_id != self.run_id:
            child = self.stories[crumb.run_id] = Story(crumb.run_id)
            child.agent = crumb.subagent_id

    def _composes(self, crumb: c.Crumb) -> bool:
        """Whether a crumb of another run tells of this run's own parts."""
        if crumb.run_id in self.stories:
            return isinstance(crumb, c.SubagentEnd)
        if isinstance(crumb, c.SubagentStart):
            return self._parent_of(crumb) is None
        return type(crumb) in PARTS and not isinstance(crumb, c.SubagentEnd)

    def _parent_of(self, crumb: c.SubagentStart) -> Row | None:
        for run_id, child in self.stories.items():
            if child.ended:
                continue
            if child.agent == crumb.parent_agent_id or (
                isinstance(child, Story) and child._parent_of(crumb) is not None
            ):
                return self.rows[run_id]
        return None

    def _pass_on(self, crumb: c.Crumb) -> None:
        row = self._row_for(crumb)
        child = self.stories.get(crumb.run_id) or self.stories[row.key]
        assert isinstance(child, Story)
        child.accept(crumb)
        if child.changes.head:
            self.at = crumb.timestamp
            refresh(self, row, child)
        if isinstance(crumb, c.HumanRequired):
            required(self, crumb)
        elif isinstance(crumb, c.HumanResumed):
            resumed(self, crumb)
        elif child.changes.head and not self.ended:
            self.rest_if_idle(crumb)
        child.take_changes()

    def rest_if_idle(self, crumb: c.Crumb) -> None:
        """Work of a sub-agent began or ended: this run waits or works with it."""
        if self.open_forms or self.state == "waiting":
            self.rest(crumb)

    def _row_for(self, crumb: c.Crumb) -> Row:
        if isinstance(crumb, c.SubagentStart) and (row := self._parent_of(crumb)):
            self.rows[crumb.run_id] = row
            self.stories[crumb.run_id] = self.stories[row.key]
            return row
        if crumb.run_id in self.stories:
            return self.rows[crumb.run_id]
        key = f"agent/{crumb.agent_id}"
        row = self.rows.pop(key, None)
        if row is None:
            row = begin(self, crumb, "agent", crumb.run_id, name=crumb.agent_id)
        row.key = crumb.run_id
        if isinstance(crumb, c.RunStart) and row.input is None:
            row.input = crumb.input
        self.rows[crumb.run_id] = row
        self.stories[crumb.run_id] = Story(crumb.run_id)
        return row

    def interrupted(self) -> None:
        """The kernel ended while this run worked, and nobody has gone on yet."""
        self.close_tail()
        if self.turns:
            self.turns[-1].over = True
        self.enter("interrupted", self.at)

    def settled_elsewhere(self, checkpoint_id: str, line: str, at: int) -> None:
        """A question was answered where no crumb comes from as yet."""
        form = self.open_forms.pop(checkpoint_id, None)
        if form is None:
            return
        form.ended = line
        self.touch(form)
        self.changes.forms = self.changes.head = True
        if self.state == "waiting" and not self.open_forms:
            self.enter("resuming", at)

    def taken_up(self, at: int) -> None:
        """Somebody goes on with it where it broke off."""
        if self.state == "interrupted":
            self.enter("resuming", at)

    def stopping(self) -> None:
        """A person asked it to stop, and it has not stopped yet."""
        if self.working:
            self.enter("stopping", self.at)
