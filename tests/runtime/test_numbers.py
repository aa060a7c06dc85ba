"""Runs that start at the same moment each get a number of their own."""

import asyncio
from pathlib import Path

from bread_nb import Agent, Bread, Finished, Scripted


def bakery(folder: Path) -> Bread:
    agent = Agent(model=Scripted(["rye"], repeat_last=True))
    return Bread({"baker": agent}, store=f"sqlite:///{folder / 'bread.db'}")


async def handles(bread: Bread, number: int) -> list[str]:
    """The handles of so many runs, all started at once."""
    async with asyncio.timeout(60):
        ends = await asyncio.gather(
            *(bread.run("baker", "bake") for _ in range(number))
        )
    assert all(isinstance(end, Finished) for end in ends)
    return [end.handle for end in ends]


async def test_two_hundred_runs_at_once_are_numbered_in_order(tmp_path: Path):
    async with bakery(tmp_path) as bread:
        assert await handles(bread, 200) == [f"baker-{n}" for n in range(1, 201)]
        assert await handles(bread, 1) == ["baker-201"]


async def test_numbers_handed_out_elsewhere_are_not_given_again(tmp_path: Path):
    async with bakery(tmp_path) as here, bakery(tmp_path) as there:
        await handles(here, 3)
        found = await asyncio.gather(handles(here, 30), handles(there, 30))
    numbered = {f"baker-{n}" for n in range(4, 64)}
    assert {*found[0], *found[1]} == numbered
