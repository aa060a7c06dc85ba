"""The numbers that runs are named by: `writer-3` is the third run of the writer.

A number is handed out before the store has heard of it, so that many runs can start
at once: each one's commit expects the number before its own, and commits keep the order
in which they were asked for.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Number", "Numbers"]


@dataclass(frozen=True, slots=True)
class Number:
    """A number of an agent's run; `era` grows when handed out numbers were wrong."""

    agent_id: str
    value: int
    era: int


class Numbers:
    """Hands out the numbers of each agent's runs, in order."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[int, int]] = {}

    def next(self, agent_id: str) -> Number:
        """The next number; the store must hear of it before anything is awaited."""
        value, era = self._last.get(agent_id, (0, 0))
        self._last[agent_id] = (value + 1, era)
        return Number(agent_id, value + 1, era)

    def refused(self, number: Number, stored: int) -> None:
        """Begin again above what is stored, unless somebody has done so already."""
        _, era = self._last[number.agent_id]
        if era == number.era:
            self._last[number.agent_id] = (stored, era + 1)
