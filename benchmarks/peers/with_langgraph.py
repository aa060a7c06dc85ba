"""langgraph with langchain-openai; a run that waits is kept by its own checkpointer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiosqlite
from langchain_core.messages import AIMessageChunk
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, interrupt

from benchmarks.peers.said import FIRST, KEY, MODEL, SYSTEM, fresh_id, history, tool_add


async def add_if_allowed(a: int, b: int) -> int:
    """Add two numbers."""
    interrupt("tool_add")
    return a + b


class Peer:
    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder
        self.graphs: dict[str, Any] = {}
        self.waiting: Any = None

    def agent(self, play: str, saver: AsyncSqliteSaver | None = None) -> Any:
        if play in self.graphs and saver is None:
            return self.graphs[play]
        add = tool("tool_add")(add_if_allowed if saver else tool_add)
        asked = ChatOpenAI(
            model=MODEL,
            base_url=f"{self.url}/{play}/v1",
            api_key=KEY,
            streaming=True,
            stream_usage=True,
        ).bind_tools([add])

        async def model(state: MessagesState) -> dict[str, Any]:
            return {"messages": [await asked.ainvoke(state["messages"])]}

        graph = StateGraph(MessagesState)
        graph.add_node("model", model)
        graph.add_node("tools", ToolNode([add]))
        graph.add_edge(START, "model")
        graph.add_conditional_edges("model", tools_condition)
        graph.add_edge("tools", "model")
        made = graph.compile(checkpointer=saver)
        if saver is None:
            self.graphs[play] = made
        return made

    def said(self, messages: int = 0) -> dict[str, Any]:
        said = [("system", SYSTEM), *history(messages), ("user", FIRST)]
        return {"messages": said}

    async def words(self, play: str, messages: int = 0) -> AsyncIterator[str]:
        stream = self.agent(play).astream(self.said(messages), stream_mode="messages")
        async for message, _ in stream:
            if isinstance(message, AIMessageChunk) and message.content:
                yield message.content

    async def call_tools(self, play: str) -> None:
        bound = {"recursion_limit": 100}
        state = await self.agent(play).ainvoke(self.said(), bound)
        assert state["messages"][-1].content

    async def suspend(self) -> str:
        if self.waiting is None:
            db = await aiosqlite.connect(self.folder / "langgraph.db")
            self.waiting = self.agent("chain-1", AsyncSqliteSaver(db))
        asked = fresh_id()
        state = await self.waiting.ainvoke(self.said(), self.place(asked))
        assert state["__interrupt__"]
        return asked

    async def resume(self, asked: str) -> None:
        state = await self.waiting.ainvoke(Command(resume=True), self.place(asked))
        assert state["messages"][-1].content

    def place(self, asked: str) -> dict[str, Any]:
        return {"configurable": {"thread_id": asked}}
