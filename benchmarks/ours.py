"""What is measured of us: bread_nb as a person uses it, on SQLite.

    python -m benchmarks.ours PROVIDER BASE_URL STORE CHECKPOINT

answers a waiting call in a process of its own and prints the run's text.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bread_nb import Agent, Bread, Finished, Model, Permissions, Suspended, tool

FIRST = "What is the answer?"


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def agent(provider: str, url: str, *, ask: bool = False) -> Agent:
    """An agent of the fake model, with one tool."""
    return Agent(
        model=Model(f"{provider}:fake-1", base_url=url, api_key="none-is-needed"),
        prompt="Be brief.",
        tools=[add],
        permissions=Permissions(ask=["tool:add"] if ask else []),
        steps=100,
    )


@asynccontextmanager
async def bread_with(made: Agent, store: Path) -> AsyncIterator[Bread]:
    bread = Bread(agents={"asker": made}, store=f"sqlite:///{store}")
    async with bread:
        yield bread


async def stream(bread: Bread, session: str | None = None) -> AsyncIterator[str]:
    """The words of a run, as they come."""
    run = bread.run("asker", FIRST, session=session)
    async for crumb in run:
        if crumb.type == "text:delta":
            yield crumb.delta  # type: ignore[attr-defined]
    assert isinstance(await run, Finished)


async def call_tools(bread: Bread, calls: int) -> None:
    """A run that makes so many calls."""
    outcome = await bread.run("asker", FIRST)
    assert isinstance(outcome, Finished)
    assert outcome.metrics.tool_calls == {"tool_add": calls}


class Waits:
    """Runs of an agent that asks before its tool is called."""

    def __init__(self, bread: Bread) -> None:
        self.bread = bread

    async def suspend(self) -> str:
        """A run up to its question; the question's id."""
        waiting = await self.bread.run("asker", FIRST)
        assert isinstance(waiting, Suspended)
        [asked] = waiting.pending
        return asked.checkpoint_id

    async def resume(self, asked: str) -> str:
        """From the answer to the end of the run; its text."""
        outcome = await self.bread.resume(asked, {"approved": True})
        assert isinstance(outcome, Finished)
        return outcome.text


async def resume_here(provider: str, url: str, store: str, asked: str) -> None:
    async with bread_with(agent(provider, url, ask=True), Path(store)) as bread:
        print(await Waits(bread).resume(asked))


if __name__ == "__main__":
    asyncio.run(resume_here(*sys.argv[1:]))
