"""Budgets of evaluations: what is not paid for yet is not begun."""

import pytest
from evals.test_evaluate import CENT, Paid, numbered, paid_bread

from bread_nb import Agent
from bread_nb.evals import Case, Suite, contains
from bread_nb.evals.evaluate import Options, evaluate

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
    suite = Suite(baker(), [Case("odd", 5), Case("even", "six")])
    async with paid_bread(baker=CENT) as bread:
        report = await evaluate(bread, [suite], Options(budget=1))
    assert [(row.status, row.cost) for row in report.rows] == [
        ("error", 0.0),
        ("passed", pytest.approx(0.01)),
    ]
    assert "INVALID_INPUT" in report.rows[0].why
