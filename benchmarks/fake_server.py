"""A model service on loopback whose answers are always the same and cost little.

    python -m benchmarks.fake_server        prints its port, serves until it is told off

It speaks OpenAI Chat Completions (`/PLAY/v1/chat/completions`) and Anthropic Messages
(`/PLAY/v1/messages`), streaming. `PLAY`, the first part of the path, says what it
answers; N is a number:

    text-N       N deltas of text, all at once
    paced-N-MS   N deltas of text, one each MS milliseconds
    chain-N      one call a turn, N turns long, then text
    fan-N        N calls in the first turn, then text

Which turn it is follows from the tool results in the request. Every event is an HTTP
chunk of its own, as the real services send them. It runs in a process of its own, so
that its CPU time does not count.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
END = b"0\r\n\r\n"
MODEL = "fake-1"
TOOL = "tool_add"
WORD = "word "
RESULT = re.compile(rb'"tool_(?:call|use)_id"')
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def chat_event(**fields: object) -> bytes:
    """A Chat Completions chunk as a server-sent event in an HTTP chunk."""
    event = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1764547200,
        "model": MODEL,
        **fields,
    }
    return chunk(b"data: %s\n\n" % json.dumps(event).encode())


def chat_choice(delta: dict[str, object], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return chat_event(choices=[choice])


def chat_answer(words: int, calls: int, turn: int) -> list[bytes]:
    """All events of one Chat Completions answer."""
    events = [chat_choice({"role": "assistant", "content": ""})]
    events += [chat_choice({"content": WORD})] * words
    for index in range(calls):
        function = {"name": TOOL, "arguments": ""}
        start = {"index": index, "id": f"call_{turn}_{index}", "type": "function"}
        events.append(chat_choice({"tool_calls": [start | {"function": function}]}))
        text = json.dumps({"a": index, "b": turn})
        for piece in (text[:5], text[5:]):
            part = {"index": index, "function": {"arguments": piece}}
            events.append(chat_choice({"tool_calls": [part]}))
    events.append(chat_choice({}, "tool_calls" if calls else "stop"))
    usage = {"prompt_tokens": 20, "completion_tokens": words, "total_tokens": 20}
    events.append(chat_event(choices=[], usage=usage))
    events.append(chunk(b"data: [DONE]\n\n"))
    return events


def messages_event(kind: str, **fields: object) -> bytes:
    """An Anthropic Messages event in an HTTP chunk."""
    data = json.dumps({"type": kind, **fields}).encode()
    return chunk(b"event: %s\ndata: %s\n\n" % (kind.encode(), data))


def messages_answer(words: int, calls: int, turn: int) -> list[bytes]:
    """All events of one Anthropic Messages answer."""
    usage = {"input_tokens": 20, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL}
    message |= {"content": [], "stop_reason": None, "usage": usage}
    events = [messages_event("message_start", message=message)]
    if words:
        block = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": WORD}
        events.append(
            messages_event("content_block_start", index=0, content_block=block)
        )
        events += [messages_event("content_block_delta", index=0, delta=delta)] * words
        events.append(messages_event("content_block_stop", index=0))
    for index in range(calls):
        block = {"type": "tool_use", "id": f"toolu_{turn}_{index}", "name": TOOL}
        block |= {"input": {}}
        events.append(
            messages_event("content_block_start", index=index, content_block=block)
        )
        text = json.dumps({"a": index, "b": turn})
        for piece in (text[:5], text[5:]):
            delta = {"type": "input_json_delta", "partial_json": piece}
            events.append(
                messages_event("content_block_delta", index=index, delta=delta)
            )
        events.append(messages_event("content_block_stop", index=index))
    delta = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    events.append(
        messages_event("message_delta", delta=delta, usage={"output_tokens": words})
    )
    events.append(messages_event("message_stop"))
    return events


@lru_cache(maxsize=256)
def answer(play: str, dialect: str, results: int) -> tuple[list[bytes], float]:
    """The events of the answer, and the seconds between two of them."""
    kind, *numbers = play.split("-")
    n = int(numbers[0])
    calls, words, pause = 0, n, 0.0
    if kind == "paced":
        pause = int(numbers[1]) / 1000
    elif kind in ("chain", "fan"):
        words = 1
        if results < n:
            words, calls = 0, 1 if kind == "chain" else n
    make = chat_answer if dialect == "chat" else messages_answer
    return make(words, calls, results), pause


@lru_cache(maxsize=256)
def at_once(play: str, dialect: str, results: int) -> bytes:
    """The whole response in one piece."""
    events, _ = answer(play, dialect, results)
    return b"".join([HEAD, *events, END])


class Service(asyncio.Protocol):
    """One connection, kept open between requests."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.received = bytearray()
        self.awaited = 0

    def data_received(self, data: bytes) -> None:
        self.received += data
        if len(self.received) < self.awaited:
            return
        head = self.received.find(b"\r\n\r\n")
        if head < 0:
            return
        length = LENGTH.search(self.received, 0, head + 2)
        self.awaited = head + 4 + (int(length[1]) if length else 0)
        if len(self.received) >= self.awaited:
            request = bytes(self.received[: self.awaited])
            del self.received[: self.awaited]
            self.awaited = 0
            self.respond(request)

    def respond(self, request: bytes) -> None:
        path = request.split(b" ", 2)[1].decode()
        play = path.split("/")[1]
        dialect = "messages" if path.endswith("/messages") else "chat"
        results = len(RESULT.findall(request))
        events, pause = answer(play, dialect, results)
        if not pause:
            self.transport.write(at_once(play, dialect, results))
            return
        self.transport.write(HEAD)
        loop = asyncio.get_running_loop()
        self.pace(iter(events), pause, loop.time(), loop)

    def pace(
        self,
        events: Iterator[bytes],
        pause: float,
        due: float,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """Send the next event now and the one after it `pause` later."""
        event = next(events, None)
        if self.transport.is_closing():
            return
        if event is None:
            self.transport.write(END)
            return
        self.transport.write(event)
        due += pause
        loop.call_at(due, self.pace, events, pause, due, loop)


async def serve() -> None:
    """Serve until standard input is closed, so that no server outlives its client."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Service, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await asyncio.to_thread(sys.stdin.read)


@contextmanager
def running() -> Iterator[str]:
    """A server in a process of its own, while the block runs; gives its address."""
    child = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.fake_server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(child.stdout.readline())}"
    finally:
        child.stdin.close()
        child.wait(10)


if __name__ == "__main__":
    asyncio.run(serve())
