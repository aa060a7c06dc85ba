"""What a caller pays for a model, where that is known better than by any table."""

from __future__ import annotations

from dataclasses import dataclass, fields
from decimal import Decimal
from math import isfinite

from bread_nb.errors import BreadError
from bread_nb.messages import Usage

__all__ = ["Rates"]

_MILLION = 1_000_000


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
            if value is not None and not _is_money(value):
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


def _is_money(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isfinite(value) and value >= 0
