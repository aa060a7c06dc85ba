"""The inbox as a surface: one row a call that waits, each with its form when asked for.

Rows keep their place for as long as somebody looks. A row that is settled stays as one
line, greyed; one that is gone is told as such, and the page decides when to hide it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

from bread_nb.a2ui.blocks import Form, Prose, tool_name
from bread_nb.a2ui.board import Board, Json
from bread_nb.a2ui.card import Card
from bread_nb.a2ui.questions import form_view
from bread_nb.a2ui.values import (
    masked,
    named,
    preview,
    sound,
    text_of,
    titled,
    visible,
)
from bread_nb.a2ui.views import head_view
from bread_nb.a2ui.words import say

__all__ = ["InboxRow", "InboxSheet"]

RowState = Literal["open", "settled", "gone"]

_SHORT = 100
_DID = 12


@dataclass(slots=True, kw_only=True)
class InboxRow:
    """One call that waits, or one run that was interrupted.

    Args:
        id: Its component's id.
        card: The card of its run, which holds its form.
        run: The handle of its run.
        checkpoint: Its question; None for an interrupted run.
        asked_at: Since when it waits, in milliseconds since 1970.
        unfolded: Whether somebody looks at its form.
        here: Whether it was answered from this inbox.
        end: The line of a settled row.
        input: What its run was asked to do.
    """

    id: str
    card: Card
    run: str
    checkpoint: str | None
    asked_at: int
    unfolded: bool = False
    here: bool = False
    state: RowState = "open"
    end: str | None = None
    input: JsonValue = None
    value: Json = field(default_factory=dict[str, JsonValue])
    form: tuple[str, Json] | None = None

    @property
    def question(self) -> Form | None:
        """The form of its question, as the run tells it."""
        return self.card.story.forms.get(self.checkpoint or "")

    @property
    def form_id(self) -> str:
        """The id of the component that is its form."""
        return f"f_{self.id}"

    def draw(self, now: int) -> None:
        """Bring what is shown of it up to date."""
        self.value = _row_view(self, now)
        question = self.question
        if question is not None and self.unfolded:
            extras = self.card.extras(question.crumb.checkpoint_id)
            kind, value = form_view(self.card.story, question, extras)
            self.form = kind, {**value, "index": 0, "of": 1, "bulk": False}


def _row_view(row: InboxRow, now: int) -> Json:
    story, question = row.card.story, row.question
    kind = question.crumb.kind if question is not None else "interrupted"
    tool = named(tool_name(question.crumb.tool_name)) if question is not None else ""
    spending = story.spending
    provider = (story.model or story.model_asked or "").partition(":")[0] or None
    cost = spending.cost_words(provider)
    head = head_view(story, row.card.facts, now)
    return {
        "run": row.run,
        "agent": titled(story.agent),
        "tool": tool,
        "kind": say(f"kind_{kind}"),
        "ask": say("inbox_outcome", {"tool": tool}) if kind == "outcome" else tool,
        "preview": preview(question.crumb.args) if question is not None else "",
        "session": row.card.facts.session or "",
        "cost": say("inbox_cost", {"cost": cost}) if _sum(spending.money) else cost,
        "age_ms": max(now - row.asked_at, 0),
        "state": row.state,
        "here": row.here,
        "end": None if row.end is None else sound(row.end),
        "word": head["word"] if row.here else None,
        "role": head["role"],
        "asked": _short(row.input),
        "did": _did(row.card),
        "said": _said(row.card),
        "note": say("note_interrupted") if question is None else None,
        "unfolded": row.unfolded,
    }


def _sum(money: Mapping[str, float]) -> bool:
    return any(money.values())


def _short(value: JsonValue) -> str:
    """A value in at most a hundred characters, in one line."""
    if value in (None, ""):
        return ""
    text = " ".join(text_of(masked("", value)).split())
    return visible(text if len(text) <= _SHORT else f"{text[: _SHORT - 1].rstrip()}…")


def _did(card: Card) -> str:
    """The last steps of the run, by the names of the trail's marks."""
    marks = [mark for mark in card.story.trail if mark.kind != "wait"]
    names = [mark.words.partition(",")[0] for mark in marks]
    more = ["…"] if len(names) > _DID else []
    return ", ".join([*more, *names[-_DID:]])


def _said(card: Card) -> str:
    for turn in reversed(card.story.turns):
        for block in reversed(turn.blocks):
            if isinstance(block, Prose) and block.spoken and block.text.strip():
                return _short(block.text)
    return ""


class InboxSheet(Board):
    """The rows, and what the page knows of them."""

    places = ("rows", "b")
    volatile = frozenset({"age_ms"})

    def __init__(self, surface: str) -> None:
        super().__init__(surface)
        self.rows: dict[str, InboxRow] = {}
        self.more = 0

    def waiting(self) -> list[InboxRow]:
        """The rows that can be answered, oldest first."""
        return [row for row in self.rows.values() if row.state == "open"]

    def drawn(self) -> tuple[dict[str, Json], dict[str, JsonValue]]:
        """The head, and a row for each that waits or waited, with its form if asked."""
        values: dict[str, JsonValue] = {"/head": self._head()}
        components: dict[str, Json] = {}
        for row in self.rows.values():
            component: Json = {"id": row.id, "component": "InboxRow"}
            component["value"] = {"path": f"/rows/{row.id}"}
            component["children"] = [row.form_id] if row.form else []
            components[row.id] = component
            values[f"/rows/{row.id}"] = row.value
            if row.form is not None:
                kind, value = row.form
                bound: Json = {"path": f"/b/{row.form_id}"}
                form: Json = {"id": row.form_id, "component": kind, "value": bound}
                components[row.form_id] = form
                values[f"/b/{row.form_id}"] = value
        root: Json = {"id": "root", "component": "Inbox", "children": [*self.rows]}
        return {"root": {**root, "head": {"path": "/head"}}, **components}, values

    def _head(self) -> Json:
        waiting = self.waiting()
        calls = sum(row.checkpoint is not None for row in waiting)
        broken = len(waiting) - calls
        return {"title": inbox_title(calls, broken), "more": self._more()}

    def _more(self) -> str:
        return say("inbox_more", {"n": self.more}) if self.more else ""


def inbox_title(calls: int, broken: int) -> str:
    """How many calls wait and how many runs were interrupted."""
    if not calls and not broken:
        return say("inbox_empty")
    runs = say("inbox_interrupted", {"n": broken})
    if not calls:
        return runs
    waiting = say("inbox_calls", {"n": calls})
    return say("inbox_both", {"calls": waiting, "runs": runs}) if broken else waiting
