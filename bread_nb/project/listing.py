"""The lists of one Bread instance, gathered for whoever shows them."""

from __future__ import annotations

from collections import Counter
from typing import Protocol

from bread_nb.base.ids import now_ms
from bread_nb.crumbs import Crumb
from bread_nb.project import costs
from bread_nb.project.doctor import Examined
from bread_nb.project.lists import (
    AgentLine,
    Table,
    agent_line,
    agents_table,
    broken_line,
    costs_table,
    runs_table,
    spent_table,
)
from bread_nb.project.open_calls import pending_table
from bread_nb.project.showing import show_text
from bread_nb.runtime.outcome import PendingCall
from bread_nb.stores.records import RunRow

__all__ = [
    "Listed",
    "list_agents",
    "list_costs",
    "list_pending",
    "list_runs",
    "show_run",
]


class Listed(Examined, Protocol):
    """What the lists are made from: an instance of Bread."""

    async def pending(self) -> list[PendingCall]: ...
    async def runs(self, *, limit: int | None = 20) -> list[RunRow]: ...
    async def find_run(self, name: str) -> RunRow: ...
    async def crumbs(self, run: str) -> list[Crumb]: ...


def list_agents(bread: Examined) -> Table:
    """The agents, broken ones included."""
    broken = bread.broken()
    lines: list[AgentLine] = []
    for agent_id in sorted({*bread.agent_ids(), *broken}):
        if agent_id in broken:
            lines.append(broken_line(agent_id, broken[agent_id]))
        else:
            lines.append(agent_line(agent_id, bread.agent(agent_id)))
    return agents_table(lines)


async def list_runs(bread: Listed, *, limit: int | None = 20) -> Table:
    """The newest runs; all of them without a limit."""
    rows = await bread.runs(limit=limit)
    open_calls = Counter(call.run_id for call in await bread.pending())
    interrupted = {row.id for row in await bread.interrupted()}
    return runs_table(rows, now=now_ms(), waiting=open_calls, interrupted=interrupted)


async def list_costs(
    bread: Listed, *, by: str | None = None, days: int | None = 1
) -> Table:
    """What was spent: by family of runs, or in the way that is asked for.

    Raises:
        BreadError: `USAGE` for an unknown way.
    """
    when = "today" if days == 1 else "so far"
    if by is None:
        return spent_table(await costs.spent_by_cell(bread.store, days), when=when)
    if by == "day":
        days, when = None, "so far"
    return costs_table(await costs.of(bread.store, by, days), by, when=when)


async def list_pending(bread: Listed, *, answer: str | None = "form below") -> Table:
    """What waits for a person; `answer` as in `pending_table`."""
    calls = await bread.pending()
    interrupted = await bread.interrupted()
    return pending_table(calls, interrupted, now=now_ms(), answer=answer)


async def show_run(bread: Listed, name: str) -> str:
    """One run, as text.

    Raises:
        BreadError: `RUN_NOT_FOUND`.
    """
    row = await bread.find_run(name)
    return show_text(row, await bread.crumbs(row.id))
