"""openai-agents; a run that waits is kept as its state, in a row of SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from functools import cached_property
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    Runner,
    RunState,
    function_tool,
    set_tracing_disabled,
)
from benchmarks.peers.said import FIRST, KEY, MODEL, SYSTEM, fresh_id, history, tool_add

set_tracing_disabled(True)
TURNS = 100


class Peer:
    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.agents: dict[tuple[str, bool], Agent[Any]] = {}
        self.folder = folder

    @cached_property
    def db(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.folder / "openai-agents.db", isolation_level=None)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("CREATE TABLE IF NOT EXISTS run (id TEXT PRIMARY KEY, state)")
        return db

    def agent(self, play: str, *, ask: bool = False) -> Agent[Any]:
        if (play, ask) not in self.agents:
            client = AsyncOpenAI(base_url=f"{self.url}/{play}/v1", api_key=KEY)
            self.agents[play, ask] = Agent(
                name="asker",
                instructions=SYSTEM,
                model=OpenAIChatCompletionsModel(model=MODEL, openai_client=client),
                tools=[function_tool(tool_add, needs_approval=ask)],
            )
        return self.agents[play, ask]

    async def words(self, play: str, messages: int = 0) -> AsyncIterator[str]:
        said: list[Any] = [{"role": r, "content": t} for r, t in history(messages)]
        said.append({"role": "user", "content": FIRST})
        result = Runner.run_streamed(self.agent(play), said, max_turns=TURNS)
        async for event in result.stream_events():
            data = event.data if event.type == "raw_response_event" else None
            if data is not None and data.type == "response.output_text.delta":
                yield data.delta

    async def call_tools(self, play: str) -> None:
        assert (await self.finish(self.agent(play), FIRST)).final_output

    async def finish(self, agent: Agent[Any], said: Any) -> Any:
        result = Runner.run_streamed(agent, said, max_turns=TURNS)
        async for _ in result.stream_events():
            pass
        return result

    async def suspend(self) -> str:
        result = await self.finish(self.agent("chain-1", ask=True), FIRST)
        assert result.interruptions
        row = (fresh_id(), result.to_state().to_string())
        self.db.execute("INSERT INTO run (id, state) VALUES (?, ?)", row)
        return row[0]

    async def resume(self, asked: str) -> None:
        found = self.db.execute(
            "SELECT state FROM run WHERE id = ?", [asked]
        ).fetchone()
        agent = self.agent("chain-1", ask=True)
        state = await RunState.from_string(agent, found[0])
        for item in state.get_interruptions():
            state.approve(item)
        result = await self.finish(agent, state)
        row = (result.to_state().to_string(), asked)
        self.db.execute("UPDATE run SET state = ? WHERE id = ?", row)
        assert result.final_output
