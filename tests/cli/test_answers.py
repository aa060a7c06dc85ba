"""Waiting calls answered from other processes: `resume`, `recover`, `cancel`."""

import json
import os
import signal
import subprocess

import pytest
from cli.conftest import ledger
from fixtures.projects import SECONDS, Project, Said

SEVERAL = """
    - calls:
      - {name: tool_publish, args: {title: Rye}}
      - {name: tool_publish, args: {title: Oat}}
    - Both are settled.
"""


def crumbs(project: Project, kind: str) -> list[dict[str, object]]:
    lines = project.bread("export", "publisher-1").out.splitlines()
    return [crumb for crumb in map(json.loads, lines) if crumb["type"] == kind]


@pytest.fixture
def waiting(project: Project) -> Project:
    """A project whose publisher waits for consent, its process long gone."""
    assert project.bread("run", "publisher", "Go.").code == 3
    return project


def test_consent_from_another_process_runs_the_call_once(apart: Project):
    assert apart.bread("run", "publisher", "Go.").code == 3
    said = apart.bread("resume", "publisher-1.a", "--approve")
    assert (said.code, said.out) == (0, "It is out.\n")
    assert said.err == 'Approving publisher-1.a: publish  title="Rye", token="••••"\n'
    assert apart.bread("resume", "publisher-1.a", "--approve").code == 1
    assert ledger(apart) == ["Rye"]


@pytest.mark.parametrize("name", ["publisher-1.a", "publisher-1", "last"])
def test_a_call_is_answered_once_by_any_of_its_names(waiting: Project, name: str):
    said = waiting.bread("resume", name, "--approve")
    assert (said.code, said.out) == (0, "It is out.\n")
    assert said.err.startswith("Approving publisher-1.a: publish")
    again = waiting.bread("resume", "publisher-1.a", "--approve")
    assert (again.code, again.out) == (1, "")
    assert again.error()[0].endswith("[CHECKPOINT_NOT_FOUND]")
    assert again.error()[1] == "  why  publisher-1.a is not open any more: Approved."
    assert ledger(waiting) == ["Rye"]


def test_last_is_the_last_run_and_not_the_last_question(waiting: Project):
    assert waiting.bread("run", "writer", "Hello.").code == 0
    said = waiting.bread("resume", "last", "--approve")
    assert (said.code, said.out, ledger(waiting)) == (1, "", [])
    assert said.error() == [
        "The last run, writer-1, does not wait. [CHECKPOINT_NOT_FOUND]",
        "  why  it is finished; publisher-1.a (publish) waits for a person.",
        "  do   bread resume publisher-1.a",
    ]


def test_last_with_nothing_open_says_what_is_so(project: Project):
    said = project.bread("resume", "last", "--approve")
    assert said.error()[0] == "There is no run yet. [RUN_NOT_FOUND]"
    assert project.bread("run", "writer", "Hello.").code == 0
    for name, named in (("last", "The last run, writer-1,"), ("writer-1", "writer-1")):
        said = project.bread("resume", name, "--approve")
        assert said.error() == [
            f"{named} does not wait. [CHECKPOINT_NOT_FOUND]",
            "  why  it is finished; no run waits for a person.",
            "  do   bread runs",
        ]


def test_last_names_what_became_of_its_question(waiting: Project):
    assert waiting.bread("resume", "last", "--approve").code == 0
    why = waiting.bread("resume", "last", "--approve").error()[1]
    assert "finished; publisher-1.a is not open any more: Approved; no run" in why


@pytest.mark.parametrize(
    "answer", ["notjson", '{"approved": true', '{"approved": false, "approved": true}']
)
def test_an_answer_that_is_no_json_leaves_the_call_waiting(
    waiting: Project, answer: str
):
    said = waiting.bread("resume", "publisher-1", "--answer", answer)
    assert (said.code, said.out) == (2, "")
    assert said.error()[0] == "--answer is no JSON. [USAGE]"
    assert said.error()[1].endswith("publisher-1.a still waits.")
    assert waiting.bread("resume", "publisher-1", "--approve").code == 0
    assert ledger(waiting) == ["Rye"]


@pytest.mark.parametrize(
    "answer", [{"failed": True}, {"run": True}, {"happened": True, "result": "yes"}]
)
def test_an_answer_to_another_kind_of_question_leaves_the_call_waiting(
    waiting: Project, answer: object
):
    said = waiting.bread("resume", "publisher-1", "--answer", json.dumps(answer))
    assert said.code == 1
    assert said.error()[0] == "This does not answer publisher-1.a. [INVALID_ANSWER]"
    assert waiting.bread("resume", "publisher-1", "--approve").code == 0


def test_a_decision_with_a_typo_leaves_the_call_waiting(project: Project):
    project.write({"decide.yaml": "publish: aprove"})
    said = project.bread("run", "publisher", "Go.", "--decide", "decide.yaml")
    assert said.code == 1
    assert said.error()[-2].endswith("neither approve nor deny; the call still waits.")
    assert project.bread("resume", "publisher-1", "--approve").code == 0


def test_an_argument_of_several_lines_is_in_every_line_about_its_call(
    project: Project,
):
    args = '{title: Rye, token: "", body: "# Rye\\nis patient"}'
    project.write({"publish.yaml": f"- calls: [{{name: tool_note, args: {args}}}]"})
    tool = """
        from bread_nb import tool

        @tool
        def note(title: str, token: str, body: str) -> str:
            "Note something down."
            return title
    """
    agent = """
        from bread_nb import Agent, Permissions

        agent = Agent(model="scripted:publish.yaml",
                      permissions=Permissions(ask=["tool:note"]))
    """
    project.agent("clerk", agent, tools__note=tool)
    shown = 'title="Rye", token="", body="# Rye⏎is patient"'
    waits = project.bread("run", "clerk", "Go.")
    assert waits.err.splitlines()[0] == (f"clerk-1.a waits for a person: note  {shown}")
    assert f"note {shown}. Answer with" in project.bread("show", "clerk-1").out
    approved = project.bread("resume", "clerk-1", "--approve")
    assert approved.err.splitlines()[0] == f"Approving clerk-1.a: note  {shown}"
    assert f"note  {shown}" in project.bread("show", "clerk-1").out


def test_a_decision_given_twice_is_one_error_naming_the_tool(project: Project):
    project.write({"decide.yaml": "publish: deny\npublish: approve"})
    said = project.bread("run", "publisher", "Go.", "--decide", "decide.yaml")
    assert said.code == 1
    assert "the key 'publish' stands there twice" in said.error()[1]


def test_a_refusal_tells_the_agent_why(waiting: Project):
    said = waiting.bread("resume", "publisher-1", "--deny", "too long")
    assert (said.code, said.out) == (0, "It is out.\n")
    (resumed,) = crumbs(waiting, "human:resumed")
    assert resumed["response"] == {
        "approved": False,
        "declined": True,
        "reason": "too long",
    }
    assert ledger(waiting) == []


def test_a_refusal_needs_no_reason(waiting: Project):
    assert waiting.bread("resume", "publisher-1", "--deny").code == 0
    assert ledger(waiting) == []


def test_only_true_is_consent(waiting: Project):
    answer = json.dumps({"approved": "true"})
    assert waiting.bread("resume", "publisher-1", "--answer", answer).code == 0
    assert ledger(waiting) == []


def test_edited_arguments_are_what_runs(waiting: Project):
    answer = json.dumps({"approved": True, "args": {"title": "Oat"}})
    said = waiting.bread("resume", "publisher-1", "--answer", answer)
    assert said.err == (
        'Approving publisher-1.a with changes: publish  title="Oat", token=""\n'
    )
    assert (said.code, ledger(waiting)) == (0, ["Oat"])


def test_a_refusal_changes_nothing_of_what_is_refused(waiting: Project):
    answer = json.dumps({"approved": False, "args": {"title": "Oat"}})
    said = waiting.bread("resume", "publisher-1", "--answer", answer)
    assert said.err.startswith('Refusing publisher-1.a: publish  title="Rye"')
    assert ledger(waiting) == []


def test_an_edit_that_does_not_fit_leaves_the_call_waiting(waiting: Project):
    answer = json.dumps({"approved": True, "args": {"titel": "Oat"}})
    said = waiting.bread("resume", "publisher-1", "--answer", answer)
    assert said.code == 1
    assert said.error()[0] == "This does not answer publisher-1.a. [INVALID_ANSWER]"
    assert waiting.bread("resume", "publisher-1", "--approve").code == 0


def test_several_calls_are_answered_in_any_order(project: Project):
    project.write({"publish.yaml": SEVERAL})
    assert project.bread("run", "publisher", "Go.").code == 3
    both = project.bread("resume", "publisher-1", "--approve")
    assert both.error()[0].endswith("[SEVERAL_PENDING]")
    first = project.bread("resume", "publisher-1.b", "--approve")
    assert (first.code, first.out) == (3, "")
    assert first.err.splitlines()[1].startswith("publisher-1.a waits for a person")
    second = project.bread("resume", "publisher-1.a", "--deny")
    assert (second.code, second.out) == (0, "Both are settled.\n")
    assert ledger(project) == ["Oat"]


def test_without_an_answer_and_nobody_there_it_says_what_to_type(waiting: Project):
    said = waiting.bread("resume", "publisher-1")
    assert said.code == 2
    assert said.error()[2] == "  do   bread resume publisher-1.a --approve"


def test_answers_that_exclude_each_other_are_wrong_use(waiting: Project):
    said = waiting.bread("resume", "publisher-1", "--approve", "--deny", "no")
    assert said.code == 2
    assert said.error()[1:] == [
        "  why  it is used like this: bread resume [OPTIONS] ID",
        "  do   bread resume --help",
    ]
    assert waiting.bread("resume", "publisher-1", "--approve").code == 0


def test_an_edited_tool_is_asked_about_anew(waiting: Project):
    path = waiting.root / "agents/publisher/tools/publish.py"
    path.write_text(path.read_text() + "\nMORE = 1\n")
    said = waiting.bread("resume", "publisher-1", "--approve")
    assert (said.code, ledger(waiting)) == (3, [])
    assert said.err.splitlines()[-3:] == [
        "The call has not run: its tool was edited since it asked, and asks anew.",
        'publisher-1.b waits for a person: publish  title="Rye", token="••••"',
        "  do   bread resume publisher-1.b --approve",
    ]
    assert waiting.bread("resume", "publisher-1", "--approve").code == 0
    assert ledger(waiting) == ["Rye"]


def test_what_was_edited_since_it_asked_is_said(waiting: Project):
    waiting.write({"agents/publisher/prompt.md": "Be brief."})
    said = waiting.bread("resume", "publisher-1", "--approve")
    assert (said.code, ledger(waiting)) == (0, ["Rye"])
    assert said.err == (
        "publisher was edited since it asked. It goes on with today's version. "
        "(prompt.md)\n"
        'Approving publisher-1.a: publish  title="Rye", token="••••"\n'
    )


def test_a_broken_agent_leaves_its_call_waiting(waiting: Project):
    path = waiting.root / "agents/publisher/agent.py"
    text = path.read_text()
    path.write_text("agent = (")
    said = waiting.bread("resume", "publisher-1", "--approve")
    assert (said.code, said.error()[0].endswith("[AGENT_BROKEN]")) == (1, True)
    path.write_text(text)
    assert waiting.bread("resume", "publisher-1", "--approve").code == 0


def test_a_session_that_waits_takes_no_new_message(project: Project):
    first = project.bread("run", "publisher", "Go.", "--session", "blog")
    again = project.bread("run", "publisher", "Go on.", "--session", "blog")
    assert (first.code, again.code) == (3, 1)
    assert again.error()[0] == "Session 'blog' waits for you. [SESSION_WAITING]"


def test_a_run_that_waits_can_be_ended(waiting: Project):
    said = waiting.bread("cancel", "publisher-1")
    assert (said.code, said.err) == (0, "publisher-1 is ended. Its history is whole.\n")
    assert waiting.bread("pending").out == "No run waits for you.\n"
    assert waiting.bread("cancel", "publisher-1").error()[0].endswith("[RUN_ENDED]")


def killed(project: Project) -> Said:
    """A run whose process was killed in the middle of its tool."""
    gate = project.root / "gate"
    os.mkfifo(gate)
    tool = """
        from bread_nb import tool

        @tool
        def publish(title: str, token: str = "") -> str:
            return open("gate").read()
    """
    project.write({"agents/publisher/tools/publish.py": tool})
    process = subprocess.Popen(
        project.command("run", "publisher", "Go.", "--approve", "--jsonl"),
        cwd=project.root,
        env=project.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        while '"tool:call"' not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait(SECONDS)
    return project.bread("pending")


def test_a_killed_run_is_listed_and_asks_what_happened(apart: Project):
    listed = killed(apart)
    row = listed.out.splitlines()[1].split()
    assert row[:3] == ["publisher-1", "publisher", "interrupted"]
    assert listed.out.splitlines()[1].endswith("bread recover publisher-1")
    for name in ("last", "publisher-1"):
        assert apart.bread("resume", name, "--approve").error() == [
            "publisher-1 does not wait. [CHECKPOINT_NOT_FOUND]",
            "  why  its process is gone, and nobody has taken it up again.",
            "  do   bread recover publisher-1",
        ]
    recovered = apart.bread("recover", "publisher-1")
    assert recovered.code == 3
    assert "publisher-1.b waits for a person: publish" in recovered.err
    resume = "bread resume publisher-1.b --answer"
    ways = [
        "publish had begun when its process ended: it may have happened, or not.",
        f"""  it happened: {resume} '{{"happened": true, "result": …}}'""",
        f"""  run it now: {resume} '{{"run": true}}'""",
        f"""  cannot tell: {resume} '{{"failed": true}}'""",
    ]
    assert [line.strip() for line in recovered.err.splitlines()[-4:]] == [
        line.strip() for line in ways
    ]
    asked = apart.bread("pending").out.splitlines()
    assert "publish ?" in asked[1]
    assert asked[3:] == ways
    typed = apart.bread("resume", "publisher-1.b")
    assert typed.error()[2] == (
        f"""  do   {resume} '{{"happened": true, "result": …}}', """
        """or '{"run": true}', '{"failed": true}'"""
    )
    happened = json.dumps({"happened": True, "result": "published Rye"})
    said = apart.bread("resume", "publisher-1.b", "--answer", happened)
    assert (said.code, said.out) == (0, "It is out.\n")


def test_with_nothing_interrupted_there_is_nothing_to_recover(project: Project):
    said = project.bread("recover")
    assert (said.code, said.err) == (0, "No run was interrupted.\n")
