"""The live card of a run: its story as frames for the page, and whole on request.

Frames are numbered without a gap; a page that misses one asks for the whole again.
Nothing here knows a widget: the notebook sends what `frame` and `snapshot` return.
"""

from __future__ import annotations

from collections.abc import Callable

from pydantic import JsonValue

from bread_nb.a2ui.blocks import Block, Call, Form, Row, Turn
from bread_nb.a2ui.questions import Extras, form_view
from bread_nb.a2ui.sheet import Drawn, Sheet
from bread_nb.a2ui.story import Story
from bread_nb.a2ui.telling import Telling
from bread_nb.a2ui.views import (
    Facts,
    block_view,
    error_view,
    head_view,
    note_view,
    turn_view,
)
from bread_nb.base.ids import now_ms
from bread_nb.crumbs import Crumb

__all__ = ["CATALOG", "Card", "surface_id"]

Json = dict[str, JsonValue]

CATALOG = "urn:bread-nb:a2ui:catalog:1"


def surface_id(run_id: str) -> str:
    """The surface of a run: its id with `_` for whatever is no letter or digit."""
    return "run_" + "".join(c if c.isascii() and c.isalnum() else "_" for c in run_id)


class CardPen:
    """Draws a story in our own components: one a block, its value beside it."""

    catalog = CATALOG
    trail = True
    grows = True

    def __init__(self, clock: Callable[[], int]) -> None:
        self.clock = clock
        self.facts = Facts()
        self.notice: Json | None = None
        self.extras: dict[str, Extras] = {}

    def written(self, text: str) -> str:
        """Text as it is; the page makes nothing of it that loads or runs."""
        return text

    def root(self, children: list[JsonValue]) -> list[Json]:
        """The run card with its turns."""
        bound: Json = {k: {"path": f"/{k}"} for k in ("head", "trail", "note", "error")}
        return [{"id": "root", "component": "RunCard", **bound, "children": children}]

    def turn(self, turn: Turn, children: list[JsonValue]) -> Drawn:
        """A turn, its figures and its blocks."""
        component: Json = {"id": turn.id, "component": "Turn"}
        component["value"] = {"path": f"/turns/{turn.id}"}
        component["children"] = children
        return Drawn([component], turn_view(turn))

    def block(self, story: Telling, block: Block) -> Drawn:
        """One component, bound to the value of the block."""
        if isinstance(block, Form):
            extras = self.extras.get(block.crumb.checkpoint_id) or Extras()
            kind, value = form_view(story, block, extras)
            if not self.facts.live:
                value["nonce"] = ""
        else:
            kind, value = block_view(block)
        component: Json = {"id": block.id, "component": kind}
        component["value"] = {"path": f"/b/{block.id}"}
        return Drawn([component], value)

    def aged(self, block: Block, value: Json) -> Json:
        """What runs says how long it has run; the page counts on from there."""
        if not self.facts.live or not isinstance(block, Call | Row):
            return value
        if block.state != "running" or block.began is None:
            return value
        return {**value, "ms": max(self.clock() - block.began, 0)}

    def top(self, story: Telling) -> Json:
        """Head, note and error."""
        now = self.clock() if self.facts.live else story.at
        note = self.notice or note_view(story)
        if note is not None and not self.facts.live:
            note["button"] = None
        return {
            "head": head_view(story, self.facts, now),
            "note": note,
            "error": error_view(story),
        }


class Card:
    """A run's card.

    Args:
        surface: The surface's id, from `surface_id`.
        live: False for a run as it was at an earlier crumb: nothing ticks, nothing can
            be pressed.
        clock: Milliseconds since 1970, for the time a run has worked.
    """

    def __init__(
        self, surface: str, *, live: bool = True, clock: Callable[[], int] = now_ms
    ) -> None:
        self.story = Story()
        self.seq = 0
        self._pen = CardPen(clock)
        self._pen.facts.live = live
        self._sheet = Sheet(self.story, surface, self._pen)

    @property
    def surface(self) -> str:
        """The surface's id."""
        return self._sheet.surface

    def accept(self, crumb: Crumb) -> None:
        """Take in one more crumb of the run."""
        self.story.accept(crumb)

    # -- what only the kernel knows --------------------------------------------

    @property
    def facts(self) -> Facts:
        """What the kernel knows besides the crumbs; assign a new one to change it."""
        return self._pen.facts

    @facts.setter
    def facts(self, facts: Facts) -> None:
        self._pen.facts = facts
        self.story.changes.head = True

    def notice(
        self, role: str, title: str, text: str, *, button: str | None = None
    ) -> None:
        """Show a note in place of the run's own; an empty title takes it away."""
        note: Json = {"role": role, "title": title, "text": text, "button": button}
        self._pen.notice = note if title else None
        self.story.changes.head = True

    def extras(self, checkpoint_id: str) -> Extras:
        """What the kernel has added to a form so far."""
        return self._pen.extras.get(checkpoint_id) or Extras()

    def add_extras(self, checkpoint_id: str, extras: Extras) -> None:
        """Add to a form what its crumb does not say: nonce, offers, what changed."""
        self._pen.extras[checkpoint_id] = extras
        form = self.story.forms.get(checkpoint_id)
        if form is not None:
            self.story.touch(form)

    # -- what goes to the page -------------------------------------------------

    def frame(self) -> Json | None:
        """What changed since the last frame, or None."""
        delta = self._sheet.drain()
        if not delta.messages and not delta.append:
            return None
        self.seq += 1
        append: list[JsonValue] = [[path, text] for path, text in delta.append]
        return {
            "t": "frame",
            "seq": self.seq,
            "messages": [*delta.messages],
            "append": append,
        }

    def snapshot(self) -> Json:
        """The whole card; the next frame counts from here."""
        self.frame()
        return {"t": "snapshot", "seq": self.seq, "messages": [*self._sheet.whole()]}
