"""Everything that can go wrong on the way, in both dialects, against a real server."""

import asyncio
import gc
import json
import logging
import warnings
from collections.abc import Callable
from contextlib import aclosing

import pytest
from fixtures.model_play import ask, play, play_to_fault, text_of
from fixtures.model_server import ModelServer, Reply
from fixtures.wire import chunk, messages, said, sse, start, stop, text_block

from bread_nb.base.ids import pinned
from bread_nb.errors import BreadError, ProviderError, TimeoutError
from bread_nb.providers.anthropic import Anthropic
from bread_nb.providers.model import ChatModel, Model, TextChunk
from bread_nb.providers.openai import OpenAI

Oven = Callable[..., ChatModel]
KEY = "bk-3f9A7Qz1Lw8Xc5Vn2Rt6Yp4Md0Hs9Ge7Jk1Bu3"


def chat(url: str, **settings: float) -> ChatModel:
    described = Model("openai:oven-1", base_url=url, api_key=KEY, settings=settings)
    return OpenAI(described)


def talk(url: str, **settings: float) -> ChatModel:
    described = Model("anthropic:oven-1", base_url=url, api_key=KEY, settings=settings)
    return Anthropic(described)


HALF = {
    chat: sse(chunk({"content": "half a"}), done=False),
    talk: messages(start(), *text_block(0, "half a")[:-1]),
}
WHOLE = {chat: said("good"), talk: messages(start(), *text_block(0, "good"), *stop())}
OVERLOADED = {
    chat: b'data: {"error":{"message":"Oven full","type":"overloaded_error"}}\n\n',
    talk: b'event: error\ndata: {"type":"error","error":'
    b'{"type":"overloaded_error","message":"Oven full"}}\n\n',
}

both = pytest.mark.parametrize("oven", [chat, talk])


async def fault_of(
    oven: Oven, *replies: Reply, requests: int = 1, **settings: float
) -> tuple[str, ProviderError]:
    """The text before the fault, and the fault, after just this many requests."""
    async with ModelServer(*replies) as server:
        model = oven(server.url, **settings)
        deltas, fault = await play_to_fault(model)
        await model.aclose()
        assert len(server.seen) == requests
    assert isinstance(fault, BreadError)
    assert KEY[:8] not in f"{fault}{fault.context}{fault.args}{fault.__context__}"
    return text_of(deltas), fault  # pyright: ignore[reportReturnType]


@both
@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (400, "BAD_REQUEST", False),
        (401, "MODEL_AUTH", False),
        (403, "MODEL_AUTH", False),
        (404, "MODEL_NOT_FOUND", False),
        (408, "MODEL_ERROR", True),
        (409, "MODEL_ERROR", True),
        (413, "CONTEXT_EXCEEDED", False),
        (422, "BAD_REQUEST", False),
        (425, "MODEL_ERROR", True),
        (429, "MODEL_RATE_LIMIT", True),
        (500, "MODEL_ERROR", True),
        (502, "MODEL_ERROR", True),
        (503, "MODEL_OVERLOADED", True),
        (529, "MODEL_OVERLOADED", True),
        (307, "MODEL_ERROR", False),
    ],
)
async def test_a_status_is_an_error_and_is_asked_once(
    oven: Oven, status: int, code: str, retryable: bool
):
    body = {"error": {"message": "No bread today", "type": "odd"}}
    _, fault = await fault_of(oven, Reply.json(body, status))
    assert (fault.code, fault.status, fault.retryable) == (code, status, retryable)
    assert "No bread today" in fault.why


@both
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "7"}, 7.0),
        ({"retry_after": "0.5"}, 0.5),
        ({"retry_after_ms": "1500", "retry_after": "2"}, 1.5),
        ({"retry_after": "Thu, 01 Jan 1970 00:01:30 GMT"}, 90.0),
        ({"retry_after": "soon"}, None),
        ({"retry_after": "-3"}, None),
        ({}, None),
    ],
)
async def test_the_wait_a_service_asks_for_is_kept(
    oven: Oven, headers: dict[str, str], seconds: float | None
):
    with pinned():
        _, fault = await fault_of(oven, Reply.json({}, 429, **headers))
    assert fault.retry_after == seconds


@both
async def test_a_wait_that_is_too_long_is_told_in_minutes(oven: Oven):
    _, fault = await fault_of(oven, Reply.json({}, 429, retry_after="7200"))
    assert fault.do.startswith("it asks for 120 minutes: run again then")


@both
@pytest.mark.parametrize(
    "body",
    [
        {"error": {"code": "context_length_exceeded", "message": "too long"}},
        {
            "error": {
                "type": "invalid_request_error",
                "message": "prompt is too long: 9",
            }
        },
        {"error": {"type": "exceed_context_size_error", "n_ctx": 64, "message": "x"}},
        {"message": "maximum context length is 64 tokens"},
    ],
)
async def test_a_conversation_that_is_too_long_is_told_by_the_body(
    oven: Oven, body: dict[str, object]
):
    _, fault = await fault_of(oven, Reply.json(body, 400))
    assert (fault.code, fault.retryable) == ("CONTEXT_EXCEEDED", False)


@both
@pytest.mark.parametrize("body", [b"<html>Bad gateway</html>", b"", b"[1]", b"\xff"])
async def test_a_body_that_is_no_json_is_kept_out_of_the_message(
    oven: Oven, body: bytes
):
    _, fault = await fault_of(oven, Reply([body] if body else [], 502))
    assert fault.why == "HTTP 502."


@both
async def test_only_a_short_message_is_taken_from_a_body(oven: Oven):
    body = {"error": {"message": "long " * 1000, "param": "SECRET"}, "user": "SECRET"}
    _, fault = await fault_of(oven, Reply.json(body, 400))
    assert len(fault.why) < 250
    assert "SECRET" not in f"{fault}{fault.context}"


@both
async def test_an_empty_purse_is_not_tried_again(oven: Oven):
    body = {"error": {"message": "No money", "code": "insufficient_quota"}}
    _, fault = await fault_of(oven, Reply.json(body, 429))
    assert (fault.code, fault.retryable) == ("MODEL_RATE_LIMIT", False)


@both
async def test_an_error_event_after_200_is_the_error_it_names(oven: Oven):
    text, fault = await fault_of(oven, Reply([HALF[oven], OVERLOADED[oven]]))
    assert text == "half a"
    assert (fault.code, fault.status, fault.retryable) == (
        "MODEL_OVERLOADED",
        529,
        True,
    )


@both
async def test_a_body_that_ends_in_the_middle_is_no_answer(oven: Oven):
    text, fault = await fault_of(oven, Reply([HALF[oven]]))
    assert text == "half a"
    assert (fault.code, fault.retryable) == ("STREAM_INCOMPLETE", True)


@both
async def test_an_event_cut_at_the_end_of_the_body_is_no_answer(oven: Oven):
    text, fault = await fault_of(oven, Reply([HALF[oven], b'data: {"type": "mess']))
    assert (text, fault.code) == ("half a", "STREAM_INCOMPLETE")


@both
async def test_a_reset_in_the_middle_is_no_answer(oven: Oven):
    text, fault = await fault_of(oven, Reply([HALF[oven]], end="reset"))
    assert text in ("half a", "")
    assert (fault.code, fault.retryable) == ("STREAM_INCOMPLETE", True)


@both
@pytest.mark.parametrize(
    "line",
    [
        b"{oven",
        b"3",
        b'{"type": "content_block_stop", "choices": [3]}',
        b'{"type": "content_block_start", "choices": [{"delta": "oven"}]}',
    ],
)
async def test_a_broken_line_is_a_fault(oven: Oven, line: bytes):
    reply = Reply([HALF[oven], b"data: " + line + b"\n\n", WHOLE[oven]])
    text, fault = await fault_of(oven, reply)
    assert (text, fault.code) == ("half a", "STREAM_BROKEN")
    assert fault.retryable
    assert "oven" not in fault.why


@both
async def test_silence_before_the_first_event_is_an_idle_fault(oven: Oven):
    reply = Reply([b": ping\n\n"], end="stall")
    _, fault = await fault_of(oven, reply, first_event_timeout=0.05)
    assert (type(fault), fault.code) == (TimeoutError, "ETIMEDOUT")
    assert (fault.retryable, fault.context["bound"]) == (True, "idle")


@both
async def test_a_stall_between_events_is_an_idle_fault(oven: Oven):
    reply = Reply([HALF[oven]], end="stall")
    text, fault = await fault_of(oven, reply, idle_timeout=0.05)
    assert (text, fault.code, fault.retryable) == ("half a", "ETIMEDOUT", True)


@both
async def test_a_deadline_is_absolute_and_not_tried_again(oven: Oven):
    reply = Reply([HALF[oven]], end="stall")
    _, fault = await fault_of(oven, reply, idle_timeout=60, deadline=0.05)
    assert (fault.code, fault.retryable) == ("EDEADLINE", False)


@both
@pytest.mark.parametrize("value", [-1, "soon", True])
async def test_a_wait_that_is_no_number_is_refused(oven: Oven, value: float):
    with pytest.raises(BreadError) as caught:
        await play(oven("http://127.0.0.1:9", idle_timeout=value))
    assert caught.value.code == "INVALID_SETTING"


@both
async def test_keep_alive_lines_are_no_events(oven: Oven):
    ping = b": ping\n\n" if oven is chat else messages({"type": "ping"})
    async with ModelServer(Reply([ping, HALF[oven], ping], end="stall")) as server:
        model = oven(server.url, first_event_timeout=60, idle_timeout=0.05)
        deltas, fault = await play_to_fault(model)
        await model.aclose()
    assert text_of(deltas) == "half a"
    assert isinstance(fault, TimeoutError)


@both
async def test_a_connection_that_was_kept_and_died_unanswered_is_replaced_once(
    oven: Oven,
):
    dead, good = Reply(drop=True), Reply([WHOLE[oven]])
    async with ModelServer(good, dead, good) as server:
        model = oven(server.url)
        answers = [text_of(await play(model)) for _ in range(2)]
        await model.aclose()
    assert (answers, len(server.seen)) == (["good", "good"], 3)


@both
async def test_a_service_that_is_not_there_is_unreachable(oven: Oven):
    async with ModelServer(Reply()) as server:
        url = server.url
    _, fault = await play_to_fault(oven(url))
    assert isinstance(fault, ProviderError)
    assert (fault.code, fault.status, fault.retryable) == (
        "MODEL_UNREACHABLE",
        None,
        True,
    )
    assert fault.what == "127.0.0.1 did not answer."


@both
async def test_connections_are_used_again(oven: Oven):
    async with ModelServer(Reply([WHOLE[oven]])) as server:
        model = oven(server.url)
        for _ in range(3):
            assert text_of(await play(model)) == "good"
        await model.aclose()
        await model.aclose()
        assert server.connections == 1


@both
async def test_leaving_early_closes_the_transport(oven: Oven):
    async with ModelServer(Reply([HALF[oven]], end="stall")) as server:
        model = oven(server.url)
        async with aclosing(model.stream(ask())) as deltas:
            async for delta in deltas:
                if isinstance(delta, TextChunk):
                    break
        async with asyncio.timeout(1):
            await server.gone.wait()
        await model.aclose()


@both
async def test_breaking_out_and_dropping_the_stream_leaves_no_trace(
    oven: Oven, caplog: pytest.LogCaptureFixture
):
    before = asyncio.all_tasks()
    async with ModelServer(Reply([HALF[oven]], end="stall")) as server:
        model = oven(server.url)
        async for delta in model.stream(ask()):
            if isinstance(delta, TextChunk):
                break
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            gc.collect()
            async with asyncio.timeout(1):
                await server.gone.wait()
        await model.aclose()
    gc.collect()
    assert asyncio.all_tasks() == before
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []


@both
async def test_a_cancelled_reader_closes_the_transport(oven: Oven):
    async with ModelServer(Reply([HALF[oven]], end="stall")) as server:
        model = oven(server.url)
        reader = asyncio.ensure_future(play(model))
        async with asyncio.timeout(5):
            await server.stalled.wait()
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        async with asyncio.timeout(1):
            await server.gone.wait()
        await model.aclose()


@both
async def test_a_key_in_the_services_message_is_masked(
    oven: Oven, monkeypatch: pytest.MonkeyPatch
):
    other = "wx-OtherSecretOfTheEnvironment00000000000"
    monkeypatch.setenv("OVEN_API_KEY", other)
    words = f"Incorrect API key: {KEY[:12]}****{KEY[-4:]}, {KEY} and {other}"
    _, fault = await fault_of(oven, Reply.json({"error": {"message": words}}, 401))
    assert fault.code == "MODEL_AUTH"
    assert "Incorrect API key" in fault.why
    assert other[:8] not in str(fault)


@both
async def test_a_key_that_http_refuses_is_not_shown(oven: Oven):
    made = OpenAI if oven is chat else Anthropic
    name = "openai" if oven is chat else "anthropic"
    for bad in (f"{KEY}\n{KEY}", f"{KEY}é"):
        described = Model(f"{name}:oven-1", base_url="http://127.0.0.1:9", api_key=bad)
        assert KEY[:8] not in repr(described)
        with pytest.raises(BreadError) as caught:
            await play(made(described))
        assert caught.value.code == "MODEL_AUTH"
        assert KEY[:8] not in str(caught.value)


@both
async def test_many_streams_run_at_once(oven: Oven):
    async with ModelServer(Reply([WHOLE[oven]])) as server:
        model = oven(server.url)
        answers = await asyncio.gather(*(play(model) for _ in range(120)))
        await model.aclose()
    assert {text_of(deltas) for deltas in answers} == {"good"}


def test_one_model_serves_one_loop_after_another():
    async def once() -> str:
        async with ModelServer(Reply([said("good")])) as server:
            model = OpenAI(Model("openai:oven-1", base_url=server.url))
            model_texts.append(model)
            text = text_of(await play(model))
            await model.aclose()
        return text

    model_texts: list[OpenAI] = []
    assert [asyncio.run(once()), asyncio.run(once())] == ["good", "good"]


async def test_a_long_history_is_encoded_no_second_time():
    request = ask(*(m for m in ask().messages for _ in range(3)))
    async with ModelServer(Reply([said("good")])) as server:
        model = chat(server.url)
        await play(model, request)
        await play(model, request)
        await model.aclose()
    first, second = (json.dumps(seen.body) for seen in server.seen)
    assert first == second
