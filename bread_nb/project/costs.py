"""What was spent, added up by run, family of runs, session, agent, model or day."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from bread_nb.base.ids import now_ms
from bread_nb.errors import BreadError, closest
from bread_nb.messages import Usage
from bread_nb.runtime.bills import Bill, bills_of, total_of
from bread_nb.stores.records import RunRow
from bread_nb.stores.store import Store

__all__ = ["WAYS", "By", "Costs", "Spent", "added_up", "of", "spent_by_cell"]

By: TypeAlias = Literal["run", "family", "session", "agent", "model", "day"]
WAYS: tuple[By, ...] = ("run", "family", "session", "agent", "model", "day")

_RECENT = 12
_Key: TypeAlias = Callable[[RunRow, Bill], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What was spent on one thing.

    Args:
        name: The run's or its family's handle, the session, agent, model or day.
        runs: How many runs there were.
        bill: Their model calls together.
    """

    name: str
    runs: int
    bill: Bill

    @property
    def calls(self) -> int:
        """The calls of models."""
        return self.bill.calls

    @property
    def tokens(self) -> Usage:
        """The tokens by tier."""
        return self.bill.usage

    @property
    def cost(self) -> float | None:
        """What is known of the cost, in US dollars; None when nothing is known."""
        return self.bill.cost

    @property
    def unpriced_calls(self) -> int:
        """The calls whose cost is not known; with any of them it was more."""
        return self.bill.unpriced

    def __repr__(self) -> str:
        least = ">= " if self.unpriced_calls else ""
        known = "unknown" if self.cost is None else f"{least}${self.cost:.4f}"
        runs = "1 run" if self.runs == 1 else f"{self.runs} runs"
        calls = "1 call" if self.calls == 1 else f"{self.calls} calls"
        return f"Costs({self.name!r}, {runs}, {calls}, {known})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What an agent's families of runs cost, and its last ones one by one.

    `recent` are the costs of the last runs of the cell that the newest one came from,
    oldest first; None is a cost that is not known, or only in part.
    """

    costs: Costs
    recent: tuple[float | None, ...]


async def of(store: Store, by: str, days: int | None = None) -> list[Costs]:
    """What was spent, added up; the most first, runs and days the newest first.

    Args:
        store: Where the runs are.
        by: What each line stands for. A family is a run and all it started.
        days: Only these last days, today among them, as they begin where this runs.

    Raises:
        BreadError: `USAGE` for an unknown way.
    """
    if by not in WAYS:
        raise _unknown(by)
    rows = await store.query(RunRow, newest_first=True)
    found = added_up(rows, _keys(rows)[by], since=_since(days))
    if by in ("agent", "model", "session"):
        return sorted(found, key=lambda costs: (-(costs.cost or 0), costs.name))
    return sorted(found, key=lambda c: c.name, reverse=True) if by == "day" else found


async def spent_by_cell(store: Store, days: int | None = None) -> list[Spent]:
    """What the families of each agent cost, the newest agent first."""
    rows = await store.query(RunRow, newest_first=True)
    known = {row.id: row for row in rows}
    families = added_up(rows, _keys(rows)["family"])
    costs = {each.name: each.bill for each in families}
    roots = [row for row in rows if _root(row, known) is row and row.handle in costs]
    found = added_up(
        rows, lambda row, _: _root(row, known).agent_id, since=_since(days)
    )
    return [
        Spent(costs=each, recent=_recent(each.name, roots, costs)) for each in found
    ]


def added_up(rows: Iterable[RunRow], key: _Key, *, since: int = 0) -> list[Costs]:
    """The bills of runs by what `key` makes of each, in the order of the runs.

    Args:
        rows: The runs.
        key: What a bill of a run is counted under.
        since: Only bills from then on, in milliseconds since 1970.
    """
    bills: dict[str, list[Bill]] = {}
    runs: dict[str, set[str]] = {}
    for row in rows:
        for bill in bills_of(row):
            if bill.at >= since:
                name = key(row, bill)
                bills.setdefault(name, []).append(bill)
                runs.setdefault(name, set()).add(row.id)
    return [
        Costs(name=name, runs=len(runs[name]), bill=total_of(parts))
        for name, parts in bills.items()
    ]


def _keys(rows: Sequence[RunRow]) -> Mapping[str, _Key]:
    known = {row.id: row for row in rows}
    return {
        "run": lambda row, _: row.handle,
        "family": lambda row, _: _root(row, known).handle,
        "session": lambda row, _: row.session_id,
        "agent": lambda row, _: row.agent_id,
        "model": lambda row, bill: bill.model or row.model or "",
        "day": lambda _, bill: _day(bill.at),
    }


def _root(row: RunRow, known: Mapping[str, RunRow]) -> RunRow:
    """The run that a family began with; the run itself where that is gone."""
    return known.get(row.root or "", row)


def _recent(
    agent_id: str, roots: Sequence[RunRow], costs: Mapping[str, Bill]
) -> tuple[float | None, ...]:
    own = [root for root in roots if root.agent_id == agent_id]
    if own and own[0].cell is not None:
        own = [root for root in roots if root.cell == own[0].cell]
    bills = [costs[root.handle] for root in own[:_RECENT]]
    return tuple(None if bill.unpriced else bill.cost for bill in reversed(bills))


def _unknown(by: str) -> BreadError:
    near = closest(by, WAYS) or "model"
    return BreadError(
        f"Costs cannot be added up by {by!r}.",
        code="USAGE",
        why=f"the ways are {', '.join(WAYS)}.",
        do=f"%bread cost --by {near}",
    )


def _since(days: int | None) -> int:
    """When the last `days` days began here, in milliseconds since 1970."""
    if days is None:
        return 0
    today = datetime.fromtimestamp(now_ms() / 1000).astimezone()
    begun = today.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    return int((begun - timedelta(days=days - 1)).timestamp() * 1000)


def _day(at: int) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(at / 1000))
