"""What the model calls of a run took, as it is kept with the run.

A run keeps one bill for each model and quarter of an hour, so that totals by model and
by day need nothing but the runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from pydantic import JsonValue

from bread_nb.messages import Price, Usage
from bread_nb.stores.records import RunRow

__all__ = ["Bill", "bills_of", "total_of", "with_call", "with_session"]

_QUARTER = 900_000
_DIGITS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """Model calls together.

    Args:
        calls: How many there were.
        unpriced: Those among them whose cost is not known, or only in part.
        free: Those that cost nothing.
        usage: Their tokens.
        spent: What is known of their cost, by currency.
        model: `provider:model` of who answered.
        at: The beginning of their quarter of an hour, in milliseconds since 1970.
    """

    calls: int = 0
    unpriced: int = 0
    free: int = 0
    usage: Usage = Usage()
    spent: Mapping[str, float] = field(default_factory=dict[str, float])
    model: str = ""
    at: int = 0

    @property
    def cost(self) -> float | None:
        """What is known of the cost, in US dollars; None when nothing is known."""
        if self.unpriced and not any(self.spent.values()):
            return None
        if self.spent.keys() - {"USD"}:
            return None
        return self.spent.get("USD", 0.0)

    def __add__(self, other: Bill) -> Bill:
        spent = dict(self.spent)
        for currency, amount in other.spent.items():
            spent[currency] = round(spent.get(currency, 0.0) + amount, _DIGITS)
        return replace(
            self,
            calls=self.calls + other.calls,
            unpriced=self.unpriced + other.unpriced,
            free=self.free + other.free,
            usage=self.usage + other.usage,
            spent=spent,
        )


def total_of(bills: Iterable[Bill]) -> Bill:
    """All the bills as one."""
    total: Bill | None = None
    for bill in bills:
        total = bill if total is None else total + bill
    return total or Bill()


def bills_of(row: RunRow) -> list[Bill]:
    """The bills of a run; one that kept none counts as priced by nobody."""
    cut = row.status in ("failed", "cancelled") and not row.usage
    if not row.bills and row.turn and not cut:
        usage = Usage.of(row.usage)
        kept = Bill(calls=row.turn, unpriced=row.turn, usage=usage)
        return [replace(kept, model=row.model or "", at=row.created_at)]
    return [_read(bill) for bill in row.bills]


def with_call(
    row: RunRow,
    model: str,
    usage: Usage | None,
    price: Price | None,
    *,
    at: int,
    partial: bool = False,
) -> dict[str, JsonValue]:
    """The fields of a run with one more model call in them.

    Args:
        row: The run.
        model: `provider:model` of who answered.
        usage: The tokens, as far as they were reported.
        price: What it cost, as far as that is known.
        at: When it ended, in milliseconds since 1970.
        partial: Whether it was cut, so that it may have cost more.
    """
    more = {
        "calls": 1,
        "unpriced": int(price is None or partial),
        "free": int(price is not None and price.source == "free"),
    }
    return _with(row, model, at, more, usage=usage, price=price)


def with_session(
    row: RunRow, model: str, usage: Usage, price: Price | None, *, turns: int, at: int
) -> dict[str, JsonValue]:
    """The fields of a run with the end of a session whose turns had no price yet.

    Args:
        row: The run.
        model: `provider:model` of who answered.
        usage: The tokens that the turns did not report.
        price: What the session cost, where that is known.
        turns: How many calls of the run this is the price of.
        at: When it ended, in milliseconds since 1970.
    """
    more = {"calls": 0, "unpriced": -turns if price is not None else 0, "free": 0}
    return _with(row, model, at, more, usage=usage, price=price)


def _with(
    row: RunRow,
    model: str,
    at: int,
    more: Mapping[str, int],
    *,
    usage: Usage | None,
    price: Price | None,
) -> dict[str, JsonValue]:
    """The fields of a run with this added to the bill of its model and quarter."""
    quarter = at - at % _QUARTER
    last = row.bills[-1] if row.bills else {}
    goes_on = (last.get("at", 0), last.get("model")) == (quarter, model)
    old: dict[str, Any] = last if goes_on else {}
    bill: dict[str, Any] = {"at": quarter, "model": model}
    for name, number in more.items():
        if total := old.get(name, 0) + number:
            bill[name] = total
    bill["usage"] = _more(old.get("usage", {}), usage)
    spent: dict[str, float] = old.get("spent", {})
    if price is not None:
        amount = spent.get(price.currency, 0.0) + price.amount
        spent = {**spent, price.currency: round(amount, _DIGITS)}
    if spent:
        bill["spent"] = spent
    before = row.bills[:-1] if goes_on else row.bills
    return {"usage": _more(row.usage, usage), "bills": [*before, bill]}


def _more(tiers: Mapping[str, int], usage: Usage | None) -> dict[str, JsonValue]:
    """Tiers with those of one more call; what is none is left out."""
    more: dict[str, JsonValue] = {**tiers}
    for name in Usage.__slots__ if usage is not None else ():
        if count := getattr(usage, name):
            more[name] = tiers.get(name, 0) + count
    return more


def _read(kept: Mapping[str, JsonValue]) -> Bill:
    known: dict[str, Any] = {
        field.name: kept[field.name] for field in fields(Bill) if field.name in kept
    }
    known["usage"] = Usage.of(known.get("usage", {}))
    return Bill(**known)
