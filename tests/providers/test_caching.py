"""Anthropic's cache: the marks of a request, and what they are worth."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from fixtures.cache_service import MARK, CachingMessages, parts_of
from fixtures.journey import finished, only
from journeys.conftest import bread_in_memory
from pydantic import JsonValue

from bread_nb import Agent, Model, Rates, Run, tool
from bread_nb.crumbs import Crumb
from bread_nb.errors import BreadError
from bread_nb.messages import (
    Message,
    Native,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
    assistant,
    user,
)
from bread_nb.providers.anthropic import Anthropic
from bread_nb.providers.model import ModelRequest
from bread_nb.providers.openai import OpenAI
from bread_nb.providers.responses import Responses

RATES = Rates(input=1, output=5, cache_read=0.1, cache_write=1.25, cache_write_1h=2)
KEPT: dict[str, JsonValue] = {"type": "ephemeral"}
HOUR: dict[str, JsonValue] = {"type": "ephemeral", "ttl": "1h"}


@tool
def weigh(grams: int = 0) -> str:
    """Weigh."""
    return f"{grams} g of the finest flour, weighed twice. " * 20


async def baked(service: CachingMessages, **settings: JsonValue) -> Run:
    """A run against the service, whose every request keeps to the rules."""
    model = Model(
        service.model,
        base_url=service.url,
        api_key="k",
        settings=settings,
        rates=RATES,
    )
    agent = Agent(model=model, tools=[weigh], prompt="Bake. " * 50)
    async with bread_in_memory({"baker": agent}) as bread:
        run = bread.run("baker", "Weigh the flour.")
        await finished(bread, run)
    assert service.refused == []
    return run


def tiers(crumbs: tuple[Crumb, ...]) -> list[tuple[int, int, int]]:
    """Input, read and written tokens of each call."""
    told = [crumb["usage"] for crumb in only(crumbs, "model:usage")]
    return [(u["input"], u["cacheRead"], u["cacheWrite"]) for u in told]


def marks(body: Mapping[str, Any]) -> list[int]:
    """The places of the marks among the blocks of a request."""
    return [n for n, part in enumerate(parts_of(dict(body))) if MARK in part]


def sent(request: ModelRequest, cache: JsonValue = True) -> dict[str, Any]:
    return json.loads(Anthropic("oven-1").encode(request, {"cache": cache}))


# -- what it is worth ------------------------------------------------------------------


async def test_it_is_off_by_default():
    async with CachingMessages() as service:
        run = await baked(service)
        assert all(marks(seen.body) == [] for seen in service.seen)
    assert all(read == written == 0 for _, read, written in tiers(run.crumbs))


async def test_what_was_sent_before_is_read_and_costs_less():
    async with CachingMessages() as service:
        plain = await baked(service)
    async with CachingMessages() as service:
        kept = await baked(service, cache=True)
    first, *later = tiers(kept.crumbs)
    assert first[1] == 0
    assert first[2] > 0
    wrote = first[2]
    for left, read, written in later:
        assert left == 0
        assert read == wrote
        wrote = read + written
    assert [sum(call) for call in tiers(plain.crumbs)] == [
        sum(call) for call in tiers(kept.crumbs)
    ]
    assert kept.cost is not None
    assert plain.cost is not None
    assert kept.cost < plain.cost / 1.5


async def test_the_mark_of_the_transcript_moves_and_leaves_none_behind():
    async with CachingMessages(rounds=5) as service:
        await baked(service, cache=True)
        for seen in service.seen:
            parts = parts_of(seen.body)
            assert marks(seen.body) == [0, 1, len(parts) - 1]


async def test_many_results_at_once_do_not_hide_what_was_kept():
    async with CachingMessages(rounds=2, calls=15) as service:
        run = await baked(service, cache={"transcript": True})
    (_, _, first), (_, second, more), (_, third, _) = tiers(run.crumbs)
    assert second == first
    assert third == second + more


async def test_an_hour_is_told_apart_and_priced():
    async with CachingMessages(rounds=1) as service:
        run = await baked(service, cache={"system": "1h", "transcript": True})
    usage = only(run.crumbs, "model:usage")[0]["usage"]
    assert 0 < usage["cacheWrite1h"] < usage["cacheWrite"]
    cost = RATES.cost(
        Usage(
            input=usage["input"],
            output=5,
            cache_write=usage["cacheWrite"],
            cache_write_1h=usage["cacheWrite1h"],
        )
    )
    assert only(run.crumbs, "model:usage")[0]["cost"] == cost


# -- where marks stand -----------------------------------------------------------------

TALK = (user("Weigh."), assistant(ToolCall("c1", "tool_weigh")))
SPEC = ToolSpec("tool_weigh", "Weigh.", {"type": "object"})
OTHER = ToolSpec("tool_bell", "Ring.", {"type": "object"})
SIGNED = Native("anthropic", "oven-1", {"type": "thinking", "signature": "S"})


def test_each_part_can_be_kept_by_itself():
    request = ModelRequest(
        model="oven-1", system="Bake.", messages=(user("Go."),), tools=(SPEC, OTHER)
    )
    one = sent(request, {"tools": True})
    assert [tool.get(MARK) for tool in one["tools"]] == [None, KEPT]
    assert (one["system"], marks(one)) == ("Bake.", [1])
    two = sent(request, {"system": "1h", "tools": "1h", "transcript": "5m"})
    assert two["system"] == [{"type": "text", "text": "Bake.", MARK: HOUR}]
    assert two["messages"][0]["content"][0] == {
        "type": "text",
        "text": "Go.",
        MARK: KEPT,
    }
    assert sent(request, False) == sent(request, None) == sent(request, {})


def test_what_is_not_there_is_not_marked():
    body = sent(ModelRequest(model="oven-1", messages=(user("Go."),)))
    assert ("tools" in body, "system" in body, marks(body)) == (False, False, [0])


@pytest.mark.parametrize(
    ("last", "marked"),
    [
        (Message("user", (Text("Go."), Text(" "))), "text"),
        (Message("tool", (ToolResult("c1", "tool_weigh", "7 g"),)), "tool_result"),
        (assistant(Text("I"), Reasoning("", SIGNED)), "tool_use"),
        (assistant(SIGNED), "tool_use"),
        (assistant(Text("I"), Reasoning("thought elsewhere")), "text"),
    ],
)
def test_the_last_block_that_takes_a_mark_has_it(last: Message, marked: str):
    messages = (*TALK, last)
    body = sent(ModelRequest(model="oven-1", messages=messages))
    [place] = marks(body)
    assert parts_of(body)[place]["type"] == marked


def test_what_is_kept_of_a_message_has_no_mark_in_it():
    model, message = Anthropic("oven-1"), user("Go.")
    request = ModelRequest(model="oven-1", messages=(message,))
    plain = model.encode(request, {})
    assert MARK.encode() in model.encode(request, {"cache": True})
    assert model.encode(request, {}) == plain
    [kept] = message.encoded.values()
    assert MARK.encode() not in kept


def test_there_are_never_more_than_four_marks():
    many = [ToolCall(f"c{n}", "tool_weigh") for n in range(20)]
    results = [ToolResult(call.id, call.name, "7 g") for call in many]
    messages = (user("Go."), assistant(*many), Message("tool", tuple(results)))
    request = ModelRequest(
        model="oven-1", system="Bake.", messages=messages, tools=(SPEC,)
    )
    own: JsonValue = [{"type": "web_search", "name": "web_search", MARK: KEPT}]
    model = Anthropic("oven-1")
    usual = json.loads(model.encode(request, {"cache": True}))
    assert len(marks(usual)) == 4
    crowded = {"cache": True, "tools": own, MARK: KEPT}
    body = json.loads(model.encode(request, crowded))
    assert len(marks(body)) + (MARK in body) == 4


@pytest.mark.parametrize(
    "cache", ["10m", 3, {"tool": True}, {"system": "2h"}, {"system": True, "tools": []}]
)
def test_a_setting_that_means_nothing_is_refused(cache: JsonValue):
    with pytest.raises(BreadError) as caught:
        sent(ModelRequest(model="oven-1", messages=(user("Go."),)), cache)
    assert caught.value.code == "INVALID_SETTING"


def test_what_is_kept_longer_has_to_come_first():
    with pytest.raises(BreadError) as caught:
        sent(
            ModelRequest(model="oven-1", messages=(user("Go."),)),
            {"system": "5m", "transcript": "1h"},
        )
    assert "comes before" in caught.value.why


@pytest.mark.parametrize("model", [OpenAI("oven-1"), Responses("oven-1")])
def test_services_that_keep_by_themselves_are_not_told(model: OpenAI | Responses):
    request = ModelRequest(model="oven-1", messages=(user("Go."),))
    body = json.loads(model.encode(request, {"cache": True, "prompt_cache_key": "k"}))
    assert "cache" not in body
    assert body["prompt_cache_key"] == "k"
