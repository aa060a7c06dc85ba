"""agno; a run that waits is kept by its own SQLite database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from agno.agent import Agent
from agno.db.sqlite import SqliteDb
from agno.models.message import Message
from agno.models.openai import OpenAIChat
from agno.tools import tool

from benchmarks.peers.said import FIRST, KEY, MODEL, SYSTEM, fresh_id, history, tool_add


class Peer:
    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder
        self.agents: dict[tuple[str, bool], Agent] = {}

    def agent(self, play: str, *, ask: bool = False) -> Agent:
        if (play, ask) not in self.agents:
            add = tool(name="tool_add", requires_confirmation=ask or None)(tool_add)
            db = SqliteDb(db_file=str(self.folder / "agno.db")) if ask else None
            place = f"{self.url}/{play}/v1"
            self.agents[play, ask] = Agent(
                model=OpenAIChat(id=MODEL, base_url=place, api_key=KEY),
                instructions=SYSTEM,
                tools=[add],
                db=db,
                telemetry=False,
            )
        return self.agents[play, ask]

    async def words(self, play: str, messages: int = 0) -> AsyncIterator[str]:
        said: Any = [Message(role=r, content=text) for r, text in history(messages)]
        said.append(Message(role="user", content=FIRST))
        stream = self.agent(play).arun(said if messages else FIRST, stream=True)
        async for event in stream:
            if event.event == "RunContent" and event.content:
                yield event.content

    async def call_tools(self, play: str) -> None:
        words = [word async for word in self.words(play)]
        assert words

    async def suspend(self) -> Any:
        session, last = fresh_id(), None
        agent = self.agent("chain-1", ask=True)
        async for event in agent.arun(FIRST, stream=True, session_id=session):
            last = event
        assert last is not None
        assert last.requirements
        return session, last

    async def resume(self, asked: Any) -> None:
        session, waiting = asked
        for requirement in waiting.requirements:
            requirement.confirm()
        stream = self.agent("chain-1", ask=True).acontinue_run(
            run_id=waiting.run_id,
            session_id=session,
            requirements=waiting.requirements,
            stream=True,
        )
        words = [e.content async for e in stream if e.event == "RunContent"]
        assert words
