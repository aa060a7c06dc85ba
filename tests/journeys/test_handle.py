"""The handle of a run: read it, await it, leave it, end it."""

import asyncio
import gc
import inspect
import logging
from collections.abc import AsyncIterator

import pytest
from fixtures.journey import (
    BOUND,
    call,
    calls,
    fault,
    finished,
    only,
    results,
    texts,
    told,
    types,
    within,
)
from journeys.conftest import MakeBread

from bread_nb import Agent, BreadError, Finished, Scripted, Stopped, ToolContext, tool
from bread_nb.providers.model import Delta, Finish, ModelRequest, TextChunk


class Slow:
    """A model that says one piece, then waits until it may go on."""

    name = "scripted:slow"
    free = True

    def __init__(self) -> None:
        self.spoke = asyncio.Event()
        self.go_on = asyncio.Event()
        self.closed = asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        try:
            yield TextChunk("half")
            self.spoke.set()
            await self.go_on.wait()
            yield TextChunk(" whole")
            yield Finish("end_turn")
        finally:
            self.closed.set()

    async def aclose(self) -> None:
        self.closed.set()


def baker(*turns: object, **more: object) -> Agent:
    return Agent(model=Scripted(list(turns)), **more)


async def test_a_run_starts_at_the_call(make_bread: MakeBread):
    slow = Slow()
    run = make_bread({"baker": Agent(model=slow)}).run("baker", "go")
    await within(slow.spoke.wait())
    assert (run.status, run.done, run.handle) == ("working", False, "baker-1")
    slow.go_on.set()
    assert (await within(run)).text == "half whole"
    assert (run.status, run.text) == ("finished", "half whole")


async def test_any_number_of_readers_each_from_the_first_crumb(make_bread: MakeBread):
    bread = make_bread({"baker": baker({"deltas": ["a", "b", "c"]})})
    run = bread.run("baker", "go")

    async def read() -> list[dict[str, object]]:
        return told([crumb async for crumb in run])

    early = await within(asyncio.gather(read(), read()))
    late = await within(read())
    assert early == [late, late]
    assert [crumb["type"] for crumb in late] == types(run.crumbs)
    assert late[0]["type"] == "agent:run:start"


async def test_a_slow_reader_never_blocks_the_run(make_bread: MakeBread):
    run = make_bread({"baker": baker({"deltas": ["a"] * 500})}).run("baker", "go")
    reader = aiter(run)
    first = await within(anext(reader))
    assert (await within(run)).text == "a" * 500
    rest = [crumb async for crumb in reader]
    assert [first, *rest] == list(run.crumbs)


async def test_it_can_be_awaited_gathered_and_scheduled(make_bread: MakeBread):
    bread = make_bread({"baker": baker("one", "two", "three")})
    run = bread.run("baker", "go")
    assert not inspect.iscoroutine(run)
    assert inspect.isawaitable(run)
    first = await within(run)
    assert await within(run) is first
    others = asyncio.gather(bread.run("baker", "go"), bread.run("baker", "go"))
    assert sorted(o.text for o in await within(others)) == ["three", "two"]
    assert await within(asyncio.ensure_future(run)) is first


def test_result_is_the_blocking_form_for_scripts(make_script_bread: MakeBread):
    bread = make_script_bread({"baker": baker("one", "two")})
    run = bread.run("baker", "go")
    assert (run.status, run.id) == ("working", "")
    outcome = run.result()
    assert isinstance(outcome, Finished)
    assert (outcome.text, run.result()) == ("one", outcome)
    assert bread.run("baker", "go").result().text == "two"


def test_result_gives_up_after_its_timeout(make_script_bread: MakeBread):
    async def wait(request: ModelRequest) -> str:
        await asyncio.Event().wait()
        return "never"

    bread = make_script_bread({"baker": baker(wait)})
    run = bread.run("baker", "go")
    with pytest.raises(BreadError) as caught:
        run.result(timeout=0.01)
    assert caught.value.code == "ETIMEDOUT"


def test_a_run_that_never_began_does_not_hold_up_the_end(
    make_script_bread: MakeBread,
):
    bread = make_script_bread({"baker": baker("one")})
    run = bread.run("baker", "go")
    asyncio.run(asyncio.wait_for(bread.close(), BOUND))
    with pytest.raises(BreadError) as caught:
        run.result()
    assert caught.value.code == "RUN_CANCELLED"


async def test_result_inside_a_loop_would_block(make_bread: MakeBread):
    run = make_bread({"baker": baker("one")}).run("baker", "go")
    with pytest.raises(BreadError) as caught:
        run.result()
    assert (caught.value.code, caught.value.do) == (
        "WOULD_BLOCK",
        "outcome = await run",
    )
    outcome = await within(run)
    assert run.result() is outcome


async def test_a_run_made_before_the_loop_lives_where_it_is_awaited(
    make_bread: MakeBread,
):
    bread = make_bread({"baker": baker("one")})
    run = await asyncio.to_thread(bread.run, "baker", "go")
    assert run.status == "working"
    with pytest.raises(BreadError) as caught:
        run.result()
    assert caught.value.code == "WOULD_BLOCK"
    assert (await within(run)).text == "one"


async def test_result_on_another_thread_waits_for_the_engine(make_bread: MakeBread):
    slow = Slow()
    run = make_bread({"baker": Agent(model=slow)}).run("baker", "go")
    with pytest.raises(BreadError) as caught:
        await within(asyncio.to_thread(run.result, 0.01))
    assert (caught.value.code, run.done) == ("ETIMEDOUT", False)
    blocking = asyncio.create_task(asyncio.to_thread(run.result))
    slow.go_on.set()
    assert (await within(blocking)).text == "half whole"


async def test_leaving_early_and_dropping_the_run_cancels_it(
    make_bread: MakeBread, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.WARNING)
    slow = Slow()
    bread = make_bread({"baker": Agent(model=slow)})
    before = asyncio.all_tasks()
    async for crumb in bread.run("baker", "go"):
        if crumb.type == "text:delta":
            break
    gc.collect()
    await within(slow.closed.wait())
    await settle(before)
    [row] = await bread.runs()
    assert (row.status, row.text) == ("cancelled", "half")
    assert caplog.records == []


async def settle(before: set[asyncio.Task[object]]) -> None:
    """Wait until no task is left but those there were."""
    while left := asyncio.all_tasks() - before - {asyncio.current_task()}:
        await within(asyncio.wait(left))


async def test_leaving_early_while_holding_the_run_changes_nothing(
    make_bread: MakeBread,
):
    slow = Slow()
    run = make_bread({"baker": Agent(model=slow)}).run("baker", "go")
    async for _ in run:
        break
    gc.collect()
    slow.go_on.set()
    assert isinstance(await within(run), Finished)


async def test_a_run_nobody_looked_at_goes_on(make_bread: MakeBread):
    bread = make_bread({"baker": baker("one")})
    before = asyncio.all_tasks()
    bread.run("baker", "go")
    gc.collect()
    await settle(before)
    assert (await bread.find_run("last")).status == "finished"


async def test_cancel_ends_the_run_now_and_keeps_its_text(make_bread: MakeBread):
    slow = Slow()
    bread = make_bread({"baker": Agent(model=slow)})
    run = bread.run("baker", "go", session="s1")
    await within(slow.spoke.wait())
    run.cancel()
    error = await fault(bread, run)
    assert (error.code, run.status) == ("RUN_CANCELLED", "cancelled")
    assert "Stopped by you." in str(error)
    await within(slow.closed.wait())
    kept = await bread.sessions.messages("s1")
    assert texts(kept) == [("user", "go"), ("assistant", "half")]
    assert run.crumbs[-1].type == "agent:error"


async def test_a_fault_is_raised_by_iteration_and_by_await(make_bread: MakeBread):
    run = make_bread({"baker": baker({"error": 401})}).run("baker", "go")
    reader = aiter(run)
    seen = [await within(anext(reader)) for _ in range(2)]
    with pytest.raises(BreadError) as iterated:
        await within(anext(reader))
    with pytest.raises(BreadError) as awaited:
        await within(run)
    assert iterated.value is awaited.value is run.error
    assert (awaited.value.code, run.status) == ("MODEL_AUTH", "failed")
    assert types(seen) == ["agent:run:start", "agent:error"]


async def test_cancelling_in_the_same_breath_is_a_cancelled_run(make_bread: MakeBread):
    bread = make_bread({"baker": baker("one")})
    run = bread.run("baker", "go")
    run.cancel()
    with pytest.raises(BreadError) as caught:
        await within(run)
    assert (caught.value.code, run.status) == ("RUN_CANCELLED", "cancelled")
    assert await bread.runs() == []


async def test_cancelling_the_one_who_awaits_cancels_the_run(make_bread: MakeBread):
    slow = Slow()
    bread = make_bread({"baker": Agent(model=slow)})
    run = bread.run("baker", "go")
    waiter = asyncio.ensure_future(run)
    await within(slow.spoke.wait())
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await within(waiter)
    assert run.status == "cancelled"
    assert slow.closed.is_set()
    assert (await bread.find_run("last")).status == "cancelled"


async def test_cancelling_twice_and_after_the_end_changes_nothing(
    make_bread: MakeBread,
):
    slow = Slow()
    bread = make_bread({"baker": Agent(model=slow)})
    run = bread.run("baker", "go")
    await within(slow.spoke.wait())
    run.cancel()
    run.cancel()
    assert (await fault(bread, run)).code == "RUN_CANCELLED"
    run.cancel()
    run.stop()
    assert run.status == "cancelled"


async def test_carrying_on_after_a_cancel_in_the_only_tool(make_bread: MakeBread):
    started = asyncio.Event()
    kneaded: list[int] = []

    @tool
    async def knead(minutes: int) -> str:
        """Knead the dough."""
        kneaded.append(minutes)
        started.set()
        await asyncio.Event().wait()
        return "never"

    turn = calls(call("tool_knead", minutes=3), text="Kneading.")
    script = Scripted([turn, "Fine."])
    bread = make_bread({"baker": Agent(model=script, tools=[knead])})
    run = bread.run("baker", "bake", session="s1")
    await within(started.wait())
    run.cancel()
    assert (await fault(bread, run)).code == "RUN_CANCELLED"
    assert only(run.crumbs, "tool:error")[0]["error"]["code"] == "RUN_CANCELLED"
    await finished(bread, bread.run("baker", "carry on", session="s1"))
    second = script.requests[-1]
    assert texts(second.messages) == [
        ("user", "bake"),
        ("assistant", "Kneading."),
        ("tool", ""),
        ("user", "carry on"),
    ]
    assert results(second) == {"call_1_1": "cancelled by user"}
    assert second.messages[2].parts[0].failed
    assert kneaded == [3]


async def test_stop_ends_the_run_at_the_next_boundary(make_bread: MakeBread):
    started, go_on = asyncio.Event(), asyncio.Event()

    @tool
    async def knead() -> str:
        """Knead the dough."""
        started.set()
        await go_on.wait()
        return "kneaded"

    script = Scripted([calls(call("tool_knead"), text="Kneading."), "never"])
    bread = make_bread({"baker": Agent(model=script, tools=[knead])})
    run = bread.run("baker", "bake")
    await within(started.wait())
    run.stop()
    go_on.set()
    outcome = await within(run)
    assert isinstance(outcome, Stopped)
    assert (outcome.reason, outcome.text, run.status) == (
        "stopped",
        "Kneading.",
        "stopped",
    )
    assert results(outcome) == {"call_1_1": "kneaded"}
    assert len(script.requests) == 1


async def test_a_sync_tool_hears_of_the_cancel(make_bread: MakeBread):
    loop = asyncio.get_running_loop()
    started, heard = asyncio.Event(), asyncio.Event()

    @tool
    def knead(context: ToolContext) -> str:
        """Knead the dough."""
        loop.call_soon_threadsafe(started.set)
        if context.cancelled.wait(BOUND):
            loop.call_soon_threadsafe(heard.set)
        return "stopped"

    script = Scripted([calls(call("tool_knead"))])
    bread = make_bread({"baker": Agent(model=script, tools=[knead])})
    run = bread.run("baker", "bake")
    await within(started.wait())
    run.cancel()
    assert (await fault(bread, run)).code == "RUN_CANCELLED"
    await within(heard.wait())


async def test_closing_bread_ends_what_works(
    make_bread: MakeBread, caplog: pytest.LogCaptureFixture
):
    slow = Slow()
    bread = make_bread({"baker": Agent(model=slow)})
    run = bread.run("baker", "go")
    await within(slow.spoke.wait())
    await within(bread.close())
    assert (run.status, slow.closed.is_set()) == ("cancelled", True)
    del run
    gc.collect()
    assert caplog.records == []
