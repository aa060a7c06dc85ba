"""The baseline: the least that streams an answer, calls tools and goes on.

Two transports, one loop, Chat Completions. There are no crumbs, no retries, no
timeouts, no checks: what it costs is what any framework must cost at least.
`suspend` and `resume` keep the conversation in a row of SQLite in between.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

Said = dict[str, Any]
Heard = Callable[[str], None]
Tools = dict[str, Callable[..., Awaitable[Any]]]


class OnAiohttp:
    """Streams the data of server-sent events by aiohttp."""

    async def __aenter__(self) -> OnAiohttp:
        import aiohttp

        self.session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.session.close()

    async def post(self, url: str, body: Said) -> AsyncIterator[bytes]:
        async with self.session.post(url, json=body) as response:
            partial = b""
            async for data in response.content.iter_any():
                *lines, partial = (partial + data).split(b"\n")
                for line in lines:
                    if line.startswith(b"data: "):
                        yield line[6:]


class OnHttpx2:
    """Streams the data of server-sent events by httpx2."""

    async def __aenter__(self) -> OnHttpx2:
        import httpx2

        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
        self.client = httpx2.AsyncClient(limits=limits, timeout=None)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.client.aclose()

    async def post(self, url: str, body: Said) -> AsyncIterator[bytes]:
        async with self.client.stream("POST", url, json=body) as response:
            partial = b""
            async for data in response.aiter_bytes():
                *lines, partial = (partial + data).split(b"\n")
                for line in lines:
                    if line.startswith(b"data: "):
                        yield line[6:]


Transport = OnAiohttp | OnHttpx2


async def plain_add(a: int, b: int) -> int:
    return a + b


TOOLS: Tools = {"tool_add": plain_add}


async def run(
    transport: Transport,
    url: str,
    messages: list[Said],
    *,
    tools: Tools | None = None,
    heard: Heard | None = None,
) -> str:
    """Ask, call what is to be called, and ask again until there is an answer."""
    tools = tools or {}
    while True:
        text, calls = await turn(transport, url, messages, tools, heard)
        if not calls:
            messages.append({"role": "assistant", "content": text})
            return text
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        messages.extend(await asyncio.gather(*(call(one, tools) for one in calls)))


async def turn(
    transport: Transport,
    url: str,
    messages: list[Said],
    tools: Tools,
    heard: Heard | None = None,
) -> tuple[str, list[Said]]:
    """The text and the calls of one answer."""
    body: Said = {"model": "m", "stream": True, "messages": messages}
    if tools:
        body["tools"] = [
            {"type": "function", "function": {"name": name, "parameters": {}}}
            for name in tools
        ]
    text: list[str] = []
    calls: list[Said] = []
    async for data in transport.post(url, body):
        if data == b"[DONE]":
            continue
        for choice in json.loads(data)["choices"]:
            delta = choice["delta"]
            if piece := delta.get("content"):
                text.append(piece)
                if heard is not None:
                    heard(piece)
            for part in delta.get("tool_calls", ()):
                if part["index"] == len(calls):
                    calls.append({**part, "function": dict(part["function"])})
                else:
                    kept = calls[part["index"]]["function"]
                    kept["arguments"] += part["function"]["arguments"]
    return "".join(text), calls


async def call(one: Said, tools: Tools) -> Said:
    """The result of a call, as the model reads it."""
    function = one["function"]
    value = await tools[function["name"]](**json.loads(function["arguments"]))
    return {"role": "tool", "tool_call_id": one["id"], "content": json.dumps(value)}


class Waits:
    """A conversation that waits between two steps, kept in SQLite."""

    def __init__(self, path: Path, transport: Transport, url: str) -> None:
        self.path = path
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = NORMAL")
        self.db.execute(
            "CREATE TABLE IF NOT EXISTS run (id INTEGER PRIMARY KEY, said TEXT)"
        )
        self.transport = transport
        self.url = url

    async def suspend(self, text: str) -> int:
        """Ask, and keep everything when the model wants a call; the row's number."""
        said: list[Said] = [{"role": "user", "content": text}]
        _, calls = await turn(self.transport, self.url, said, TOOLS)
        assert calls
        said.append({"role": "assistant", "content": None, "tool_calls": calls})
        kept = self.db.execute("INSERT INTO run (said) VALUES (?)", [json.dumps(said)])
        return kept.lastrowid or 0

    async def resume(self, number: int) -> str:
        """Make the call, and ask on."""
        row = self.db.execute("SELECT said FROM run WHERE id = ?", [number]).fetchone()
        said: list[Said] = json.loads(row[0])
        said += [await call(one, TOOLS) for one in said[-1]["tool_calls"]]
        self._keep(number, said)
        answer = await run(self.transport, self.url, said, tools=TOOLS)
        self._keep(number, said)
        return answer

    def _keep(self, number: int, said: Sequence[Said]) -> None:
        values = [json.dumps(said), number]
        self.db.execute("UPDATE run SET said = ? WHERE id = ?", values)


@asynccontextmanager
async def waits(path: Path, url: str) -> AsyncIterator[Waits]:
    async with OnHttpx2() as transport:
        found = Waits(path, transport, url)
        with closing(found.db):
            yield found


async def resume_here(url: str, path: str, number: str) -> None:
    async with waits(Path(path), url) as found:
        print(await found.resume(int(number)))


if __name__ == "__main__":
    asyncio.run(resume_here(*sys.argv[1:]))
