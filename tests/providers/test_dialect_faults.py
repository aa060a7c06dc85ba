"""What can go wrong on the way, in Responses, Gemini and Ollama."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from fixtures.model_play import ask, calls_of, end_of, play, play_to_fault, text_of
from fixtures.model_server import ModelServer, Reply
from fixtures.more_wire import (
    NDJSON,
    answered,
    call_pieces,
    candidate,
    created,
    items,
    lines,
    parts,
    text_item,
    told,
)
from fixtures.statuses import STATUSES

from bread_nb.errors import BreadError, TimeoutError
from bread_nb.providers.catalog import resolve
from bread_nb.providers.model import ChatModel, Finish, Model, TextChunk

KEY = "bk-3f9A7Qz1Lw8Xc5Vn2Rt6Yp4Md0Hs9Ge7Jk1Bu3"


@dataclass(frozen=True)
class Oven:
    """A dialect, and what its service sends."""

    name: str
    half: bytes
    whole: bytes
    broken: Callable[[bytes], bytes]
    error: bytes
    headers: dict[str, str]

    def reply(
        self,
        *chunks: bytes,
        end: Literal["clean", "reset", "stall"] = "clean",
    ) -> Reply:
        """An answer of the service."""
        return Reply(chunks, headers=dict(self.headers), end=end)

    def model(self, url: str, **settings: float) -> ChatModel:
        """The dialect, asking at `url`."""
        described = Model(self.name, base_url=url, api_key=KEY, settings=settings)
        return resolve(described)


def event(line: bytes) -> bytes:
    return b"data: " + line + b"\n\n"


SEALED = Oven(
    "responses:oven-1",
    items(created(), *text_item(0, "half a")[:2]),
    answered("good"),
    event,
    event(b'{"type":"error","code":"server_error","message":"Oven full"}'),
    {},
)
SIGNED = Oven(
    "gemini:oven-1",
    parts([{"text": "half a"}]),
    told("good"),
    event,
    event(b'{"error":{"code":500,"message":"Oven full","status":"INTERNAL"}}'),
    {},
)
THINKER = Oven(
    "ollama:oven-1",
    lines({"content": "half a"}, done=None),
    lines({"content": "good"}),
    lambda line: line + b"\n",
    b'{"error":"Oven full"}\n',
    NDJSON,
)

each = pytest.mark.parametrize(
    "oven", [SEALED, SIGNED, THINKER], ids=lambda oven: oven.name
)


async def fault_of(
    oven: Oven, *replies: Reply, requests: int = 1, **settings: float
) -> tuple[str, Any]:
    """The text before the fault, and the fault, after just this many requests."""
    async with ModelServer(*replies) as server:
        model = oven.model(server.url, **settings)
        deltas, fault = await play_to_fault(model)
        await model.aclose()
        assert len(server.seen) == requests
    assert isinstance(fault, BreadError)
    assert not any(isinstance(delta, Finish) for delta in deltas)
    assert KEY[:8] not in f"{fault}{fault.context}{fault.args}{fault.__context__}"
    return text_of(deltas), fault


@each
@STATUSES
async def test_a_status_is_an_error_and_is_asked_once(
    oven: Oven, status: int, code: str, retryable: bool
):
    body = {"error": {"message": f"No bread for {KEY}"}}
    _, fault = await fault_of(oven, Reply.json(body, status, retry_after="7"))
    assert (fault.code, fault.status, fault.retryable) == (code, status, retryable)
    assert fault.retry_after == 7
    assert "No bread" in fault.why


@each
async def test_an_error_event_after_200_is_the_error_it_names(oven: Oven):
    text, fault = await fault_of(oven, oven.reply(oven.half, oven.error))
    assert (text, fault.code, fault.retryable) == ("half a", "MODEL_ERROR", True)
    assert "Oven full" in fault.why


@each
async def test_a_key_in_an_error_event_is_masked(oven: Oven):
    error = oven.error.replace(b"Oven full", f"Bad key {KEY}".encode())
    _, fault = await fault_of(oven, oven.reply(oven.half, error))
    assert "Bad key" in fault.why


@each
async def test_a_body_that_ends_in_the_middle_is_no_answer(oven: Oven):
    text, fault = await fault_of(oven, oven.reply(oven.half))
    assert (text, fault.code) == ("half a", "STREAM_INCOMPLETE")
    assert fault.retryable


@each
async def test_an_event_cut_at_the_end_of_the_body_is_no_answer(oven: Oven):
    cut = oven.whole[: len(oven.whole) - 9].rpartition(b"\n")[2]
    text, fault = await fault_of(oven, oven.reply(oven.half, cut))
    assert (text, fault.code) == ("half a", "STREAM_INCOMPLETE")


@each
async def test_a_reset_in_the_middle_is_no_answer(oven: Oven):
    text, fault = await fault_of(oven, oven.reply(oven.half, end="reset"))
    assert text in ("half a", "")
    assert (fault.code, fault.retryable) == ("STREAM_INCOMPLETE", True)


@each
@pytest.mark.parametrize(
    "line",
    [
        b"{oven",
        b"3",
        b'{"type":"response.output_item.done","candidates":[3],"message":{}}',
        b'{"type":"response.output_text.delta","candidates":[{"content":{"parts":[3]}}]}',
    ],
)
async def test_a_broken_line_is_a_fault(oven: Oven, line: bytes):
    reply = oven.reply(oven.half, oven.broken(line), oven.whole)
    text, fault = await fault_of(oven, reply)
    assert (text, fault.code, fault.retryable) == ("half a", "STREAM_BROKEN", True)
    assert "oven" not in fault.why


@each
async def test_a_stall_is_an_idle_fault_before_and_between_events(oven: Oven):
    silent = oven.reply(b"\n", end="stall")
    _, fault = await fault_of(oven, silent, first_event_timeout=0.05)
    assert (type(fault), fault.code) == (TimeoutError, "ETIMEDOUT")
    stall = oven.reply(oven.half, end="stall")
    text, fault = await fault_of(oven, stall, idle_timeout=0.05)
    assert (text, fault.code, fault.retryable) == ("half a", "ETIMEDOUT", True)
    _, fault = await fault_of(oven, stall, deadline=0.05)
    assert (fault.code, fault.retryable) == ("EDEADLINE", False)


@each
async def test_a_connection_that_was_kept_and_died_unanswered_is_replaced_once(
    oven: Oven,
):
    dead, good = Reply(drop=True), oven.reply(oven.whole)
    async with ModelServer(good, dead, good) as server:
        model = oven.model(server.url)
        answers = [text_of(await play(model)) for _ in range(2)]
        await model.aclose()
    assert (answers, len(server.seen)) == (["good", "good"], 3)


@each
async def test_a_new_connection_that_died_unanswered_is_for_the_policy(oven: Oven):
    _, fault = await fault_of(oven, Reply(drop=True), requests=1)
    assert (fault.code, fault.retryable) == ("MODEL_UNREACHABLE", True)


@each
async def test_leaving_early_closes_the_transport(oven: Oven):
    async with ModelServer(oven.reply(oven.half, end="stall")) as server:
        model = oven.model(server.url)
        async with aclosing(model.stream(ask())) as deltas:  # pyright: ignore[reportArgumentType]
            async for delta in deltas:
                if isinstance(delta, TextChunk):
                    break
        async with asyncio.timeout(1):
            await server.gone.wait()
        await model.aclose()


@each
async def test_connections_are_used_again(oven: Oven):
    async with ModelServer(oven.reply(oven.whole)) as server:
        model = oven.model(server.url)
        for _ in range(3):
            assert text_of(await play(model)) == "good"
        await model.aclose()
        await model.aclose()
        assert server.connections == 1


CALL = {"name": "write", "arguments": {}, "args": {}}
CUT = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
CUT_CALLS = (
    items(
        created(),
        call_pieces(0, "write", "")[0],
        {"type": "response.incomplete", "response": CUT},
    ),
    parts(candidate([{"functionCall": CALL}], "MAX_TOKENS")),
    lines({"tool_calls": [{"function": CALL}]}, done="length"),
)


@pytest.mark.parametrize(
    ("oven", "body"), list(zip((SEALED, SIGNED, THINKER), CUT_CALLS, strict=True))
)
async def test_a_call_without_a_single_argument_at_the_limit_says_that_it_was_cut(
    oven: Oven, body: bytes
):
    async with ModelServer(oven.reply(body)) as server:
        model = oven.model(server.url)
        deltas = await play(model)
        await model.aclose()
    assert [call[1:] for call in calls_of(deltas)] == [("write", "")]
    assert end_of(deltas).stop_reason == "max_tokens"
