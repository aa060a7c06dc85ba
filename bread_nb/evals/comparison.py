"""Two reports side by side: what was gained, what was lost, and whether it may be luck.

Cases are paired by suite and name, so models, prompts and commits can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module

from bread_nb.evals.odds import mcnemar
from bread_nb.evals.report import Report

__all__ = ["Comparison"]

_DOUBT = 0.05


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """An evaluation beside an earlier one; it shows itself in a cell as a table."""

    before: Report
    now: Report

    @cached_property
    def cases(self) -> dict[str, tuple[float | None, float | None]]:
        """The share of passed runs of each case, before and now; None: not there."""
        first, second = _shares(self.before), _shares(self.now)
        return {name: (first.get(name), second.get(name)) for name in first | second}

    @property
    def lost(self) -> list[str]:
        """The cases that passed every time before and do not now, the missing too."""
        return [n for n, (was, now) in self.cases.items() if was == 1.0 and now != 1.0]

    @property
    def gained(self) -> list[str]:
        """The cases that did not pass every time before and do now."""
        return [n for n, (was, now) in self.cases.items() if was != 1.0 and now == 1.0]

    @property
    def chance(self) -> float:
        """How likely so uneven a change is by luck alone; 1 when nothing changed."""
        pairs = [
            (a, b) for a, b in self.cases.values() if a is not None and b is not None
        ]
        gained = sum(now > was for was, now in pairs)
        lost = sum(now < was for was, now in pairs)
        return mcnemar(gained, lost)

    @property
    def note(self) -> str:
        """In words, whether the change means anything."""
        if not self.gained and not self.lost:
            return "No case changed."
        said = f"{len(self.gained)} gained, {len(self.lost)} lost"
        if self.chance < _DOUBT:
            return f"{said}: more than luck (p = {self.chance:.3f})."
        return f"{said}: that may be luck (p = {self.chance:.2f})."

    def __repr__(self) -> str:
        was, now = self.before, self.now
        return (
            f"Comparison({was.passed} of {was.expected} -> {now.passed} of "
            f"{now.expected}; {self.note})"
        )

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return import_module("bread_nb.evals.tables").compared(self)


def _shares(report: Report) -> dict[str, float]:
    several = len(report.suites) > 1
    return {
        f"{suite.name}: {case}" if several else case: (
            sum(row.passed for row in rows) / len(rows)
        )
        for suite in report.suites
        for case, rows in suite.by_case.items()
    }
