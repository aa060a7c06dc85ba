"""The Gemini dialect: what is sent, and what a stream becomes."""

from typing import Any, Literal

import pytest
from fixtures.model_play import (
    ask,
    calls_of,
    end_of,
    play,
    play_to_fault,
    text_of,
    usage_of,
)
from fixtures.model_server import ModelServer, Reply
from fixtures.more_wire import candidate, parts, told
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
from bread_nb.providers.gemini import Gemini
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

FOREIGN = "skip_thought_signature_validator"
WEIGH = ToolSpec("weigh", "Weighs.", {"type": "object", "properties": {}})


def native(block: object, model: str = "gemini-3-pro") -> Native:
    return Native("gemini", model, block)  # pyright: ignore[reportArgumentType]


class Loaf(BaseModel):
    name: str
    kind: Literal["rye"]
    grams: int | None = None


class Open(BaseModel):
    extra: dict[str, Any]


async def answer(
    body: bytes | Reply, request: ModelRequest | None = None
) -> list[Delta]:
    reply = body if isinstance(body, Reply) else Reply([body])
    async with ModelServer(reply) as server:
        oven = Gemini(Model("gemini:gemini-3-pro", base_url=server.url))
        deltas = await play(oven, request)
        await oven.aclose()
    return deltas


async def fault_of(body: bytes | Reply) -> tuple[list[Delta], ProviderError]:
    reply = body if isinstance(body, Reply) else Reply([body])
    async with ModelServer(reply) as server:
        oven = Gemini(Model("gemini:gemini-3-pro", base_url=server.url))
        deltas, fault = await play_to_fault(oven)
        await oven.aclose()
    assert isinstance(fault, ProviderError)
    return deltas, fault


async def sent(
    request: ModelRequest,
    settings: dict[str, Any] | None = None,
    model: str = "gemini-3-pro",
) -> dict[str, Any]:
    """The body that a request becomes."""
    async with ModelServer(Reply([told("ok")])) as server:
        described = Model(
            f"gemini:{model}", base_url=server.url, settings=settings or {}
        )
        oven = Gemini(described)
        await play(oven, request)
        await oven.aclose()
    return server.seen[0].body


@pytest.mark.parametrize("way", ["bytes", "sevens", "lines", "whole"])
async def test_thinking_text_and_calls_are_the_same_however_they_are_cut(way: str):
    body = recorded("gemini-thinking-calls.sse")
    deltas = await answer(Reply(pieces(body)[way]))
    first, second, third = (identifier for identifier, _, _ in calls_of(deltas))
    assert len({first, second, third}) == 3
    assert third == "96c1"
    before = Usage(input=40, output=12, reasoning=9)
    assert deltas == [
        ReasoningChunk("pain 🍞 "),
        UsageReport(Usage(input=40, output=4, reasoning=4)),
        ReasoningChunk("d'abord"),
        UsageReport(Usage(input=40, output=9, reasoning=9)),
        ReasoningEnd(),
        TextChunk("été "),
        NativeBlock(native({"thoughtSignature": "SIG1+/==", "length": 4})),
        UsageReport(before),
        TextChunk("発酵"),
        CallStart(0, first, "weigh"),
        CallFragment(0, '{"grams":500}'),
        CallEnd(0, native({"thoughtSignature": "SIG2=="})),
        CallStart(1, second, "weigh"),
        CallFragment(1, '{"grams":250}'),
        CallEnd(1),
        CallStart(2, third, "bell"),
        CallEnd(2),
        UsageReport(Usage(input=10, output=21, cache_read=30, reasoning=9)),
        Finish("tool_use", "oven-1-2026"),
    ]


TURN = assistant(
    Reasoning("pain 🍞 d'abord"),
    Text("été "),
    native({"thoughtSignature": "SIG1+/==", "length": 4}),
    Text("発酵"),
    ToolCall("a", "weigh", {"grams": 1}, native=native({"thoughtSignature": "SIG2"})),
    ToolCall("b", "weigh", {"grams": 2}),
)
RESULTS = Message(
    "tool", (ToolResult("a", "weigh", "1 g"), ToolResult("b", "weigh", {"grams": 2}))
)


async def test_signatures_go_back_on_the_parts_they_came_on():
    stored = from_json(to_json(TURN))
    body = await sent(ask(user("x"), stored, RESULTS))
    assert body["contents"][1:] == [
        {
            "role": "model",
            "parts": [
                {"text": "été ", "thoughtSignature": "SIG1+/=="},
                {"text": "発酵"},
                {
                    "functionCall": {"id": "a", "name": "weigh", "args": {"grams": 1}},
                    "thoughtSignature": "SIG2",
                },
                {"functionCall": {"id": "b", "name": "weigh", "args": {"grams": 2}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {
                    "functionResponse": {
                        "id": "a",
                        "name": "weigh",
                        "response": {"output": "1 g"},
                    }
                },
                {
                    "functionResponse": {
                        "id": "b",
                        "name": "weigh",
                        "response": {"output": {"grams": 2}},
                    }
                },
            ],
        },
    ]


@pytest.mark.parametrize(
    ("model", "signature"),
    [("gemini-3-flash", FOREIGN), ("gemini-2.5-pro", None), ("gemma-3-27b-it", None)],
)
async def test_calls_of_another_model_are_marked_where_signatures_are_asked_for(
    model: str, signature: str | None
):
    body = await sent(ask(user("x"), TURN, RESULTS), model=model)
    said = body["contents"][1]["parts"]
    assert [part.get("text") for part in said[:2]] == ["été ", "発酵"]
    assert [part.get("thoughtSignature") for part in said] == [
        *(None, None),
        signature,
        None,
    ]


@pytest.mark.parametrize(
    ("texts", "length", "sent_as"),
    [
        (["one ", "two"], 3, [{"text": "one "}, {"text": "two"}]),
        (["one"], 3, [{"text": "one"}]),
        (["one"], 9, [{"text": "one"}]),
        (["one"], 0, [{"text": "one"}, {"text": ""}]),
    ],
)
async def test_a_signature_of_text_signs_just_the_text_it_came_on(
    texts: list[str], length: int, sent_as: list[dict[str, Any]]
):
    signed = native({"thoughtSignature": "S", "length": length})
    turn = assistant(Text("".join(texts)), signed)
    body = await sent(ask(user("x"), turn, user("y")))
    sent_as[-1]["thoughtSignature"] = "S"
    assert body["contents"][1]["parts"] == sent_as


async def test_signed_thinking_goes_back_whole():
    body = parts([{"text": "Hm.", "thought": True, "thoughtSignature": "S"}])
    deltas = await answer(body + told("ok"))
    assert deltas[:2] == [
        ReasoningChunk("Hm."),
        ReasoningEnd(native({"thoughtSignature": "S"})),
    ]
    turn = assistant(Reasoning("Hm.", native({"thoughtSignature": "S"})), Text("ok"))
    sent_parts = (await sent(ask(user("x"), turn, user("y"))))["contents"][1]["parts"]
    assert sent_parts[0] == {"text": "Hm.", "thought": True, "thoughtSignature": "S"}


async def test_what_the_service_ran_is_kept_whole_and_sent_back_in_its_place():
    code = {"executableCode": {"language": "PYTHON", "code": "1+1", "id": "8x"}}
    result = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2\n"}}
    signed = code | {"thoughtSignature": "S"}
    deltas = await answer(parts([signed, {"text": ""}], [result]) + told("2"))
    assert deltas[:3] == [
        NativeBlock(native(signed)),
        NativeBlock(native(result)),
        TextChunk("2"),
    ]
    turn = assistant(native(signed), native(result), Text("2"))
    body = await sent(ask(user("x"), turn, user("y")))
    assert body["contents"][1]["parts"] == [signed, result, {"text": "2"}]


async def test_an_image_is_a_file_and_goes_back_with_its_signature():
    held = {"mimeType": "image/png", "data": "iVBORw=="}
    deltas = await answer(
        parts([{"inlineData": held, "thoughtSignature": "S"}]) + told("ok")
    )
    mark = native({"thoughtSignature": "S"})
    assert deltas[:2] == [FileChunk(b"\x89PNG", "image/png"), NativeBlock(mark)]
    turn = assistant(File("blob:1", "image/png"), mark, Text("ok"))
    body = await sent(ask(user("x"), turn, user("y")))
    assert body["contents"][1]["parts"][0] == {"text": "[file blob:1 (image/png)]"}
    request = ModelRequest(
        model="", messages=(user("x"), turn, user("y")), blobs={"blob:1": b"\x89PNG"}
    )
    assert (await sent(request))["contents"][1]["parts"][0] == {
        "inlineData": held,
        "thoughtSignature": "S",
    }


async def test_files_are_sent_where_their_bytes_are_at_hand():
    files = (
        File("blob:1", "image/png"),
        File("blob:2", "application/pdf"),
        File("blob:3", "application/json", "loaf.json"),
        File("blob:4", "application/zip", "oven.zip"),
    )
    blobs = {f"blob:{n}": b"[1]" for n in range(1, 5)}
    request = ModelRequest(model="", messages=(Message("user", files),), blobs=blobs)
    assert (await sent(request))["contents"][0]["parts"] == [
        {"inlineData": {"mimeType": "image/png", "data": "WzFd"}},
        {"inlineData": {"mimeType": "application/pdf", "data": "WzFd"}},
        {"text": "[file loaf.json (application/json)]\n[1]"},
        {"text": "[file oven.zip (application/zip)]"},
    ]


async def test_roles_alternate_the_user_begins_and_nothing_is_empty():
    history = (
        assistant(Text("Hello.")),
        user("One"),
        user("Two"),
        assistant(Text(" ")),
        user("Three"),
        TURN,
        RESULTS,
        user("And?"),
    )
    contents = (await sent(ask(*history)))["contents"]
    assert [c["role"] for c in contents] == ["user", "model"] * 2 + ["user"]
    assert contents[0]["parts"] == [{"text": "Go on."}]
    assert [p["text"] for p in contents[2]["parts"]] == ["One", "Two", "Three"]
    assert contents[4]["parts"][-1] == {"text": "And?"}


async def test_a_failed_result_says_so():
    results = (ToolResult("a", "weigh", "no scale", failed=True),)
    call = assistant(ToolCall("a", "weigh"))
    body = await sent(ask(user("x"), call, Message("tool", results)))
    told_back = body["contents"][2]["parts"][0]["functionResponse"]["response"]
    assert told_back == {"error": "no scale"}


async def test_usage_counts_each_token_once_and_keeps_what_a_chunk_leaves_out():
    deltas = await answer(
        parts(
            candidate(
                [{"text": "a"}],
                promptTokenCount=46,
                candidatesTokenCount=51,
                thoughtsTokenCount=101,
            ),
            candidate([{"text": "b"}], promptTokenCount=46, totalTokenCount=46),
            candidate(
                [],
                "STOP",
                promptTokenCount=147,
                cachedContentTokenCount=100,
                toolUsePromptTokenCount=360,
                candidatesTokenCount=108,
                thoughtsTokenCount=168,
                totalTokenCount=783,
            ),
        )
    )
    found = Usage(input=407, output=276, cache_read=100, reasoning=168)
    assert usage_of(deltas) == found
    assert found.total == 783
    assert sum(isinstance(d, UsageReport) for d in deltas) == 2


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("STOP", "end_turn"),
        ("MAX_TOKENS", "max_tokens"),
        ("SAFETY", "refusal"),
        ("RECITATION", "refusal"),
        ("PROHIBITED_CONTENT", "refusal"),
        ("SPII", "refusal"),
        ("IMAGE_SAFETY", "refusal"),
        ("constructor", None),
    ],
)
async def test_stop_reasons_are_neutral(reason: str, stop: str | None):
    deltas = await answer(told("x", reason))
    assert end_of(deltas) == Finish(stop, "oven-1-2026")  # pyright: ignore[reportArgumentType]


async def test_only_an_end_of_turn_with_calls_becomes_tool_use():
    call = [{"functionCall": {"name": "weigh", "args": {"grams": 5}}}]
    for reason, stop in (("STOP", "tool_use"), ("MAX_TOKENS", "max_tokens")):
        deltas = await answer(parts(candidate(call, reason)))
        assert end_of(deltas).stop_reason == stop


async def test_a_blocked_prompt_is_a_refusal():
    body = parts({"promptFeedback": {"blockReason": "SAFETY"}})
    assert end_of(await answer(body)).stop_reason == "refusal"


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "OTHER", "NO_IMAGE"])
async def test_an_answer_the_service_could_not_use_is_a_fault(reason: str):
    deltas, fault = await fault_of(told("half", reason))
    assert text_of(deltas) == "half"
    assert (fault.code, fault.retryable) == ("MODEL_ERROR", True)
    assert reason in fault.why


async def test_calls_get_ids_of_their_own():
    call = {"functionCall": {"name": "weigh", "args": {}}}
    same = {"functionCall": {"name": "weigh", "args": {}, "id": "a"}}
    request = ask(user("x"), TURN, RESULTS)
    deltas = await answer(parts(candidate([call, call, same], "STOP")), request)
    ids = [identifier for identifier, _, _ in calls_of(deltas)]
    assert len({*ids, "a", "b"}) == 5
    assert ids[2] == "a_2"


@pytest.mark.parametrize(
    ("body", "status", "code", "wait"),
    [
        (
            {
                "error": {
                    "code": 400,
                    "status": "INVALID_ARGUMENT",
                    "message": "API key not valid.",
                    "details": [{"reason": "API_KEY_INVALID"}],
                }
            },
            400,
            "MODEL_AUTH",
            None,
        ),
        (
            {
                "error": {
                    "code": 429,
                    "status": "RESOURCE_EXHAUSTED",
                    "message": "Quota exceeded",
                    "details": [{"reason": "X"}, {"retryDelay": "34.5s"}],
                }
            },
            429,
            "MODEL_RATE_LIMIT",
            34.5,
        ),
        (
            [{"error": {"code": 503, "status": "UNAVAILABLE", "message": "busy"}}],
            503,
            "MODEL_OVERLOADED",
            None,
        ),
        (
            {
                "error": {
                    "code": 400,
                    "message": "The input token count (2) exceeds the maximum number "
                    "of tokens allowed (1).",
                }
            },
            400,
            "CONTEXT_EXCEEDED",
            None,
        ),
    ],
)
async def test_an_error_body_is_the_error_it_means(
    body: object, status: int, code: str, wait: float | None
):
    _, fault = await fault_of(Reply.json(body, status))
    assert (fault.code, fault.retry_after) == (code, wait)


async def test_an_error_in_the_middle_is_the_error_it_names():
    broken = {"error": {"code": 503, "status": "UNAVAILABLE", "message": "busy"}}
    deltas, fault = await fault_of(parts([{"text": "half a"}], broken))
    assert text_of(deltas) == "half a"
    assert (fault.code, fault.status) == ("MODEL_OVERLOADED", 503)


async def test_a_host_that_does_not_stream_is_understood():
    whole = candidate([{"text": "ok"}], "STOP", promptTokenCount=3)
    deltas = await answer(Reply.json(whole))
    assert (text_of(deltas), usage_of(deltas)) == ("ok", Usage(input=3))


async def test_a_request_says_what_the_api_needs():
    body = await sent(
        ModelRequest(
            model="",
            system="Bake.",
            messages=(user("Hello"),),
            tools=(WEIGH,),
            settings={
                "temperature": 0,
                "max_tokens": 50,
                "stop": "\n",
                "top_p": None,
                "idle_timeout": 5,
                "thinking_config": {"includeThoughts": True},
                "safety_settings": [{"threshold": "OFF"}],
                "generation_config": {"seed": 1},
                "tools": [{"codeExecution": {}}],
            },
        )
    )
    function = {
        "name": "weigh",
        "description": "Weighs.",
        "parameters": {"type": "object", "properties": {}},
    }
    assert body == {
        "systemInstruction": {"parts": [{"text": "Bake."}]},
        "tools": [{"functionDeclarations": [function]}, {"codeExecution": {}}],
        "safetySettings": [{"threshold": "OFF"}],
        "generationConfig": {
            "temperature": 0,
            "maxOutputTokens": 50,
            "stopSequences": ["\n"],
            "thinkingConfig": {"includeThoughts": True},
            "seed": 1,
        },
        "contents": [{"role": "user", "parts": [{"text": "Hello"}]}],
    }


async def test_a_tool_is_asked_for_by_name_or_at_large():
    for choice, names in (("required", None), ("weigh", ["weigh"])):
        request = ModelRequest(
            model="", messages=(user("x"),), tools=(WEIGH,), tool_choice=choice
        )
        calling = (await sent(request))["toolConfig"]["functionCallingConfig"]
        assert (calling["mode"], calling.get("allowedFunctionNames")) == ("ANY", names)


@pytest.mark.parametrize(
    ("schema", "model", "tools", "shaped", "told_in_words"),
    [
        (Loaf, "gemini-2.5-flash", (), True, False),
        (Loaf, "gemini-3-pro", (WEIGH,), True, False),
        (Loaf, "gemini-2.5-flash", (WEIGH,), None, True),
        (Open, "gemini-3-pro", (), False, True),
    ],
)
async def test_an_answer_of_a_schema_is_shaped_where_model_and_schema_allow(
    schema: type[BaseModel],
    model: str,
    tools: tuple[ToolSpec, ...],
    shaped: bool | None,
    told_in_words: bool,
):
    request = ModelRequest(
        model="",
        messages=(user("x"),),
        tools=tools,
        output_schema=schema.model_json_schema(),
    )
    body = await sent(request, model=model)
    config = body["generationConfig"]
    assert ("JSON Schema" in str(body.get("systemInstruction"))) == told_in_words
    assert ("responseMimeType" in config) == (shaped is not None)
    if shaped:
        kind = config["responseSchema"]["properties"]["kind"]
        assert kind == {"type": "string", "enum": ["rye"], "title": "Kind"}
        assert config["responseSchema"]["properties"]["grams"]["nullable"] is True


@pytest.mark.parametrize(
    ("address", "model", "path"),
    [
        ("", "oven-1", "/v1beta/models/oven-1"),
        ("/v1beta/", "models/oven-1", "/v1beta/models/oven-1"),
        ("/v1", "tunedModels/rye 1", "/v1/tunedModels/rye%201"),
    ],
)
async def test_the_address_holds_the_model(address: str, model: str, path: str):
    async with ModelServer(Reply([told("ok")])) as server:
        place = f"{server.url}{address}"
        oven = Gemini(Model(f"gemini:{model}", base_url=place, api_key="made-up"))
        await play(oven)
        await oven.aclose()
    assert server.seen[0].path == f"{path}:streamGenerateContent?alt=sse"
    assert server.seen[0].headers["x-goog-api-key"] == "made-up"


async def test_a_request_without_a_word_is_refused():
    with pytest.raises(BreadError) as caught:
        await sent(ask(user("  ")))
    assert caught.value.code == "INVALID_INPUT"


async def test_each_message_is_encoded_once():
    first = user("Hello")
    await sent(ask(first))
    first.encoded["gemini:gemini-3-pro"] = b'{"text":"kept"}'
    assert (await sent(ask(first)))["contents"][0]["parts"] == [{"text": "kept"}]
