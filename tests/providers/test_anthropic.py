"""The Messages dialect: what is sent, and what a stream becomes."""

from typing import Any

import pytest
from fixtures.model_play import ask, calls_of, end_of, play, text_of, usage_of
from fixtures.model_server import ModelServer, Reply
from fixtures.wire import (
    block,
    call_block,
    messages,
    pieces,
    recorded,
    start,
    stop,
    text_block,
)
from pydantic import BaseModel, JsonValue

from bread_nb.errors import BreadError
from bread_nb.messages import (
    File,
    Message,
    Native,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
    assistant,
    from_json,
    to_json,
    user,
)
from bread_nb.providers.anthropic import Anthropic
from bread_nb.providers.model import (
    CallEnd,
    CallFragment,
    CallStart,
    Delta,
    Finish,
    Model,
    ModelRequest,
    NativeBlock,
    ReasoningChunk,
    ReasoningEnd,
    TextChunk,
    UsageReport,
)

THOUGHT = {"type": "thinking", "thinking": "pain 🍞 d'abord", "signature": "SIG1"}
REDACTED = {"type": "redacted_thinking", "data": "b3BhcXVl+/=="}
OK = messages(start(), *text_block(0, "ok"), *stop())


class Loaf(BaseModel):
    name: str
    grams: int | None = None


async def answer(
    body: bytes | Reply, request: ModelRequest | None = None, model: str = "oven-1"
) -> list[Delta]:
    reply = body if isinstance(body, Reply) else Reply([body])
    async with ModelServer(reply) as server:
        oven = Anthropic(Model(f"anthropic:{model}", base_url=server.url))
        deltas = await play(oven, request)
        await oven.aclose()
    return deltas


async def sent(
    request: ModelRequest, settings: dict[str, Any] | None = None, model: str = "oven-1"
) -> dict[str, Any]:
    """The body that a request becomes."""
    async with ModelServer(Reply([OK])) as server:
        described = Model(
            f"anthropic:{model}", base_url=server.url, settings=settings or {}
        )
        oven = Anthropic(described)
        await play(oven, request)
        await oven.aclose()
    return server.seen[0].body


@pytest.mark.parametrize("way", ["bytes", "sevens", "lines", "whole"])
async def test_thinking_text_and_calls_are_the_same_however_they_are_cut(way: str):
    body = recorded("messages-thinking-calls.sse")
    deltas = await answer(Reply(pieces(body)[way]))
    assert deltas == [
        UsageReport(Usage(input=40, output=2, cache_read=900, cache_write=100)),
        ReasoningChunk("pain 🍞 "),
        ReasoningChunk("d'abord"),
        ReasoningEnd(Native("anthropic", "oven-1", THOUGHT)),
        NativeBlock(Native("anthropic", "oven-1", REDACTED)),
        TextChunk("été "),
        TextChunk("発酵"),
        CallStart(0, "toolu_rye", "weigh"),
        CallFragment(0, '{"gra'),
        CallFragment(0, 'ms": 500}'),
        CallEnd(0),
        CallStart(1, "toolu_bell", "bell"),
        CallEnd(1),
        UsageReport(Usage(input=40, output=9, cache_read=900, cache_write=100)),
        UsageReport(Usage(input=40, output=21, cache_read=900, cache_write=100)),
        Finish("tool_use", "oven-1-2026"),
    ]


async def test_a_turn_that_pauses_keeps_the_blocks_of_the_service_whole():
    deltas = await answer(recorded("messages-paused.sse"))
    used, found = [d.native.block for d in deltas if isinstance(d, NativeBlock)]
    assert used == {
        "type": "server_tool_use",
        "id": "srvtoolu_1",
        "name": "web_search",
        "input": {"query": "hydratation du levain"},
    }
    result = {
        "type": "web_search_result",
        "url": "https://bakery.example/levain",
        "encrypted_content": "eNc==",
    }
    assert found == {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [result],
    }
    assert end_of(deltas).stop_reason == "pause_turn"
    assert usage_of(deltas) == Usage(
        input=2100, output=33, cache_read=900, cache_write=100
    )


@pytest.mark.parametrize(
    ("reason", "neutral"),
    [
        ("end_turn", "end_turn"),
        ("max_tokens", "max_tokens"),
        ("stop_sequence", "stop_sequence"),
        ("refusal", "refusal"),
        ("model_context_window_exceeded", "context_exceeded"),
        ("__init__", None),
        (None, None),
    ],
)
async def test_stop_reasons_are_neutral(reason: str | None, neutral: str | None):
    deltas = await answer(messages(start(), *text_block(0, "x"), *stop(reason)))
    assert end_of(deltas) == Finish(neutral, "oven-1")  # pyright: ignore[reportArgumentType]


async def test_thinking_that_is_not_shown_is_kept_with_its_signature():
    kind = {"type": "thinking", "thinking": "", "signature": ""}
    signed = block(0, kind, {"type": "signature_delta", "signature": "S"})
    deltas = await answer(messages(start(), *signed, *text_block(1, "x"), *stop()))
    kept = {"type": "thinking", "thinking": "", "signature": "S"}
    assert ReasoningEnd(Native("anthropic", "oven-1", kept)) in deltas
    assert not any(isinstance(d, ReasoningChunk) for d in deltas)


async def test_arguments_that_come_at_the_start_are_not_lost():
    body = messages(
        start(),
        *call_block(0, "weigh", input={"grams": 5}),
        *call_block(1, "weigh", '{"grams": 6}', input={"grams": 5}),
        *stop("tool_use"),
    )
    assert [text for _, _, text in calls_of(await answer(body))] == [
        '{"grams":5}',
        '{"grams": 6}',
    ]


async def test_two_calls_with_one_id_get_two_ids():
    body = messages(
        start(),
        *call_block(0, "weigh", id="toolu_x"),
        *call_block(1, "weigh", id="toolu_x"),
        *stop("tool_use"),
    )
    assert [i for i, _, _ in calls_of(await answer(body))] == ["toolu_x", "toolu_x_2"]


async def test_a_character_halved_between_events_is_whole():
    body = messages(
        start(),
        *text_block(0, "x\ud83c", "\udf5ey", "z\ud83c"),
        *call_block(1, "weigh", '{"v":"\ud83c', '\udf5e"}'),
        *stop("tool_use"),
    )
    deltas = await answer(body)
    assert text_of(deltas) == "x🍞yz\ufffd"
    assert calls_of(deltas)[0][2] == '{"v":"🍞"}'


async def test_an_event_of_a_new_type_is_passed_over():
    news = {"type": "weather_report", "weather": "fine"}
    kind = {"type": "citations_delta", "citation": {}}
    body = messages(
        start(),
        news,
        *block(0, {"type": "text", "text": ""}, kind),
        *text_block(1, "x"),
        *stop(),
    )
    assert text_of(await answer(body)) == "x"


async def test_a_host_that_does_not_stream_is_understood():
    content = [
        THOUGHT,
        {"type": "text", "text": "I weigh."},
        {"type": "tool_use", "id": "toolu_1", "name": "weigh", "input": {"x": 1}},
    ]
    usage = {"input_tokens": 3, "output_tokens": 4}
    whole = {"type": "message", "model": "oven-1", "content": content, "usage": usage}
    deltas = await answer(Reply.json(whole | {"stop_reason": "tool_use"}))
    assert deltas == [
        ReasoningChunk("pain 🍞 d'abord"),
        ReasoningEnd(Native("anthropic", "oven-1", THOUGHT)),
        TextChunk("I weigh."),
        CallStart(0, "toolu_1", "weigh"),
        CallFragment(0, '{"x":1}'),
        CallEnd(0),
        UsageReport(Usage(input=3, output=4)),
        Finish("tool_use", "oven-1"),
    ]


def told(model: str = "oven-1") -> Message:
    """A turn as it is put together from `messages-thinking-calls.sse`."""
    return assistant(
        Reasoning("pain 🍞 d'abord", Native("anthropic", model, THOUGHT)),
        Native("anthropic", model, REDACTED),
        Text("été 発酵"),
        ToolCall("toolu_rye", "weigh", {"grams": 500}),
    )


def weighed() -> Message:
    return Message("tool", (ToolResult("toolu_rye", "weigh", "500 g"),))


async def test_signed_thinking_goes_back_before_the_call_byte_for_byte():
    stored = from_json(to_json(told()))
    body = await sent(ask(user("Weigh"), stored, weighed()))
    assert body["messages"][1] == {
        "role": "assistant",
        "content": [
            THOUGHT,
            REDACTED,
            {"type": "text", "text": "été 発酵"},
            {
                "type": "tool_use",
                "id": "toolu_rye",
                "name": "weigh",
                "input": {"grams": 500},
            },
        ],
    }


async def test_thinking_of_another_model_is_left_out():
    body = await sent(ask(user("Weigh"), told("oven-0"), weighed()))
    kinds = [part["type"] for part in body["messages"][1]["content"]]
    assert kinds == ["text", "tool_use"]


async def test_results_follow_their_calls_in_one_turn_with_what_the_user_says_next():
    request = ask(
        user("Weigh"),
        assistant(Text(" "), ToolCall("a", "weigh"), ToolCall("b:1", "bell")),
        Message("tool", (ToolResult("a", "weigh", {"grams": 5}),)),
        Message("tool", (ToolResult("b:1", "bell", "", failed=True),)),
        user("And now?"),
        user("  "),
        assistant(Text("Done.")),
        assistant(Text("Really.")),
        Message("user", (Text("Look"), File("blob:1", "image/png", "loaf.png"))),
    )
    turns = (await sent(request))["messages"]
    assert [turn["role"] for turn in turns] == ["user", "assistant"] * 2 + ["user"]
    first, second, words = turns[2]["content"]
    assert first == {
        "type": "tool_result",
        "tool_use_id": "a",
        "content": '{"grams":5}',
    }
    assert second["content"] == "(no output)"
    assert second["is_error"] is True
    assert second["tool_use_id"] == turns[1]["content"][1]["id"] != "b:1"
    assert words == {"type": "text", "text": "And now?"}
    assert [part["text"] for part in turns[3]["content"]] == ["Done.", "Really."]
    assert [part["text"] for part in turns[4]["content"]] == [
        "Look",
        "[file loaf.png (image/png)]",
    ]


async def test_tools_of_the_service_are_offered_beside_the_agents():
    search: JsonValue = {"type": "web_search_20250305", "name": "web_search"}
    fields = {"tools": (ToolSpec("bell", "", {}),), "settings": {"tools": [search]}}
    body = await sent(ModelRequest(model="", messages=(user("x"),), **fields))  # type: ignore[arg-type]
    assert [tool["name"] for tool in body["tools"]] == ["bell", "web_search"]


async def test_pictures_and_documents_are_shown_where_the_api_takes_them():
    shown = (File("blob:1", "image/png"), File("blob:2", "application/pdf", "m.pdf"))
    result = ToolResult("c1", "bell", "rang", files=shown)
    request = ModelRequest(
        model="",
        messages=(
            user("Look", *shown, File("blob:3", "audio/wav", "a.wav")),
            assistant(ToolCall("c1", "bell")),
            Message("tool", (result,)),
        ),
        blobs={"blob:1": b"PNG", "blob:2": b"PDF", "blob:3": b"WAV"},
    )
    first, _, last = (await sent(request))["messages"]
    picture = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "UE5H"},
    }
    source = {"type": "base64", "media_type": "application/pdf", "data": "UERG"}
    document = {"type": "document", "source": source, "title": "m.pdf"}
    heard = {"type": "text", "text": "[file a.wav (audio/wav)]"}
    assert first["content"] == [
        *(picture, document, heard),
        {"type": "text", "text": "Look"},
    ]
    (answered,) = last["content"]
    words = {"type": "text", "text": "rang"}
    assert answered["content"] == [words, picture, document]


async def test_a_conversation_always_begins_with_the_user():
    body = await sent(ask(assistant(Text("Hello.")), user("x")))
    assert [turn["role"] for turn in body["messages"]] == ["user", "assistant", "user"]


async def test_a_request_says_what_the_api_needs():
    tool = ToolSpec("bell", "Rings.", {})
    request = ModelRequest(
        model="",
        system="Bake.",
        messages=(user("Hello"),),
        tools=(tool,),
        settings={"stop": "\n", "betas": ["oven-2026"], "deadline": 0},
    )
    async with ModelServer(Reply([OK])) as server:
        described = Model("anthropic:oven-1", base_url=server.url, api_key="made-up")
        oven = Anthropic(described)
        await play(oven, request)
        await oven.aclose()
    (seen,) = server.seen
    assert seen.path == "/v1/messages"
    names = ("x-api-key", "anthropic-version", "anthropic-beta")
    assert [seen.headers[n] for n in names] == ["made-up", "2023-06-01", "oven-2026"]
    assert seen.body == {
        "model": "oven-1",
        "max_tokens": 8192,
        "stream": True,
        "system": "Bake.",
        "tools": [
            {
                "name": "bell",
                "description": "Rings.",
                "input_schema": {"type": "object", "properties": {}},
            }
        ],
        "stop_sequences": ["\n"],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}],
    }


async def test_a_thinking_budget_comes_on_top_of_the_usual_limit():
    thinking = {"type": "enabled", "budget_tokens": 3000}
    body = await sent(ask(), {"thinking": thinking})
    assert (body["thinking"], body["max_tokens"]) == (thinking, 11192)
    assert (await sent(ask(), {"max_tokens": 10}))["max_tokens"] == 10


@pytest.mark.parametrize(
    ("choice", "wire"),
    [
        (None, None),
        ("required", {"type": "any"}),
        ("bell", {"type": "tool", "name": "bell"}),
    ],
)
async def test_the_choice_of_a_tool_is_in_the_words_of_the_api(
    choice: str | None, wire: object
):
    request = ModelRequest(
        model="",
        messages=(user("x"),),
        tools=(ToolSpec("bell", "", {}),),
        tool_choice=choice,
    )
    assert (await sent(request)).get("tool_choice") == wire


@pytest.mark.parametrize(
    ("model", "schema", "native"),
    [
        ("claude-sonnet-4-5", Loaf.model_json_schema(), True),
        ("claude-opus-4-8", Loaf.model_json_schema(), True),
        ("claude-3-5-haiku-latest", Loaf.model_json_schema(), False),
        ("claude-sonnet-4-20250514", Loaf.model_json_schema(), False),
        ("claude-opus-4-8", {"type": "array"}, False),
    ],
)
async def test_a_schema_is_enforced_by_models_that_can_and_asked_of_the_others(
    model: str, schema: dict[str, Any], native: bool
):
    request = ModelRequest(model="", messages=(user("x"),), output_schema=schema)
    body = await sent(request, {"output_config": {"effort": "low"}}, model)
    assert body["output_config"]["effort"] == "low"
    wanted = body["output_config"].get("format", {})
    assert (wanted.get("type") == "json_schema") == native
    assert ("JSON Schema" in body.get("system", "")) == (not native)


async def test_a_lone_half_of_a_character_is_sent_as_the_replacement():
    body = await sent(ask(user("a\ud83cb 🍞")))
    assert body["messages"][0]["content"][0]["text"] == "a\ufffdb 🍞"


async def test_a_long_name_is_sent_short_and_comes_back_long():
    long = "artisan-bakery__stock.levels/by warehouse and day of week, all of them"
    request = ModelRequest(
        model="",
        messages=(user("x"), assistant(ToolCall("a", long)), weighed()),
        tools=(ToolSpec(long, "", {}),),
    )
    body = await sent(request)
    name = body["tools"][0]["name"]
    assert body["messages"][1]["content"][0]["name"] == name != long
    reply = messages(start(), *call_block(0, name), *stop("tool_use"))
    assert calls_of(await answer(reply, request))[0][1] == long


async def test_a_request_without_a_word_is_refused_and_nothing_is_sent():
    async with ModelServer(Reply([OK])) as server:
        oven = Anthropic(Model("anthropic:oven-1", base_url=server.url))
        with pytest.raises(BreadError) as caught:
            await play(oven, ask(user("")))
        await oven.aclose()
    assert (caught.value.code, server.seen) == ("INVALID_INPUT", [])


async def test_a_call_cut_by_the_limit_is_passed_on_cut():
    half = '{"path":"loaf.md","content":"half'
    body = messages(start(), *call_block(0, "write", half), *stop("max_tokens"))
    deltas = await answer(body)
    assert calls_of(deltas) == [("toolu_0", "write", half)]
    assert end_of(deltas).stop_reason == "max_tokens"
