"""What the model calls of a run took, as it is kept with the run.

A run keeps one bill for each model and quarter of an hour, so that totals by model and
by day need nothing but the runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, cast

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
    return sum(bills, Bill())


def bills_of(row: RunRow) -> list[Bill]:
    """The bills of a run; one that kept none counts as priced by nobody."""
    if not row.bills and row.turn:
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
    found = usage or Usage()
    call = Bill(
        calls=1,
        unpriced=int(price is None or partial),
        free=int(price is not None and price.source == "free"),
        usage=found,
        spent={price.currency: round(price.amount, _DIGITS)} if price else {},
        model=model,
        at=at - at % _QUARTER,
    )
    return _with(row, call)


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
    session = Bill(
        unpriced=-turns if price is not None else 0,
        usage=usage,
        spent={price.currency: round(price.amount, _DIGITS)} if price else {},
        model=model,
        at=at - at % _QUARTER,
    )
    return _with(row, session)


def _with(row: RunRow, more: Bill) -> dict[str, JsonValue]:
    bills = [*row.bills]
    newest = bills[-1] if bills else {}
    total = Usage.of(row.usage) + more.usage
    if bills and (newest.get("at", 0), newest.get("model")) == (more.at, more.model):
        more = _read(bills.pop()) + more
    bills.append(_written(more))
    return {"usage": _tiers(total), "bills": cast("JsonValue", bills)}


def _read(kept: Mapping[str, JsonValue]) -> Bill:
    known: dict[str, Any] = {
        field.name: kept[field.name] for field in fields(Bill) if field.name in kept
    }
    known["usage"] = Usage.of(known.get("usage", {}))
    return Bill(**known)


def _written(bill: Bill) -> dict[str, JsonValue]:
    kept: dict[str, JsonValue] = {"at": bill.at, "model": bill.model}
    for name in ("calls", "unpriced", "free"):
        if number := getattr(bill, name):
            kept[name] = number
    kept["usage"] = {k: v for k, v in _tiers(bill.usage).items() if v}
    if bill.spent:
        kept["spent"] = dict(bill.spent)
    return kept


def _tiers(usage: Usage) -> dict[str, JsonValue]:
    return {name: getattr(usage, name) for name in Usage.__slots__}
