"""A store that fails once: the run fails, and what is kept stays whole."""

import pytest
from fixtures.journey import call, calls, fault, finished
from journeys.conftest import MakeBread
from pydantic import JsonValue

from bread_nb import Agent, BreadError, Scripted, tool
from bread_nb.stores.in_memory import InMemoryStore
from bread_nb.stores.store import Step

TERMINAL = ("agent:run:end", "agent:error")


class Failing(InMemoryStore):
    """Refuses one of its commits, by number."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._left = number

    async def atomic(self, *steps: Step) -> list[JsonValue] | None:
        self._left -= 1
        if self._left == 0:
            raise BreadError("The store is busy.", code="STORE_LOCKED", retryable=True)
        return await super().atomic(*steps)


def baker(baked: list[int]) -> Agent:
    @tool
    def bake(loaves: int) -> int:
        """Bake."""
        baked.append(loaves)
        return loaves

    one, two, three = (call("tool_bake", loaves=n) for n in (1, 2, 3))
    turns = [calls(one, two, text="First."), calls(three), "done", "again"]
    return Agent(model=Scripted(turns), tools=[bake])


@pytest.mark.parametrize("number", range(2, 7))
async def test_a_commit_that_fails_leaves_a_whole_history_and_log(
    make_bread: MakeBread, number: int
):
    baked: list[int] = []
    bread = make_bread({"baker": baker(baked)}, store=Failing(number))
    run = bread.run("baker", "go", session="s")
    assert (await fault(bread, run)).code == "STORE_LOCKED"
    kept = await bread.crumbs(run.id)
    assert [crumb.seq for crumb in kept] == list(range(1, len(kept) + 1))
    for told in (kept, run.crumbs):
        ends = [crumb.type for crumb in told if crumb.type in TERMINAL]
        assert ends == ["agent:error"]
    assert len(baked) == len(set(baked))
    session = await bread.sessions.get("s")
    assert session is not None


async def test_after_a_commit_that_failed_the_session_goes_on(make_bread: MakeBread):
    bread = make_bread({"baker": baker([])}, store=Failing(2))
    await fault(bread, bread.run("baker", "go", session="s"))
    await finished(bread, bread.run("baker", "go on", session="s"))
