"""Two hundred runs at once: one that stands still holds up none of the others."""

import asyncio
import threading

from fixtures.journey import call, calls, within
from fixtures.model_server import ModelServer, Reply, Seen
from fixtures.ovens import OVENS
from journeys.conftest import MakeBread

from bread_nb import Agent, Run, Scripted, tool
from bread_nb.crumbs import Crumb, TextDelta

MANY = 200


class Busy(ModelServer):
    """A service that falls silent in the middle of its first answer."""

    def reply(self, seen: Seen) -> Reply:
        if len(self.seen) == 1:
            return OVENS[0].reply("half a", end="none", then="stall")
        return OVENS[0].reply("whole")


async def test_a_service_that_stalls_in_one_run_holds_up_no_other(
    make_bread: MakeBread,
):
    async with Busy() as server:
        bread = make_bread({"baker": Agent(model=OVENS[0].model(server.url))})
        still = bread.run("baker", "go")
        await within(server.stalled.wait())
        others = [bread.run("baker", "go") for _ in range(MANY - 1)]
        ends = await within(asyncio.gather(*others), 60)
        assert {end.text for end in ends} == {"whole"}
        assert not still.done
        assert len(server.seen) == MANY
        still.cancel()
        await within(asyncio.wait([asyncio.ensure_future(still)]))


async def test_readers_that_never_read_on_hold_up_no_run(make_bread: MakeBread):
    said = {"deltas": ["whole "] * 50}
    agent = Agent(model=Scripted([said], repeat_last=True))
    bread = make_bread({"baker": agent})
    runs = [bread.run("baker", "go") for _ in range(MANY)]
    readers = [aiter(run) for run in runs]
    for reader in readers:
        await within(anext(reader))
    ends = await within(asyncio.gather(*runs), 60)
    assert {end.text for end in ends} == {"whole " * 50}
    for run in runs:
        assert sum(isinstance(crumb, TextDelta) for crumb in run.crumbs) == 50


async def test_a_reader_that_stands_still_in_a_crumb_holds_up_no_other(
    make_bread: MakeBread,
):
    agent = Agent(model=Scripted(["whole"], repeat_last=True))
    bread = make_bread({"baker": agent})
    go_on, stands = asyncio.Event(), asyncio.Event()

    async def read(run: Run) -> int:
        read = 0
        async for _ in run:
            read += 1
            stands.set()
            await go_on.wait()
        return read

    async def listen(crumb: Crumb) -> None:
        await go_on.wait()

    bread.on("crumb", listen)
    slow = bread.run("baker", "go")
    reader = asyncio.ensure_future(read(slow))
    await within(stands.wait())
    others = [bread.run("baker", "go") for _ in range(MANY - 1)]
    ends = await within(asyncio.gather(slow, *others), 60)
    assert len(ends) == MANY
    assert not reader.done()
    go_on.set()
    assert await within(reader) == len(slow.crumbs)


async def test_a_tool_that_blocks_its_thread_holds_up_no_other_run(
    make_bread: MakeBread,
):
    go_on, blocked = threading.Event(), threading.Event()

    @tool
    def wait() -> str:
        """Wait."""
        blocked.set()
        go_on.wait(60)
        return "waited"

    @tool
    def weigh() -> str:
        """Weigh."""
        return "900 g"

    def agent(name: str) -> Agent:
        turns = [calls(call(name)), "done"]
        return Agent(model=Scripted(turns, by="history"), tools=[wait, weigh])

    bread = make_bread({"slow": agent("tool_wait"), "quick": agent("tool_weigh")})
    slow = bread.run("slow", "go")
    await within(asyncio.to_thread(blocked.wait, 10))
    try:
        runs = [bread.run("quick", "go") for _ in range(MANY - 1)]
        ends = await within(asyncio.gather(*runs), 60)
        assert {end.text for end in ends} == {"done"}
        assert not slow.done
    finally:
        go_on.set()
    assert (await within(slow)).text == "done"
