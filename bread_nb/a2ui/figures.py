"""Numbers, money and time as people read them: the one formatter of the house."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite

__all__ = [
    "FREE",
    "age",
    "cap",
    "clock",
    "count",
    "money",
    "money_in_full",
    "seconds",
    "size",
    "sparkline",
    "sums",
]

FREE = {"local": "local", "ollama": "local", "scripted": "scripted"}

_BARS = "▁▂▃▄▅▆▇█"
_HOLLOW = "▯"
_SIGNS = {"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥"}


def count(number: int) -> str:
    """A whole number with its thousands set apart: `2,310`."""
    return f"{number:,}"


def clock(ms: int) -> str:
    """A working time: `0:14`, `1:02:09`."""
    whole = max(ms, 0) // 1000
    hours, rest = divmod(whole, 3600)
    minutes, second = divmod(rest, 60)
    if hours:
        return f"{hours}:{minutes:02}:{second:02}"
    return f"{minutes}:{second:02}"


def seconds(ms: int) -> str:
    """How long one thing took: `0.2 s`, `14 s`, and from a minute on `1:04`."""
    if ms >= 60_000:
        return clock(ms)
    return f"{max(ms, 0) / 1000:.1f} s" if ms < 9950 else f"{ms // 1000} s"


def age(ms: int) -> str:
    """How long ago: `now`, `12 min`, `3 h`, `1 day`, `4 days`."""
    minutes = max(ms, 0) // 60_000
    if minutes < 1:
        return "now"
    if minutes < 60:
        return f"{minutes} min"
    if minutes < 1440:
        return f"{minutes // 60} h"
    days = minutes // 1440
    return "1 day" if days == 1 else f"{count(days)} days"


def size(number: int) -> str:
    """A size in bytes: `812 B`, `41 kB`, `1.2 MB`."""
    if number < 1000:
        return f"{number} B"
    if number < 999_500:
        return f"{number / 1000:.0f} kB"
    return f"{number / 1_000_000:.1f} MB"


def money(amount: float, currency: str | None = None) -> str:
    """A cost as the card shows it: the smaller, the more decimals."""
    if amount < 0.1:
        return _priced(amount, 4, currency)
    return _priced(amount, 3 if amount < 1 else 2, currency)


def money_in_full(amount: float, currency: str | None = None) -> str:
    """A cost as the picture keeps it: always four decimals."""
    return _priced(amount, 4, currency)


def sums(
    amounts: Mapping[str, float], form: Callable[[float, str], str] = money
) -> str:
    """Costs by currency, one after the other."""
    return " + ".join(form(amounts[name], name) for name in sorted(amounts))


def sparkline(amounts: Sequence[float | None]) -> str:
    """Amounts as bars beside each other; one that is not known is hollow."""
    most = max((amount for amount in amounts if amount is not None), default=0.0)
    return "".join(
        _HOLLOW if amount is None else _BARS[_height(amount, most)]
        for amount in amounts
    )


def _height(amount: float, most: float) -> int:
    return round(amount / most * (len(_BARS) - 1)) if most > 0 else 0


def cap(amount: float, currency: str | None = None) -> str:
    """A budget as it was set: two decimals, more only where it has more."""
    text = _priced(amount, 6, currency)
    while text.endswith("0") and len(text.rpartition(".")[2]) > 2:
        text = text[:-1]
    return text


def _priced(amount: float, decimals: int, currency: str | None) -> str:
    figure = f"{amount:,.{decimals}f}" if isfinite(amount) else "?"
    name = currency or "USD"
    sign = _SIGNS.get(name)
    return f"{sign}{figure}" if sign else f"{name} {figure}"
