"""`bread chat`: turn by turn in one session, with typed answers."""

import json
import signal
import subprocess
import threading

import pytest
from cli.conftest import ledger
from fixtures.projects import SECONDS, Project

TALK = """
    - Hello.
    - And again.
    - Third.
"""


def crumbs(project: Project, kind: str) -> list[dict[str, object]]:
    lines = project.bread("export").out.splitlines()
    return [crumb for crumb in map(json.loads, lines) if crumb["type"] == kind]


def test_all_turns_are_one_session_and_the_end_of_input_leaves(apart: Project):
    apart.write({"script.yaml": TALK})
    said = apart.bread("chat", "writer", stdin="hi\n\nmore\n")
    assert (said.code, said.out) == (0, "Hello.\nAnd again.\n")
    assert said.err.splitlines() == [
        "writer, scripted:script.yaml. Ctrl-C stops a turn, Ctrl-D leaves."
    ]


def test_a_named_session_goes_on_another_day(project: Project):
    project.write({"script.yaml": TALK})
    first = project.bread("chat", "writer", "--session", "s", stdin="hi\n")
    second = project.bread("chat", "writer", "--session", "s", stdin="hi\n")
    assert (first.out, second.out) == ("Hello.\n", "And again.\n")


@pytest.mark.parametrize("word", ["yes", " Y ", "approve", "APPROVED"])
def test_a_typed_yes_approves(project: Project, word: str):
    said = project.bread("chat", "publisher", stdin=f"go\n{word}\n")
    assert (said.code, said.out) == (0, "The post is ready.\nIt is out.\n")
    assert ledger(project) == ["Rye"]


@pytest.mark.parametrize("word", ["", "no", "yes please", "ok", "true", "too long"])
def test_anything_else_refuses_with_the_words_as_the_reason(
    project: Project, word: str
):
    said = project.bread("chat", "publisher", stdin=f"go\n{word}\n")
    assert (said.code, ledger(project)) == (0, [])
    (resumed,) = crumbs(project, "human:resumed")
    reason = {} if word in ("", "no") else {"reason": word}
    assert resumed["response"] == {"approved": False, **reason}


def test_what_asks_is_shown_whole_before_it_is_answered(project: Project):
    title = "x" * 300 + "\u202e"
    text = json.dumps([{"calls": [{"name": "tool_publish", "args": {"title": title}}]}])
    project.write({"publish.yaml": text})
    said = project.bread("chat", "publisher", stdin="go\n")
    assert said.code == 3
    assert "publisher-1.a  Let publisher run publish?" in said.err
    assert "Asked because: ask tool:publish" in said.err
    assert f"title: {'x' * 300}⟦U+202E⟧" in said.err


def test_a_call_that_waited_is_asked_first(project: Project):
    assert project.bread("chat", "publisher", "--session", "s", stdin="go\n").code == 3
    said = project.bread("chat", "publisher", "--session", "s", stdin="yes\n")
    assert (said.code, said.out) == (0, "It is out.\n")


def test_a_question_of_a_human_tool_takes_the_typed_value(project: Project):
    project.agent(
        "clerk",
        """
        from pydantic import BaseModel
        from bread_nb import Agent, human_tool

        class Seat(BaseModel):
            row: int
            window: bool = False

        agent = Agent(model="scripted:a.yaml", tools=[
            human_tool("name"), human_tool("age", answer=int),
            human_tool("seat", answer=Seat)])
        """,
    )
    project.write(
        {
            "a.yaml": """
                - calls:
                  - {name: human_name, args: {question: Name}}
                  - {name: human_age, args: {question: Age}}
                  - {name: human_seat, args: {question: Seat}}
                - Thank you.
            """
        }
    )
    typed = "go\nAda: the first\n36\nrow: 7\n"
    said = project.bread("chat", "clerk", stdin=typed)
    assert (said.code, said.out) == (0, "Thank you.\n")
    answers = [crumb["response"] for crumb in crumbs(project, "human:resumed")]
    assert answers == [
        {"answer": "Ada: the first"},
        {"answer": 36},
        {"answer": {"row": 7}},
    ]


def test_a_fault_ends_the_turn_and_not_the_talk(project: Project):
    project.write({"script.yaml": "- {error: 400}\n"})
    said = project.bread("chat", "writer", stdin="hi\nagain\n")
    assert said.code == 0
    assert said.err.count("  why  ") == 2


def test_an_unknown_agent_is_said_before_the_first_line(project: Project):
    said = project.bread("chat", "writr", stdin="hi\n")
    assert (said.code, said.error()[0]) == (
        1,
        "No agent called 'writr'. [AGENT_NOT_FOUND]",
    )


def test_ctrl_c_stops_the_turn_and_the_talk_goes_on(apart: Project):
    apart.agent(
        "writer",
        tools__wait="""
            import asyncio
            from bread_nb import tool

            @tool
            async def wait() -> str:
                await asyncio.Event().wait()
        """,
    )
    script = "- {text: Working., calls: [{name: tool_wait, args: {}}]}\n- Done.\n"
    apart.write({"script.yaml": script})
    process = subprocess.Popen(
        apart.command("chat", "writer"),
        cwd=apart.root,
        env=apart.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    bound = threading.Timer(SECONDS, process.kill)
    bound.start()
    try:
        with process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("hi\n")
            process.stdin.flush()
            assert process.stdout.read(len("Working.")) == "Working."
            process.send_signal(signal.SIGINT)
            out, err = process.communicate("go on\n", timeout=SECONDS)
    finally:
        bound.cancel()
        process.kill()
    assert (process.returncode, out) == (0, "\nDone.\n")
    assert "Stopped by you. [RUN_CANCELLED]" in err
    assert "  do   bread chat " in err


def test_an_agent_that_is_not_there_is_named_to_chat_with(project: Project):
    said = project.bread("chat", "writr", stdin="")
    assert said.error()[2] == "  do   bread chat writer"
