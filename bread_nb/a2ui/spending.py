"""Tokens and money of a run, added up; what is unknown stays unknown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from bread_nb.a2ui.figures import FREE, cap, money_in_full, sums
from bread_nb.a2ui.words import say
from bread_nb.crumbs import ModelUsed

__all__ = ["Spending", "tokens_of"]

_TIERS = (
    ("input", "inputTokens", "input_tokens"),
    ("output", "outputTokens", "output_tokens"),
    ("cacheRead", "cache_read"),
    ("cacheWrite", "cache_write"),
)


@dataclass(slots=True)
class Spending:
    """What the model calls of a run took together."""

    tokens: int = 0
    counted: int = 0
    uncounted: int = 0
    money: dict[str, float] = field(default_factory=dict[str, float])
    priced: int = 0
    unpriced: int = 0
    charged: int = 0
    providers: set[str] = field(default_factory=set[str])
    budget: float | None = None

    def add(self, used: ModelUsed) -> None:
        """Count one model call, or what the end of a session says of its calls."""
        self.providers.add(used.model.partition(":")[0])
        total = tokens_of(used.usage)
        if used.kind == "session":
            self.tokens += total
            self.unpriced -= (used.turns or 0) if used.cost is not None else 0
            self._pay(used)
            return
        if total:
            self.tokens += total
            self.counted += 1
        else:
            self.uncounted += 1
        self.charged += used.cost is None or used.cost_source != "free"
        self.unpriced += used.cost is None or bool(used.partial)
        self._pay(used)

    def _pay(self, used: ModelUsed) -> None:
        if used.cost is None:
            return
        currency = used.currency or "USD"
        self.money[currency] = self.money.get(currency, 0.0) + used.cost
        self.priced += 1

    @property
    def known_tokens(self) -> int | None:
        """All tokens, or None when those of some call are not known."""
        return self.tokens if self.counted and not self.uncounted else None

    def token_words(self) -> str | None:
        """The tokens for the picture, or None when nothing is known of them."""
        if not self.counted:
            return None
        key = "tokens_at_least" if self.uncounted else "tokens"
        return say(key, {"n": self.tokens})

    def free(self, provider: str | None = None) -> str | None:
        """Where it runs when no model of the run takes money."""
        used = self.providers or ({provider} if provider else set[str]())
        places = {FREE.get(name) for name in used}
        charged = self.charged or not self.providers
        if not used or (charged and None in places) or any(self.money.values()):
            return None
        return "scripted" if places == {"scripted"} else "local"

    @property
    def known(self) -> bool:
        """Whether anything is known of the cost."""
        return bool(self.priced and (any(self.money.values()) or not self.unpriced))

    def cost_words(self, provider: str | None = None) -> str:
        """The cost as the card shows it."""
        if place := self.free(provider):
            return say("cost_free", {"place": place})
        if not self.known:
            return say("cost_unknown" if self.unpriced else "cost_none")
        shown = sums(self.money)
        if self.unpriced:
            return say("cost_at_least", {"cost": shown})
        if self.budget is not None and len(self.money) == 1:
            currency = next(iter(self.money))
            return say("cost_of", {"cost": shown, "cap": cap(self.budget, currency)})
        return shown

    def cost_kept(self) -> str | None:
        """The cost as the picture keeps it, or None when it is not known."""
        if place := self.free():
            return say("cost_free", {"place": place}) if place == "local" else None
        if not self.known:
            return None
        shown = sums(self.money, money_in_full)
        return say("cost_at_least", {"cost": shown}) if self.unpriced else shown


def tokens_of(usage: JsonValue) -> int:
    """All the tokens of a crumb's usage, each counted once."""
    if not isinstance(usage, Mapping):
        return 0
    total = 0
    for names in _TIERS:
        found: Any = next((usage[name] for name in names if name in usage), 0)
        if isinstance(found, int | float) and not isinstance(found, bool):
            total += int(found)
    return total
