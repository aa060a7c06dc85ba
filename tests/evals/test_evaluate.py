"""Evaluations: every row counted once, in order, whatever happens on the way."""

import asyncio
from pathlib import Path

import pytest
from evals.conftest import Evaluate, answering

from bread_nb import Agent, Bread, BreadConfig, BreadError, Permissions, Scripted, tool
from bread_nb.crumbs import EvalVerdict
from bread_nb.errors import ProviderError
from bread_nb.evals import Case, Suite, contains, crumbs, custom, exact, judge
from bread_nb.evals.evaluate import Options, Progress, evaluate
from bread_nb.providers.rates import Rates


class Pulled(BaseException):
    """The plug was pulled."""


def numbered(count: int) -> list[Case]:
    return [
        Case(name=f"case-{i}", input=f"question {i}", expected=f"answer {i}")
        for i in range(1, count + 1)
    ]


def right(question: str) -> str:
    return question.replace("question", "answer")


async def test_a_suite_is_run_and_its_rows_come_in_its_order(evaluated: Evaluate):
    agent = answering(right)
    report = await evaluated(Suite(agent, numbered(20), scorers=[exact()]))
    assert [row.case for row in report.rows] == [f"case-{i}" for i in range(1, 21)]
    assert (report.passed, report.expected, report.pass_rate) == (20, 20, 1.0)
    assert report.rows[4].answer == "answer 5"
    assert report.check() is report


async def test_an_error_is_no_pass_and_stays_in_the_denominator(evaluated: Evaluate):
    def answer(question: str) -> object:
        if question == "question 4":
            raise ProviderError("It is down.", code="MODEL_ERROR")
        return "wrong" if question == "question 3" else right(question)

    suite = Suite(answering(answer), numbered(4), scorers=[exact()])
    report = await evaluated(suite)
    statuses = [row.status for row in report.rows]
    assert statuses == ["passed", "passed", "failed", "error"]
    assert report.pass_rate == 0.5
    assert report.rows[3].score == 0.0
    assert "It is down." in report.rows[3].why
    with pytest.raises(BreadError) as caught:
        report.check(pass_rate=0.6)
    assert caught.value.code == "EVAL_FAILED"
    assert "2 of 4 passed, and 60% must" in caught.value.why
    assert caught.value.context["failed"] == ["case-3", "case-4"]
    report.check(pass_rate=0.5)


async def test_a_scorer_that_breaks_marks_its_row_and_no_other(evaluated: Evaluate):
    def careful(attempt: object) -> bool:
        if attempt.name == "case-2":
            raise KeyError("flour")
        return True

    suite = Suite(answering(right), numbered(3), scorers=[exact(), custom(careful)])
    report = await evaluated(suite)
    assert [row.status for row in report.rows] == ["passed", "broken", "passed"]
    with pytest.raises(BreadError, match="1 row is broken, because a scorer failed"):
        report.check(pass_rate=0.5)


async def test_running_it_twice_counts_nothing_of_the_first_time(evaluated: Evaluate):
    suite = Suite(answering(right), numbered(3), scorers=[exact()])
    first, second = await evaluated(suite), await evaluated(suite)
    assert (first.expected, second.expected, len(second.rows)) == (3, 3, 3)
    assert [row.run for row in second.rows] == ["baker-4", "baker-5", "baker-6"]


async def test_repeats_are_rows_of_their_own(evaluated: Evaluate):
    said = iter(["answer 1", "no", "answer 1", "answer 2", "answer 2", "answer 2"])
    suite = Suite(answering(lambda _: next(said)), numbered(2), scorers=[exact()])
    suite = Suite(suite.agent, suite.cases, scorers=[exact()], repeat=3)
    report = await evaluated(suite, concurrency=1)
    (part,) = report.suites
    assert [(r.case, r.repeat) for r in report.rows][:4] == [
        ("case-1", 1),
        ("case-1", 2),
        ("case-1", 3),
        ("case-2", 1),
    ]
    assert part.pass_rate == pytest.approx(5 / 6)
    assert part.pass_at(1) == pytest.approx(5 / 6)
    assert part.pass_at(3) == 1.0
    low, high = part.interval
    assert low < 5 / 6 < high


class Paid(Scripted):
    """A scripted model that takes money: a cent for each word it says."""

    free = False


def paid_bread(**rates: Rates) -> Bread:
    config = BreadConfig(rates={f"mine:{name}": rate for name, rate in rates.items()})
    return Bread(config=config, store="memory:")


CENT = Rates(input=0, output=10_000)


async def test_a_budget_stops_it_before_the_next_row():
    turn = {"text": "fine", "usage": {"input": 3, "output": 1}}
    agent = Agent(name="baker", model=Paid([turn], name="mine:baker", repeat_last=True))
    suite = Suite(agent, numbered(10), scorers=[contains("fine")])
    options = Options(budget=0.035, concurrency=1)
    async with paid_bread(baker=CENT) as bread:
        report = await evaluate(bread, [suite], options)
        assert len(agent.model.requests) == 3
        assert (report.passed, report.missing, report.expected) == (3, 7, 10)
        assert report.cost == pytest.approx(0.03)
        assert report.suites[0].stopped == "budget"
        with pytest.raises(BreadError, match="7 rows are missing"):
            report.check(pass_rate=0.1)
        more = Options(budget=0.5, concurrency=4)
        report = await evaluate(bread, [suite], more)
        assert len(agent.model.requests) == 10
        assert (report.passed, report.missing) == (10, 0)
        assert report.cost == pytest.approx(0.1)


async def test_a_cost_that_nobody_knows_stops_a_budget_at_once():
    agent = Agent(
        name="baker", model=Paid(["fine"], name="mine:baker", repeat_last=True)
    )
    suite = Suite(agent, numbered(5), scorers=[contains("fine")])
    options = Options(budget=1.0, concurrency=1)
    async with paid_bread() as bread:
        report = await evaluate(bread, [suite], options)
    assert (len(report.rows), report.missing) == (1, 4)
    assert report.suites[0].stopped == "budget.unpriced"
    assert report.cost is None


async def test_progress_is_told_row_by_row(evaluated: Evaluate):
    told: list[Progress] = []
    suite = Suite(answering(right), numbered(3), scorers=[contains("answer")])
    await evaluated(suite, watch=told.append, concurrency=1)
    assert [(p.done, p.passed, p.case, p.ended) for p in told] == [
        (0, 0, "", False),
        (0, 0, "case-1", False),
        (1, 1, "case-1", False),
        (1, 1, "case-2", False),
        (2, 2, "case-2", False),
        (2, 2, "case-3", False),
        (3, 3, "case-3", False),
        (3, 3, "case-3", True),
    ]
    assert told[0].rest is None
    assert told[-1].rest == 0.0


async def test_the_first_rows_that_do_not_pass_are_told_as_they_come(
    evaluated: Evaluate,
):
    told: list[Progress] = []
    suite = Suite(answering(lambda _: "no"), numbered(7), scorers=[exact()])
    await evaluated(suite, watch=told.append, concurrency=1)
    names = [[row.case for row in p.missed] for p in told if p.done in (0, 1, 7)]
    assert names[0] == []
    assert ["case-1"] in names
    assert names[-1] == [f"case-{i}" for i in range(1, 6)]


async def test_only_so_many_cases_run_at_once(evaluated: Evaluate):
    here = most = 0
    full = asyncio.Event()

    @tool
    async def knead() -> str:
        """Knead."""
        nonlocal here, most
        here += 1
        most = max(most, here)
        if here == 3:
            full.set()
        await full.wait()
        here -= 1
        return "kneaded"

    def turn(request: object) -> object:
        if request.messages[-1].role == "tool":
            return "done"
        return {"calls": [{"name": "tool_knead", "args": {}}]}

    model = Scripted([turn], repeat_last=True)
    agent = Agent(name="baker", model=model, tools=[knead])
    report = await evaluated(
        Suite(agent, numbered(9), scorers=[contains("done")]), concurrency=3
    )
    assert (report.passed, most) == (9, 3)


async def test_a_table_interrupted_in_the_middle_goes_on_without_repeating_a_row(
    tmp_path: Path, full_counts: bool
):
    count, at = (1000, 600) if full_counts else (60, 36)
    table = tmp_path / "questions.csv"
    lines = [f"question {i},answer {i}" for i in range(1, count + 1)]
    table.write_text("\n".join(["question,answer", *lines]))
    store = f"sqlite:///{tmp_path / 'bread.db'}"
    agent = answering(right)
    suite = Suite(agent, table, scorers=[exact()])

    def pull(progress: Progress) -> None:
        if progress.done == at:
            raise Pulled

    async with Bread({"baker": agent}, store=store) as bread:
        with pytest.raises(Pulled):
            await evaluate(bread, [suite], Options(watch=pull, concurrency=50))
    async with Bread({"baker": agent}, store=store) as bread:
        report = await evaluate(bread, [suite], Options(concurrency=50))
        assert [row.case for row in report.rows] == [c.name for c in suite.cases]
        assert report.passed == count
        asked = [request.messages[-1].text for request in agent.model.requests]
        assert len({row.run for row in report.rows}) == count
        runs = await bread.runs(limit=None)
        assert len([run for run in runs if run.status == "finished"]) == count
        # those that were at work when it was pulled were cancelled, and only those
        assert len(asked) - count <= len([r for r in runs if r.status == "cancelled"])


async def test_a_run_that_ended_before_its_row_was_kept_is_not_paid_for_again(
    tmp_path: Path,
):
    store = f"sqlite:///{tmp_path / 'bread.db'}"
    agent = answering(right)
    scoring, pulled = asyncio.Event(), asyncio.Event()

    async def check(_: object) -> bool:
        scoring.set()
        return await pulled.wait()

    suite = Suite(agent, numbered(1), scorers=[exact(), custom(check)])
    async with Bread({"baker": agent}, store=store) as bread:
        work = asyncio.create_task(evaluate(bread, [suite], Options()))
        await scoring.wait()
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
    pulled.set()
    async with Bread({"baker": agent}, store=store) as bread:
        report = await evaluate(bread, [suite], Options())
    assert report.passed == 1
    assert report.rows[0].answer == "answer 1"
    assert len(agent.model.requests) == 1


async def test_another_agent_model_or_case_is_another_evaluation(evaluated: Evaluate):
    one = Suite(answering(right), numbered(2), scorers=[exact()])
    other = Suite(answering(right, prompt="Be brief."), numbered(2), scorers=[exact()])
    await evaluated(one)
    assert (await evaluated(other)).rows[0].run == "baker-3"


async def test_a_call_that_waits_is_answered_as_the_case_says(evaluated: Evaluate):
    published: list[str] = []

    @tool
    def publish(title: str) -> str:
        """Publish a post."""
        published.append(title)
        return "published"

    def turn(request: object) -> object:
        last = request.messages[-1]
        if last.role == "tool":
            return "It is out." if "published" in last.parts[0].text else "It is not."
        call = {"name": "tool_publish", "args": {"title": last.text}}
        return {"calls": [call]}

    agent = Agent(
        name="publisher",
        model=Scripted([turn], repeat_last=True),
        tools=[publish],
        permissions=Permissions(ask=["tool:publish"]),
    )
    cases = [
        Case(
            name="yes",
            input="Rye",
            decisions={"publish": True},
            scorers=[exact("It is out.")],
        ),
        Case(
            name="no",
            input="Oats",
            decisions={"publish": False},
            scorers=[exact("It is not.")],
        ),
        Case(name="nobody", input="Spelt", scorers=[crumbs(turns=9)]),
    ]
    report = await evaluated(Suite(agent, cases), concurrency=1)
    assert published == ["Rye"]
    assert [row.status for row in report.rows] == ["passed", "passed", "failed"]
    assert "it waits for a person" in report.rows[2].why


@pytest.mark.parametrize("error", [GeneratorExit(), BaseException("odd")])
async def test_a_scorer_that_raises_anything_is_no_end_of_the_other_rows(
    evaluated: Evaluate, error: BaseException
):
    def raising(output: str) -> bool:
        if output == "answer 2":
            raise error
        return True

    suite = Suite(answering(right), numbered(3), scorers=[custom(raising)])
    report = await evaluated(suite)
    assert [row.status for row in report.rows] == ["passed", "broken", "passed"]
    assert type(error).__name__ in report.rows[1].why


async def test_a_judge_grades_in_the_same_evaluation(evaluated: Evaluate):
    grader = Scripted(
        ['{"status":"satisfied","score":1}', '{"status":"needs_revision","score":0.2}'],
    )
    suite = Suite(
        answering(right), numbered(2), scorers=[judge("It is right.", model=grader)]
    )
    report = await evaluated(suite, concurrency=1)
    assert [row.status for row in report.rows] == ["passed", "failed"]
    assert [row.score for row in report.rows] == [1.0, 0.2]
    assert report.rows[0].tokens > 0


async def test_each_verdict_is_a_crumb_of_the_run_it_is_about(
    bread: Bread, evaluated: Evaluate
):
    told: list[EvalVerdict] = []
    bread.on("crumb", lambda c: told.append(c) if c.type == "eval:verdict" else None)
    answers = {"question 1": "answer 1", "question 2": "nothing"}
    suite = Suite(answering(answers.get), numbered(2), scorers=[exact()])
    report = await evaluated(suite, concurrency=1)
    assert [(c.status, c.score, c.critique) for c in told] == [
        ("satisfied", 1.0, None),
        ("needs_revision", 0.0, "exact: it is not 'answer 2'"),
    ]
    runs = [(await bread.find_run(row.run)).id for row in report.rows]
    assert [crumb.run_id for crumb in told] == runs


async def test_two_at_work_on_one_evaluation_pay_for_each_row_once(tmp_path: Path):
    store = f"sqlite:///{tmp_path / 'bread.db'}"
    first, second = answering(right), answering(right)
    async with (
        Bread({"baker": first}, store=store) as one,
        Bread({"baker": second}, store=store) as other,
    ):
        reports = await asyncio.gather(
            *(
                evaluate(
                    bread,
                    [Suite("baker", numbered(40), scorers=[exact()])],
                    Options(concurrency=4),
                )
                for bread in (one, other)
            )
        )
        finished = [r for r in await one.runs(limit=None) if r.status == "finished"]
    asked = len(first.model.requests) + len(second.model.requests)
    assert (asked, len(finished)) == (40, 40)
    assert max(report.passed for report in reports) == 40
