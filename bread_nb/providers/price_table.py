"""The price table of genai-prices, asked for one call.

Imported when the first call has to be priced by it: it takes a moment to load. What it
needs comes with the package; nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import genai_prices
from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import ModelInfo, Provider
from pydantic import JsonValue

from bread_nb.base.ids import now_ms
from bread_nb.messages import Price, Usage
from bread_nb.providers.model import UsageReport

__all__ = ["look_up"]

_NAME = "genai-prices"
_CLASSES = ("service_tier", "speed", "processing")
_TOOLS = {
    "web_searches": "web_searches_kcount",
    "storage_searches": "storage_searches_kcount",
    "code_executions": "code_executions_kcount",
}
# Charged like the other tokens where they have no price of their own.
_MODES = frozenset({"input_audio_tokens", "output_audio_tokens", "output_image_tokens"})
# What has to have a price of its own; other tiers are charged like the input.
_NEEDED = {
    "input_tokens": "input_mtok",
    "output_tokens": "output_mtok",
    "cache_write_1h_tokens": "cache_write_1h_mtok",
    **_TOOLS,
}
# Read now, on the thread that imports this module.
get_snapshot()


def look_up(
    references: Sequence[str],
    report: UsageReport,
    *,
    service: str | None,
    url: str | None,
) -> Price | None:
    """What a call cost by the table; None where the table does not know it.

    Args:
        references: What the model is called; the first name that is known counts.
        report: Its tokens and terms.
        service: The service as the table calls it, or else
        url: its address.
    """
    for reference in references:
        found = _found(reference, service, url)
        if found is not None:
            when = datetime.fromtimestamp(now_ms() / 1000, UTC)
            amount = _cost(report, *found, when)
            return None if amount is None else Price(amount, _source())
    return None


def _found(
    reference: str, service: str | None, url: str | None
) -> tuple[Provider, ModelInfo] | None:
    try:
        return get_snapshot().find_provider_model(reference, None, service, url)
    except LookupError:
        return None


def _source() -> str:
    """The table and its version, or its date where the program keeps it fresh."""
    snapshot = get_snapshot()
    if snapshot.from_auto_update:
        return f"{_NAME} {snapshot.timestamp:%Y-%m-%d}"
    return f"{_NAME} {genai_prices.__version__}"


def _cost(
    report: UsageReport, provider: Provider, model: ModelInfo, when: datetime
) -> float | None:
    """The cost by the table; None where it lacks a price that is needed."""
    counts = _counts(report.usage) | _told(report.terms)
    kind = _class(report.terms)
    if kind is None:
        return None
    context: dict[str, str] = dict.fromkeys([*_CLASSES], kind) if kind else {}
    if context and not _has_variant(model, context):
        return None
    known = vars(model.get_prices(when, context))
    if any(known.get(_NEEDED[key]) is None for key in counts if key in _NEEDED):
        return None
    try:
        found = model.calc_price(
            genai_prices.Usage(**counts),
            provider,
            genai_request_timestamp=when,
            price_context=context,
        )
    except ValueError:
        return None
    return float(found.total_price)


def _counts(usage: Usage) -> dict[str, int]:
    """The tiers by the table's names, in which the input holds all that was read."""
    counts = {
        "input_tokens": usage.input + usage.cache_read + usage.cache_write,
        "output_tokens": usage.output,
        "cache_read_tokens": usage.cache_read,
        "cache_write_tokens": usage.cache_write,
        "cache_write_1h_tokens": usage.cache_write_1h,
        "output_reasoning_tokens": min(usage.reasoning, usage.output),
    }
    return {key: count for key, count in counts.items() if count}


def _told(terms: Mapping[str, JsonValue]) -> dict[str, int]:
    return {
        key: value
        for key, value in terms.items()
        if (key in _TOOLS or key in _MODES) and isinstance(value, int) and value
    }


def _class(terms: Mapping[str, JsonValue]) -> str | None:
    """The class of service; empty for the usual one, None where two are told."""
    told = {value for value in terms.values() if isinstance(value, str)}
    return None if len(told) > 1 else next(iter(told), "")


def _has_variant(model: ModelInfo, context: Mapping[str, str]) -> bool:
    return any(
        all(context.get(key) == value for key, value in variant.when.items())
        for variant in model.price_variants or ()
    )
