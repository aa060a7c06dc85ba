"""What the services tell of the terms of a call, beside its tokens."""

from typing import Any

import pytest
from pydantic import JsonValue

from bread_nb.messages import Price, Usage
from bread_nb.providers.chat_stream import ChatParser
from bread_nb.providers.gemini_stream import GeminiParser
from bread_nb.providers.messages_stream import MessagesParser
from bread_nb.providers.model import UsageReport
from bread_nb.providers.naming import CallIds
from bread_nb.providers.responses_stream import ResponsesParser

Event = dict[str, Any]


def last(parser: Any, *events: Event) -> UsageReport:  # noqa: ANN401
    """The last report of these events."""
    deltas = [delta for event in events for delta in parser.read(event) or ()]
    return [delta for delta in deltas if isinstance(delta, UsageReport)][-1]


def chat(*events: Event) -> UsageReport:
    parser = ChatParser(provider="openai", model="bun", names={}, ids=CallIds(()))
    return last(parser, *events)


def anthropic(**usage: object) -> UsageReport:
    parser = MessagesParser(provider="a", model="bun", names={}, ids=CallIds(()))
    told = {"input_tokens": 10, "output_tokens": 2, **usage}
    return last(parser, {"type": "message", "content": [], "usage": told})


def responses(**fields: object) -> UsageReport:
    parser = ResponsesParser("openai", model="bun", names={}, ids=CallIds(()))
    usage = {"input_tokens": 10, "output_tokens": 2, **fields.pop("usage", {})}
    whole = {"object": "response", "status": "completed", "usage": usage}
    return last(parser, {**whole, **fields})


def gemini(usage: Event, candidate: Event | None = None) -> UsageReport:
    parser = GeminiParser(model="bun", names={}, ids=CallIds(()))
    told = {"promptTokenCount": 10, "candidatesTokenCount": 2, **usage}
    return last(parser, {"candidates": [candidate or {}], "usageMetadata": told})


def test_openrouters_figure_comes_with_the_tokens():
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "cost": 0.001}
    report = chat({"model": "bun", "choices": [], "usage": usage})
    assert report == UsageReport(Usage(10, 2), Price(0.001, "provider"))


@pytest.mark.parametrize("tier", ["default", "auto", "on_demand", "", None])
def test_the_usual_service_is_no_term(tier: str | None):
    usage = {"prompt_tokens": 10, "completion_tokens": 2}
    assert chat({"usage": usage, "service_tier": tier}).terms == {}
    assert responses(service_tier=tier).terms == {}
    assert anthropic(service_tier="standard", inference_geo="global").terms == {}


def test_another_class_of_service_is_one():
    usage = {"prompt_tokens": 10, "completion_tokens": 2}
    flex = {"service_tier": "flex"}
    # The service says "auto" until it knows.
    assert chat({"service_tier": "auto"}, {"usage": usage, **flex}).terms == flex
    assert responses(**flex).terms == flex
    assert gemini({"serviceTier": "FLEX"}).terms == flex
    assert anthropic(speed="fast").terms == {"speed": "fast"}


@pytest.mark.parametrize(
    ("usage", "terms"),
    [
        ({"inference_geo": "us"}, {"inference_geo": "us"}),
        ({"inference_geo": "not_available"}, {}),
        ({"server_tool_use": {"web_search_requests": 2}}, {"web_searches": 2}),
        ({"server_tool_use": {"web_search_requests": 0}}, {}),
        ({"iterations": [{"type": "message"}]}, {}),
        (
            {"iterations": [{"type": "message"}, {"type": "compaction"}]},
            {"iterations": "other"},
        ),
    ],
)
def test_what_anthropic_charges_beside_tokens(
    usage: Event, terms: dict[str, JsonValue]
):
    assert anthropic(**usage).terms == terms


def test_tokens_kept_for_an_hour_are_a_part_of_those_written():
    kept = {"ephemeral_5m_input_tokens": 30, "ephemeral_1h_input_tokens": 70}
    report = anthropic(cache_creation_input_tokens=100, cache_creation=kept)
    assert report.usage == Usage(10, 2, cache_write=100, cache_write_1h=70)


def test_searches_of_responses_are_counted():
    items = [{"type": kind} for kind in ("web_search_call", "file_search_call")]
    report = responses(output=[*items, items[0]])
    assert report.terms == {"web_searches": 2, "storage_searches": 1}


def test_the_figure_of_xai_comes_through_responses_too():
    report = responses(usage={"cost_in_usd_ticks": 10**9})
    assert report.price == Price(0.1, "provider")


def test_grounding_is_a_term_of_gemini():
    candidate = {"groundingMetadata": {"webSearchQueries": ["rye"]}}
    assert gemini({}, candidate).terms == {"grounding": "search"}
    assert gemini({}, {"groundingMetadata": {}}).terms == {}


def test_sounds_and_pictures_are_told_apart():
    details = [
        {"modality": "TEXT", "tokenCount": 4},
        {"modality": "AUDIO", "tokenCount": 6},
    ]
    made = [{"modality": "IMAGE", "tokenCount": 2}]
    report = gemini({"promptTokensDetails": details, "candidatesTokensDetails": made})
    assert report.terms == {"input_audio_tokens": 6, "output_image_tokens": 2}
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 2,
        "completion_tokens_details": {"audio_tokens": 2},
    }
    assert chat({"usage": usage}).terms == {"output_audio_tokens": 2}
