"""From a name to suites: agents, folders, files, cases, and files that are broken."""

from pathlib import Path
from textwrap import dedent

import pytest

from bread_nb import Bread, BreadError
from bread_nb.evals.finding import find_suites

AGENT = """
    from bread_nb import Agent

    agent = Agent(model="scripted:script.yaml")
"""
PYTHON = """
    from bread_nb import Case, Suite
    from bread_nb.evals import contains
    from ..tools.words import WORD

    suite = Suite("baker", [Case(name="word", input="?", scorers=[contains(WORD)])])
    two = Case(name="two", input="?", scorers=[contains(WORD)])
    more = [Suite("baker", [two], name="second")]
"""
WORDS = """
    kind: functional
    scorers:
      - lacks: As an AI
    cases:
      - name: rye
        input: Write about rye.
        expected: rye
        tags: [flour, quick]
        repeat: 2
        decisions: {publish: true}
        scorers:
          - contains
          - exact: {expected: Rye, ignore_case: "true"}
          - regex: "^R"
          - schema: '{"type": "string"}'
          - judge: It is about rye.
          - crumbs: {called: [search, {publish: {title: Rye}}], turns: 3, only: true}
      - name: oats
        input: {topic: oats}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "agents/baker/agent.py", AGENT)
    write(tmp_path, "agents/baker/tools/words.py", 'WORD = "rye"')
    write(tmp_path, "agents/clerk/agent.py", AGENT)
    write(tmp_path, "agents/baker/evals/coded.py", PYTHON)
    write(tmp_path, "agents/baker/evals/words.yaml", WORDS)
    return tmp_path


def write(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text).strip() + "\n")
    return path


def found(*targets: str) -> list[tuple[str, list[str]]]:
    suites = find_suites(Bread.open(), targets)
    return [(suite.name, [case.name for case in suite.cases]) for suite in suites]


EVERYTHING = [
    ("baker", ["word"]),
    ("second", ["two"]),
    ("baker/words", ["rye", "oats"]),
]


@pytest.mark.parametrize(
    "named",
    [
        [],
        ["baker"],
        ["agents"],
        ["agents/baker"],
        ["agents/baker/evals"],
        ["agents/baker/evals/coded.py", "agents/baker/evals/words.yaml"],
    ],
)
def test_suites_are_found_by_agent_folder_and_file(project: Path, named: list[str]):
    assert found(*named) == EVERYTHING


def test_one_case_is_named_behind_its_file(project: Path):
    assert found("agents/baker/evals/words.yaml::oats") == [("baker/words", ["oats"])]
    assert found("baker::two") == [("second", ["two"])]


def test_a_suite_in_words_says_all_that_one_in_code_does(project: Path):
    (suite,) = find_suites(Bread.open(), ["agents/baker/evals/words.yaml"])
    rye, oats = suite.cases
    assert (rye.input, rye.expected, rye.tags) == (
        "Write about rye.",
        "rye",
        ["flour", "quick"],
    )
    assert (rye.repeat, rye.decisions) == (2, {"publish": True})
    assert oats.input == {"topic": "oats"}
    assert [scorer.name for scorer in suite.scorers_of(rye)] == [
        "contains",
        "exact",
        "regex",
        "schema",
        "judge",
        "crumbs",
        "lacks",
    ]


def test_a_table_beside_it_may_hold_the_cases(project: Path):
    write(
        project, "agents/baker/evals/words.yaml", "cases: table.csv\nscorers: [exact]"
    )
    write(
        project, "agents/baker/evals/table.csv", "question,answer\nWhat?,Rye\nWho?,Me"
    )
    (suite,) = find_suites(Bread.open(), ["agents/baker/evals/words.yaml"])
    assert [(case.name, case.input, case.expected) for case in suite.cases] == [
        ("row-1", "What?", "Rye"),
        ("row-2", "Who?", "Me"),
    ]


@pytest.mark.parametrize(
    ("file", "text", "what", "why"),
    [
        ("a.py", "suite = (", "agents/baker/evals/a.py line 1 does not parse.", ""),
        ("a.py", "x = 1\n1 / 0", "agents/baker/evals/a.py line 2 raises", "division"),
        ("a.py", "x = 1", "agents/baker/evals/a.py has no suite.", "no Suite in it"),
        (
            "a.yaml",
            "cases:\n [",
            "agents/baker/evals/a.yaml line 3 does not",
            "parsing",
        ),
        (
            "a.yaml",
            "name: a\ncases: []\nname: b",
            "agents/baker/evals/a.yaml line 3 does not",
            "the key 'name' stands there twice",
        ),
        (
            "a.yaml",
            "cases: []",
            "agents/baker/evals/a.yaml cannot be used.",
            "no cases",
        ),
        (
            "a.yaml",
            "cases: [{input: x, scorer: [exact]}]",
            "agents/baker/evals/a.yaml cannot be used.",
            "case 1 has no field 'scorer'",
        ),
        (
            "a.yaml",
            "cases: [{input: x, scorers: [{contain: x}]}]",
            "agents/baker/evals/a.yaml cannot be used.",
            "no scorer 'contain'",
        ),
        (
            "a.yaml",
            "cases: [{name: rye, input: x, expected: Rye}]",
            "agents/baker/evals/a.yaml cannot be used.",
            "rye of baker/a is held against nothing",
        ),
    ],
)
def test_a_broken_file_is_one_error_with_its_place(
    project: Path, file: str, text: str, what: str, why: str
):
    write(project, f"agents/baker/evals/{file}", text)
    with pytest.raises(BreadError) as caught:
        found(f"agents/baker/evals/{file}")
    assert caught.value.code == "EVAL_BROKEN"
    assert caught.value.what.startswith(what)
    assert why in caught.value.why
    assert str(project) not in str(caught.value)


@pytest.mark.parametrize(
    ("named", "what", "do"),
    [
        ("bakr", "There is no bakr.", "bread eval baker"),
        ("clerk", "There is no eval of clerk.", "write agents/clerk/evals/first.yaml"),
        ("baker::twoo", "There is no case 'twoo' in baker.", "did you mean 'two'?"),
        ("agents/baker/agent.py", "agents/baker/agent.py has no suite.", "write"),
    ],
)
def test_what_is_not_there_is_one_error(project: Path, named: str, what: str, do: str):
    with pytest.raises(BreadError) as caught:
        found(named)
    assert caught.value.what == what
    assert do in caught.value.do


def test_a_project_without_evals_says_how_to_write_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "agents/baker/agent.py", AGENT)
    with pytest.raises(BreadError) as caught:
        found()
    assert caught.value.code == "EVAL_NOT_FOUND"
    path, _, text = caught.value.do.removeprefix("write ").partition(": ")
    assert path == "agents/baker/evals/first.yaml"
    write(tmp_path, path, text)
    [suite] = find_suites(Bread.load())
    assert [case.input for case in suite.cases] == ["Hello"]


def test_a_project_without_agents_says_how_both_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BreadError) as caught:
        found()
    assert caught.value.do.startswith(
        "bread new agent writer, then write agents/writer/evals/first.yaml: cases: "
    )


@pytest.mark.parametrize(
    ("fields", "scorer"),
    [
        ("expected:", "exact"),
        ('expected: ""', "exact"),
        ("name: rye", "exact:"),
        ("expected:", "contains:"),
        ("expected: ' '", "contains"),
    ],
)
async def test_an_empty_value_is_no_expectation(
    project: Path, fields: str, scorer: str
):
    text = f"""
        cases:
          - input: Write about rye.
            {fields}
            scorers:
              - {scorer}
    """
    write(project, "agents/clerk/evals/empty.yaml", text)
    write(project, "script.yaml", "- Rye.")
    async with Bread.load() as bread:
        [row] = (await bread.eval("clerk")).rows
    assert row.status == "broken"
    assert "neither the scorer nor the case has an expected answer" in row.why
