"""What a run costs: each call once, whatever becomes of it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from fixtures.journey import fault, finished, only, waiting, within
from journeys.conftest import MakeBread

from bread_nb import Agent, Bread, Model, Rates, human_tool, tool
from bread_nb.crumbs import Crumb
from bread_nb.errors import BreadError, ProviderError
from bread_nb.messages import Price, Usage
from bread_nb.providers.model import (
    CallEnd,
    CallFragment,
    CallStart,
    Delta,
    Finish,
    ModelRequest,
    Restart,
    TextChunk,
    UsageReport,
)
from bread_nb.runtime.outcome import Outcome

RATES = Rates(input=1000, output=2000)
ONE = UsageReport(Usage(input=1, output=1))  # $0.003
LOST = ProviderError("Lost.", code="STREAM_INCOMPLETE", retryable=True)
HELLO = (TextChunk("Hello."), ONE, Finish("end_turn"))


class Paid:
    """A model that takes money and streams these deltas, one list a call."""

    name = "openai:bun"
    free = False

    def __init__(
        self, *turns: Sequence[Delta | BreadError], rates: Rates | None = RATES
    ):
        self._turns = list(turns)
        self.described = Model(self.name, rates=rates)
        self.asked = 0
        self.stands = asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        turn, self.asked = self._turns[self.asked], self.asked + 1
        for delta in turn:
            if isinstance(delta, BreadError):
                raise delta
            yield delta
        if not isinstance(turn[-1], Finish):
            self.stands.set()
            await asyncio.Event().wait()

    async def aclose(self) -> None: ...


def asks(name: str, text: str = "{}") -> tuple[Delta, ...]:
    """A turn with one call."""
    call = (CallStart(0, "c1", name), CallFragment(0, text), CallEnd(0))
    return (*call, ONE, Finish("tool_use"))


@tool
def weigh(grams: int = 0) -> str:
    """Weigh."""
    return f"{grams} g"


def used(crumbs: Sequence[Crumb]) -> list[tuple[str, Any, Any]]:
    """Kind, cost and source of each model call."""
    told = only(crumbs, "model:usage")
    return [(c["kind"], c.get("cost"), c.get("costSource")) for c in told]


def money(outcome: Outcome) -> tuple[float | None, int, int]:
    """Cost, calls without a price, and tokens."""
    metrics = outcome.metrics
    return outcome.cost, metrics.unpriced_calls, outcome.usage.total


async def test_a_run_costs_what_its_calls_cost(make_bread: MakeBread):
    model = Paid(asks("tool_weigh"), HELLO)
    bread = make_bread({"baker": Agent(model=model, tools=[weigh])})
    run = bread.run("baker", "go")
    outcome = await finished(bread, run)
    assert money(outcome) == (0.006, 0, 4)
    assert run.cost == 0.006
    assert repr(outcome) == "Finished('Hello.', 2 turns, 1 call, $0.0060)"
    first, second = only(run.crumbs, "model:usage")
    assert (first["cost"], first["currency"], first["costSource"]) == (
        *(0.003, "USD"),
        "rates",
    )
    assert second["turn"] == 2
    [costs] = await bread.costs("agent")
    assert (costs.name, costs.cost, costs.calls) == ("baker", 0.006, 2)


async def test_the_figure_of_the_service_is_taken_as_told(make_bread: MakeBread):
    told = UsageReport(Usage(1, 1), Price(0.5, "provider"))
    model = Paid([TextChunk("Hi."), told, Finish("end_turn")])
    bread = make_bread({"baker": Agent(model=model)})
    run = bread.run("baker", "go")
    assert money(await finished(bread, run)) == (0.5, 0, 2)
    assert used(run.crumbs) == [("turn", 0.5, "provider")]


async def test_rates_of_the_project_price_a_model_by_its_name(make_bread: MakeBread):
    model = Paid(HELLO, rates=None)
    rates = {"openai:bun": RATES}
    bread = make_bread({"baker": Agent(model=model)}, rates=rates)
    assert money(await finished(bread, bread.run("baker", "go"))) == (0.003, 0, 2)


async def test_an_unknown_cost_is_unknown_and_not_nothing(make_bread: MakeBread):
    model = Paid(HELLO, rates=None)
    bread = make_bread({"baker": Agent(model=model)})
    run = bread.run("baker", "go")
    outcome = await finished(bread, run)
    assert money(outcome) == (None, 1, 2)
    assert used(run.crumbs) == [("turn", None, None)]
    assert repr(outcome) == "Finished('Hello.', 1 turn, 0 calls)"


async def test_a_call_without_a_count_is_unpriced(make_bread: MakeBread):
    model = Paid(
        asks("tool_weigh"), [TextChunk("Hi."), Finish("end_turn")], rates=RATES
    )
    bread = make_bread({"baker": Agent(model=model, tools=[weigh])})
    run = bread.run("baker", "go")
    outcome = await finished(bread, run)
    assert money(outcome) == (0.003, 1, 2)
    assert only(run.crumbs, "model:usage")[1].get("usage") is None
    assert "at least $0.0030" in repr(outcome)


async def test_totals_in_a_stream_are_not_added_up(make_bread: MakeBread):
    # Case 12: cumulative usage.
    reports = [UsageReport(Usage(input=40, output=n)) for n in (2, 9, 21)]
    model = Paid([reports[0], TextChunk("Hi."), *reports[1:], Finish("end_turn")])
    bread = make_bread({"baker": Agent(model=model)})
    outcome = await finished(bread, bread.run("baker", "go"))
    assert outcome.usage == Usage(input=40, output=21)
    assert outcome.cost == 0.082


# -- tries that gave no answer ---------------------------------------------------------


async def test_what_a_failed_try_reported_counts_once(make_bread: MakeBread):
    model = Paid([ONE, TextChunk("Hel"), LOST], HELLO)
    bread = make_bread({"baker": Agent(model=model)})
    run = bread.run("baker", "go")
    outcome = await finished(bread, run)
    assert used(run.crumbs) == [("cut", 0.003, "rates"), ("turn", 0.003, "rates")]
    assert money(outcome) == (0.006, 1, 4)
    assert outcome.metrics.turns == 1


async def test_a_try_that_said_and_reported_nothing_counts_none(make_bread: MakeBread):
    model = Paid([LOST], HELLO)
    bread = make_bread({"baker": Agent(model=model)})
    run = bread.run("baker", "go")
    assert money(await finished(bread, run)) == (0.003, 0, 2)
    assert used(run.crumbs) == [("turn", 0.003, "rates")]


async def test_an_answer_that_broke_off_without_a_report_has_an_unknown_cost(
    make_bread: MakeBread,
):
    model = Paid([TextChunk("Hel"), LOST], HELLO)
    bread = make_bread({"baker": Agent(model=model)})
    run = bread.run("baker", "go")
    assert money(await finished(bread, run)) == (0.003, 1, 2)
    assert used(run.crumbs) == [("cut", None, None), ("turn", 0.003, "rates")]


async def test_a_restart_within_a_stream_counts_what_came_before(make_bread: MakeBread):
    restart = Restart(LOST, 1, 2)
    model = Paid([ONE, TextChunk("Hel"), restart, *HELLO])
    bread = make_bread({"baker": Agent(model=model)})
    run = bread.run("baker", "go")
    assert money(await finished(bread, run)) == (0.006, 1, 4)
    assert used(run.crumbs) == [("cut", 0.003, "rates"), ("turn", 0.003, "rates")]


async def test_an_empty_answer_is_paid_for_as_well(make_bread: MakeBread):
    model = Paid([ONE, Finish("end_turn")], HELLO)
    bread = make_bread({"baker": Agent(model=model)})
    outcome = await finished(bread, bread.run("baker", "go"))
    assert money(outcome) == (0.006, 0, 4)


async def test_an_answer_that_is_repaired_is_paid_for_twice(make_bread: MakeBread):
    model = Paid(HELLO, [TextChunk("7"), ONE, Finish("end_turn")])
    agent = Agent(model=model, output_schema=int)
    bread = make_bread({"baker": agent})
    outcome = await finished(bread, bread.run("baker", "go"))
    assert (outcome.output, money(outcome)) == (7, (0.006, 0, 4))


# -- ends ------------------------------------------------------------------------------


async def test_a_failed_run_keeps_its_cost(make_bread: MakeBread):
    wrong = ProviderError("No.", code="MODEL_REFUSED", status=400)
    model = Paid(asks("tool_weigh"), [ONE, TextChunk("Hel"), wrong])
    bread = make_bread({"baker": Agent(model=model, tools=[weigh])})
    run = bread.run("baker", "go")
    await fault(bread, run)
    [costs] = await bread.costs("run")
    assert (costs.cost, costs.unpriced_calls, costs.calls) == (0.006, 1, 2)
    assert run.cost == 0.006


async def test_a_cancelled_run_keeps_what_was_reported(make_bread: MakeBread):
    model = Paid([ONE, TextChunk("Hel")])
    bread = make_bread({"baker": Agent(model=model)})
    run = bread.run("baker", "go")
    await within(model.stands.wait())
    run.cancel()
    await fault(bread, run)
    [costs] = await bread.costs("run")
    assert (costs.cost, costs.unpriced_calls, costs.tokens.total) == (0.003, 1, 2)


async def test_a_run_without_a_model_call_costs_nothing(make_bread: MakeBread):
    bread = make_bread({"baker": Agent(model=Paid())})
    assert await bread.costs("run") == []


@pytest.mark.parametrize("restarted", [False, True])
async def test_totals_go_on_after_a_person_answered(tmp_path: Path, restarted: bool):
    choose = human_tool("choose")
    store = f"sqlite:///{tmp_path}/runs.db"

    def bakery(*turns: Sequence[Delta]) -> Bread:
        agent = Agent(model=Paid(*turns), tools=[weigh, choose])
        return Bread({"baker": agent}, root=tmp_path, store=store)

    turns = (asks("human_choose", '{"question": "Which flour?"}'), HELLO)
    bread = bakery(*turns)
    suspended = await waiting(bread, bread.run("baker", "go"))
    assert money(suspended) == (0.003, 0, 2)
    if restarted:
        await bread.close()
        bread = bakery(turns[1])
    outcome = await finished(bread, bread.resume(suspended.only, {"answer": "rye"}))
    assert money(outcome) == (0.006, 0, 4)
    row = await bread.find_run("last")
    kept = [c for c in await bread.crumbs(row.id) if c.type == "model:usage"]
    assert len(kept) == 2
    await bread.close()
