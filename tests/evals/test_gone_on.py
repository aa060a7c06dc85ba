"""What was interrupted goes on: nothing is paid for twice, nothing counts as failed."""

import asyncio
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from evals.conftest import Evaluate

from bread_nb import Agent, Bread, Permissions, Scripted, human_tool, tool
from bread_nb.evals import Case, Suite, contains, exact, judge
from bread_nb.evals.evaluate import Options, evaluate

PROGRAM = '''
import asyncio, os, sys
from bread_nb import Agent, Bread, Permissions, Scripted, tool
from bread_nb.evals import Case, Suite, exact, judge
from bread_nb.evals.evaluate import Options, evaluate

store, ledger, fatal = sys.argv[1:]

def paid(what):
    with open(ledger, "a") as file:
        file.write(what + "\\n")

def turn(request):
    if len(request.messages) == 1:
        paid("first turn")
        return {"calls": [{"name": "tool_bake", "args": {}}]}
    paid("second turn")
    return request.messages[-1].parts[0].text

def grade(request):
    if fatal == "judge":
        os._exit(9)
    paid("grade")
    return '{"status": "satisfied"}'

@tool
def bake() -> str:
    """Bake."""
    if fatal == "tool":
        os._exit(9)
    return "bread"

async def main():
    baker = Agent(
        name="baker",
        model=Scripted([turn], repeat_last=True),
        tools=[bake],
        permissions=Permissions(ask=["tool:bake"]),
    )
    case = Case("rye", "Bake.", decisions={"bake": True})
    scorers = [exact("bread"), judge("Is it?", model=Scripted([grade]))]
    async with Bread(store=store) as bread:
        if fatal == "question":
            bread.on("human:required", lambda crumb: os._exit(9))
        suite = Suite(baker, [case], scorers=scorers)
        report = await evaluate(bread, [suite], Options())
    print(report.rows[0].status, report.rows[0].why)

asyncio.run(main())
'''


@pytest.mark.parametrize("fatal", ["question", "tool", "judge"])
def test_a_process_that_was_killed_leaves_nothing_to_be_paid_for_again(
    tmp_path: Path, fatal: str
):
    program, ledger = tmp_path / "program.py", tmp_path / "ledger"
    program.write_text(PROGRAM)
    store = f"sqlite:///{tmp_path / 'bread.db'}"

    def run(fatal: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(program), store, str(ledger), fatal],
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "BREAD_MODE": "live"},
        )

    assert run(fatal).returncode == 9
    again = run("")
    assert again.stdout == "passed \n", again.stderr
    assert Counter(ledger.read_text().split("\n")) == Counter(
        ["first turn", "second turn", "grade", ""]
    )


async def test_two_at_work_on_one_row_pay_for_its_judge_once(tmp_path: Path):
    store = f"sqlite:///{tmp_path / 'bread.db'}"
    judging, go = asyncio.Event(), asyncio.Event()
    paid: list[str] = []

    async def grade(_: object) -> str:
        paid.append("grade")
        judging.set()
        await go.wait()
        return '{"status":"satisfied"}'

    def suite() -> Suite:
        scorer = judge("Is it?", model=Scripted([grade], repeat_last=True))
        baker = Agent(name="baker", model=Scripted(["rye"]))
        return Suite(baker, [Case("rye", "?", scorers=[scorer])])

    async with Bread(store=store) as one, Bread(store=store) as other:
        first = asyncio.create_task(evaluate(one, [suite()], Options()))
        await asyncio.wait_for(judging.wait(), 20)
        asked = other.on("crumb", lambda _: None)
        second = asyncio.create_task(evaluate(other, [suite()], Options()))
        for _ in range(200):
            await asyncio.sleep(0)
        go.set()
        reports = await asyncio.wait_for(asyncio.gather(first, second), 60)
        asked()
    assert [report.passed for report in reports] == [1, 1]
    assert paid == ["grade"]


@tool
def bake(loaf: str) -> str:
    """Bake a loaf."""
    return f"{loaf} is baked"


def asking(word: str, **fields: object) -> Agent:
    """An agent that bakes two loaves, asks a person, and tells what came of it."""
    calls = [
        {"name": "tool_bake", "args": {"loaf": "rye"}},
        {"name": "tool_bake", "args": {"loaf": "oat"}},
        {"name": "human_ask", "args": {"question": "What?"}},
    ]

    def told(request: object) -> str:
        parts = request.messages[-1].parts
        return ", ".join([word, *(part.text for part in parts)])

    return Agent(
        model=Scripted([{"calls": calls}, told]),
        tools=[bake, human_tool("ask", description="Ask a person.")],
        permissions=Permissions(ask=["tool:bake"]),
        **fields,
    )


@pytest.mark.parametrize(
    "decisions",
    [
        {"bake": True, "ask": "salt"},
        {"tool_bake": True, "human_ask": "salt"},
        {"bake": True, "tool_bake": True, "ask": "salt", "human_ask": "salt"},
    ],
)
async def test_a_decision_answers_every_call_of_its_tool(
    evaluated: Evaluate, decisions: dict[str, object]
):
    right = exact("it, rye is baked, oat is baked, salt")
    case = Case("both", "?", decisions=decisions, scorers=[right])
    report = await evaluated(Suite(asking("it"), [case]))
    assert report.check()


async def test_a_decision_that_does_not_fit_is_an_error_and_leaves_nothing_waiting(
    bread: Bread, evaluated: Evaluate
):
    case = Case("both", "?", decisions={"ask": True}, scorers=[contains("it")])
    report = await evaluated(Suite(asking("it"), [case]))
    assert report.rows[0].status == "error"
    assert "INVALID_ANSWER" in report.rows[0].why
    assert report.cost == 0.0
    assert await bread.pending() == []


async def test_agents_of_one_name_go_on_each_as_itself(evaluated: Evaluate):
    decisions = {"bake": True, "ask": "salt"}
    case = Case("both", "?", decisions=decisions, scorers=[contains("salt")])
    suites = [Suite(asking(word), [case], name=word) for word in ("one", "two")]
    report = await evaluated(*suites)
    assert [row.answer.split(",")[0] for row in report.rows] == ["one", "two"]


async def test_a_judge_that_waits_for_a_person_leaves_nothing_waiting(
    bread: Bread, evaluated: Evaluate
):
    call = {"name": "human_ask", "args": {"question": "What?"}}
    critic = Scripted([{"calls": [call]}])
    ask = human_tool("ask", description="Ask a person.")
    scorer = judge("Ask them.", model=critic, tools=[ask])
    baker = Agent(name="baker", model=Scripted(["rye"]))
    report = await evaluated(Suite(baker, [Case("rye", "?", scorers=[scorer])]))
    assert report.rows[0].status == "broken"
    assert "waits for a person: ask" in report.rows[0].why
    assert await bread.pending() == []
