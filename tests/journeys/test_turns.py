"""Turns and tokens of a run are the same in its picture, its row and its list."""

from contextlib import suppress

import pytest
from fixtures.journey import within
from journeys.conftest import MakeBread

from bread_nb import Agent, BreadError, Hooks, Recover, Scripted, ShortCircuit, tool
from bread_nb.a2ui.picture import picture
from bread_nb.project.listing import list_runs

USED = {"input": 9, "output": 1}
CALL = {"calls": [{"name": "tool_knead"}], "usage": {"input": 5, "output": 3}}
HALF = {"deltas": ["Half "], "usage": USED, "error": 400}


@tool
def knead() -> str:
    """Knead the dough."""
    return "kneaded"


RECOVER = Hooks(on_error=lambda _: Recover("enough"))
SHORT = Hooks(before_run=lambda _: ShortCircuit("at once"))

ENDS = {
    "cut in its first turn": (Agent(model=Scripted([HALF])), 1, 10),
    "refused at once": (Agent(model=Scripted([{"error": 400}])), 1, 0),
    "cut in its second turn": (
        Agent(model=Scripted([CALL, HALF]), tools=[knead]),
        2,
        18,
    ),
    "refused in its second turn": (
        Agent(model=Scripted([CALL, {"error": 400}]), tools=[knead]),
        1,
        8,
    ),
    "of no known provider": (Agent(model="nowhere:x"), 1, 0),
    "asked twice in one turn": (Agent(model=Scripted(["", "Fine."])), 1, 4),
    "silent both times": (Agent(model=Scripted(["", ""])), 1, 2),
    "recovered": (Agent(model=Scripted([{"error": 400}]), hooks=RECOVER), 0, 0),
    "recovered in the middle": (Agent(model=Scripted([HALF]), hooks=RECOVER), 1, 10),
    "of no model at all": (Agent(model=Scripted(["x"]), hooks=SHORT), 0, 0),
}


@pytest.mark.parametrize("name", ENDS)
async def test_a_run_has_one_figure_of_turns_and_of_tokens(
    make_bread: MakeBread, name: str
):
    agent, turns, tokens = ENDS[name]
    bread = make_bread({"baker": agent})
    run = bread.run("baker", "go")
    with suppress(BreadError):
        await within(run)
    [row] = await bread.runs()
    assert row.turn == turns
    head = picture(await bread.crumbs("last")).plain.splitlines()[0]
    assert f" · {turns} turn{'' if turns == 1 else 's'} · " in head
    assert (f" · {tokens} tokens" in head) == (tokens > 0)
    cells = (await list_runs(bread)).plain.splitlines()[1].split()
    assert cells[2] == str(turns)
    assert cells[-1] == str(tokens)


async def test_a_run_that_is_stopped_in_its_first_turn_has_one(make_bread: MakeBread):
    bread = make_bread({"baker": Agent(model=Scripted([{"text": "x", "delay": 60}]))})
    run = bread.run("baker", "go")
    async for _ in run:
        break
    run.cancel()
    with pytest.raises(BreadError):
        await within(run)
    [row] = await bread.runs()
    assert (row.status, row.turn) == ("cancelled", 1)
    assert " · 1 turn · " in picture(await bread.crumbs("last")).plain
