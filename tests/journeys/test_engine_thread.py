"""Runs that live on a thread of their own, as in a kernel, watched from elsewhere."""

import asyncio
import gc
import threading
from collections.abc import Iterator

import pytest
from fixtures.journey import BOUND, call, calls, check_sendable, told, within

from bread_nb import (
    Agent,
    Bread,
    BreadConfig,
    BreadError,
    Finished,
    Permissions,
    Scripted,
    Suspended,
    tool,
)
from bread_nb.providers.model import ModelRequest
from bread_nb.stores.blobs import MemoryBlobs
from bread_nb.stores.in_memory import InMemoryStore


class Engine:
    """A loop on a thread, where runs live."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._loop.run_forever)
        self.thread.start()

    def loop(self) -> asyncio.AbstractEventLoop:
        return self._loop

    def do(self, work: object) -> object:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(BOUND)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self.thread.join(timeout=BOUND)
        self._loop.close()


class Gate:
    """A model's turn that waits, on the engine's loop, until a thread opens it."""

    def __init__(self) -> None:
        self.reached, self.opened = threading.Event(), threading.Event()

    async def turn(self, _: ModelRequest) -> dict[str, object]:
        self.reached.set()
        await asyncio.to_thread(self.opened.wait, BOUND)
        return {"deltas": ["a", "b"]}

    async def wait_for_it(self) -> None:
        assert await asyncio.to_thread(self.reached.wait, BOUND)


@pytest.fixture
def engine() -> Iterator[Engine]:
    made = Engine()
    yield made
    made.close()


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def bread(engine: Engine, gate: Gate) -> Iterator[Bread]:
    @tool
    def pay() -> str:
        """Pay."""
        return threading.current_thread().name

    agents = {
        "slow": Agent(model=Scripted([gate.turn, "again"])),
        "quick": Agent(model=Scripted(["done"], repeat_last=True)),
        "till": Agent(
            model=Scripted([calls(call("tool_pay")), "done"]),
            tools=[pay],
            permissions=Permissions(ask=["tool:pay"]),
        ),
    }
    made = Bread(
        agents,
        config=BreadConfig(blob_store=MemoryBlobs()),
        store=InMemoryStore(),
        home=engine,
    )
    yield made
    gate.opened.set()
    engine.do(made.close())


def test_result_blocks_the_thread_that_asks_and_not_the_engine(bread: Bread):
    assert bread.run("quick", "go").result(timeout=BOUND).text == "done"
    waiting = bread.run("till", "go").result(timeout=BOUND)
    assert isinstance(waiting, Suspended)
    resumed = bread.resume(waiting.only, "yes").result(timeout=BOUND)
    assert isinstance(resumed, Finished)


async def test_await_and_iteration_work_from_another_loop(bread: Bread, gate: Gate):
    run = bread.run("slow", "go")
    reading = asyncio.ensure_future(read(run))
    await gate.wait_for_it()
    gate.opened.set()
    outcome = await within(run)
    assert outcome.text == "ab"
    assert await within(reading) == told(run.crumbs)
    assert await within(read(run)) == told(run.crumbs)
    assert run.result() is outcome


async def read(run: object) -> list[dict[str, object]]:
    return told([crumb async for crumb in run])


async def test_result_on_a_thread_with_another_loop_just_waits(bread: Bread):
    assert bread.run("quick", "go").result(timeout=BOUND).text == "done"


async def test_result_on_the_engine_thread_would_block(
    bread: Bread, engine: Engine, gate: Gate
):
    async def ask() -> object:
        return bread.run("slow", "go").result()

    work = asyncio.run_coroutine_threadsafe(ask(), engine.loop())
    with pytest.raises(BreadError) as caught:
        await within(asyncio.wrap_future(work))
    assert caught.value.code == "WOULD_BLOCK"


async def test_cancel_from_another_thread(bread: Bread, gate: Gate):
    run = bread.run("slow", "go", session="s1")
    await gate.wait_for_it()
    run.cancel()
    with pytest.raises(BreadError) as caught:
        await within(run)
    assert caught.value.code == "RUN_CANCELLED"
    check_sendable(await bread.sessions.messages("s1"))
    gate.opened.set()
    again = await within(bread.run("slow", "more", session="s1"))
    assert again.text == "again"


async def test_cancel_at_once_from_another_thread(bread: Bread):
    for _ in range(20):
        run = bread.run("quick", "go")
        run.cancel()
        [end] = await within(asyncio.gather(run, return_exceptions=True))
        if isinstance(end, BreadError):
            assert end.code == "RUN_CANCELLED"
        assert run.done


async def test_cancelling_the_one_who_awaits_on_another_loop(bread: Bread, gate: Gate):
    run = bread.run("slow", "go")
    waiter = asyncio.ensure_future(run)
    await gate.wait_for_it()
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await within(waiter)
    assert run.status == "cancelled"


async def test_leaving_early_on_another_loop_cancels_the_run(bread: Bread, gate: Gate):
    async for _ in bread.run("slow", "go"):
        break
    gc.collect()
    at_work = bread.at_work((await bread.find_run("last")).id)
    ended = [asyncio.wrap_future(live.ended) for live in at_work]
    await within(asyncio.gather(*ended, return_exceptions=True))
    assert (await bread.find_run("last")).status == "cancelled"


async def test_many_readers_and_runs_at_once(bread: Bread):
    runs = [bread.run("quick", f"go {number}") for number in range(20)]
    readers = [read(run) for run in runs for _ in range(3)]
    seen = await within(asyncio.gather(*readers))
    ends = await within(asyncio.gather(*runs))
    assert {outcome.text for outcome in ends} == {"done"}
    for place, run in enumerate(runs):
        assert seen[place * 3 : place * 3 + 3] == [told(run.crumbs)] * 3
