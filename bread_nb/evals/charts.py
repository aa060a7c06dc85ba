"""A report as a figure: pass rate by case, cost and working time by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from matplotlib.figure import Figure

if TYPE_CHECKING:
    from bread_nb.evals.report import Report
    from bread_nb.evals.scoresheet import EvalRow

__all__ = ["draw"]

_MOST_CASES = 40
_PASSED, _FAILED, _BROKEN = "#2e7d32", "#c62828", "#9e9e9e"


def draw(report: Report) -> Figure:
    """The figure of a report; a row whose cost is not known has a hollow mark."""
    figure = Figure(figsize=(10, 3.2), layout="constrained")
    rates, costs, times = cast("Sequence[Any]", figure.subplots(1, 3))
    _pass_rates(rates, report)
    _costs(costs, report.rows)
    _times(times, report.rows)
    return figure


def _pass_rates(axes: Any, report: Report) -> None:  # noqa: ANN401
    shares = report.tally(len(report.suites) > 1).shares
    ordered = sorted(shares, key=lambda name: (shares[name], name))
    left = len(ordered) - _MOST_CASES
    names = ordered[:_MOST_CASES]
    values = [shares[name] for name in names]
    colours = [_PASSED if value == 1.0 else _FAILED for value in values]
    axes.barh(range(len(names)), values, color=colours)
    few = len(names) <= 12
    axes.set_yticks(range(len(names)) if few else [], names if few else None)
    axes.set_xlim(0, 1)
    axes.invert_yaxis()
    axes.set_title("pass rate by case" + (f", {left} more" if left > 0 else ""))


def _costs(axes: Any, rows: Sequence[EvalRow]) -> None:  # noqa: ANN401
    for index, row in enumerate(rows):
        known = row.cost is not None
        face = _colour(row) if known else "none"
        axes.scatter(index, row.cost or 0.0, color=face, edgecolors=_colour(row), s=18)
    axes.set_xlabel("row")
    axes.set_title("cost, USD (hollow: not known)")
    axes.set_ylim(bottom=0)


def _times(axes: Any, rows: Sequence[EvalRow]) -> None:  # noqa: ANN401
    seconds = [row.ms / 1000 for row in rows]
    axes.hist(seconds, bins=min(20, max(1, len(rows))), color="#546e7a")
    axes.set_xlabel("seconds")
    axes.set_title("working time")


def _colour(row: EvalRow) -> str:
    if row.passed:
        return _PASSED
    return _FAILED if row.status == "failed" else _BROKEN
