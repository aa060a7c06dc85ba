"""The Responses dialect: what is sent, and what a stream becomes."""

from typing import Any

import pytest
from fixtures.model_play import (
    ask,
    calls_of,
    end_of,
    play,
    play_to_fault,
    text_of,
    thought_of,
    usage_of,
)
from fixtures.model_server import ModelServer, Reply
from fixtures.more_wire import (
    answered,
    call_item,
    call_pieces,
    completed,
    created,
    item,
    items,
    message_item,
    reasoning_item,
    response,
    text_item,
)
from fixtures.wire import pieces, recorded
from pydantic import BaseModel

from bread_nb.errors import BreadError, ProviderError
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
from bread_nb.providers.model import (
    CallEnd,
    CallFragment,
    CallStart,
    Delta,
    FileChunk,
    Finish,
    Model,
    ModelRequest,
    NativeBlock,
    ReasoningChunk,
    ReasoningEnd,
    TextChunk,
    UsageReport,
)
from bread_nb.providers.responses import Responses

SEALED = reasoning_item("pain 🍞 d'abord", "puis 発酵")
SPOKEN = {"type": "message", "id": "msg_1", "phase": "commentary"}


def native(block: object, model: str = "oven-1") -> Native:
    return Native("responses", model, block)  # pyright: ignore[reportArgumentType]


class Loaf(BaseModel):
    name: str
    grams: int


class Maybe(BaseModel):
    note: str | None = None


async def answer(
    body: bytes | Reply, request: ModelRequest | None = None
) -> list[Delta]:
    reply = body if isinstance(body, Reply) else Reply([body])
    async with ModelServer(reply) as server:
        oven = Responses(Model("responses:oven-1", base_url=server.url))
        deltas = await play(oven, request)
        await oven.aclose()
    return deltas


async def fault_of(body: bytes | Reply) -> tuple[list[Delta], ProviderError]:
    reply = body if isinstance(body, Reply) else Reply([body])
    async with ModelServer(reply) as server:
        oven = Responses(Model("responses:oven-1", base_url=server.url))
        deltas, fault = await play_to_fault(oven)
        await oven.aclose()
    assert isinstance(fault, ProviderError)
    return deltas, fault


async def sent(
    request: ModelRequest,
    settings: dict[str, Any] | None = None,
    model: str = "oven-1",
) -> dict[str, Any]:
    """The body that a request becomes."""
    async with ModelServer(Reply([answered("ok")])) as server:
        oven = Responses(
            Model(f"responses:{model}", base_url=server.url, settings=settings or {})
        )
        await play(oven, request)
        await oven.aclose()
    assert server.seen[0].path == "/responses"
    return server.seen[0].body


@pytest.mark.parametrize("way", ["bytes", "sevens", "lines", "whole"])
async def test_reasoning_text_and_calls_are_the_same_however_they_are_cut(way: str):
    body = recorded("responses-reasoning-calls.sse")
    deltas = await answer(Reply(pieces(body)[way]))
    assert deltas == [
        ReasoningChunk("pain 🍞 "),
        ReasoningChunk("d'abord"),
        ReasoningChunk("\n\npuis 発酵"),
        ReasoningEnd(native(SEALED)),
        NativeBlock(native(SPOKEN)),
        TextChunk("été "),
        TextChunk("発酵"),
        CallStart(0, "call_rye", "weigh"),
        CallFragment(0, '{"gra'),
        CallFragment(0, 'ms":500}'),
        CallEnd(0, native({"id": "fc_rye"})),
        CallStart(1, "call_bell", "bell"),
        CallFragment(1, "{}"),
        CallEnd(1, native({"id": "fc_bell"})),
        UsageReport(Usage(input=10, output=21, cache_read=30, reasoning=9)),
        Finish("tool_use", "oven-1-2026"),
    ]


TURN = assistant(
    Reasoning("pain 🍞 d'abord\n\npuis 発酵", native(SEALED)),
    native(SPOKEN),
    Text("été 発酵"),
    ToolCall("call_rye", "weigh", {"grams": 500}, native=native({"id": "fc_rye"})),
)
RESULT = Message("tool", (ToolResult("call_rye", "weigh", "500 g"),))


async def test_sealed_reasoning_goes_back_before_the_call_and_byte_for_byte():
    stored = from_json(to_json(TURN))
    body = await sent(ask(user("x"), stored, RESULT))
    assert body["input"][1:] == [
        SEALED,
        {
            **SPOKEN,
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "été 発酵", "annotations": []}],
        },
        {
            "type": "function_call",
            "id": "fc_rye",
            "call_id": "call_rye",
            "name": "weigh",
            "arguments": '{"grams":500}',
        },
        {"type": "function_call_output", "call_id": "call_rye", "output": "500 g"},
    ]


async def test_another_model_gets_the_words_and_the_calls_alone():
    body = await sent(ask(user("x"), TURN, RESULT), model="oven-2")
    assert body["input"][1:3] == [
        {"role": "assistant", "content": "été 発酵"},
        {
            "type": "function_call",
            "call_id": "call_rye",
            "name": "weigh",
            "arguments": '{"grams":500}',
        },
    ]


async def test_reasoning_that_nothing_follows_is_not_sent():
    body = await sent(ask(user("x"), assistant(Reasoning("", native(SEALED)))))
    assert [entry["role"] for entry in body["input"]] == ["user"]


async def test_reasoning_that_is_not_sealed_is_not_kept():
    bare = reasoning_item("Hm.", encrypted_content=None)
    deltas = await answer(items(created(), *item(0, bare), completed()))
    assert deltas[:2] == [ReasoningChunk("Hm."), ReasoningEnd(None)]


async def test_what_a_tool_of_the_service_did_is_kept_whole_and_sent_back():
    used = {"type": "web_search_call", "id": "ws_1", "action": {"query": "levain"}}
    deltas = await answer(
        items(created(), *item(0, used), *text_item(1, "ok"), completed())
    )
    assert deltas[0] == NativeBlock(native(used))
    body = await sent(ask(user("x"), assistant(native(used), Text("ok")), user("y")))
    assert body["input"][1] == used


async def test_an_image_is_a_file_and_goes_back_as_the_call_that_made_it():
    made = {"type": "image_generation_call", "id": "ig_1", "status": "completed"}
    done = made | {"result": "iVBORw==", "output_format": "webp"}
    deltas = await answer(items(created(), *item(0, done), completed()))
    kept = native(made | {"output_format": "webp"})
    assert deltas[:2] == [
        NativeBlock(kept),
        FileChunk(b"\x89PNG", "image/webp"),
    ]
    turn = assistant(kept, File("blob:1", "image/webp"))
    body = await sent(ask(user("x"), turn, user("y")))
    assert body["input"][1] == {
        "role": "assistant",
        "content": "[file blob:1 (image/webp)]",
    }
    request = ModelRequest(
        model="", messages=(user("x"), turn, user("y")), blobs={"blob:1": b"\x89PNG"}
    )
    assert (await sent(request))["input"][1] == done


async def test_a_host_that_does_not_stream_is_understood():
    output = [reasoning_item("Hm."), message_item("I weigh."), call_item("weigh", "{}")]
    deltas = await answer(Reply.json(response(output)))
    assert (thought_of(deltas), text_of(deltas)) == ("Hm.", "I weigh.")
    assert calls_of(deltas) == [("call_1", "weigh", "{}")]
    assert usage_of(deltas) == Usage(input=11, output=5)
    assert end_of(deltas) == Finish("tool_use", "oven-1-2026")


async def test_what_only_the_last_event_holds_is_not_lost():
    end = {"type": "response.completed", "response": response([message_item("ok")])}
    assert text_of(await answer(items(created(), end))) == "ok"


@pytest.mark.parametrize(
    ("status", "details", "stop"),
    [
        ("completed", None, "end_turn"),
        ("incomplete", {"reason": "max_output_tokens"}, "max_tokens"),
        ("incomplete", {"reason": "content_filter"}, "refusal"),
        ("incomplete", {"reason": "constructor"}, "max_tokens"),
        ("incomplete", None, "max_tokens"),
    ],
)
async def test_stop_reasons_are_neutral(status: str, details: object, stop: str):
    end = {
        "type": f"response.{status}",
        "response": response([], status, incomplete_details=details),
    }
    deltas = await answer(items(created(), *text_item(0, "x"), end))
    assert end_of(deltas).stop_reason == stop


async def test_a_call_cut_by_the_limit_is_passed_on_cut():
    half = '{"path":"loaf.md","content":"half'
    cut = {"reason": "max_output_tokens"}
    end = {
        "type": "response.incomplete",
        "response": response([], "incomplete", incomplete_details=cut),
    }
    started = call_pieces(0, "write", half)[:-1]
    deltas = await answer(items(created(), *started, end))
    assert calls_of(deltas) == [("call_1", "write", half)]
    assert end_of(deltas).stop_reason == "max_tokens"
    assert CallEnd(0) in deltas


async def test_a_refusal_in_words_is_text_and_a_refusal():
    content = [{"type": "refusal", "refusal": "No."}]
    streamed = item(
        0,
        message_item("", content=content),
        {"type": "response.refusal.delta", "delta": "No."},
    )
    whole = item(0, message_item("", content=content))
    for events in (streamed, whole):
        deltas = await answer(items(created(), *events, completed()))
        assert (text_of(deltas), end_of(deltas).stop_reason) == ("No.", "refusal")


async def test_calls_of_one_id_get_two_ids():
    one, two = call_pieces(0, "weigh", "1"), call_pieces(1, "weigh", "2")
    deltas = await answer(items(created(), *one, *two, completed()))
    assert [call[0] for call in calls_of(deltas)] == ["call_1", "call_1_2"]


async def test_a_character_halved_between_events_is_whole():
    body = items(
        created(),
        *text_item(0, "x\ud83c", "\udf5ey"),
        *call_pieces(1, "weigh", '{"v":"\ud83c', '\udf5e"}'),
        completed(),
    )
    deltas = await answer(body)
    assert text_of(deltas) == "x🍞y"
    assert calls_of(deltas)[0][2] == '{"v":"🍞"}'


@pytest.mark.parametrize(
    ("event", "code", "status"),
    [
        ({"type": "error", "code": "rate_limit_exceeded"}, "MODEL_RATE_LIMIT", 429),
        ({"type": "error", "code": None}, "MODEL_ERROR", 500),
        (
            {"type": "error", "error": {"type": "overloaded_error"}},
            "MODEL_OVERLOADED",
            529,
        ),
        (
            {
                "type": "response.failed",
                "response": response([], "failed", error={"code": "server_error"}),
            },
            "MODEL_ERROR",
            500,
        ),
        (
            {"type": "response.failed", "response": response([], "failed")},
            "MODEL_ERROR",
            500,
        ),
    ],
)
async def test_an_error_event_is_the_error_it_names(
    event: dict[str, Any], code: str, status: int
):
    start = text_item(0, "half a")[:-1]
    deltas, fault = await fault_of(items(created(), *start, event))
    assert text_of(deltas) == "half a"
    assert (fault.code, fault.status, fault.retryable) == (code, status, True)
    assert "openai" in fault.what


async def test_an_answer_that_is_still_being_made_is_no_answer():
    _, fault = await fault_of(Reply.json(response([], "queued")))
    assert (fault.code, fault.retryable) == ("STREAM_INCOMPLETE", True)


async def test_a_request_says_what_the_api_needs():
    weigh = ToolSpec(
        "weigh",
        "Weighs.",
        {
            "type": "object",
            "properties": {"grams": {"type": "integer", "minimum": 1}},
            "required": ["grams"],
        },
    )
    body = await sent(
        ModelRequest(
            model="",
            system="Bake.",
            messages=(user("Hello"),),
            tools=(weigh, ToolSpec("bell", "", {})),
            settings={"temperature": 0, "max_tokens": 50, "idle_timeout": 5},
        )
    )
    strict = {
        "type": "object",
        "properties": {"grams": {"type": "integer"}},
        "required": ["grams"],
        "additionalProperties": False,
    }
    assert body == {
        "model": "oven-1",
        "stream": True,
        "store": False,
        "instructions": "Bake.",
        "max_output_tokens": 50,
        "temperature": 0,
        "tools": [
            {
                "type": "function",
                "name": "weigh",
                "description": "Weighs.",
                "parameters": strict,
                "strict": True,
            },
            {
                "type": "function",
                "name": "bell",
                "description": "",
                "parameters": {"type": "object", "properties": {}},
                "strict": False,
            },
        ],
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Hello"}]}
        ],
    }


async def test_a_tool_with_optional_or_open_parameters_is_never_strict():
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            "temp": {"type": "integer"},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
            "extra": {"type": "object", "additionalProperties": True, "default": {}},
        },
        "required": ["temp"],
    }
    request = ModelRequest(
        model="", messages=(user("x"),), tools=(ToolSpec("bake", "", schema),)
    )
    (tool,) = (await sent(request))["tools"]
    assert (tool["strict"], tool["parameters"]) == (False, schema)


@pytest.mark.parametrize(
    ("model", "asked"),
    [
        ("gpt-5.5", True),
        ("o4-mini", True),
        ("openai/gpt-5-mini", True),
        ("gpt-4.1", False),
        ("gpt-5-chat-latest", False),
    ],
)
async def test_only_reasoning_models_are_asked_for_sealed_reasoning(
    model: str, asked: bool
):
    body = await sent(ask(), model=model)
    assert ("include" in body) == asked
    assert "include" not in await sent(ask(), {"include": None}, model=model)


async def test_settings_reach_the_request_and_tools_of_the_service_are_added():
    request = ModelRequest(
        model="",
        messages=(user("x"),),
        tools=(ToolSpec("bell", "", {}),),
        output_schema=Loaf.model_json_schema(),
        settings={
            "tools": [{"type": "web_search"}],
            "reasoning": {"effort": "low"},
            "text": {"verbosity": "low"},
            "store": None,
        },
    )
    body = await sent(request)
    assert [tool["type"] for tool in body["tools"]] == ["function", "web_search"]
    assert body["reasoning"] == {"effort": "low"}
    assert body["text"]["verbosity"] == "low"
    assert body["text"]["format"]["strict"] is True
    assert "store" not in body


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (Loaf.model_json_schema(), True),
        (Maybe.model_json_schema(), False),
        ({"type": "array", "items": {"type": "string"}}, None),
    ],
)
async def test_an_answer_of_a_schema_is_strict_only_where_the_schema_allows(
    schema: dict[str, Any], strict: bool | None
):
    body = await sent(
        ModelRequest(model="", messages=(user("x"),), output_schema=schema)
    )
    wanted = body.get("text", {}).get("format", {})
    assert wanted.get("strict") == strict
    assert ("JSON Schema" in body.get("instructions", "")) == (strict is not True)


async def test_files_are_sent_where_their_bytes_are_at_hand():
    files = (
        Text("Look"),
        File("blob:1", "image/png", "loaf.png"),
        File("blob:2", "application/pdf"),
        File("blob:3", "text/plain", "notes.txt"),
        File("blob:4", "audio/wav", "crackle.wav"),
        File("blob:5", "image/png", "gone.png"),
    )
    blobs = {"blob:1": b"png", "blob:2": b"pdf", "blob:3": b"rye", "blob:4": b"wav"}
    request = ModelRequest(model="", messages=(Message("user", files),), blobs=blobs)
    assert (await sent(request))["input"][0]["content"] == [
        {"type": "input_text", "text": "Look"},
        {"type": "input_image", "image_url": "data:image/png;base64,cG5n"},
        {
            "type": "input_file",
            "filename": "file.pdf",
            "file_data": "data:application/pdf;base64,cGRm",
        },
        {"type": "input_text", "text": "[file notes.txt (text/plain)]\nrye"},
        {"type": "input_text", "text": "[file crackle.wav (audio/wav)]"},
        {"type": "input_text", "text": "[file gone.png (image/png)]"},
    ]


async def test_the_bytes_of_files_are_not_kept_in_a_message():
    message = Message("user", (File("blob:1", "image/png"),))
    await sent(ask(message))
    await sent(ModelRequest(model="", messages=(message,), blobs={"blob:1": b"png"}))
    assert message.encoded == {}


async def test_a_failed_result_says_so_and_none_is_blank():
    results = (
        ToolResult("a", "weigh", "no scale", failed=True),
        ToolResult("b", "weigh", ""),
        ToolResult("c", "weigh", {"grams": 5}),
    )
    calls = assistant(*(ToolCall(r.call_id, "weigh") for r in results))
    body = await sent(ask(user("x"), calls, Message("tool", results)))
    assert [entry["output"] for entry in body["input"][4:]] == [
        "Error: no scale",
        "(no output)",
        '{"grams":5}',
    ]


async def test_a_long_name_is_sent_short_and_comes_back_long():
    long = "artisan-bakery__stock.levels/by warehouse and day of week, all of them"
    request = ModelRequest(
        model="",
        messages=(user("x"), assistant(ToolCall("a", long)), RESULT),
        tools=(ToolSpec(long, "", {}),),
        tool_choice=long,
    )
    body = await sent(request)
    name = body["tools"][0]["name"]
    assert name != long
    assert body["tool_choice"] == {"type": "function", "name": name}
    assert body["input"][1]["name"] == name
    reply = items(created(), *call_pieces(0, name), completed())
    assert calls_of(await answer(reply, request))[0][1] == long


async def test_a_request_without_a_word_is_refused():
    with pytest.raises(BreadError) as caught:
        await sent(ask(user("  "), assistant(Text(""))))
    assert caught.value.code == "INVALID_INPUT"


async def test_the_key_and_the_address_are_those_of_openai(
    monkeypatch: pytest.MonkeyPatch,
):
    async with ModelServer(Reply([answered("ok")])) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1/")
        monkeypatch.setenv("OPENAI_API_KEY", "a-made-up-key\n")
        oven = Responses("oven-1")
        await play(oven)
        await oven.aclose()
    assert server.seen[0].path == "/v1/responses"
    assert server.seen[0].headers["authorization"] == "Bearer a-made-up-key"
    assert oven.name == "responses:oven-1"
