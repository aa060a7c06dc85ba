"""pydantic-ai; a run that waits is kept as its messages, in a row of SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic_ai import (
    Agent,
    AgentRunResultEvent,
    DeferredToolRequests,
    DeferredToolResults,
    Tool,
)
from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from benchmarks.peers.said import FIRST, KEY, MODEL, SYSTEM, history, tool_add


class Peer:
    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.agents: dict[tuple[str, bool], Agent[None, Any]] = {}
        self.folder = folder

    @cached_property
    def db(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.folder / "pydantic-ai.db", isolation_level=None)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("CREATE TABLE IF NOT EXISTS run (id TEXT PRIMARY KEY, said)")
        return db

    def agent(self, play: str, *, ask: bool = False) -> Agent[None, Any]:
        if (play, ask) not in self.agents:
            provider = OpenAIProvider(base_url=f"{self.url}/{play}/v1", api_key=KEY)
            self.agents[play, ask] = Agent(
                OpenAIChatModel(MODEL, provider=provider),
                instructions=SYSTEM,
                tools=[Tool(tool_add, requires_approval=ask)],
                output_type=[str, DeferredToolRequests] if ask else str,
            )
        return self.agents[play, ask]

    async def words(self, play: str, messages: int = 0) -> AsyncIterator[str]:
        said = [
            ModelRequest([UserPromptPart(text)])
            if role == "user"
            else ModelResponse([TextPart(text)])
            for role, text in history(messages)
        ]
        run = self.agent(play).run_stream(FIRST, message_history=said or None)
        async with run as result:
            async for piece in result.stream_text(delta=True, debounce_by=None):
                yield piece

    async def call_tools(self, play: str) -> None:
        assert (await self.finish(self.agent(play), FIRST)).output

    async def finish(self, agent: Agent[None, Any], *args: str, **more: Any) -> Any:
        async with agent.run_stream_events(*args, **more) as events:
            async for event in events:
                if isinstance(event, AgentRunResultEvent):
                    return event.result
        raise AssertionError("the run had no result")

    async def suspend(self) -> str:
        result = await self.finish(self.agent("chain-1", ask=True), FIRST)
        assert isinstance(result.output, DeferredToolRequests)
        kept = ModelMessagesTypeAdapter.dump_json(result.all_messages())
        row = (result.run_id, kept)
        self.db.execute("INSERT INTO run (id, said) VALUES (?, ?)", row)
        return result.run_id

    async def resume(self, asked: str) -> None:
        [kept] = self.db.execute(
            "SELECT said FROM run WHERE id = ?", [asked]
        ).fetchone()
        said = ModelMessagesTypeAdapter.validate_json(kept)
        calls = [part.tool_call_id for part in said[-1].parts]
        approved = DeferredToolResults(approvals=dict.fromkeys(calls, True))
        result = await self.finish(
            self.agent("chain-1", ask=True),
            message_history=said,
            deferred_tool_results=approved,
        )
        row = (ModelMessagesTypeAdapter.dump_json(result.all_messages()), asked)
        self.db.execute("UPDATE run SET said = ? WHERE id = ?", row)
        assert isinstance(result.output, str)
