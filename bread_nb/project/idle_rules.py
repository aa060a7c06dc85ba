"""Rules of an agent's permissions that match none of its tools: slips of the pen.

A misspelt rule under `ask` lets its tool run without a question. What matches nothing
on purpose is not told: rules for other scopes than `tool`, whose tools come from
elsewhere, patterns that are like no tool there is, and all rules where a function gives
the tools.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from bread_nb.base.names import Selector
from bread_nb.errors import closest
from bread_nb.runtime.agent import Agent
from bread_nb.tools.tool import Tool

__all__ = ["IdleRule", "idle_rules"]

_ALIKE = 0.75


@dataclass(frozen=True, slots=True)
class IdleRule:
    """A rule that matches no tool, in words, and its mend."""

    what: str
    do: str

    def __str__(self) -> str:
        return f"{self.what}: {self.do}"


def idle_rules(agent: Agent) -> list[IdleRule]:
    """The rules of an agent that match none of its tools, and were meant to."""
    origins = [tool.origin for tool in agent.tools if isinstance(tool, Tool)]
    names = [origin.name for origin in origins if origin.scope == "tool"]
    if not names or not agent.fixed_tools:
        return []
    found: list[IdleRule] = []
    for rule, selector in _rules(agent):
        if selector.scope != "tool" or any(map(selector.matches, origins)):
            continue
        name = selector.text.partition(":")[2]
        near = _nearest(name, names)
        if near is not None:
            mend = f"did you mean tool:{near}? Else take the rule out"
        elif "*" in name:
            continue
        else:
            mend = f"name one of {', '.join(names)}, or take the rule out"
        found.append(IdleRule(f"the rule {rule} {selector.text} matches no tool", mend))
    return found


def _rules(agent: Agent) -> Iterable[tuple[str, Selector]]:
    lists = agent.permissions
    for rule, entries in (
        ("allow", lists.allow),
        ("ask", lists.ask),
        ("deny", lists.deny),
    ):
        for entry in entries:
            if isinstance(entry, str):
                yield rule, Selector.parse(entry)


def _nearest(name: str, names: Sequence[str]) -> str | None:
    """The tool that a rule was meant for; the pattern that was, where it has a `*`."""
    if "*" not in name:
        return closest(name, names)
    bare = name.replace("*", "")
    parts = {part: each for each in names for part in _parts(each, len(bare))}
    scores = {part: SequenceMatcher(None, bare, part).ratio() for part in parts}
    best = max(scores, key=lambda part: scores[part], default="")
    return parts[best] if scores.get(best, 0) >= _ALIKE else None


def _parts(name: str, length: int) -> tuple[str, ...]:
    """What a pattern of so many letters may stand for in a name."""
    return name, name[:length], name[-length:] if length else ""
