"""What a call costs by those who know it best: the caller's rates, the service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from math import isfinite
from typing import Any, TypeGuard, cast

from pydantic import JsonValue

from bread_nb.errors import BreadError
from bread_nb.messages import Price, Usage

__all__ = ["Rates", "is_money", "reported", "served_as"]

_MILLION = 1_000_000
_USUAL = frozenset({"auto", "default", "on_demand", "standard"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """US dollars for a million tokens of each tier.

    Args:
        input: Tokens that no cache had.
        output: Tokens of the answer, its reasoning among them.
        cache_read: Tokens read from a cache; like `input` when it is left out.
        cache_write: Tokens written to a cache; like `input` when it is left out.
        cache_write_1h: Those written for an hour; like `cache_write` when left out.

    Raises:
        BreadError: `INVALID_RATES` for a rate that is no amount of money.
    """

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None
    cache_write_1h: float | None = None

    def __post_init__(self) -> None:
        for rate in fields(self):
            value: object = getattr(self, rate.name)
            if value is not None and not is_money(value):
                raise BreadError(
                    f"{rate.name} cannot be {value!r}.",
                    code="INVALID_RATES",
                    why="it is US dollars for a million tokens; 0 is no charge.",
                    do="Rates(input=2, output=10, cache_read=0.2, cache_write=2.5)",
                )

    def cost(self, usage: Usage) -> float:
        """What these tokens cost, each counted once."""
        written = self.input if self.cache_write is None else self.cache_write
        tiers = (
            (self.input, usage.input),
            (self.output, usage.output),
            (self.cache_read, usage.cache_read),
            (written, usage.cache_write - usage.cache_write_1h),
            (
                written if self.cache_write_1h is None else self.cache_write_1h,
                usage.cache_write_1h,
            ),
        )
        total = sum(
            Decimal(str(self.input if rate is None else rate)) * tokens
            for rate, tokens in tiers
        )
        return float(total / _MILLION)


def reported(usage: Mapping[str, Any]) -> Price | None:
    """The figure that a service puts into the usage of its answer, if it does.

    OpenRouter tells what it charged, and where the caller's own key was used, what the
    service behind it charges for that.
    """
    ticks = _amount(usage.get("cost_in_usd_ticks"))
    if ticks is not None:
        return Price(ticks / 10**10, "provider")
    cost = usage.get("cost")
    if isinstance(cost, Mapping):
        cost = cast("Mapping[str, object]", cost).get("total_cost")
    charged = _amount(usage.get("estimated_cost") if cost is None else cost)
    if charged is None:
        return None
    if usage.get("is_byok"):
        details = usage.get("cost_details")
        if not isinstance(details, Mapping):
            return None
        known = cast("Mapping[str, object]", details)
        behind = _amount(known.get("upstream_inference_cost"))
        if behind is None:
            return None
        charged += behind
    return Price(charged, "provider")


def served_as(**told: object) -> dict[str, JsonValue]:
    """Of the classes of service that a service told, those that are not the usual."""
    return {
        name: kind.lower()
        for name, kind in told.items()
        if isinstance(kind, str) and kind and kind.lower() not in _USUAL
    }


def _amount(value: object) -> float | None:
    return float(value) if is_money(value) else None


def is_money(value: object) -> TypeGuard[int | float]:
    """Whether a value is an amount of money: a number, finite and not below 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isfinite(value) and value >= 0
