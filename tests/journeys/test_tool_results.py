"""What tools give back: results as they are kept, and faults of all kinds."""

import asyncio
import itertools

import pytest
from fixtures.journey import (
    call,
    calls,
    fault,
    finished,
    only,
    results,
)
from journeys.conftest import MakeBread
from pydantic import BaseModel

from bread_nb import Agent, Permissions, Scripted, tool
from bread_nb.tools.tool import Tool

ID = "call_1_1"


def one(made: Tool, /, **args: object) -> Agent:
    """An agent that calls the tool once and is done."""
    return Agent(model=Scripted([calls(call(made.leaf, **args)), "done"]), tools=[made])


class Loaf(BaseModel):
    name: str


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("text", "text"),
        ("", ""),
        (None, None),
        (3.5, 3.5),
        ((1, {2}), [1, [2]]),
        ({"a": Loaf(name="rye")}, {"a": {"name": "rye"}}),
        ({1: True}, {"1": True}),
        ("half \ud83c", "half \ufffd"),
    ],
)
async def test_results_are_kept_as_text_or_json(
    make_bread: MakeBread, value: object, kept: object
):
    @tool
    def bake() -> object:
        """Bake."""
        return value

    bread = make_bread({"baker": one(bake)})
    run = bread.run("baker", "go")
    assert results(await finished(bread, run)) == {ID: kept}
    assert only(run.crumbs, "tool:result")[0]["result"] == kept


def endless() -> list[object]:
    value: list[object] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    "value",
    [
        object(),
        b"bytes",
        float("nan"),
        {"a": {object()}},
        endless(),
        itertools.count(),
        [10**5000],
    ],
)
async def test_a_result_that_is_not_json_is_a_failure(
    make_bread: MakeBread, value: object
):
    @tool
    def bake() -> object:
        """Bake."""
        return value

    bread = make_bread({"baker": one(bake)})
    run = bread.run("baker", "go")
    outcome = await finished(bread, run)
    assert results(outcome)[ID].startswith("bake returned something that is not JSON.")
    assert only(run.crumbs, "tool:error")[0]["error"]["code"] == "TOOL_RESULT_NOT_JSON"


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    "error",
    [
        SystemExit(3),
        StopIteration(),
        asyncio.CancelledError(),
        BaseException("odd"),
        GeneratorExit(),
        Mute(),
    ],
)
@pytest.mark.parametrize("manner", ["sync", "async"])
async def test_whatever_a_tool_raises_by_itself_is_a_failure_of_the_tool(
    make_bread: MakeBread, error: BaseException, manner: str
):
    def burn() -> str:
        """Burn."""
        raise error

    async def burn_later() -> str:
        """Burn."""
        raise error

    made = tool(burn if manner == "sync" else burn_later, name="burn")
    bread = make_bread({"baker": one(made)})
    outcome = await finished(bread, bread.run("baker", "go"))
    assert results(outcome)[ID].startswith("burn raised ")
    assert type(error).__name__ in results(outcome)[ID]


async def steps_on_the_loop():
    """Burn."""
    yield 1
    raise GeneratorExit


def steps_on_a_thread():
    """Burn."""
    yield 1
    raise GeneratorExit


@pytest.mark.parametrize("burn", [steps_on_the_loop, steps_on_a_thread])
async def test_a_tool_of_steps_that_closes_itself_fails_and_the_others_go_on(
    make_bread: MakeBread, burn: object
):
    made = tool(burn, name="burn")
    add = tool(lambda: "added", name="add", description="Add.")
    script = Scripted([calls(call("tool_burn"), call("tool_add")), "done"])
    bread = make_bread({"baker": Agent(model=script, tools=[made, add])})
    outcome = await finished(bread, bread.run("baker", "go"))
    assert results(outcome)[ID].startswith("burn raised GeneratorExit")
    assert results(outcome)["call_1_2"] == "added"


@pytest.mark.parametrize("error", [GeneratorExit(), BaseException("odd")])
async def test_a_run_whose_rule_or_model_raises_anything_has_failed(
    make_bread: MakeBread, error: BaseException
):
    def raising(*_: object) -> bool:
        raise error

    made = tool(lambda: "", name="burn", description="Burn.")
    asks = Permissions(ask=[raising])
    script = Scripted([calls(call("tool_burn")), "done"])
    for baker in (
        Agent(model=script, tools=[made], permissions=asks),
        Agent(model=Scripted([raising])),
    ):
        bread = make_bread({"baker": baker})
        said = await fault(bread, bread.run("baker", "go"))
        assert said.code == "AGENT_ERROR"
        assert [row.status for row in await bread.runs()] == ["failed"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            "no rye",
            "burn raised ValueError: no rye (journeys/test_tool_results.py line ",
        ),
        ("No rye.", "burn raised ValueError: No rye. journeys/test_tool_results.py "),
        ("", "burn raised ValueError. journeys/test_tool_results.py line "),
    ],
)
async def test_where_a_tool_failed_is_set_off_from_what_it_said(
    make_bread: MakeBread, words: str, told: str
):
    @tool
    def burn() -> str:
        """Burn."""
        raise ValueError(*filter(None, [words]))

    bread = make_bread({"baker": one(burn)})
    outcome = await finished(bread, bread.run("baker", "go"))
    assert results(outcome)[ID].startswith(told)


async def test_an_interrupt_on_a_tools_own_thread_is_a_failure(make_bread: MakeBread):
    @tool
    def burn() -> str:
        """Burn."""
        raise KeyboardInterrupt

    bread = make_bread({"baker": one(burn)})
    outcome = await finished(bread, bread.run("baker", "go"))
    assert results(outcome)[ID].startswith("burn raised KeyboardInterrupt")
