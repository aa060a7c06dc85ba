"""Tools at work: their manners, their context, their results, their faults."""

import asyncio
import functools
import gc
import threading
from collections.abc import AsyncIterator, Iterator

import pytest
from fixtures.journey import (
    call,
    calls,
    check_sendable,
    fault,
    finished,
    only,
    results,
    types,
    within,
)
from journeys.conftest import MakeBread

from bread_nb import Agent, BreadError, Hooks, Scripted, ToolContext, tool
from bread_nb.messages import ToolResult
from bread_nb.stores.blobs import MemoryBlobs
from bread_nb.tools.tool import Tool

ID = "call_1_1"


def one(made: Tool, /, **args: object) -> Agent:
    """An agent that calls the tool once and is done."""
    return Agent(model=Scripted([calls(call(made.leaf, **args)), "done"]), tools=[made])


async def test_sync_tools_run_on_threads_and_async_ones_on_the_loop(
    make_bread: MakeBread,
):
    threads: dict[str, int] = {}

    @tool
    def sync() -> str:
        """Sync."""
        threads["sync"] = threading.get_ident()
        return "a"

    @tool
    async def quick() -> str:
        """Async."""
        threads["async"] = threading.get_ident()
        return "b"

    script = Scripted([calls(call("tool_sync"), call("tool_quick")), "done"])
    bread = make_bread({"baker": Agent(model=script, tools=[sync, quick])})
    outcome = await finished(bread, bread.run("baker", "go"))
    assert list(results(outcome).values()) == ["a", "b"]
    assert threads["async"] == threading.get_ident() != threads["sync"]


async def test_calls_of_one_turn_run_at_once_and_answer_in_call_order(
    make_bread: MakeBread,
):
    meet, last_first = asyncio.Barrier(3), asyncio.Event()

    @tool
    async def bake(name: str) -> str:
        """Bake."""
        await within(meet.wait())
        if name == "c":
            last_first.set()
        await within(last_first.wait())
        return name

    several = [call("tool_bake", id=name, name=name) for name in "abc"]
    script = Scripted([calls(*several), "done"])
    bread = make_bread({"baker": Agent(model=script, tools=[bake])})
    run = bread.run("baker", "go")
    outcome = await finished(bread, run)
    assert results(outcome) == {"a": "a", "b": "b", "c": "c"}
    assert only(run.crumbs, "tool:result")[0]["toolCallId"] == "c"


async def test_one_of_several_that_raises_leaves_its_siblings_alone(
    make_bread: MakeBread, caplog: pytest.LogCaptureFixture
):
    gone = asyncio.Event()

    @tool
    async def bake(name: str) -> str:
        """Bake."""
        if name == "bad":
            gone.set()
            raise ValueError("")
        await within(gone.wait())
        return name

    several = [call("tool_bake", id=name, name=name) for name in ("a", "bad", "c")]
    script = Scripted([calls(*several), "done"])
    bread = make_bread({"baker": Agent(model=script, tools=[bake])})
    before = asyncio.all_tasks()
    outcome = await finished(bread, bread.run("baker", "go"))
    told = results(outcome)
    assert list(told) == ["a", "bad", "c"]
    assert (told["a"], told["c"]) == ("a", "c")
    assert told["bad"].startswith("bake raised ValueError.")
    assert asyncio.all_tasks() == before
    gc.collect()
    assert caplog.records == []


async def test_an_unknown_tool_beside_a_good_one(make_bread: MakeBread):
    kneaded: list[int] = []

    @tool
    def knead() -> str:
        """Knead."""
        kneaded.append(1)
        return "kneaded"

    turn = calls(call("tool_knead"), call("tool_kneed"))
    script = Scripted([turn, turn, "done"])
    bread = make_bread({"baker": Agent(model=script, tools=[knead])})
    run = bread.run("baker", "go")
    outcome = await finished(bread, run)
    assert len(kneaded) == 2
    unknown = [text for text in results(outcome).values() if text != "kneaded"]
    assert (
        unknown
        == [
            "There is no tool 'tool_kneed'. This agent has: tool_knead. "
            "Did you mean 'tool_knead'?"
        ]
        * 2
    )
    assert len(only(run.crumbs, "tool:error")) == 2


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"minutes": "long"}, "minutes: 'long' is not a whole number"),
        ({}, "minutes: is missing"),
        ({"minutes": 1, "hours": 2}, "hours: is not a field here"),
        ('{"minutes": 1', "not a JSON object"),
        ("[1]", "not a JSON object"),
    ],
)
async def test_arguments_that_do_not_fit_are_told_to_the_model(
    make_bread: MakeBread, args: object, said: str
):
    @tool
    def knead(minutes: int) -> str:
        """Knead."""
        raise AssertionError("never called")

    script = Scripted([{"calls": [{"name": "tool_knead", "args": args}]}, "done"])
    bread = make_bread({"baker": Agent(model=script, tools=[knead])})
    run = bread.run("baker", "go")
    outcome = await finished(bread, run)
    assert said in results(outcome)[ID]
    assert only(run.crumbs, "tool:error")[0]["error"]["code"] == "TOOL_ERROR"
    [result] = [
        p for m in outcome.messages for p in m.parts if isinstance(p, ToolResult)
    ]
    assert result.failed


@pytest.mark.parametrize("args", ["", "{}", None, "null", " {}\n"])
async def test_a_tool_without_parameters_takes_any_form_of_nothing(
    make_bread: MakeBread, args: object
):
    @tool
    def bell() -> str:
        """Ring."""
        return "ding"

    asked = (
        {"name": "tool_bell"} if args is None else {"name": "tool_bell", "args": args}
    )
    bread = make_bread(
        {"baker": Agent(model=Scripted([{"calls": [asked]}, "done"]), tools=[bell])}
    )
    assert results(await finished(bread, bread.run("baker", "go"))) == {ID: "ding"}


async def test_progress_is_told_and_the_last_value_is_the_result(
    make_bread: MakeBread,
):
    @tool
    async def rise(minutes: int) -> AsyncIterator[str]:
        """Rise."""
        for minute in range(minutes):
            yield f"minute {minute + 1}"

    @tool
    def cool() -> Iterator[object]:
        """Cool."""
        yield {"degrees": 90}
        yield object

    turn = calls(call("tool_rise", id="r", minutes=2), call("tool_cool", id="c"))
    script = Scripted([turn, "done"])
    bread = make_bread({"baker": Agent(model=script, tools=[rise, cool])})
    run = bread.run("baker", "go")
    outcome = await finished(bread, run)
    told = results(outcome)
    partials = only(run.crumbs, "tool:result:partial")
    of = {id: [p["result"] for p in partials if p["toolCallId"] == id] for id in "rc"}
    assert of["r"] == ["minute 1", "minute 2"]
    assert told["r"] == "minute 2"
    assert of["c"][0] == {"degrees": 90}
    assert "not JSON" in told["c"]


async def test_progress_before_a_failure_stays(make_bread: MakeBread):
    @tool
    async def rise() -> AsyncIterator[str]:
        """Rise."""
        yield "half"
        raise ValueError("fell in")

    bread = make_bread({"baker": one(rise)})
    run = bread.run("baker", "go")
    outcome = await finished(bread, run)
    assert "fell in" in results(outcome)[ID]
    told = [name for name in types(run.crumbs) if name.startswith("tool:")]
    assert told[-3:] == ["tool:call", "tool:result:partial", "tool:error"]


async def test_a_tool_is_told_what_it_asks_for_by_annotation(make_bread: MakeBread):
    seen: list[ToolContext] = []

    @tool
    def bake(name: str, oven: ToolContext) -> str:
        """Bake."""
        seen.append(oven)
        return name

    blobs, agent = MemoryBlobs(), one(bake, name="rye")
    bread = make_bread({"baker": agent}, blob_store=blobs)
    outcome = await finished(bread, bread.run("baker", "go", ctx={"df": 1}))
    [context] = seen
    assert (context.agent_id, context.call_id) == ("baker", ID)
    assert (context.run_id, context.session_id) == (outcome.run_id, outcome.session_id)
    assert context.ctx == {"df": 1}
    assert context.blob_store is blobs
    assert context.store is bread.store
    assert not context.cancelled.is_set()
    assert "oven" not in str(agent.model.requests[0].tools)


async def test_tools_may_come_from_a_function_read_again_each_turn(
    make_bread: MakeBread,
):
    @tool
    def unlock() -> str:
        """Unlock the oven."""
        open_.append(bake)
        return "open"

    @tool
    def bake() -> str:
        """Bake."""
        return "baked"

    open_: list[Tool] = [unlock]
    turns = [calls(call("tool_unlock")), calls(call("tool_bake")), "done"]
    script = Scripted(turns)
    bread = make_bread({"baker": Agent(model=script, tools=[lambda: open_])})
    outcome = await finished(bread, bread.run("baker", "go"))
    offered = [[spec.name for spec in request.tools] for request in script.requests]
    assert offered == [["tool_unlock"], *[["tool_unlock", "tool_bake"]] * 2]
    assert list(results(outcome).values()) == ["open", "baked"]


async def test_the_function_is_asked_once_a_turn(make_bread: MakeBread):
    asked: list[int] = []

    @tool
    def bell() -> str:
        """Ring."""
        return "ding"

    def tools() -> list[Tool]:
        asked.append(1)
        return [bell]

    script = Scripted([calls(call("tool_bell")), "done"])
    bread = make_bread({"baker": Agent(model=script, tools=[tools])})
    await finished(bread, bread.run("baker", "go"))
    assert len(asked) == 2


@pytest.mark.parametrize("given", [["bake"], "bake", None, 5, {"a": "b"}, [len]])
async def test_a_function_that_gives_no_tools_is_a_clear_fault(
    make_bread: MakeBread, given: object
):
    script = Scripted(["never"])

    def roll():
        return given

    bread = make_bread({"baker": Agent(model=script, tools=[roll])})
    error = await fault(bread, bread.run("baker", "go"))
    assert (error.code, script.requests) == ("INVALID_TOOL", [])
    assert error.what == "roll gives no tools."
    assert error.why.startswith("it is in the tools of baker, and ")
    assert error.do.startswith("put @tool above def roll, or ")


def test_a_function_without_the_decorator_is_refused_where_the_agent_is_made():
    def publish(title: str) -> str:
        raise AssertionError

    async def later():
        raise AssertionError

    def roll() -> int:
        raise AssertionError

    def told() -> dict[str, int]:
        raise AssertionError

    for function, odd in (
        (publish, "take arguments"),
        (later, "be async"),
        (roll, "return int"),
        (told, "return dict"),
    ):
        with pytest.raises(BreadError) as caught:
            Agent(model="scripted:x", tools=[function])
        name = function.__name__
        assert str(caught.value).splitlines() == [
            "This agent cannot be used. [INVALID_AGENT]",
            f"  why  {name} is a function, not a tool; "
            f"one that gives tools would not {odd}.",
            f"  do   put @tool above def {name}",
        ]
    for function in (lambda text: text, max, "".join):
        with pytest.raises(BreadError, match="make a tool of it: tool") as caught:
            Agent(model="scripted:x", tools=[function])
        assert caught.value.code == "INVALID_AGENT"


def test_functions_that_may_give_tools_are_not_called_before_a_run():
    def tools() -> list[Tool]:
        raise AssertionError

    def any_kind(*args: object, more: int = 1, **kwargs: object):
        raise AssertionError

    Agent(model="scripted:x", tools=[tools, any_kind, functools.partial(tools)])


async def test_a_call_id_used_before_gets_a_new_one(make_bread: MakeBread):
    ran: list[str] = []

    @tool
    def shell(text: str) -> str:
        """Run."""
        ran.append(text)
        return text

    one_id = [calls(call("tool_shell", id="call_0", text=text)) for text in "ab"]
    twice = calls(*(call("tool_shell", id="call_0", text=text) for text in "cd"))
    script = Scripted([*one_id, twice, "done"])
    bread = make_bread({"baker": Agent(model=script, tools=[shell])})
    outcome = await finished(bread, bread.run("baker", "go"))
    assert sorted(ran) == ["a", "b", "c", "d"]
    assert list(results(outcome).values()) == ["a", "b", "c", "d"]
    for request in script.requests[1:]:
        check_sendable(request.messages)


async def test_a_fault_in_every_layer_is_a_bread_error(make_bread: MakeBread):
    def burn(_: object) -> None:
        raise KeyError("oven")

    agent = Agent(model=Scripted(["x"]), hooks=Hooks(before_run=burn))
    bread = make_bread({"baker": agent})
    with pytest.raises(BreadError) as caught:
        await within(bread.run("baker", "go"))
    assert (caught.value.code, caught.value.what) == ("AGENT_ERROR", "KeyError: 'oven'")
