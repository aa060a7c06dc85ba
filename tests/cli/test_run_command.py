"""`bread run`: what is printed where, and how each end exits."""

import json
import os
import signal
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cli.conftest import ledger
from fixtures.projects import SECONDS, Project

from bread_nb.crumbs import HumanRequired, RunStart, TextDelta, from_wire

KEY = "made-up-" + "k3y" * 11


def test_a_finished_run_prints_its_answer_alone_and_exits_0(apart: Project):
    said = apart.bread("run", "writer", "Write about rye.")
    assert (said.code, said.out, said.err) == (0, "A loaf of rye.\n", "")


def test_each_turn_begins_on_a_line_of_its_own(project: Project):
    said = project.bread("run", "publisher", "Go.", "--approve")
    assert (said.code, said.out) == (0, "The post is ready.\nIt is out.\n")


def test_text_is_there_before_the_run_ends(apart: Project):
    gate = apart.root / "gate"
    os.mkfifo(gate)
    apart.agent("publisher", tools__publish=_blocked_tool(gate))
    apart.write({"script.yaml": (apart.root / "publish.yaml").read_text()})
    with _started(apart, "run", "publisher", "Go.") as process:
        assert process.stdout is not None
        first = process.stdout.read(len("The post is ready."))
        gate.write_text("open")
        rest, _ = process.communicate(timeout=SECONDS)
    assert (process.returncode, first, rest) == (
        0,
        "The post is ready.",
        "\nIt is out.\n",
    )


def test_an_unknown_agent_is_three_lines_on_stderr_and_exits_1(project: Project):
    said = project.bread("run", "writr", "x")
    assert (said.code, said.out) == (1, "")
    assert said.err.splitlines() == [
        "No agent called 'writr'. [AGENT_NOT_FOUND]",
        "  why  agents/ has publisher, writer.",
        "  do   bread run writer",
    ]


def test_a_broken_agent_exits_1_and_the_others_run(apart: Project):
    apart.agent("triage", "\n\nagent = Agent(\n")
    said = apart.bread("run", "triage", "x")
    assert said.code == 1
    assert said.err.splitlines() == [
        "agents/triage/agent.py line 1 does not parse. [AGENT_BROKEN]",
        "  why  '(' was never closed.",
        "  do   mend line 1; the next run reads it again. The other 2 agents work",
    ]
    assert apart.bread("run", "writer", "x").code == 0


def test_a_fault_of_the_model_exits_1_and_keeps_what_was_said(project: Project):
    project.write({"script.yaml": "- {text: Half a, error: 400}\n"})
    said = project.bread("run", "writer", "x")
    assert (said.code, said.out) == (1, "Half a\n")
    assert len(said.err.splitlines()) == 3


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("run", "writer"), "There is no input for writer."),
        (("run",), "Missing argument 'AGENT'."),
        (("run", "writer", "x", "--jsno"), "No such option '--jsno'."),
        (("run", "writer", "x", "y"), "Got unexpected extra argument (y)"),
        (("runn",), "There is no command 'runn'."),
        (("run", "writer", "x", "--approve", "--deny"), "Give --approve or --deny"),
    ],
)
def test_wrong_use_is_three_lines_and_exits_2(
    project: Project, arguments: tuple[str, ...], what: str
):
    said = project.bread(*arguments)
    lines = said.err.splitlines()
    assert (said.code, said.out, len(lines)) == (2, "", 3)
    assert lines[0].startswith(what)
    assert lines[0].endswith("[USAGE]")
    assert lines[2].startswith("  do   bread ")


def test_a_run_that_waits_says_how_to_answer_and_exits_3(apart: Project):
    said = apart.bread("run", "publisher", "Go.")
    assert (said.code, said.out) == (3, "The post is ready.\n")
    assert said.err.splitlines() == [
        'publisher-1.a waits for a person: publish  title="Rye", token="••••"',
        "  do   bread resume publisher-1.a --approve",
    ]
    assert ledger(apart) == []


def test_a_run_that_is_stopped_at_a_bound_exits_4(apart: Project):
    text = 'from bread_nb import Agent\nagent = Agent(model="scripted:a.yaml", steps=1)'
    apart.agent("baker", text)
    apart.write({"a.yaml": "- calls: [{name: tool_bake, args: {}}]\n"})
    said = apart.bread("run", "baker", "x")
    assert said.code == 4
    assert said.err.splitlines() == [
        "baker-1 stopped: 1 step used",
        "  What is done is kept; the next message in its session goes on from here.",
        "  bread show baker-1",
    ]


# -- input -------------------------------------------------------------------------


def test_the_input_comes_whole_from_stdin(apart: Project):
    text = "{}$5%</script>\u202e🍞\\n\n" * 40_000
    assert apart.bread("run", "writer", "-", stdin=text).code == 0
    exported = apart.bread("export", "last").out.splitlines()
    start = from_wire(json.loads(exported[0]))
    assert isinstance(start, RunStart)
    assert start.input == text


ORDER = """
    from pydantic import BaseModel
    from bread_nb import Agent

    class Order(BaseModel):
        topic: str
        loaves: int

    agent = Agent(model="scripted:script.yaml", input_schema=Order)
"""


def test_a_mapping_is_read_where_the_agent_takes_one(project: Project):
    project.agent("baker", ORDER)
    assert project.bread("run", "baker", "topic: no\nloaves: 3").code == 0
    start = json.loads(project.bread("export").out.splitlines()[0])
    assert start["input"] == {"topic": "no", "loaves": 3}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("topic: rye\nloaves: three", "loaves: 'three' is not a whole number."),
        ("rye", "it is text, and a mapping is wanted."),
        ("", "it is text, and a mapping is wanted."),
    ],
)
def test_an_input_that_does_not_fit_is_one_clear_error_and_nothing_is_stored(
    project: Project, text: str, why: str
):
    project.agent("baker", ORDER)
    said = project.bread("run", "baker", text)
    assert (said.code, said.out) == (1, "")
    assert said.error()[0] == "The input does not fit baker. [INVALID_INPUT]"
    assert said.error()[1] == f"  why  {why}"
    assert "baker takes: topic text, loaves whole number" in said.error()[2]
    assert project.bread("runs").out.startswith("No runs yet.")


# -- machines ----------------------------------------------------------------------


def test_the_crumbs_come_as_they_are_on_the_wire_one_a_line(project: Project):
    said = project.bread("run", "publisher", "Go.", "--jsonl")
    crumbs = [from_wire(json.loads(line)) for line in said.out.splitlines()]
    assert said.code == 3
    assert isinstance(crumbs[0], RunStart)
    assert isinstance(crumbs[-1], HumanRequired)
    text = "".join(crumb.delta for crumb in crumbs if isinstance(crumb, TextDelta))
    assert text == "The post is ready."


def test_one_json_tells_each_end(project: Project):
    done = project.bread("run", "writer", "x", "--json")
    waits = project.bread("run", "publisher", "Go.", "--json")
    failed = project.bread("run", "nobody", "x", "--json")
    project.write({"script.yaml": "[]"})
    exhausted = project.bread("run", "writer", "x", "--json")
    finished = json.loads(done.out)
    assert (finished["outcome"], finished["output"]) == ("finished", "A loaf of rye.")
    assert finished["handle"] == "writer-1"
    assert finished["usage"]["output"] == 4
    pending = json.loads(waits.out)["pending"]
    assert [call["handle"] for call in pending] == ["publisher-1.a"]
    assert (failed.code, failed.out) == (1, "")
    told = json.loads(exhausted.out)
    assert told["outcome"] == "failed"
    assert told["error"]["code"] == "SCRIPT_EXHAUSTED"


def test_a_trace_is_numbered_crumbs(project: Project):
    said = project.bread("run", "publisher", "Go.", "--trace", "--approve")
    lines = said.out.splitlines()
    assert lines[0].split() == [
        "1",
        "agent:run:start",
        "scripted:publish.yaml",
        '"Go."',
    ]
    assert '    text:delta  "The post is ready."' in lines
    assert next(line for line in lines if "tool:result" in line).split()[1:4] == [
        "tool:result",
        "publish",
        "done",
    ]


def test_a_value_is_printed_as_json_and_no_raw_text_with_it(project: Project):
    text = """
        from bread_nb import Agent

        agent = Agent(model="scripted:a.yaml", output_schema=dict[str, int])
    """
    project.agent("counter", text)
    project.write({"a.yaml": """- '{"rye": "many"}'\n- '{"rye": 3}'\n"""})
    said = project.bread("run", "counter", "x")
    assert (said.code, said.out) == (0, '{"rye":3}\n')


# -- decisions ---------------------------------------------------------------------


def test_answers_may_be_given_beforehand(project: Project):
    assert project.bread("run", "publisher", "Go.", "--approve").code == 0
    assert ledger(project) == ["Rye"]
    assert project.bread("run", "publisher", "Go.", "--deny").code == 0
    project.write({"decide.yaml": "publish: deny\n"})
    decided = project.bread("run", "publisher", "Go.", "--decide", "decide.yaml")
    assert decided.code == 0
    assert ledger(project) == ["Rye"]
    project.write({"decide.yaml": "order: approve\n"})
    other = project.bread("run", "publisher", "Go.", "--decide", "decide.yaml")
    assert other.code == 3


# -- faults all around -------------------------------------------------------------


def test_a_missing_key_says_both_ways_forward(project: Project):
    said = project.bread("run", "writer", "x", "--model", "anthropic:claude-opus-4-8")
    assert said.code == 1
    assert said.error()[0] == "No key for anthropic. [MODEL_KEY_MISSING]"
    assert "ANTHROPIC_API_KEY is not set" in said.error()[1]
    assert "bread run writer --model local:" in said.error()[2]


@pytest.mark.parametrize(
    "url", ["sqlite:////proc/bread.db", "sqlite:///readme.txt/x.db"]
)
def test_a_store_that_cannot_be_written_is_one_clear_error(project: Project, url: str):
    project.write({"readme.txt": "a file"})
    said = project.bread("run", "writer", "x", BREAD_STORE=url)
    assert (said.code, said.out) == (1, "")
    assert said.error()[0].endswith("[STORE_UNWRITABLE]")


def test_a_tool_that_fails_or_returns_no_json_is_told_and_the_run_goes_on(
    project: Project,
):
    project.agent(
        "baker",
        'from bread_nb import Agent\nagent = Agent(model="scripted:a.yaml")',
        tools__bake="""
            from bread_nb import tool

            @tool
            def bake(loaf: str) -> object:
                if loaf == "oat":
                    raise KeyError(loaf)
                return object()
        """,
    )
    project.write(
        {
            "a.yaml": """
                - calls:
                  - {name: tool_bake, args: {loaf: oat}}
                  - {name: tool_bake, args: {loaf: rye}}
                - Sorry.
            """
        }
    )
    said = project.bread("run", "baker", "x")
    assert (said.code, said.out, said.err) == (0, "Sorry.\n", "")
    crumbs = [json.loads(line) for line in project.bread("export").out.splitlines()]
    faults = [c["error"]["message"] for c in crumbs if c["type"] == "tool:error"]
    assert len(faults) == 2
    assert any("KeyError" in fault for fault in faults)


def test_a_key_in_a_fault_is_nowhere_to_be_found(project: Project):
    project.agent(
        "leaky",
        f"""
        from bread_nb import Agent

        class Leak:
            name, free = "leak:x", True

            async def stream(self, request):
                raise RuntimeError("401 for Bearer {KEY} and {KEY[:20]}")
                yield

            async def aclose(self):
                pass

        agent = Agent(model="leak:x", providers={{"leak": lambda model_id: Leak()}})
        """,
    )
    for manner in ("--json", "--jsonl", "--trace"):
        said = project.bread("run", "leaky", "x", manner, BAKERY_API_KEY=KEY)
        assert said.code == 1
        assert KEY[:8] not in said.out + said.err
    shown = project.bread("show", BAKERY_API_KEY=KEY)
    assert KEY[:8] not in shown.out + project.bread("export").out
    kept = b"".join(p.read_bytes() for p in (project.root / ".bread").iterdir())
    assert KEY.encode() not in kept


# -- leaving -----------------------------------------------------------------------


def test_ctrl_c_ends_the_run_whole_even_while_a_tool_does_not_stop(apart: Project):
    gate = apart.root / "gate"
    os.mkfifo(gate)
    apart.agent("publisher", tools__publish=_blocked_tool(gate))
    apart.write({"script.yaml": (apart.root / "publish.yaml").read_text()})
    with _started(apart, "run", "publisher", "Go.", "--jsonl") as process:
        assert process.stdout is not None
        while '"tool:call"' not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert err.splitlines() == [
        "Stopped by you. [RUN_CANCELLED]",
        '  do   bread run publisher --session publisher-1 "…"',
    ]
    assert "publisher-1  stopped" in apart.bread("runs").out


def test_a_run_s_handle_names_its_session(project: Project):
    project.write({"script.yaml": '- "One."\n- "Two."'})
    project.agent("parrot")
    assert project.bread("run", "parrot", "a").out == "One.\n"
    went_on = project.bread("run", "parrot", "b", "--session", "parrot-1", "--json")
    again = json.loads(went_on.out)
    first = json.loads(project.bread("export", "parrot-1").out.splitlines()[0])
    assert again["sessionId"] == first["sessionId"]
    own = project.bread("run", "parrot", "c", "--session", "blog", "--json")
    assert json.loads(own.out)["sessionId"] == "blog"


def test_a_reader_that_leaves_is_no_fault(apart: Project):
    apart.bread("run", "writer", "x")
    command = " ".join(f"'{word}'" for word in apart.command("export"))
    done = subprocess.run(
        f"{command} | true",
        shell=True,
        cwd=apart.root,
        env=apart.environment(),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.stderr == ""


def test_help_is_quick_because_nothing_heavy_is_imported(apart: Project):
    script = (
        "import sys; from bread_nb.cli.main import main; main(['--help']); "
        "print(sorted({'pydantic', 'yaml', 'sqlite3', 'httpx2'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [apart.command()[0], "-c", script],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    assert done.stdout.startswith("Usage: bread [OPTIONS] COMMAND")
    assert done.stdout.endswith("[]\n")


def _blocked_tool(gate: Path) -> str:
    """A tool that waits until somebody writes to a pipe."""
    return f"""
        from pathlib import Path

        from bread_nb import tool

        @tool
        def publish(title: str, token: str = "") -> str:
            return Path({str(gate)!r}).read_text()
    """


@contextmanager
def _started(
    project: Project, *arguments: str
) -> Generator[subprocess.Popen[str], None, None]:
    """A command under way, killed when it takes too long."""
    process = subprocess.Popen(
        project.command(*arguments),
        cwd=project.root,
        env=project.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    bound = threading.Timer(SECONDS, process.kill)
    bound.start()
    try:
        with process:
            yield process
    finally:
        bound.cancel()
        process.kill()
