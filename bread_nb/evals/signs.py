"""The signs and short forms that every report uses."""

from __future__ import annotations

from bread_nb.a2ui.values import visible

__all__ = ["MARKS", "MOST_ROWS", "WIDTH", "one_line", "percent"]

MARKS = {"passed": "✓", "failed": "✗", "error": "!", "broken": "?"}
MOST_ROWS = 200
WIDTH = 160


def one_line(text: str) -> str:
    """A text in one line of at most `WIDTH` characters; nothing in it is unseen."""
    line = " ".join(text.split())
    return visible(line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…")


def percent(share: float | None) -> str:
    """A share of runs; a dash where there were none."""
    return "–" if share is None else f"{share:.0%}"
