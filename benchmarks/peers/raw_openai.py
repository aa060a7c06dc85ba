"""The openai package alone, with a loop by hand."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionChunk

from benchmarks.peers.said import FIRST, KEY, MODEL, SYSTEM, history, tool_add

PARAMETERS = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
FUNCTION = {"name": "tool_add", "description": "Add two numbers."}
TOOLS: Any = [{"type": "function", "function": FUNCTION | {"parameters": PARAMETERS}}]


class Peer:
    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.clients: dict[str, AsyncOpenAI] = {}

    def agent(self, play: str) -> AsyncOpenAI:
        if play not in self.clients:
            place = f"{self.url}/{play}/v1"
            self.clients[play] = AsyncOpenAI(base_url=place, api_key=KEY)
        return self.clients[play]

    async def words(self, play: str, messages: int = 0) -> AsyncIterator[str]:
        said: list[Any] = [{"role": "system", "content": SYSTEM}]
        said += [{"role": r, "content": text} for r, text in history(messages)]
        said.append({"role": "user", "content": FIRST})
        async for chunk in await self.ask(play, said):
            for choice in chunk.choices:
                if choice.delta.content:
                    yield choice.delta.content

    async def ask(
        self, play: str, said: list[Any]
    ) -> AsyncIterator[ChatCompletionChunk]:
        return await self.agent(play).chat.completions.create(
            model=MODEL,
            messages=said,
            tools=TOOLS,
            stream=True,
            stream_options={"include_usage": True},
        )

    async def call_tools(self, play: str) -> None:
        said: list[Any] = [{"role": "user", "content": FIRST}]
        while calls := await self.turn(play, said):
            said.append({"role": "assistant", "content": None, "tool_calls": calls})
            for call in calls:
                value = await tool_add(**json.loads(call["function"]["arguments"]))
                result = {"role": "tool", "tool_call_id": call["id"]}
                said.append({**result, "content": json.dumps(value)})

    async def turn(self, play: str, said: list[Any]) -> list[dict[str, Any]]:
        calls: list[dict[str, Any]] = []
        async for chunk in await self.ask(play, said):
            for choice in chunk.choices:
                for part in choice.delta.tool_calls or ():
                    if part.index == len(calls):
                        function = {"name": part.function.name, "arguments": ""}
                        made = {"id": part.id, "type": "function"}
                        calls.append({**made, "function": function})
                    text = part.function.arguments or ""
                    calls[part.index]["function"]["arguments"] += text
        return calls
