"""The Ollama dialect: what is sent, and what a stream becomes."""

from typing import Any

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
from fixtures.more_wire import NDJSON, lines, ndjson
from fixtures.wire import pieces, recorded

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
    user,
)
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
from bread_nb.providers.ollama import Ollama

THOUGHT = Native("ollama", "oven-1", {"field": "thinking"})
WEIGH = ToolSpec("weigh", "Weighs.", {"type": "object", "properties": {}})
BELL = ToolSpec("bell", "", {})
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}


async def answer(reply: Reply, request: ModelRequest | None = None) -> list[Delta]:
    async with ModelServer(reply) as server:
        oven = Ollama(Model("ollama:oven-1", base_url=server.url))
        deltas = await play(oven, request)
        await oven.aclose()
    return deltas


async def sent(
    request: ModelRequest,
    settings: dict[str, Any] | None = None,
    model: str = "oven-1",
) -> dict[str, Any]:
    """The body that a request becomes."""
    async with ModelServer(ndjson(lines({"content": "ok"}))) as server:
        oven = Ollama(
            Model(f"ollama:{model}", base_url=server.url, settings=settings or {})
        )
        await play(oven, request)
        await oven.aclose()
    return server.seen[0].body


@pytest.mark.parametrize("way", ["bytes", "sevens", "lines", "whole"])
async def test_thinking_text_and_calls_are_the_same_however_they_are_cut(way: str):
    body = recorded("ollama-thinking-calls.ndjson")
    deltas = await answer(Reply(pieces(body)[way], headers=NDJSON))
    (made, _, _), _ = calls_of(deltas)
    assert deltas == [
        ReasoningChunk("pain 🍞 "),
        ReasoningChunk("d'abord"),
        ReasoningEnd(THOUGHT),
        TextChunk("été "),
        TextChunk("発酵"),
        CallStart(0, made, "weigh"),
        CallFragment(0, '{"grams":500}'),
        CallEnd(0),
        CallStart(1, "call_b", "bell"),
        CallEnd(1),
        UsageReport(Usage(input=40, output=21)),
        Finish("tool_use", "oven-1"),
    ]


@pytest.mark.parametrize(
    ("reason", "stop"),
    [("stop", "end_turn"), ("length", "max_tokens"), ("load", None), ("unload", None)],
)
async def test_stop_reasons_are_neutral(reason: str, stop: str | None):
    deltas = await answer(ndjson(lines({"content": "x"}, done=reason)))
    assert end_of(deltas) == Finish(stop, "oven-1")  # pyright: ignore[reportArgumentType]


async def test_a_call_cut_by_the_limit_is_no_tool_use():
    call = {"tool_calls": [{"function": {"name": "weigh", "arguments": {}}}]}
    deltas = await answer(ndjson(lines(call, done="length")))
    assert end_of(deltas).stop_reason == "max_tokens"


async def test_calls_of_one_answer_get_ids_of_their_own():
    call = {"id": "call_0", "function": {"name": "weigh", "arguments": {}}}
    deltas = await answer(ndjson(lines({"tool_calls": [call, call]})))
    assert [c[0] for c in calls_of(deltas)] == ["call_0", "call_0_2"]


async def test_what_was_cached_is_counted_once():
    usage = {"prompt_eval_count": 40, "prompt_eval_cached_count": 30, "eval_count": 2}
    deltas = await answer(ndjson(lines({"content": "x"}, **usage)))
    assert usage_of(deltas) == Usage(input=10, output=2, cache_read=30)


async def test_a_server_that_does_not_stream_is_understood():
    body = lines(done="stop", prompt_eval_count=3)
    whole = Reply([body.strip()], headers={"content-type": "application/json"})
    deltas = await answer(whole)
    assert usage_of(deltas) == Usage(input=3)


@pytest.mark.parametrize(
    ("reply", "code", "status"),
    [
        (
            Reply.json({"error": "model 'rye' not found"}, 404),
            "MODEL_NOT_FOUND",
            404,
        ),
        (Reply.json({"error": "oven-1 does not support tools"}, 400), None, 400),
        (ndjson(lines({"content": "half a"}, done=None)), "STREAM_INCOMPLETE", None),
        (
            ndjson(
                lines({"content": "half a"}, done=None), b'{"error":"runner died"}\n'
            ),
            "MODEL_ERROR",
            500,
        ),
        (ndjson(b'{"model":"x","message":{"content":"half a"}}\n'), None, None),
    ],
)
async def test_an_error_is_the_error_it_means(
    reply: Reply, code: str | None, status: int | None
):
    async with ModelServer(reply) as server:
        oven = Ollama(Model("ollama:oven-1", base_url=server.url))
        deltas, fault = await play_to_fault(oven)
        await oven.aclose()
    assert isinstance(fault, ProviderError)
    expected = code or ("BAD_REQUEST" if status else "STREAM_BROKEN")
    assert (fault.code, fault.status) == (expected, status)
    assert text_of(deltas) in ("", "half a")


async def test_a_request_says_what_the_api_needs():
    body = await sent(
        ModelRequest(
            model="",
            system="Bake.",
            messages=(user("Hello"),),
            tools=(WEIGH, BELL),
            settings={
                "temperature": 0,
                "max_tokens": 50,
                "stop": "\n",
                "top_p": None,
                "idle_timeout": 5,
                "think": "low",
                "keep_alive": "5m",
                "options": {"num_ctx": 8192},
            },
        )
    )
    functions = [tool["function"] for tool in body.pop("tools")]
    assert [f["name"] for f in functions] == ["weigh", "bell"]
    assert functions[1]["parameters"] == {"type": "object", "properties": {}}
    assert body == {
        "model": "oven-1",
        "stream": True,
        "options": {
            "temperature": 0,
            "num_predict": 50,
            "stop": ["\n"],
            "num_ctx": 8192,
        },
        "think": "low",
        "keep_alive": "5m",
        "messages": [
            {"role": "system", "content": "Bake."},
            {"role": "user", "content": "Hello"},
        ],
    }


TURN = assistant(
    Reasoning("Hm.", THOUGHT), Text("I weigh."), ToolCall("a", "weigh", {"grams": 1})
)
RESULT = Message("tool", (ToolResult("a", "weigh", "no scale", failed=True),))


async def test_calls_are_sent_in_pairs_with_what_this_model_thought():
    call = {"id": "a", "function": {"name": "weigh", "arguments": {"grams": 1}}}
    expected = {"role": "assistant", "content": "I weigh.", "tool_calls": [call]}
    result = {
        "role": "tool",
        "content": "Error: no scale",
        "tool_name": "weigh",
        "tool_call_id": "a",
    }
    body = await sent(ask(user("x"), TURN, RESULT))
    assert body["messages"][1:] == [expected | {"thinking": "Hm."}, result]
    body = await sent(ask(user("x"), TURN, RESULT), model="oven-2")
    assert body["messages"][1:] == [expected, result]
    later = assistant(Reasoning("Hm.", THOUGHT), Text("Rye."))
    body = await sent(ask(user("x"), later, user("y"), assistant(Text(" "))))
    assert body["messages"][1:] == [
        {"role": "assistant", "content": "Rye."},
        {"role": "user", "content": "y"},
    ]


async def test_images_are_sent_and_other_files_are_told():
    files = (
        Text("Look "),
        File("blob:1", "image/png"),
        File("blob:2", "text/plain", "notes.txt"),
        File("blob:3", "application/pdf", "oven.pdf"),
        File("blob:4", "image/png"),
    )
    blobs = {"blob:1": b"png", "blob:2": b"rye", "blob:3": b"pdf"}
    request = ModelRequest(model="", messages=(Message("user", files),), blobs=blobs)
    (message,) = (await sent(request))["messages"]
    assert message["images"] == ["cG5n"]
    assert message["content"] == (
        "Look [file notes.txt (text/plain)]\nrye"
        "[file oven.pdf (application/pdf)][file blob:4 (image/png)]"
    )


@pytest.mark.parametrize(("tools", "held"), [((), True), ((WEIGH,), False)])
async def test_an_answer_is_held_to_its_schema_where_no_call_may_come(
    tools: tuple[ToolSpec, ...], held: bool
):
    request = ModelRequest(
        model="", messages=(user("x"),), tools=tools, output_schema=SCHEMA
    )
    body = await sent(request)
    assert body.get("format") == (SCHEMA if held else None)
    assert "JSON Schema" in body["messages"][0]["content"]


async def test_a_tool_is_asked_for_in_words():
    request = ModelRequest(
        model="", messages=(user("x"),), tools=(WEIGH, BELL), tool_choice="bell"
    )
    body = await sent(request)
    assert [tool["function"]["name"] for tool in body["tools"]] == ["bell"]
    assert body["messages"][0]["content"] == "Answer by calling bell."


async def test_a_request_without_a_word_is_refused():
    with pytest.raises(BreadError) as caught:
        await sent(ask(user("  ")))
    assert caught.value.code == "INVALID_INPUT"


@pytest.mark.parametrize("path", ["", "/", "/v1", "/api"])
async def test_no_key_is_needed_and_one_that_is_there_is_sent(
    path: str, monkeypatch: pytest.MonkeyPatch
):
    async with ModelServer(ndjson(lines({"content": "ok"}))) as server:
        monkeypatch.setenv("OLLAMA_BASE_URL", f"{server.url}{path}")
        monkeypatch.delenv("OLLAMA_API_KEY", raising=False)
        oven = Ollama("oven-1")
        await play(oven)
        monkeypatch.setenv("OLLAMA_API_KEY", "a-made-up-key")
        await play(oven)
        await oven.aclose()
    assert [seen.path for seen in server.seen] == ["/api/chat"] * 2
    assert "authorization" not in server.seen[0].headers
    assert server.seen[1].headers["authorization"] == "Bearer a-made-up-key"
    assert oven.free
