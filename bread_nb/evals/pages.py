"""Reports and comparisons as HTML, of the tags that untrusted notebooks show.

What did not pass is told by a sign, a word and its weight, never by colour. A long text
is folded; of many rows those that passed are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from bread_nb.a2ui.values import visible
from bread_nb.evals.signs import MARKS, MOST_ROWS, WIDTH, one_line, percent

if TYPE_CHECKING:
    from bread_nb.evals.comparison import Comparison
    from bread_nb.evals.report import SuiteReport
    from bread_nb.evals.scoresheet import EvalRow

__all__ = ["comparison_page", "suite_page"]

_FEW = 20
_HINT = 80
_LONGEST = 4000
_ROOM = 64_000


def suite_page(head: str, suite: SuiteReport) -> Iterator[str]:
    """A suite: its headline, what did not pass, and what did."""
    bold, opened, rest = head.partition(" (")
    yield f"<p><strong>{escape(bold)}</strong>{escape(opened + rest)}</p>"
    cells = _Cells(any(row.repeat > 1 for row in suite.rows))
    if len(suite.rows) <= _FEW:
        yield from cells.table(suite.rows)
        return
    missed = [row for row in suite.rows if not row.passed]
    passed = [row for row in suite.rows if row.passed]
    if missed:
        yield from cells.table(missed[:MOST_ROWS])
    if len(missed) > MOST_ROWS:
        yield f"<p>{len(missed) - MOST_ROWS} more did not pass</p>"
    shown = passed[: max(0, MOST_ROWS - len(missed))]
    if passed:
        yield f"<details><summary>{len(passed)} passed</summary>"
        if shown:
            yield from cells.table(shown)
        if left := len(passed) - len(shown):
            yield f"<p>{left} more passed</p>"
        yield "</details>"


class _Cells:
    """The cells of one suite's tables; long texts share the room that there is."""

    def __init__(self, several: bool) -> None:
        self._several = several
        self._room = _ROOM

    def table(self, rows: Sequence[EvalRow]) -> Iterator[str]:
        """Rows as a table."""
        yield "<table>"
        heads = ("", "case", "score", "answer", "why")
        yield f"<thead><tr>{''.join(f'<th>{h}</th>' for h in heads)}</tr></thead>"
        yield "<tbody>"
        for row in rows:
            cells = "".join(f"<td>{cell}</td>" for cell in self._row(row))
            yield f"<tr>{cells}</tr>"
        yield "</tbody></table>"

    def _row(self, row: EvalRow) -> Iterator[str]:
        name = f"{row.case} #{row.repeat}" if self._several else row.case
        mark, name = MARKS[row.status], escape(one_line(name))
        if row.passed:
            yield mark
            yield name
        else:
            yield f"<strong>{mark} {row.status}</strong>"
            yield f"<strong>{name}</strong>"
        yield f"{row.score:.2f}"
        yield self._text(row.answer)
        yield self._text(row.why)

    def _text(self, text: str) -> str:
        """A text in one line, or folded when it is longer and there is room for it."""
        line = " ".join(text.split())
        whole = visible(text.strip())[:_LONGEST]
        if len(line) <= WIDTH or len(whole) > self._room:
            return escape(one_line(text))
        self._room -= len(whole)
        hint = escape(visible(line[:_HINT]))
        cut = "…" if len(visible(text.strip())) > _LONGEST else ""
        page = f"<pre>{escape(whole)}{cut}</pre>"
        return f"<details><summary>{hint}…</summary>{page}</details>"


# -- comparisons -----------------------------------------------------------------------


def comparison_page(comparison: Comparison) -> Iterator[str]:
    """A comparison: what was lost first, then what was gained, then the rest."""
    yield f"<p><strong>{escape(comparison.note)}</strong></p>"
    yield "<table>"
    yield "<thead><tr><th></th><th>case</th><th>before</th><th>now</th></tr></thead>"
    yield "<tbody>"
    before, now = str(comparison.before), str(comparison.now)
    yield f"<tr><td></td><td>passed</td><td>{before}</td><td>{now}</td></tr>"
    changed = [
        (_change(was, then), name, was, then)
        for name, (was, then) in comparison.cases.items()
        if was != then
    ]
    changed.sort(key=lambda each: _ORDER.index(each[0]))
    for sign, name, was, then in changed[:MOST_ROWS]:
        said = [sign, escape(one_line(name))]
        if sign == "▼ lost":
            said = [f"<strong>{each}</strong>" for each in said]
        cells = (*said, percent(was), percent(then))
        yield f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
    yield "</tbody></table>"
    if left := len(changed[MOST_ROWS:]):
        yield f"<p>{left} more changed</p>"


_ORDER = ("▼ lost", "▲ gained", "▼ worse", "▲ better", "− gone", "+ new")


def _change(was: float | None, now: float | None) -> str:
    if was == 1.0:
        return "▼ lost"
    if now == 1.0:
        return "▲ gained"
    if was is None:
        return "+ new"
    if now is None:
        return "− gone"
    return "▲ better" if now > was else "▼ worse"
