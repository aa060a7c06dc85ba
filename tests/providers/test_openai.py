"""The Chat Completions dialect: what is sent, and what a stream becomes."""

from typing import Any

import pytest
from fixtures.model_play import (
    ask,
    calls_of,
    end_of,
    play,
    text_of,
    thought_of,
    usage_of,
)
from fixtures.model_server import ModelServer, Reply
from fixtures.wire import chunk, pieces, recorded, said, sse
from pydantic import BaseModel

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
    user,
)
from bread_nb.providers.hosts import COMMON, OFFICIAL, Host
from bread_nb.providers.model import (
    CallEnd,
    CallFragment,
    CallStart,
    Delta,
    Finish,
    Model,
    ModelRequest,
    ReasoningChunk,
    ReasoningEnd,
    TextChunk,
    UsageReport,
)
from bread_nb.providers.openai import OpenAI

WEIGH = ToolSpec("weigh", "Weighs.", {"type": "object", "properties": {}})


class Loaf(BaseModel):
    name: str
    grams: int


class Maybe(BaseModel):
    note: str | None = None


async def answer(
    body: bytes | Reply, request: ModelRequest | None = None, model: str = "oven-1"
) -> list[Delta]:
    reply = body if isinstance(body, Reply) else Reply([body])
    async with ModelServer(reply) as server:
        oven = OpenAI(Model(f"openai:{model}", base_url=server.url))
        deltas = await play(oven, request)
        await oven.aclose()
    return deltas


async def sent(
    request: ModelRequest, settings: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The body that a request becomes."""
    async with ModelServer(Reply([said("ok")])) as server:
        described = Model("openai:oven-1", base_url=server.url, settings=settings or {})
        oven = OpenAI(described)
        await play(oven, request)
        await oven.aclose()
    return server.seen[0].body


@pytest.mark.parametrize("way", ["bytes", "sevens", "lines", "whole"])
async def test_text_is_the_same_however_the_network_cuts_it(way: str):
    deltas = await answer(Reply(pieces(recorded("chat-text.sse"))[way]))
    assert deltas == [
        TextChunk("pain 🍞 "),
        TextChunk("été "),
        TextChunk("発酵"),
        UsageReport(Usage(input=4, output=7, cache_read=8, reasoning=2)),
        Finish("end_turn", "oven-1-2026"),
    ]


@pytest.mark.parametrize("way", ["bytes", "sevens", "lines", "whole"])
async def test_reasoning_and_interleaved_calls_are_put_together(way: str):
    body = recorded("chat-reasoning-calls.sse").replace(b"\n", b"\r\n")
    deltas = await answer(Reply(pieces(body)[way]))
    assert deltas == [
        ReasoningChunk("The scale "),
        ReasoningChunk("comes first."),
        ReasoningEnd(),
        TextChunk("I weigh it."),
        CallStart(0, "call_rye", "weigh"),
        CallFragment(0, '{"ville":'),
        CallStart(1, "call_bell", "bell"),
        CallFragment(0, '"Orléans"}'),
        UsageReport(Usage(input=40, output=21, reasoning=9)),
        CallEnd(0),
        CallEnd(1),
        Finish("tool_use", "oven-1-2026"),
    ]


async def test_usage_in_every_chunk_is_a_total_and_not_added_up():
    usage = [{"prompt_tokens": 40, "completion_tokens": n} for n in (2, 9, 9, 21)]
    events = [chunk({"content": "x"}, usage=u) for u in usage]
    deltas = await answer(sse(*events, chunk(finish_reason="stop")))
    assert usage_of(deltas) == Usage(input=40, output=21)
    assert sum(isinstance(d, UsageReport) for d in deltas) == 3


async def test_a_written_cache_is_a_tier_of_its_own():
    details = {"cached_tokens": 30, "cache_write_tokens": 20}
    usage = {"prompt_tokens": 60, "prompt_tokens_details": details}
    deltas = await answer(sse(chunk(finish_reason="stop", usage=usage)))
    assert usage_of(deltas) == Usage(input=10, cache_read=30, cache_write=20)


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("stop", "end_turn"),
        ("length", "max_tokens"),
        ("content_filter", "refusal"),
        ("tool_calls", "tool_use"),
        ("constructor", None),
    ],
)
async def test_stop_reasons_are_neutral(reason: str, stop: str | None):
    deltas = await answer(sse(chunk({"content": "x"}), chunk(finish_reason=reason)))
    assert end_of(deltas) == Finish(stop, "oven-1")  # pyright: ignore[reportArgumentType]


async def test_a_stream_without_its_done_line_is_whole_when_it_said_why_it_stopped():
    body = sse(chunk({"content": "x"}), chunk(finish_reason="stop"), done=False)
    assert text_of(await answer(body)) == "x"


async def test_a_refusal_in_words_is_text_and_a_refusal():
    deltas = await answer(sse(chunk({"refusal": "No."}), chunk(finish_reason="stop")))
    assert (text_of(deltas), end_of(deltas).stop_reason) == ("No.", "refusal")


def piece(index: int | None, **fields: object) -> dict[str, Any]:
    names = {k: fields.pop(k) for k in ("name", "arguments") if k in fields}
    item = {"function": names, **fields}
    return chunk({"tool_calls": [item if index is None else {"index": index, **item}]})


async def test_two_calls_with_one_id_get_two_ids():
    deltas = await answer(
        sse(
            piece(0, id="call_0", name="weigh", arguments='{"a":1}'),
            piece(1, id="call_0", name="weigh", arguments='{"a":2}'),
            chunk(finish_reason="tool_calls"),
        )
    )
    assert calls_of(deltas) == [
        ("call_0", "weigh", '{"a":1}'),
        ("call_0_2", "weigh", '{"a":2}'),
    ]


async def test_an_id_of_an_earlier_turn_is_not_given_again():
    earlier = assistant(ToolCall("call_0", "weigh"))
    request = ask(user("x"), earlier, Message("tool", (ToolResult("call_0", "w", 1),)))
    body = sse(piece(0, id="call_0", name="weigh"), chunk(finish_reason="tool_calls"))
    assert calls_of(await answer(body, request))[0][0] == "call_0_2"


async def test_calls_at_one_index_with_ids_of_their_own_are_two_calls():
    deltas = await answer(
        sse(
            piece(0, id="a", name="weigh", arguments='{"x":1}'),
            piece(0, id="b", name="bell", arguments="{}"),
            chunk(finish_reason="stop"),
        )
    )
    assert calls_of(deltas) == [("a", "weigh", '{"x":1}'), ("b", "bell", "{}")]
    assert end_of(deltas).stop_reason == "end_turn"


async def test_calls_without_index_or_id_are_told_apart_by_their_names():
    deltas = await answer(
        sse(
            piece(None, name="weigh", arguments='{"x":'),
            piece(None, arguments="1}"),
            piece(None, name="weigh", arguments='{"x":2}'),
            chunk(finish_reason="tool_calls"),
        )
    )
    found = calls_of(deltas)
    assert [text for _, _, text in found] == ['{"x":1}', '{"x":2}']
    assert len({identifier for identifier, _, _ in found}) == 2


async def test_a_name_in_every_piece_is_one_name():
    deltas = await answer(
        sse(
            piece(0, id="a", name="weigh", arguments='{"x":'),
            piece(0, id="a", name="weigh", arguments="1}"),
            chunk(finish_reason="tool_calls"),
        )
    )
    assert calls_of(deltas) == [("a", "weigh", '{"x":1}')]


async def test_a_name_that_comes_late_keeps_what_came_before_it():
    deltas = await answer(
        sse(
            piece(0, id="a", arguments='{"x":'),
            piece(0, name="weigh", arguments="1}"),
            chunk(finish_reason="tool_calls"),
        )
    )
    assert calls_of(deltas) == [("a", "weigh", '{"x":1}')]


async def test_a_call_without_arguments_has_no_fragment():
    body = sse(piece(0, id="a", name="bell", arguments=""), chunk(finish_reason="stop"))
    assert calls_of(await answer(body)) == [("a", "bell", "")]


async def test_a_character_halved_between_chunks_is_whole():
    body = sse(
        chunk({"content": "x\ud83c"}),
        chunk({"content": "\udf5ey"}),
        piece(0, id="a", name="weigh", arguments='{"v":"\ud83c'),
        piece(0, arguments='\udf5e"}'),
        chunk(finish_reason="tool_calls"),
    )
    deltas = await answer(body)
    assert text_of(deltas) == "x🍞y"
    assert calls_of(deltas) == [("a", "weigh", '{"v":"🍞"}')]


async def test_a_host_that_does_not_stream_is_understood():
    calls = [{"id": "a", "function": {"name": "weigh", "arguments": {"x": 1}}}]
    message = {"role": "assistant", "content": "I weigh.", "tool_calls": calls}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    usage = {"prompt_tokens": 3, "completion_tokens": 4}
    whole = {"model": "oven-1", "choices": [choice], "usage": usage}
    deltas = await answer(Reply.json(whole))
    assert (text_of(deltas), calls_of(deltas)) == (
        "I weigh.",
        [("a", "weigh", '{"x":1}')],
    )
    assert usage_of(deltas) == Usage(input=3, output=4)


async def test_thinking_in_blocks_is_reasoning():
    blocks = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
        {"type": "text", "text": "Rye."},
    ]
    deltas = await answer(sse(chunk({"content": blocks}), chunk(finish_reason="stop")))
    assert (thought_of(deltas), text_of(deltas)) == ("Hm.", "Rye.")


async def test_encrypted_reasoning_goes_back_to_its_model_and_to_no_other():
    details = [
        {"type": "reasoning.text", "index": 0, "text": "Hm", "signature": None},
        {"type": "reasoning.text", "index": 0, "text": "m.", "signature": "S"},
        {"type": "reasoning.encrypted", "index": 1, "data": "gAAA=="},
    ]
    events = [chunk({"reasoning_details": [detail]}) for detail in details]
    stop = chunk(finish_reason="stop")
    deltas = await answer(sse(*events, chunk({"content": "Rye."}), stop))
    end = next(d for d in deltas if isinstance(d, ReasoningEnd))
    joined = {"type": "reasoning.text", "index": 0, "text": "Hmm.", "signature": "S"}
    kept = {"reasoning_details": [joined, details[2]]}
    assert end.native == Native("openai", "oven-1", kept)
    turn = assistant(Reasoning("Hmm.", end.native), Text("Rye."))
    body = await sent(ask(user("x"), turn, user("y")))
    assert body["messages"][1] == {"role": "assistant", "content": "Rye.", **kept}
    foreign = Native("openai", "oven-2", kept)
    body = await sent(ask(user("x"), assistant(foreign, Text("Rye.")), user("y")))
    assert body["messages"][1] == {"role": "assistant", "content": "Rye."}


async def test_a_request_says_what_the_api_needs():
    body = await sent(
        ModelRequest(
            model="",
            system="Bake.",
            messages=(user("Hello"),),
            tools=(WEIGH,),
            settings={"temperature": 0, "max_tokens": 50, "idle_timeout": 5},
        )
    )
    function = {
        "name": "weigh",
        "description": "Weighs.",
        "parameters": {"type": "object", "properties": {}},
    }
    assert body == {
        "model": "oven-1",
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [{"type": "function", "function": function}],
        "temperature": 0,
        "max_tokens": 50,
        "messages": [
            {"role": "system", "content": "Bake."},
            {"role": "user", "content": "Hello"},
        ],
    }


async def test_a_conversation_with_calls_is_sent_in_pairs_and_never_blank():
    request = ask(
        user("Weigh it"),
        assistant(Text(""), ToolCall("a", "weigh", {"x": 1}), ToolCall("b", "bell")),
        Message(
            "tool", (ToolResult("a", "weigh", ""), ToolResult("b", "bell", "rang"))
        ),
        assistant(Text("  ")),
        assistant(ToolCall("c", "weigh")),
        Message("tool", (ToolResult("c", "weigh", "no scale", failed=True),)),
        user("Look"),
        Message("user", (Text(" and "), File("blob:1", "image/png", "loaf.png"))),
    )
    assert (await sent(request))["messages"] == [
        {"role": "user", "content": "Weigh it"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "a",
                    "type": "function",
                    "function": {"name": "weigh", "arguments": '{"x":1}'},
                },
                {
                    "id": "b",
                    "type": "function",
                    "function": {"name": "bell", "arguments": "{}"},
                },
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "(no output)"},
        {"role": "tool", "tool_call_id": "b", "content": "rang"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c",
                    "type": "function",
                    "function": {"name": "weigh", "arguments": "{}"},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c", "content": "Error: no scale"},
        {"role": "user", "content": "Look"},
        {"role": "user", "content": " and [file loaf.png (image/png)]"},
    ]


async def test_each_message_is_encoded_once():
    first = user("Hello")
    await sent(ask(first))
    (key,) = first.encoded
    first.encoded[key] = b'{"role":"user","content":"kept"}'
    body = await sent(ask(first))
    assert body["messages"] == [{"role": "user", "content": "kept"}]


async def test_a_lone_half_of_a_character_is_sent_as_the_replacement():
    body = await sent(ask(user("a\ud83cb {} </script> 🍞")))
    assert body["messages"][0]["content"] == "a\ufffdb {} </script> 🍞"


async def test_a_request_without_a_word_is_refused_and_nothing_is_sent():
    async with ModelServer(Reply([said("ok")])) as server:
        oven = OpenAI(Model("openai:oven-1", base_url=server.url))
        with pytest.raises(BreadError) as caught:
            await play(oven, ask(user("   ")))
        await oven.aclose()
    assert (caught.value.code, server.seen) == ("INVALID_INPUT", [])


async def test_a_long_name_is_sent_short_and_comes_back_long():
    long = "artisan-bakery__stock.levels/by warehouse and day of week, all of them"
    request = ModelRequest(
        model="",
        messages=(user("x"), assistant(ToolCall("a", long))),
        tools=(ToolSpec(long, "", {}),),
        tool_choice=long,
    )
    body = await sent(request)
    name = body["tools"][0]["function"]["name"]
    assert name != long
    assert body["tool_choice"] == {"type": "function", "function": {"name": name}}
    assert body["messages"][1]["tool_calls"][0]["function"]["name"] == name
    reply = sse(piece(0, id="b", name=name), chunk(finish_reason="tool_calls"))
    assert calls_of(await answer(reply, request))[0][1] == long


async def test_a_required_tool_is_asked_for():
    request = ModelRequest(
        model="", messages=(user("x"),), tools=(WEIGH,), tool_choice="required"
    )
    assert (await sent(request))["tool_choice"] == "required"


@pytest.mark.parametrize(
    ("schema", "kind", "told"),
    [
        (Loaf.model_json_schema(), "json_schema", False),
        (Maybe.model_json_schema(), "json_object", True),
        ({"type": "array", "items": {"type": "string"}}, None, True),
    ],
)
async def test_an_answer_of_a_schema_is_strict_only_where_the_schema_allows(
    schema: dict[str, Any], kind: str | None, told: bool
):
    body = await sent(
        ModelRequest(model="", messages=(user("x"),), output_schema=schema)
    )
    wanted = body.get("response_format", {})
    assert wanted.get("type") == kind
    assert ("JSON Schema" in str(body["messages"][0])) == told
    if kind == "json_schema":
        assert wanted["json_schema"]["strict"] is True
        assert wanted["json_schema"]["schema"]["additionalProperties"] is False


@pytest.mark.parametrize(
    ("model", "host", "role", "limit"),
    [
        ("gpt-4o", OFFICIAL, "system", "max_completion_tokens"),
        ("o3-mini", OFFICIAL, "developer", "max_completion_tokens"),
        ("gpt-5.5", OFFICIAL, "developer", "max_completion_tokens"),
        ("o3-mini", COMMON, "system", "max_tokens"),
    ],
)
def test_the_names_of_role_and_limit_are_the_hosts(
    model: str, host: Host, role: str, limit: str
):
    request = ModelRequest(model="", system="Bake.", messages=(user("x"),))
    body = OpenAI(model).encode(request, {"max_tokens": 9}, host=host).decode()
    assert f'"role":"{role}","content":"Bake."' in body
    assert f'"{limit}":9' in body


async def test_settings_of_the_model_give_way_to_those_of_the_request():
    request = ModelRequest(model="", messages=(user("x"),), settings={"seed": 2})
    body = await sent(
        request,
        {"seed": 1, "top_p": 0.5, "stream_options": None, "stop": ["\n"]},
    )
    assert (body["seed"], body["top_p"], body["stop"]) == (2, 0.5, ["\n"])
    assert "stream_options" not in body


async def test_the_role_of_the_system_prompt_is_a_setting():
    request = ModelRequest(model="", system="Bake.", messages=(user("x"),))
    body = await sent(request, {"system_role": "user"})
    assert body["messages"][0] == {"role": "user", "content": "Bake."}


async def test_the_key_goes_into_the_header_and_is_optional_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
):
    async with ModelServer(Reply([said("ok")])) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1/")
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        oven = OpenAI("oven-1")
        await play(oven)
        monkeypatch.setenv("OPENAI_API_KEY", "a-made-up-key\n")
        await play(oven)
        await oven.aclose()
    assert [seen.path for seen in server.seen] == ["/v1/chat/completions"] * 2
    assert "authorization" not in server.seen[0].headers
    assert server.seen[1].headers["authorization"] == "Bearer a-made-up-key"
    assert server.connections == 1


async def test_a_call_cut_by_the_limit_is_passed_on_cut():
    half = '{"path":"loaf.md","content":"half'
    body = sse(
        piece(0, id="a", name="write", arguments=half),
        chunk(finish_reason="length"),
    )
    deltas = await answer(body)
    assert calls_of(deltas) == [("a", "write", half)]
    assert end_of(deltas).stop_reason == "max_tokens"


async def test_a_tool_is_never_sent_as_strict():
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            "temp": {"type": "integer", "default": 200},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "extra": {"type": "object", "additionalProperties": True},
        },
        "required": ["temp"],
    }
    request = ModelRequest(
        model="", messages=(user("x"),), tools=(ToolSpec("bake", "", schema),)
    )
    (tool,) = (await sent(request))["tools"]
    assert tool["function"] == {
        "name": "bake",
        "description": "",
        "parameters": schema,
    }
