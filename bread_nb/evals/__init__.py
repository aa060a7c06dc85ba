"""Evals: suites of cases, the scorers they are held against, and the report.

Each name is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bread_nb.base.later import names_of

if TYPE_CHECKING:
    from bread_nb.evals.case import Case, Suite
    from bread_nb.evals.datasets import Columns
    from bread_nb.evals.report import Report
    from bread_nb.evals.scorers import (
        contains,
        custom,
        exact,
        judge,
        regex,
        schema,
        similar,
    )
    from bread_nb.evals.scoring import Attempt, Scorer, Verdict
    from bread_nb.evals.trail import crumbs

__all__ = [
    "Attempt",
    "Case",
    "Columns",
    "Report",
    "Scorer",
    "Suite",
    "Verdict",
    "contains",
    "crumbs",
    "custom",
    "exact",
    "judge",
    "regex",
    "schema",
    "similar",
]

_HOMES = {
    "case": ("Case", "Suite"),
    "datasets": ("Columns",),
    "report": ("Report",),
    "scorers": (
        "contains",
        "custom",
        "exact",
        "judge",
        "regex",
        "schema",
        "similar",
    ),
    "scoring": ("Attempt", "Scorer", "Verdict"),
    "trail": ("crumbs",),
}
__getattr__ = names_of(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
