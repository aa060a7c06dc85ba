"""`bread eval`: what it prints, what it writes, and its exit codes."""

import json
import xml.etree.ElementTree as ET
from textwrap import dedent

import pytest
from cli.conftest import NearProject

BAKER = """
    from bread_nb import Agent, Scripted

    agent = Agent(model=Scripted([lambda request: ANSWERS[request.messages[-1].text]],
                                 repeat_last=True))
    ANSWERS = {"What?": "Rye", "Who?": "Me"}
"""
SUITE = """
    cases:
      - {name: what, input: "What?", expected: Rye, tags: [flour]}
      - {name: who, input: "Who?", expected: Nobody}
    scorers: [exact]
"""


@pytest.fixture
def bakery(project: NearProject) -> NearProject:
    for name, text in {
        "agents/baker/agent.py": BAKER,
        "agents/baker/evals/words.yaml": SUITE,
    }.items():
        path = project.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))
    return project


def test_a_failure_is_told_and_is_the_exit_code(bakery: NearProject):
    said = bakery.bread("eval", "baker")
    assert said.code == 1
    lines = said.out.splitlines()
    assert lines[0].startswith("baker/words: 1 of 2 passed (50%, 95 % interval")
    assert lines[2:] == [
        "✓  what  1.00   Rye",
        "✗  who   0.00   Me      exact: it is not 'Nobody'",
    ]
    assert "[EVAL_FAILED]" in said.err
    assert "who: exact: it is not 'Nobody'" in said.err
    assert "baker/words: 2 of 2 · 1 passed · 1 failed" in said.err


def test_a_failure_names_a_run_that_can_be_shown(bakery: NearProject):
    said = bakery.bread("eval", "baker", "--concurrency", "1")
    [mend] = [line for line in said.err.splitlines() if line.startswith("  do ")]
    assert mend == (
        "  do   bread show baker-2 tells how who came about; "
        "--json FILE keeps all rows, each with its run"
    )
    shown = bakery.bread("show", "baker-2")
    assert (shown.code, "Who?" in shown.out) == (0, True)


@pytest.mark.parametrize("option", ["--junit", "--json"])
def test_a_report_that_cannot_be_written_is_refused_before_anything_runs(
    bakery: NearProject, option: str
):
    bakery.write({"file": "", "report": "old"})
    said = bakery.bread("eval", "baker", option, "file/report")
    assert said.code == 1
    assert said.err.splitlines()[0] == (
        "file/report cannot be written. [REPORT_UNWRITABLE]"
    )
    said = bakery.bread("eval", "bakr", option, "report")
    assert (said.code, (bakery.root / "report").read_text()) == (1, "old")
    bakery.bread("eval", "bakr", option, "new")
    assert not (bakery.root / "new").exists()
    assert "No run" in bakery.bread("runs").out


@pytest.mark.parametrize("text", [None, "no json", "{}", "[" * 100_000])
def test_a_baseline_that_is_none_is_refused_before_anything_runs(
    bakery: NearProject, text: str | None
):
    if text is not None:
        bakery.write({"before.json": text})
    said = bakery.bread("eval", "baker", "--baseline", "before.json")
    assert said.err.splitlines()[0] == "before.json is no report. [INVALID_REPORT]"
    assert said.code == 1
    assert "No run" in bakery.bread("runs").out


def test_what_is_good_enough_is_for_the_caller_to_say(bakery: NearProject):
    assert bakery.bread("eval", "baker", "--pass-rate", "0.5").code == 0
    assert bakery.bread("eval", "--tag", "flour").code == 0
    assert bakery.bread("eval", "agents/baker/evals/words.yaml::what").code == 0


def test_a_baseline_fails_what_passed_before(bakery: NearProject):
    first = bakery.bread("eval", "baker", "--pass-rate", "0", "--json", "before.json")
    assert first.code == 0
    kept = json.loads((bakery.root / "before.json").read_text())
    assert [row["status"] for row in kept["suites"][0]["rows"]] == ["passed", "failed"]
    assert bakery.bread("eval", "baker", "--baseline", "before.json").code == 0
    agent = bakery.root / "agents/baker/agent.py"
    agent.write_text(agent.read_text().replace('"Rye"', '"Oats"'))
    said = bakery.bread("eval", "baker", "--baseline", "before.json")
    assert said.code == 1
    assert "what passed before" in said.err
    assert "0 gained, 1 lost" in said.out


def test_junit_is_written_where_it_is_asked_for(bakery: NearProject):
    bakery.bread("eval", "baker", "--junit", "junit.xml", "--repeat", "2")
    root = ET.parse(bakery.root / "junit.xml").getroot()
    names = [case.get("name") for case in root.iter("testcase")]
    assert names == ["what", "what #2", "who", "who #2"]


def test_wrong_use_is_told_in_three_lines(bakery: NearProject):
    said = bakery.bread("eval", "bakr")
    assert said.code == 1
    assert said.err.splitlines()[0] == "There is no bakr. [EVAL_NOT_FOUND]"
    assert "bread eval baker" in said.err
    assert bakery.bread("eval", "--repeat", "0").code == 2
    assert bakery.bread("eval", "--baseline", "nothing.json").code == 1


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("--budget", ["0", "-1", "nan", "inf"]),
        ("--pass-rate", ["nan", "1.5", "-0.1", "inf"]),
    ],
)
def test_a_number_that_bounds_nothing_is_refused(
    bakery: NearProject, option: str, values: list[str]
):
    for value in values:
        said = bakery.bread("eval", "baker", option, value)
        assert (said.code, said.out) == (2, "")
        assert f"'{option}'" in said.err


def test_a_case_without_scorers_is_refused_and_named(bakery: NearProject):
    bakery.write({"agents/baker/evals/words.yaml": SUITE.replace("[exact]", "[]")})
    said = bakery.bread("eval", "baker")
    assert (said.code, said.out) == (1, "")
    assert "what of baker/words is held against nothing" in said.err


def test_a_broken_agent_fails_it(bakery: NearProject):
    (bakery.root / "agents/baker/agent.py").write_text("agent = (")
    said = bakery.bread("eval", "baker")
    assert said.code == 1
    assert "agents/baker/agent.py line 1 does not parse. [AGENT_BROKEN]" in said.err
