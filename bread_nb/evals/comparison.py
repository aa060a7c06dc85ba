"""Two reports side by side: what was gained, what was lost, and whether it may be luck.

Cases are paired by suite and name, so models, prompts and commits can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module

from bread_nb.evals.odds import mcnemar

__all__ = ["Comparison", "Tally"]

_DOUBT = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What of a report is compared: its passes, and each case's share of them."""

    passed: int
    expected: int
    shares: Mapping[str, float]

    def __str__(self) -> str:
        return f"{self.passed} of {self.expected}"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """An evaluation beside an earlier one; it shows itself in a cell as a table."""

    before: Tally
    now: Tally

    @cached_property
    def cases(self) -> dict[str, tuple[float | None, float | None]]:
        """The share of passed runs of each case, before and now; None: not there."""
        first, second = self.before.shares, self.now.shares
        return {
            name: (first.get(name), second.get(name)) for name in {**first, **second}
        }

    @property
    def lost(self) -> list[str]:
        """The cases that passed every time before and do not now, the missing too."""
        return [n for n, (was, now) in self.cases.items() if was == 1.0 and now != 1.0]

    @property
    def gained(self) -> list[str]:
        """The cases that did not pass every time before and do now."""
        return [n for n, (was, now) in self.cases.items() if was != 1.0 and now == 1.0]

    @property
    def moved(self) -> tuple[int, int]:
        """How many cases that are on both sides pass more often now, and less often."""
        pairs = [
            (a, b) for a, b in self.cases.values() if a is not None and b is not None
        ]
        return sum(now > was for was, now in pairs), sum(
            now < was for was, now in pairs
        )

    @property
    def chance(self) -> float:
        """How likely so uneven a change is by luck alone; 1 when nothing changed."""
        return mcnemar(*self.moved)

    @property
    def note(self) -> str:
        """In words, whether the change means anything."""
        better, worse = self.moved
        others = sum(None in pair for pair in self.cases.values())
        apart = f" {others} on one side only." if others else ""
        if not better and not worse:
            return f"No case changed.{apart}"
        said = f"{better} gained, {worse} lost"
        if self.chance < _DOUBT:
            return f"{said}: more than luck (p = {self.chance:.3f}).{apart}"
        return f"{said}: that may be luck (p = {self.chance:.2f}).{apart}"

    def __repr__(self) -> str:
        return f"Comparison({self.before} -> {self.now}; {self.note})"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return import_module("bread_nb.evals.tables").compared(self)
