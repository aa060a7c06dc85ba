"""What a model call cost, and who says so.

Asked in this order: the service's own figure, the caller's rates, the price table of
genai-prices. Models that take no money are free. What nobody knows is None, never 0:
a call without a count of tokens, a model or a host that the table does not have, and
terms (a class of service, a search) that it has no price for.

The table is read from the disk when the first call has to be priced by it; nothing is
fetched.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib import import_module
from typing import Protocol, cast
from urllib.parse import urlsplit

from bread_nb.messages import Price
from bread_nb.providers.faults import variable
from bread_nb.providers.keys import wrong_with
from bread_nb.providers.model import (
    ChatModel,
    Delta,
    Finish,
    Model,
    Restart,
    UsageReport,
)
from bread_nb.providers.rates import Rates, is_money

__all__ = ["FREE", "Called", "price", "price_now", "stamped"]

FREE = Price(0.0, "free")

_SERVICES = {
    "anthropic": "anthropic",
    "gemini": "google",
    "openai": "openai",
    "responses": "openai",
}
_ENVIRONMENT = {"responses": "openai"}
_PRICE = "price"
_INSIDE = ("made", "inner")


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """A model call that has ended, as far as its price depends on it.

    Args:
        model: The model that was asked.
        name: `provider:model` of who answered.
        answered: What the service calls the model that answered.
        report: The last report of its tokens, if there was any.
    """

    model: ChatModel
    name: str
    answered: str | None = None
    report: UsageReport | None = None


async def price(call: Called, rates: Mapping[str, Rates] | None = None) -> Price | None:
    """What a call cost; None when it is not known.

    Args:
        call: The call.
        rates: The project's own rates, by `provider:model`.
    """
    chain = _chain(call.model, call.name)
    found = _told(call, chain, rates or {})
    if found is not None or not _in_table(call, chain):
        return found
    if not _table.cache_info().currsize:
        await asyncio.to_thread(_table)
    return _looked_up(call, chain)


def price_now(call: Called, rates: Mapping[str, Rates] | None = None) -> Price | None:
    """As `price`, for where nothing can be waited for."""
    chain = _chain(call.model, call.name)
    found = _told(call, chain, rates or {})
    if found is not None or not _in_table(call, chain):
        return found
    return _looked_up(call, chain)


async def stamped(
    model: ChatModel, said: Sequence[Delta], rates: Mapping[str, Rates] | None = None
) -> list[Delta]:
    """What a model said, its last report with the price it has today.

    A recording of it costs the same whenever it is played; what nobody knows the price
    of today stays unknown.
    """
    finish = next((d for d in reversed(said) if isinstance(d, Finish)), Finish(None))
    told, place = list(said), len(said) - 1
    while place >= 0 and not isinstance(told[place], UsageReport | Restart):
        place -= 1
    report = told[place] if place >= 0 else None
    if isinstance(report, UsageReport):
        name = finish.name or _asked_last(said) or model.name
        call = Called(model=model, name=name, answered=finish.model, report=report)
        found = await price(call, rates)
        terms = report.terms if found else {**report.terms, _PRICE: "unknown"}
        told[place] = replace(report, price=found, terms=terms)
    return told


def _asked_last(said: Sequence[Delta]) -> str | None:
    names = [d.model for d in said if isinstance(d, Restart) and d.model]
    return names[-1] if names else None


# -- without the table -----------------------------------------------------------------


def _told(
    call: Called, chain: Sequence[ChatModel], rates: Mapping[str, Rates]
) -> Price | None:
    """The price as the service or the caller knows it, or none to pay."""
    report = call.report
    if report is not None and _PRICE in report.terms:
        return None
    if report is not None and report.price is not None:
        return report.price if is_money(report.price.amount) else None
    own = next((d.rates for m in chain if (d := _described(m)) and d.rates), None)
    own = own or rates.get(call.name)
    if own is not None:
        counted = report is not None and report.usage.total
        return Price(own.cost(report.usage), "rates") if counted and report else None
    return FREE if chain[-1].free else None


def _chain(model: ChatModel, name: str) -> list[ChatModel]:
    """The model that answered as `name`, and what is inside of it."""
    at: ChatModel | None = _named(model, name) or model
    chain: list[ChatModel] = []
    while at is not None:
        chain.append(at)
        at = next(filter(None, (getattr(at, each, None) for each in _INSIDE)), None)
    return chain


def _named(model: ChatModel, name: str) -> ChatModel | None:
    """The one of several models, such as those of a fallback, that has this name."""
    several: tuple[ChatModel, ...] = tuple(getattr(model, "models", ()))
    inside = [getattr(model, each, None) for each in _INSIDE]
    if not several and model.name == name:
        return model
    for each in (*several, *filter(None, inside)):
        found = _named(each, name)
        if found is not None:
            return found
    return None


def _described(model: object) -> Model | None:
    found: object = getattr(model, "described", None)
    return found if isinstance(found, Model) else None


# -- the table -------------------------------------------------------------------------


class _Table(Protocol):
    def look_up(
        self,
        references: Sequence[str],
        report: UsageReport,
        *,
        service: str | None,
        url: str | None,
    ) -> Price | None: ...


@cache
def _table() -> _Table:
    """The table, which takes a moment to load."""
    return cast("_Table", import_module("bread_nb.providers.price_table"))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a model is sold: a service of the table, or an address."""

    service: str | None
    url: str | None


def _in_table(call: Called, chain: Sequence[ChatModel]) -> bool:
    """Whether it is worth to ask the table."""
    report = call.report
    return bool(
        report is not None
        and report.usage.total
        and _PRICE not in report.terms
        and not (report.price or chain[-1].free)
        and _place(chain) is not None
    )


def _place(chain: Sequence[ChatModel]) -> _Place | None:
    """Where the model that answered is sold; None for a host that nobody knows."""
    found = [d for m in chain if (d := _described(m))]
    if not found:
        return None
    described = found[-1]
    provider = described.name.partition(":")[0]
    client: object = getattr(described, "client", None)
    address: object = getattr(client, "base_url", None) or described.base_url
    named = variable(_ENVIRONMENT.get(provider, provider), "BASE_URL")
    url = str(address or os.environ.get(named) or "")
    if url:
        return _Place(None, url) if _is_public(url) else None
    service = _SERVICES.get(provider)
    return _Place(service, None) if service else None


@lru_cache(maxsize=64)
def _is_public(url: str) -> bool:
    """Whether a host can be one that sells models to everybody."""
    if wrong_with(url):
        return False
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        return "." in host and not host.endswith((".local", ".internal", ".localhost"))


def _looked_up(call: Called, chain: Sequence[ChatModel]) -> Price | None:
    place, report = _place(chain), call.report
    if place is None or report is None:
        return None
    names = (call.answered, call.name.partition(":")[2])
    references = list(dict.fromkeys(filter(None, names)))
    return _table().look_up(references, report, service=place.service, url=place.url)
