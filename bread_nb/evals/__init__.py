"""Evals: suites of cases, the scorers they are held against, and the report."""

from bread_nb.evals.case import Case, Suite
from bread_nb.evals.datasets import Columns
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
