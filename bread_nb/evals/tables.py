"""Reports as text, markdown and HTML: the same for the same rows, without times or ids.

The HTML is drawn in `pages`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from bread_nb.a2ui.eval_sheet import EvalFigures, Missed
from bread_nb.evals.pages import comparison_page, suite_page
from bread_nb.evals.signs import MARKS, MOST_ROWS, one_line, percent

if TYPE_CHECKING:
    from bread_nb.evals.comparison import Comparison
    from bread_nb.evals.evaluate import Progress
    from bread_nb.evals.report import Report, SuiteReport
    from bread_nb.evals.scoresheet import EvalRow

__all__ = ["bundle", "compared", "figures_of", "headline"]


def bundle(report: Report) -> dict[str, str]:
    """A report in the three forms a notebook keeps."""
    plain: list[str] = []
    markdown: list[str] = []
    html: list[str] = []
    for suite in report.suites:
        head, table = headline(suite), _table(suite)
        plain += [head, *_aligned(table), ""]
        markdown += [f"**{_md(head)}**", "", *_md_table(table), ""]
        html += suite_page(head, suite)
    return _kept(plain, markdown, html)


def compared(comparison: Comparison) -> dict[str, str]:
    """A comparison in the three forms a notebook keeps."""
    table = [["case", "before", "now"]]
    for name, (was, now) in comparison.cases.items():
        if was != now:
            table.append([name, percent(was), percent(now)])
    head = comparison.note
    rates = [["passed", str(comparison.before), str(comparison.now)]]
    rows = [*table[:1], *rates, *table[1 : MOST_ROWS + 1]]
    return _kept(
        [head, *_aligned(rows), ""],
        [f"**{_md(head)}**", "", *_md_table(rows), ""],
        [*comparison_page(comparison)],
    )


def headline(suite: SuiteReport) -> str:
    """A suite in one line: what passed, how sure that is, what it cost."""
    low, high = suite.interval
    parts = [
        f"{suite.name}: {suite.passed} of {suite.expected} passed "
        f"({suite.pass_rate:.0%}, 95 % interval {low:.0%} to {high:.0%})"
    ]
    for status, word in (("error", "error"), ("broken", "broken")):
        if number := suite.count(status):
            parts.append(f"{number} {word}")
    if suite.missing:
        why = f", stopped by its {suite.stopped}" if suite.stopped else ""
        parts.append(f"{suite.missing} missing{why}")
    if any(len(rows) > 1 for rows in suite.by_case.values()):
        parts.append(f"pass@1 {suite.pass_at(1):.0%}")
        most = max(len(rows) for rows in suite.by_case.values())
        parts.append(f"pass@{most} {suite.pass_at(most):.0%}")
    parts.append(suite.model)
    if (cost := suite.cost) is not None:
        parts.append("no charge" if cost == 0 else f"${cost:.4f}")
    return " · ".join(parts)


def figures_of(progress: Progress, budget: float | None = None) -> EvalFigures:
    """How far an evaluation is, as a card or a line shows it."""
    rest = None if progress.rest is None else round(1000 * progress.rest)
    return EvalFigures(
        name=progress.name,
        total=progress.total,
        done=progress.done,
        passed=progress.passed,
        failed=progress.failed,
        broken=progress.broken,
        cost=progress.cost,
        unpriced=progress.unpriced,
        budget=budget,
        rest_ms=None if progress.ended else rest,
        case=progress.case,
        missed=tuple(
            Missed(mark=MARKS[row.status], case=row.case, why=row.why)
            for row in progress.missed
        ),
    )


def _table(suite: SuiteReport) -> list[list[str]]:
    """Failures first when there are too many rows to show them all."""
    rows: Sequence[EvalRow] = suite.rows
    left = len(rows) - MOST_ROWS
    if left > 0:
        ordered = sorted(range(len(rows)), key=lambda i: (rows[i].passed, i))
        rows = [rows[i] for i in sorted(ordered[:MOST_ROWS])]
    several = any(row.repeat > 1 for row in rows)
    table = [["", "case", "score", "answer", "why"]]
    for row in rows:
        name = f"{row.case} #{row.repeat}" if several else row.case
        mark = MARKS[row.status]
        table.append(
            [mark, name, f"{row.score:.2f}", one_line(row.answer), one_line(row.why)]
        )
    if left > 0:
        table.append(["", f"{left} more", "", "", ""])
    return table


def _aligned(table: Sequence[Sequence[str]]) -> Iterable[str]:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


def _md_table(table: Sequence[Sequence[str]]) -> Iterable[str]:
    head, *rows = table
    yield f"| {' | '.join(map(_md, head))} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(map(_md, row))} |"


def _md(text: str) -> str:
    for sign in "\\`*_[]<>|":
        text = text.replace(sign, f"\\{sign}")
    return text


def _kept(
    plain: Sequence[str], markdown: Sequence[str], html: Sequence[str]
) -> dict[str, str]:
    return {
        "text/plain": "\n".join(plain).rstrip(),
        "text/markdown": "\n".join(markdown).rstrip(),
        "text/html": "\n".join(html).rstrip(),
    }
