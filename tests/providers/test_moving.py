"""A conversation that moves between services in the middle of its history."""

import json
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from itertools import pairwise

import pytest
from fixtures.api_rules import ChatRules
from fixtures.journey import finished
from fixtures.model_play import play, text_of
from fixtures.strict_services import (
    PIXEL,
    Chat,
    Messages,
    Sealed,
    Service,
    Signed,
    Thinker,
)
from pydantic import JsonValue

from bread_nb import Agent, Bread, BreadConfig, tool
from bread_nb.messages import (
    File,
    Message,
    Native,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    assistant,
    user,
)
from bread_nb.providers.catalog import resolve
from bread_nb.providers.hosts import COMMON, Host, host_at
from bread_nb.providers.local_protocol import shape
from bread_nb.providers.model import Model, ModelRequest
from bread_nb.providers.openai import OpenAI
from bread_nb.stores.blobs import MemoryBlobs
from bread_nb.stores.in_memory import InMemoryStore

KINDS = (Chat, Messages, Sealed, Signed, Thinker)

BELL = b"\x89PNG\r\n\x1a\n bell"
LOAF = b"\xff\xd8\xff loaf"
MENU = b"%PDF-1.7 menu"
SHOWN = (LOAF, MENU, b"RIFF....WAVE", b"rye, 500 g", b"\0 who knows")

PDF = "application/pdf"
SHOWN_BY_TOOL = (
    File("blob:1", "image/jpg; q=1"),
    File("blob:3", PDF),
    File("blob:4", "audio/mpeg"),
    File("blob:5", "text/csv"),
)

# Each service follows each other one just once.
ROUND = (0, 1, 0, 2, 0, 3, 0, 4, 1, 2, 1, 3, 1, 4, 2, 3, 2, 4, 3, 4, 0)


@tool
def weigh(grams: int) -> str:
    """Weigh."""
    return f"{grams} g"


@tool
def bell() -> dict[str, object]:
    """Ring, and show the bell."""
    return {"rang": True, "bell": File.of(BELL, name="bell.png")}


@pytest.fixture
async def services() -> AsyncIterator[list[Service]]:
    """All services, running."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(kind()) for kind in KINDS]


def described(service: Service) -> Model:
    return Model(service.model, base_url=service.url, api_key="made-up")


async def test_a_session_goes_round_all_services_and_no_request_breaks_a_rule(
    services: list[Service],
):
    config = BreadConfig(blob_store=MemoryBlobs())
    agent = Agent(model=described(services[0]), tools=[weigh, bell], prompt="Bake.")
    bread = Bread({"baker": agent}, config=config, store=InMemoryStore())
    said: list[str] = []
    for visit, place in enumerate(ROUND):
        model = described(services[place])
        run = bread.run("baker", f"loaf {visit}", session="s", model=model, files=SHOWN)
        outcome = await finished(bread, run)
        said.append(outcome.text)
    await bread.close()
    assert [service.refused for service in services] == [[]] * len(services)
    assert sum(len(service.seen) for service in services) == 2 * len(ROUND)
    last = json.dumps(services[0].seen[-1].body, ensure_ascii=False)
    assert [words for words in said[:-1] if words not in last] == []
    assert all(f"loaf {visit}" in last for visit in range(len(ROUND)))
    for service in services:
        body = json.dumps(service.seen[-1].body)
        sent = [b64encode(data).decode() in body for data in (LOAF, BELL)]
        assert [*sent, PIXEL in body] == [True, True, True]
        assert "rye, 500 g" in body


async def test_what_a_service_gave_comes_back_to_it_after_others_spoke(
    services: list[Service],
):
    config = BreadConfig(blob_store=MemoryBlobs())
    agent = Agent(model=described(services[0]), tools=[weigh, bell], prompt="Bake.")
    bread = Bread({"baker": agent}, config=config, store=InMemoryStore())
    for place in (0, 1, 2, 3, 4, 0, 1, 2, 3, 4):
        model = described(services[place])
        await finished(bread, bread.run("baker", "go", session="s", model=model))
    await bread.close()
    chat, messages, sealed, signed, thinker = (s.seen[-1].body for s in services)
    assert '"data": "gA1=="' in json.dumps(chat)
    assert '"signature": "S1+/=="' in json.dumps(messages)
    assert '"data": "opaque1=="' in json.dumps(messages)
    assert '"encrypted_content": "x1+/=="' in json.dumps(sealed)
    assert '"phase": "commentary"' in json.dumps(sealed)
    kept = [p for c in signed["contents"] for p in c["parts"]]
    kept = [p["thoughtSignature"] for p in kept if "thoughtSignature" in p]
    assert [s for s in kept if not s.startswith("skip")] == [
        *("T1+/==", "C1==", "E2=="),
        *("T3+/==", "C3=="),
    ]
    assert '"thinking": "Hm 1."' in json.dumps(thinker)


@pytest.mark.parametrize("kind", KINDS)
async def test_what_one_model_gave_is_dropped_when_another_is_asked(
    kind: type[Service],
):
    config = BreadConfig(blob_store=MemoryBlobs())
    async with kind() as first, kind() as second:
        provider, _, name = first.model.partition(":")
        second.rules.path = second.rules.path.replace(name, f"{name}-2")
        other = Model(f"{provider}:{name}-2", base_url=second.url, api_key="made-up")
        agent = Agent(model=described(first), tools=[weigh, bell])
        bread = Bread({"baker": agent}, config=config, store=InMemoryStore())
        for model in (described(first), other, described(first)):
            await finished(bread, bread.run("baker", "go", session="s", model=model))
        await bread.close()
        assert (first.refused, second.refused) == ([], [])
        assert (len(first.seen), len(second.seen)) == (4, 2)


FOREIGN = Native("elsewhere", "oven-9", {"type": "sealed", "data": "x"})
LONG = "artisan-bakery__stock.levels/by warehouse and day of week, all of them"
HISTORY = (
    assistant(Text("Welcome.")),
    user("Hello"),
    assistant(Reasoning("Hm.", FOREIGN), FOREIGN, Text("  ")),
    user(" "),
    Message("user", (Text("Look"), File("blob:1", "image/png"))),
    Message("user", (File("blob:2", "image/svg+xml"), File("blob:3", PDF, "m"))),
    Message("user", (File("blob:4", "audio/mpeg"), File("blob:5", "text/csv"))),
    assistant(
        Reasoning("", FOREIGN),
        Text("I look."),
        File("blob:2", "image/png", "loaf.png"),
        ToolCall("a id/with: odd things" * 4, LONG, {"é": "🍞"}, native=FOREIGN),
        ToolCall("b", "1st", {}, broken='{"x":'),
    ),
    Message(
        "tool",
        (
            ToolResult("a id/with: odd things" * 4, LONG, {"rye": [1, None]}),
            ToolResult("b", "1st", "", failed=True, files=SHOWN_BY_TOOL),
        ),
    ),
    user("Go on"),
    user("please"),
)
BLOBS = {f"blob:{n}": b"<bytes/>" for n in range(1, 6)}


@pytest.mark.parametrize("tools", [[], "json"])
@pytest.mark.parametrize("blobs", [{}, BLOBS], ids=["names", "bytes"])
@pytest.mark.parametrize("place", range(len(KINDS)))
async def test_any_history_is_sent_by_the_rules(
    services: list[Service], place: int, blobs: dict[str, bytes], tools: JsonValue
):
    service = services[place]
    model = resolve(replace(described(service), settings={"tools": tools}))
    spec = ToolSpec(LONG, "Count.", {"properties": {"day": {"type": "string"}}})
    request = ModelRequest(
        model="", system="Bake.", messages=HISTORY, tools=(spec,), blobs=blobs
    )
    deltas = await play(model, request)
    await model.aclose()
    assert service.refused == []
    assert text_of(deltas)


@pytest.mark.parametrize("host", [COMMON, host_at("https://api.mistral.ai/v1")])
def test_hosts_and_the_local_model_get_any_history_by_the_rules(host: Host):
    step = shape(HISTORY, ())
    told = ModelRequest(model="", system=step.system, messages=step.messages)
    whole = ModelRequest(model="", messages=HISTORY, blobs=BLOBS)
    for request in (told, whole):
        body = json.loads(OpenAI("oven-1").encode(request, {}, host=host))
        assert list(ChatRules().faults(body)) == []
        if host is not COMMON:
            roles = [message["role"] for message in body["messages"]]
            assert ("tool", "user") not in pairwise(roles)
