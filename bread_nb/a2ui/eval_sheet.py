"""An evaluation at work as a surface: a bar, counts, cost, and the first failures.

It is a run card with one block in it, so that header, Stop and what becomes of a dead
kernel are those of a run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from bread_nb.a2ui.board import Board, Json
from bread_nb.a2ui.figures import cap, clock, money
from bread_nb.a2ui.values import visible
from bread_nb.a2ui.words import say

__all__ = ["EvalEnd", "EvalFigures", "EvalSheet", "Missed"]

EvalEnd = Literal["finished", "stopped", "failed"]

_LONGEST = 200
_LOOKS: dict[EvalEnd, tuple[str, str]] = {
    "finished": ("ok", "tick"),
    "stopped": ("still", "square"),
    "failed": ("bad", "cross"),
}
_COMPONENTS: dict[str, Json] = {
    "root": {
        "id": "root",
        "component": "RunCard",
        **{key: {"path": f"/{key}"} for key in ("head", "trail", "note", "error")},
        "children": ["eval"],
    },
    "eval": {"id": "eval", "component": "Evaluation", "value": {"path": "/b/eval"}},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """A row that did not pass: its mark, its case and why."""

    mark: str
    case: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalFigures:
    """How far an evaluation has come.

    Args:
        name: What is evaluated.
        total: Rows in all.
        done: Rows that are there; the rest says what became of them.
        cost: US dollars so far.
        unpriced: Rows whose cost is not known.
        budget: The most it may cost.
        rest_ms: How long it will take yet; None when nobody can know.
        case: The case that was begun last.
        missed: The first rows that did not pass.
    """

    name: str = ""
    total: int = 0
    done: int = 0
    passed: int = 0
    failed: int = 0
    broken: int = 0
    cost: float = 0.0
    unpriced: int = 0
    budget: float | None = None
    rest_ms: int | None = None
    case: str = ""
    missed: tuple[Missed, ...] = ()

    def cost_words(self) -> str:
        """The cost as a card shows it; nothing before the first row."""
        if not self.done:
            return ""
        if not self.cost:
            return say("cost_unknown" if self.unpriced else "eval_free")
        spent = money(self.cost)
        if self.unpriced:
            return say("cost_at_least", {"cost": spent})
        if self.budget is not None:
            return say("cost_of", {"cost": spent, "cap": cap(self.budget)})
        return spent

    def kept_words(self) -> str:
        """How many rows are kept, for who stops it."""
        return say("eval_kept", {"done": self.done, "n": self.total})

    def line(self) -> str:
        """All of it in one line, for front ends that draw no card."""
        rest = None if self.rest_ms is None else clock(self.rest_ms)
        told = [
            say("progress_of", {"done": self.done, "of": self.total}),
            *_counts(self).values(),
            self.cost_words(),
            say("eval_rest", {"time": rest}) if rest is not None else "",
        ]
        return f"{visible(self.name)}: {' · '.join(filter(None, told))}"


def _counts(figures: EvalFigures) -> dict[str, str]:
    counts = {
        "passed": figures.passed,
        "failed": figures.failed,
        "broken": figures.broken,
    }
    return {
        key: say(f"eval_{key}", {"n": number}) if number or key == "passed" else ""
        for key, number in counts.items()
    }


class EvalSheet(Board):
    """The surface of one evaluation, and what the page knows of it."""

    def __init__(self, surface: str) -> None:
        super().__init__(surface)
        self.foreground = False
        self.figures = EvalFigures()
        self.elapsed_ms = 0
        self.stopping = False
        self.end: EvalEnd | None = None
        self.note: str | None = None

    def drawn(self) -> tuple[dict[str, Json], dict[str, JsonValue]]:
        """A run card without a trail, and one block in it."""
        return _COMPONENTS, {
            "/head": self._head(),
            "/note": self._note(),
            "/trail": [],
            "/error": None,
            "/b/eval": _block(self.figures, working=self.end is None),
        }

    def _head(self) -> Json:
        working = self.end is None
        state = "stopping" if self.stopping and working else "evaluating"
        role, mark = ("work", "ring") if self.end is None else _LOOKS[self.end]
        word = say(f"state_{state if self.end is None else self.end}")
        return {
            "agent": _short(self.figures.name),
            "state": state if working else "evaluated",
            "word": word,
            "role": "still" if state == "stopping" else role,
            "mark": "square" if state == "stopping" else mark,
            "model": "",
            "turn": 0,
            "steps": None,
            "elapsed_ms": self.elapsed_ms,
            "ticking": working,
            "since_ms": 0,
            "tokens": None,
            "cost": self.figures.cost_words(),
            "replayed": False,
            "recording": False,
            "session": None,
            "button": "stop" if working and not self.stopping else None,
            "foreground": self.foreground,
            "waiting": 0,
            "detail": None,
        }

    def _note(self) -> JsonValue:
        if self.note is None:
            return None
        return {"role": "still", "title": self.note, "text": "", "button": None}


def _block(figures: EvalFigures, *, working: bool) -> Json:
    counts: Json = {**_counts(figures)}
    more = figures.failed + figures.broken - len(figures.missed)
    return {
        **counts,
        "done": figures.done,
        "of": figures.total,
        "words": say("progress_of", {"done": figures.done, "of": figures.total}),
        "rest_ms": figures.rest_ms if working else None,
        "case": _short(figures.case) if working else "",
        "missed": [
            {"mark": row.mark, "case": _short(row.case), "why": _short(row.why)}
            for row in figures.missed
        ],
        "more": say("eval_more", {"n": more}) if more > 0 else "",
    }


def _short(text: str) -> str:
    line = " ".join(text.split())
    return visible(line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…")
