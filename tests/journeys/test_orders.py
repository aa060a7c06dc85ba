"""Crumbs keep their order, and a cancel at any point leaves a whole history."""

import asyncio

import pytest
from fixtures.journey import (
    call,
    calls,
    check_crumbs,
    check_sendable,
    finished,
    stopped,
    types,
    waiting,
    within,
)
from journeys.conftest import MakeBread

from bread_nb import (
    Agent,
    BreadError,
    Permissions,
    Run,
    Scripted,
    human_tool,
    tool,
)
from bread_nb.stores.in_memory import InMemoryStore
from bread_nb.stores.store import Step

TALK = {"reasoning": "Hm", "text": "First.", "calls": [call("tool_chop", name="a")]}


class Kitchen:
    def __init__(self) -> None:
        self.chopping, self.go_on = asyncio.Event(), asyncio.Event()
        self.chopped: list[str] = []

    def agent(self, *turns: object) -> Agent:
        @tool
        async def chop(name: str) -> str:
            """Chop."""
            self.chopped.append(name)
            self.chopping.set()
            await within(self.go_on.wait())
            return "chopped"

        @tool
        def serve() -> str:
            """Serve."""
            return "served"

        return Agent(
            model=Scripted(list(turns), by="history"),
            tools=[chop, serve, human_tool("approve")],
            permissions=Permissions(ask=["tool:serve"]),
        )


async def test_words_end_before_a_tool_starts_and_begin_again_after_it(
    make_bread: MakeBread,
):
    kitchen = Kitchen()
    kitchen.go_on.set()
    second = {"reasoning": "Well", "text": "Done."}
    bread = make_bread({"cook": kitchen.agent(TALK, second)})
    run = bread.run("cook", "go")
    await finished(bread, run)
    assert types(run.crumbs) == [
        "agent:run:start",
        "reasoning:delta",
        "text:delta",
        "tool:input:start",
        "tool:input:delta",
        "tool:input:end",
        "model:usage",
        "tool:call",
        "tool:result",
        "reasoning:delta",
        "text:delta",
        "model:usage",
        "agent:run:end",
    ]


async def test_the_order_when_a_turn_fails_after_its_first_words(
    make_bread: MakeBread,
):
    turn = {"reasoning": "Hm", "text": "First.", "error": 401}
    run = make_bread({"cook": Kitchen().agent(turn)}).run("cook", "go")
    with pytest.raises(BreadError):
        await within(run)
    assert types(run.crumbs) == [
        "agent:run:start",
        "reasoning:delta",
        "text:delta",
        "agent:error",
    ]
    check_crumbs(run.crumbs)


async def test_the_order_when_a_run_is_cancelled_in_a_tool(make_bread: MakeBread):
    kitchen = Kitchen()
    run = make_bread({"cook": kitchen.agent(TALK)}).run("cook", "go")
    await within(kitchen.chopping.wait())
    run.cancel()
    with pytest.raises(BreadError):
        await within(run)
    assert types(run.crumbs)[-3:] == ["tool:call", "tool:error", "agent:error"]
    check_crumbs(run.crumbs)


class SlowStore(InMemoryStore):
    """A store whose commits are done long before they say so, as on a disk.

    At the commit number `at` it tells `reached` and waits for `go_on`.
    """

    def __init__(self, at: int = 0) -> None:
        super().__init__()
        self.at, self.count = at, 0
        self.reached, self.go_on = asyncio.Event(), asyncio.Event()

    async def atomic(self, *steps: Step) -> list[object] | None:
        return await self._slowly(await super().atomic(*steps))

    async def claim(self, *expected: object) -> object:
        return await self._slowly(await super().claim(*expected))

    async def _slowly(self, done: object) -> object:
        self.count += 1
        if self.count == self.at:
            self.reached.set()
            await within(self.go_on.wait())
        await asyncio.sleep(0)
        return done


def story() -> tuple[Kitchen, Agent]:
    kitchen = Kitchen()
    kitchen.go_on.set()
    turns = [TALK, calls(call("tool_chop", name="b"), call("tool_chop", name="c"))]
    return kitchen, kitchen.agent(*turns, "done", "again", "more")


async def commits(make_bread: MakeBread) -> int:
    """How many commits the whole story takes."""
    store, (_, agent) = SlowStore(), story()
    bread = make_bread({"cook": agent}, store=store)
    await finished(bread, bread.run("cook", "go", session="s1"))
    return store.count


@pytest.mark.parametrize("times", [1, 2])
async def test_a_cancel_during_any_commit_leaves_a_session_to_go_on_with(
    make_bread: MakeBread, times: int
):
    for at in range(1, await commits(make_bread) + 1):
        store, (kitchen, agent) = SlowStore(at), story()
        bread = make_bread({"cook": agent}, store=store)
        run = bread.run("cook", "go", session="s1")
        await within(store.reached.wait())
        for _ in range(times):
            run.cancel()
        store.go_on.set()
        status = await end_of(run)
        row = await bread.find_run("last")
        assert row.status == status, f"at commit {at}"
        check_crumbs(run.crumbs)
        kept = await bread.sessions.messages("s1")
        check_sendable(kept)
        numbers = [crumb.seq for crumb in await bread.crumbs("last")]
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(set(kitchen.chopped)) == len(kitchen.chopped)
        await finished(bread, bread.run("cook", "more", session="s1"))


async def end_of(run: Run) -> str:
    [end] = await within(asyncio.gather(run, return_exceptions=True))
    if isinstance(end, BaseException):
        assert isinstance(end, BreadError)
        assert end.code == "RUN_CANCELLED"
    return run.status


async def test_a_cancel_during_any_commit_of_a_resume(make_bread: MakeBread):
    turn = calls(call("tool_serve"), call("human_approve", question="?"))
    for at in range(1, 40):
        store, kitchen = SlowStore(), Kitchen()
        bread = make_bread({"cook": kitchen.agent(turn, "done", "more")}, store=store)
        outcome = await waiting(bread, bread.run("cook", "go", session="s1"))
        first, second = (pending.checkpoint_id for pending in outcome.pending)
        await waiting(bread, bread.resume(first, "yes"))
        store.at = store.count + at
        run = bread.resume(second, "yes")
        ending = asyncio.ensure_future(end_of(run))
        reached = asyncio.ensure_future(store.reached.wait())
        await within(
            asyncio.wait([ending, reached], return_when=asyncio.FIRST_COMPLETED)
        )
        reached.cancel()
        if not store.reached.is_set():
            assert await ending == "finished"
            assert at > 3
            store.at = 0
            return
        run.cancel()
        store.go_on.set()
        assert await within(ending) == (await bread.find_run("last")).status
        check_sendable(await bread.sessions.messages("s1"))
        assert await bread.pending() == []
        await finished(bread, bread.run("cook", "more", session="s1"))
    raise AssertionError("the resume never ended")


async def test_a_stop_during_any_commit_is_a_clean_end(make_bread: MakeBread):
    for at in range(1, await commits(make_bread) + 1):
        store, (_, agent) = SlowStore(at), story()
        bread = make_bread({"cook": agent}, store=store)
        run = bread.run("cook", "go", session="s1")
        await within(store.reached.wait())
        run.stop()
        store.go_on.set()
        outcome = await within(run)
        check_crumbs(run.crumbs)
        check_sendable(outcome.messages)
        last = await bread.find_run("last")
        assert last.status == run.status in ("stopped", "finished")
        await finished(bread, bread.run("cook", "more", session="s1"))


async def test_closing_during_a_commit_ends_the_run_first(make_bread: MakeBread):
    store, (_, agent) = SlowStore(3), story()
    bread = make_bread({"cook": agent}, store=store)
    run = bread.run("cook", "go")
    await within(store.reached.wait())
    closing = asyncio.ensure_future(bread.close())
    store.go_on.set()
    await within(closing)
    assert run.status == "cancelled"
    assert (await bread.find_run("last")).status == "cancelled"


async def test_an_empty_reasoning_run_stops_cleanly(make_bread: MakeBread):
    turn = {"reasoning": "Hm", "stop": "max_tokens"}
    bread = make_bread({"cook": Kitchen().agent(turn)})
    outcome = await stopped(bread, bread.run("cook", "go"))
    assert (outcome.reason, outcome.text) == ("truncated:max_tokens", "")
