"""The anthropic package alone, with a loop by hand."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from anthropic import AsyncAnthropic
from anthropic.types import RawMessageStreamEvent

from benchmarks.peers.raw_openai import PARAMETERS
from benchmarks.peers.said import FIRST, KEY, MODEL, SYSTEM, history, tool_add

TOOLS: Any = [
    {
        "name": "tool_add",
        "description": "Add two numbers.",
        "input_schema": PARAMETERS,
    }
]


class Peer:
    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.clients: dict[str, AsyncAnthropic] = {}

    def agent(self, play: str) -> AsyncAnthropic:
        if play not in self.clients:
            place = f"{self.url}/{play}"
            self.clients[play] = AsyncAnthropic(base_url=place, api_key=KEY)
        return self.clients[play]

    async def words(self, play: str, messages: int = 0) -> AsyncIterator[str]:
        said: list[Any] = [{"role": r, "content": t} for r, t in history(messages)]
        said.append({"role": "user", "content": FIRST})
        async for event in await self.ask(play, said):
            if event.type == "content_block_delta" and event.delta.type == "text_delta":
                yield event.delta.text

    async def ask(
        self, play: str, said: list[Any]
    ) -> AsyncIterator[RawMessageStreamEvent]:
        return await self.agent(play).messages.create(
            model=MODEL,
            max_tokens=4096,
            system=SYSTEM,
            messages=said,
            tools=TOOLS,
            stream=True,
        )

    async def call_tools(self, play: str) -> None:
        said: list[Any] = [{"role": "user", "content": FIRST}]
        while calls := await self.turn(play, said):
            said.append({"role": "assistant", "content": calls})
            results: list[Any] = []
            for call in calls:
                value = json.dumps(await tool_add(**call["input"]))
                result = {"type": "tool_result", "tool_use_id": call["id"]}
                results.append({**result, "content": value})
            said.append({"role": "user", "content": results})

    async def turn(self, play: str, said: list[Any]) -> list[dict[str, Any]]:
        calls: list[dict[str, Any]] = []
        texts: list[str] = []
        async for event in await self.ask(play, said):
            if event.type == "content_block_start":
                block = event.content_block
                if block.type == "tool_use":
                    calls.append({"type": "tool_use", "id": block.id})
                    calls[-1]["name"] = block.name
                    texts.append("")
            elif event.type == "content_block_delta" and calls:
                texts[-1] += getattr(event.delta, "partial_json", "")
        for call, text in zip(calls, texts, strict=True):
            call["input"] = json.loads(text)
        return calls
