"""`bread cassette` and `bread run --record`: recordings from the command line."""

import json

import pytest
from cli.conftest import ledger
from fixtures.projects import Project

AGENT = """
    from bread_nb import Agent, Permissions, Scripted

    class Model(Scripted):
        is_script = False

    agent = Agent(model=Model([TURNS], repeat_last=True),
                  permissions=Permissions(ask=["tool:publish"]))
"""
CALL = '{"calls": [{"name": "tool_publish", "args": {"title": "Rye"}}]}'
TAPE = "story.cassette.jsonl"


@pytest.fixture
def taped(project: Project) -> Project:
    """The project with a publisher whose model is recorded."""
    text = AGENT.replace("TURNS", f'{CALL}, "It is out."')
    project.write({"agents/publisher/agent.py": text})
    return project


def lines(project: Project) -> list[dict[str, object]]:
    text = (project.root / TAPE).read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_a_run_is_recorded_and_replayed_without_its_tool(taped: Project):
    command = ("run", "publisher", "Publish.")
    said = taped.bread(*command, "--approve", "--record", "story")
    assert (said.code, ledger(taped)) == (0, ["Rye"])
    assert [line["kind"] for line in lines(taped)] == ["call", "decision", "call"]
    again = taped.bread(*command, BREAD_MODE="replay")
    assert (again.code, ledger(taped)) == (0, ["Rye"])
    assert "It is out." in again.out
    miss = taped.bread("run", "publisher", "Print.", BREAD_MODE="replay")
    assert miss.code == 1
    assert miss.error()[0] == "Not in the recording. [REPLAY_MISS]"
    assert "message 1 (user) says 'Print', recorded 'Publish'" in miss.error()[1]


def test_nothing_is_recorded_in_ci(taped: Project):
    said = taped.bread("run", "publisher", "x", "--record", "story", CI="1")
    assert said.code == 1
    assert said.error()[0] == "Nothing is recorded in CI. [RECORD_REFUSED]"
    assert not (taped.root / TAPE).exists()


def test_show_says_what_was_asked_and_answered(taped: Project):
    taped.bread("run", "publisher", "Publish.", "--approve", "--record", "story")
    said = taped.bread("cassette", "show")
    assert said.out.splitlines()[:5] == [
        TAPE,
        "   1  scripted  Publish.",
        "      [tool_publish]  6 tokens",
        '   2  publisher  tool_publish {"title":"Rye"}',
        '      {"approved":true}',
    ]


def test_check_finds_secrets_and_lines_that_are_never_played(taped: Project):
    taped.bread("run", "publisher", "Publish.", "--approve", "--record", "story")
    assert taped.bread("cassette", "check").out == f"{TAPE}: 3 lines, all in order\n"
    path = taped.root / TAPE
    text = path.read_text("utf-8").replace("It is out.", "It is sk-0123456789abcdef01")
    path.write_text(text.replace('"Publish."', '"Print."'), "utf-8")
    said = taped.bread("cassette", "check", TAPE)
    assert said.code == 1
    assert said.err.splitlines() == [
        f"{TAPE}:1: its key is not that of what was asked: it will never be played",
        f"{TAPE}:3: its key is not that of what was asked: it will never be played",
        f"{TAPE}:3: it holds what looks like a secret",
    ]
    pieces = text.replace(
        '"It is sk-0123456789abcdef01', '"•••• sk-012345","6789abcdef01'
    )
    path.write_text(pieces, "utf-8")
    assert "what looks like a secret" in taped.bread("cassette", "check").err
    path.write_text("<<<<<<< ours\n" + text, "utf-8")
    said = taped.bread("cassette", "check", str(path))
    assert said.code == 1
    assert "it is a mark of a merge" in said.err


def test_check_tells_of_a_decision_that_is_lost_or_cannot_be_played(taped: Project):
    taped.bread("run", "publisher", "Publish.", "--approve", "--record", "story")
    path = taped.root / TAPE
    text = path.read_text("utf-8")
    call, decision, answer = text.splitlines()
    path.write_text(f"{call}\n{answer}\n", "utf-8")
    said = taped.bread("cassette", "check")
    assert (said.code, said.err.splitlines()) == (
        1,
        [
            f"{TAPE}:2: a decision about a call before it is not there: its replay "
            "ends there"
        ],
    )
    broken = decision.replace('"outcome":{', '"outcome":{"error":"no oven",')
    path.write_text(text.replace(decision, broken), "utf-8")
    said = taped.bread("cassette", "check")
    assert (said.code, said.err.splitlines()) == (
        1,
        [f"{TAPE}:2: it cannot be played: its error is 'no oven', and no object"],
    )


def test_prune_keeps_what_can_be_played(taped: Project):
    taped.bread("run", "publisher", "Publish.", "--approve", "--record", "story")
    path = taped.root / TAPE
    whole = path.read_text("utf-8")
    path.write_text(f"<<<<<<< ours\n{whole}=======\n{whole}>>>>>>> theirs\n", "utf-8")
    said = taped.bread("cassette", "prune", ".")
    assert said.out == f"{TAPE}: 6 of 9 lines taken out (3 unreadable, 3 repeated)\n"
    assert path.read_text("utf-8") == whole
    assert taped.bread("cassette", "prune").out == f"{TAPE}: 0 of 3 lines taken out\n"


def test_without_a_cassette_it_says_how_to_make_one(taped: Project):
    said = taped.bread("cassette", "show")
    assert said.code == 2
    assert said.error()[0] == "There is no cassette here. [USAGE]"
    said = taped.bread("cassette", "check", "nosuch.ipynb")
    assert said.error()[0] == "There is no file nosuch.ipynb. [USAGE]"
    assert "%bread" not in said.err
    assert "bread mode" not in said.err


@pytest.mark.parametrize("name", ["story.ipynb", "story.yaml", "story"])
def test_a_notebook_stands_for_its_cassette(taped: Project, name: str):
    taped.bread("run", "publisher", "Publish.", "--approve", "--record", "story")
    notebook = taped.root / "story.ipynb"
    notebook.write_text('{\n "cells": []\n}\n', "utf-8")
    (taped.root / "story.yaml").write_text("cases: []\n", "utf-8")
    shown = taped.bread("cassette", "show", name)
    assert (shown.code, shown.out.splitlines()[0]) == (0, TAPE)
    said = taped.bread("cassette", "check", name)
    assert (said.code, said.out) == (0, f"{TAPE}: 3 lines, all in order\n")
    said = taped.bread("cassette", "prune", name)
    assert (said.code, said.out) == (0, f"{TAPE}: 0 of 3 lines taken out\n")
    assert notebook.read_text("utf-8") == '{\n "cells": []\n}\n'


@pytest.mark.parametrize("action", ["show", "check", "prune"])
@pytest.mark.parametrize(
    ("name", "what"),
    [("data.csv", "is no cassette"), ("other.ipynb", "has no cassette")],
)
def test_what_is_no_cassette_is_left_as_it_is(
    taped: Project, action: str, name: str, what: str
):
    path = taped.root / name
    path.write_text("a,b\n1,2\n", "utf-8")
    said = taped.bread("cassette", action, name)
    assert (said.code, said.error()[0]) == (2, f"{name} {what}. [USAGE]")
    assert path.read_text("utf-8") == "a,b\n1,2\n"
