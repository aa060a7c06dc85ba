"""Budgets of evaluations: what is not paid for yet is not begun."""

import math
from pathlib import Path

import pytest
from evals.test_evaluate import CENT, Paid, numbered, paid_bread

from bread_nb import Agent, BreadError
from bread_nb.evals import Case, Suite, contains
from bread_nb.evals.evaluate import Options, evaluate
from bread_nb.evals.taping import evaluate_taped

TURN = {"text": "fine", "usage": {"input": 3, "output": 1}}


def baker() -> Agent:
    model = Paid([TURN], name="mine:baker", repeat_last=True)
    return Agent(name="baker", model=model)


@pytest.mark.parametrize("at_once", [1, 8, 200])
async def test_a_budget_holds_however_many_begin_at_once(at_once: int):
    suite = Suite(baker(), numbered(300), scorers=[contains("fine")])
    async with paid_bread(baker=CENT) as bread:
        options = Options(budget=0.035, concurrency=at_once)
        report = await evaluate(bread, [suite], options)
    assert report.cost == pytest.approx(0.03)
    assert report.suites[0].stopped == "budget"


async def test_a_case_that_never_began_costs_nothing_and_stops_no_budget():
    suite = Suite(
        baker(), [Case("odd", 5), Case("even", "six")], scorers=[contains("fine")]
    )
    async with paid_bread(baker=CENT) as bread:
        report = await evaluate(bread, [suite], Options(budget=1))
    assert [(row.status, row.cost) for row in report.rows] == [
        ("error", 0.0),
        ("passed", pytest.approx(0.01)),
    ]
    assert "INVALID_INPUT" in report.rows[0].why


def costing(*cents: int) -> Agent:
    """An agent whose first answers cost so much, and all later ones the last."""
    turns = [{"text": "fine", "usage": {"input": 0, "output": each}} for each in cents]
    model = Paid(turns, name="mine:baker", repeat_last=True)
    return Agent(name="baker", model=model)


@pytest.mark.parametrize("at_once", [1, 8, 200])
async def test_a_cheap_first_row_lets_no_dear_ones_in(at_once: int):
    suite = Suite(costing(4, 80), numbered(20), scorers=[contains("fine")])
    async with paid_bread(baker=CENT) as bread:
        options = Options(budget=1.0, concurrency=at_once)
        report = await evaluate(bread, [suite], options)
    assert (len(report.rows), report.cost) == (2, pytest.approx(0.84))
    assert report.suites[0].stopped == "budget"


async def test_what_the_dearest_row_cost_is_left_for_each_row_at_work():
    suite = Suite(costing(5, 1), numbered(40), scorers=[contains("fine")])
    async with paid_bread(baker=CENT) as bread:
        options = Options(budget=0.25, concurrency=8)
        report = await evaluate(bread, [suite], options)
    assert (len(report.rows), report.cost) == (17, pytest.approx(0.21))


async def test_the_first_row_of_each_suite_is_made_alone():
    cheap = Suite(costing(1), numbered(8), scorers=[contains("fine")], name="cheap")
    dear = Suite(costing(80), numbered(8), scorers=[contains("fine")], name="dear")
    async with paid_bread(baker=CENT) as bread:
        options = Options(budget=1.0, concurrency=8)
        report = await evaluate(bread, [cheap, dear], options)
    assert [len(each.rows) for each in report.suites] == [8, 1]
    assert report.cost == pytest.approx(0.88)


async def test_a_row_that_has_begun_is_finished():
    suite = Suite(costing(44), numbered(5), scorers=[contains("fine")])
    async with paid_bread(baker=CENT) as bread:
        report = await evaluate(bread, [suite], Options(budget=0.1))
    assert (len(report.rows), report.cost) == (1, pytest.approx(0.44))


@pytest.mark.parametrize("budget", [0, 0.0, -1, math.nan, math.inf, True, "2"])
async def test_a_budget_that_is_no_amount_is_refused_before_anything_runs(
    budget: float,
):
    agent = baker()
    suite = Suite(agent, numbered(2), scorers=[contains("fine")])
    async with paid_bread(baker=CENT) as bread:
        with pytest.raises(BreadError) as caught:
            await bread.eval(suite, budget=budget)
    assert caught.value.code == "INVALID_SETTING"
    assert agent.model.requests == []


@pytest.mark.parametrize(
    ("rates", "budget", "stopped"),
    [({"baker": CENT}, 0.015, "budget"), ({}, 1.0, "budget.unpriced")],
)
async def test_a_budget_that_ended_lets_no_other_recording_begin(
    tmp_path: Path, rates: dict[str, object], budget: float, stopped: str
):
    suites: list[Suite] = []
    for name in ("one", "two"):
        suite = Suite(baker(), numbered(3), scorers=[contains("fine")], name=name)
        suite.recording = tmp_path / f"{name}.cassette.jsonl"
        suites.append(suite)
    async with paid_bread(**rates) as bread:
        bread.deck.choose("record", said_by="a test")
        report = await evaluate_taped(bread, suites, Options(budget=budget))
    assert [len(each.rows) for each in report.suites] == [1, 0]
    assert [each.stopped for each in report.suites] == [stopped, stopped]
