"""Hosts that speak like OpenAI, each with what it does otherwise."""

import json
from base64 import b64encode
from typing import Any

import pytest
from fixtures.model_play import calls_of, end_of, play, text_of, thought_of, usage_of
from fixtures.model_server import ModelServer, Reply
from fixtures.recorded import Player, Recording
from fixtures.wire import chunk, said, sse
from pydantic import JsonValue

from bread_nb.messages import (
    File,
    Message,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
    assistant,
    user,
)
from bread_nb.providers.model import Delta, FileChunk, Model, ModelRequest, ReasoningEnd
from bread_nb.providers.openai import OpenAI

MISTRAL = "https://api.mistral.ai/v1"
DEEPSEEK = "https://api.deepseek.com"
LM_STUDIO = "http://localhost:1234/v1"
GROQ = "https://api.groq.com/openai/v1"
OPENROUTER = "https://openrouter.ai/api/v1"

OPEN: dict[str, Any] = {
    "type": "object",
    "properties": {"grams": {"type": "integer", "default": 5}},
}
CLOSED: dict[str, Any] = {
    "type": "object",
    "properties": {"grams": {"type": "integer"}},
    "required": ["grams"],
}

WEIGHED = (
    user("Weigh it"),
    assistant(ToolCall("call_8Qh/1", "weigh", {"grams": 1})),
    Message("tool", (ToolResult("call_8Qh/1", "weigh", "1 g"),)),
)


async def sent(
    base_url: str, request: ModelRequest, **settings: JsonValue
) -> dict[str, Any]:
    """The body that a host at this address gets."""
    recording = Recording(
        "said", "openai-chat", "oven-1", 200, True, said("ok").decode()
    )
    player = Player(recording, "whole")
    described = Model("openai:oven-1", base_url, "made-up", settings)
    await play(OpenAI(described, transport=player), request)  # pyright: ignore[reportArgumentType]
    assert player.calls[0].url == f"{base_url}/chat/completions"
    return json.loads(player.calls[0].body)


async def answer(*events: object, done: bool = True, **headers: str) -> list[Delta]:
    """What comes of a stream of these events, and of the same as one body."""
    async with ModelServer(Reply([sse(*events, done=done)])) as server:
        model = OpenAI(Model("openai:oven-1", base_url=server.url))
        deltas = await play(model)
        await model.aclose()
    return deltas


def asked(*messages: Message, **fields: object) -> ModelRequest:
    return ModelRequest(model="", messages=messages or (user("x"),), **fields)  # pyright: ignore[reportArgumentType]


async def test_mistral_gets_ids_of_nine_letters_and_an_answer_before_the_user():
    body = await sent(MISTRAL, asked(*WEIGHED, user("And now?")))
    roles = [message["role"] for message in body["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]
    (called,) = body["messages"][1]["tool_calls"]
    assert called["id"] == body["messages"][2]["tool_call_id"]
    assert len(called["id"]) == 9
    assert called["id"].isalnum()
    again = await sent(MISTRAL, asked(*WEIGHED))
    assert again["messages"][2]["tool_call_id"] == called["id"]


async def test_mistral_sees_what_a_tool_shows_after_an_answer():
    picture = File("blob:1", "image/png")
    result = ToolResult("c", "weigh", "1 g", files=(picture,))
    history = (user("x"), assistant(ToolCall("c", "weigh")), Message("tool", (result,)))
    body = await sent(MISTRAL, asked(*history, blobs={"blob:1": b"png"}))
    roles = [message["role"] for message in body["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]


async def test_mistral_counts_tokens_without_being_asked_to():
    assert "stream_options" not in await sent(MISTRAL, asked())
    assert "stream_options" in await sent(GROQ, asked())


async def test_an_id_that_mistral_gave_goes_back_as_it_is():
    history = (
        user("x"),
        assistant(ToolCall("D681PevKs", "weigh")),
        Message("tool", (ToolResult("D681PevKs", "weigh", 1),)),
    )
    for place in (MISTRAL, GROQ):
        body = await sent(place, asked(*history))
        assert body["messages"][2]["tool_call_id"] == "D681PevKs"


@pytest.mark.parametrize(
    ("place", "schema", "kind", "told"),
    [
        (OPENROUTER, CLOSED, "json_schema", False),
        (OPENROUTER, OPEN, "json_object", True),
        (DEEPSEEK, CLOSED, "json_object", True),
        (LM_STUDIO, CLOSED, "json_schema", False),
        (LM_STUDIO, OPEN, "json_schema", True),
        (OPENROUTER, {"type": "array", "items": {}}, None, True),
    ],
)
async def test_a_schema_is_asked_for_in_a_way_the_host_knows(
    place: str, schema: dict[str, Any], kind: str | None, told: bool
):
    body = await sent(place, asked(output_schema=schema))
    assert body.get("response_format", {}).get("type") == kind
    system = [m["content"] for m in body["messages"] if m["role"] == "system"]
    assert bool(system) == told


async def test_tools_of_the_host_are_offered_beside_the_agents():
    search: JsonValue = {"type": "openrouter:web_search"}
    bell = ToolSpec("bell", "Ring.", {})
    body = await sent(OPENROUTER, asked(tools=(bell,)), tools=[search])
    assert [tool["type"] for tool in body["tools"]] == ["function", search["type"]]
    body = await sent(OPENROUTER, asked(), tools=[search])
    assert body["tools"] == [search]


@pytest.mark.parametrize("place", [MISTRAL, DEEPSEEK, LM_STUDIO, GROQ, OPENROUTER])
async def test_a_limit_on_tokens_has_the_name_that_all_other_hosts_know(place: str):
    body = await sent(place, asked(), max_tokens=9)
    assert body["max_tokens"] == 9
    assert "max_completion_tokens" not in body


async def test_a_stream_may_end_without_done_but_not_without_a_reason():
    deltas = await answer(
        chunk({"content": "ok"}), chunk(finish_reason="stop"), done=False
    )
    assert (text_of(deltas), end_of(deltas).stop_reason) == ("ok", "end_turn")


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
async def test_reasoning_is_read_in_each_spelling(key: str):
    deltas = await answer(
        chunk({key: "Hm", "content": None}),
        chunk({key: " yes", "content": ""}),
        chunk({key: None, "content": "Rye."}),
        chunk(finish_reason="stop"),
    )
    assert (thought_of(deltas), text_of(deltas)) == ("Hm yes", "Rye.")


async def test_deepseeks_reasoning_goes_back_beside_its_calls_alone():
    deltas = await answer(
        chunk({"reasoning_content": "Hm."}),
        chunk({"content": "Rye."}),
        chunk(finish_reason="stop"),
    )
    (native,) = (d.native for d in deltas if isinstance(d, ReasoningEnd))
    thought = Reasoning("Hm.", native)
    call = ToolCall("c", "weigh")
    result = Message("tool", (ToolResult("c", "weigh", 1),))
    history = (user("x"), assistant(thought, call), result, user("y"))
    body = await sent(DEEPSEEK, asked(*history, assistant(thought, Text("Rye."))))
    first, second = (m for m in body["messages"] if m["role"] == "assistant")
    assert first["reasoning_content"] == "Hm."
    assert "reasoning_content" not in second


async def test_groqs_usage_is_read_where_it_tells_it_and_counted_once():
    usage = {"prompt_tokens": 12, "completion_tokens": 7}
    deltas = await answer(
        chunk({"content": "ok"}),
        chunk(finish_reason="stop", x_groq={"id": "req_1", "usage": usage}),
        {"choices": [], "usage": usage},
    )
    assert usage_of(deltas) == Usage(input=12, output=7)


async def test_tokens_that_a_host_tells_as_read_and_written_count_once():
    details = {"cached_tokens": 2161, "cache_write_tokens": 2161}
    usage = {"prompt_tokens": 2168, "completion_tokens": 100}
    deltas = await answer(
        chunk({"content": "ok"}),
        chunk(finish_reason="stop", usage=usage | {"prompt_tokens_details": details}),
    )
    found = usage_of(deltas)
    assert found == Usage(input=7, output=100, cache_read=2161)
    assert found.total == 2268


async def test_deepseeks_cache_is_told_in_words_of_its_own():
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 5,
        "prompt_cache_hit_tokens": 64,
        "prompt_cache_miss_tokens": 36,
    }
    deltas = await answer(
        chunk({"content": "ok"}), chunk(finish_reason="stop", usage=usage)
    )
    assert usage_of(deltas) == Usage(input=36, output=5, cache_read=64)


async def test_arguments_that_come_as_an_object_are_read():
    function = {"name": "weigh", "arguments": {"grams": 1}}
    deltas = await answer(
        chunk({"tool_calls": [{"function": function}]}), chunk(finish_reason="stop")
    )
    ((identifier, name, text),) = calls_of(deltas)
    assert (name, json.loads(text)) == ("weigh", {"grams": 1})
    assert identifier


async def test_pictures_in_an_answer_are_files():
    shown = {"type": "image_url", "image_url": {"url": "data:image/png;base64,UE5H"}}
    deltas = await answer(
        chunk({"content": "Look: "}),
        chunk({"images": [shown]}),
        chunk({"content": [{"type": "text", "text": "nice"}, shown]}),
        chunk(finish_reason="stop"),
    )
    assert text_of(deltas) == "Look: nice"
    files = [d for d in deltas if isinstance(d, FileChunk)]
    assert files == [FileChunk(b"PNG", "image/png")] * 2


async def test_speech_in_an_answer_is_a_sound_file_and_its_words_the_text():
    first, second = (b64encode(piece).decode() for piece in (b"\1\0\2", b"\0\3\0"))
    deltas = await answer(
        chunk({"audio": {"id": "audio_1", "transcript": "Good "}}),
        chunk({"audio": {"data": first, "transcript": "bread"}}),
        chunk({"audio": {"data": second}}),
        chunk({"audio": {"expires_at": 1}}),
        chunk(finish_reason="stop"),
    )
    assert text_of(deltas) == "Good bread"
    (file,) = (d for d in deltas if isinstance(d, FileChunk))
    assert file.mime_type == "audio/wav"
    assert file.data[:4] == b"RIFF"
    assert file.data.endswith(b"data\6\0\0\0\1\0\2\0\3\0")


async def test_a_host_that_does_not_stream_is_understood():
    message = {
        "role": "assistant",
        "content": "Weighing.",
        "reasoning_content": "Hm.",
        "tool_calls": [{"id": "c1", "function": {"name": "weigh", "arguments": "{}"}}],
    }
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    whole = {"model": "oven-1", "choices": [choice], "usage": usage}
    async with ModelServer(Reply.json(whole)) as server:
        model = OpenAI(Model("openai:oven-1", base_url=server.url))
        deltas = await play(model)
        await model.aclose()
    assert (text_of(deltas), thought_of(deltas)) == ("Weighing.", "Hm.")
    assert calls_of(deltas) == [("c1", "weigh", "{}")]
    assert end_of(deltas).stop_reason == "tool_use"
    assert usage_of(deltas) == Usage(input=3, output=2)
