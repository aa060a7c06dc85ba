"""Evals: suites of cases, the scorers they are held against, and the report.

Each name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

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
_MODULES = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    home = _MODULES.get(name)
    if home is None:
        raise AttributeError(f"module 'bread_nb.evals' has no attribute {name!r}")
    return getattr(import_module(f"bread_nb.evals.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
