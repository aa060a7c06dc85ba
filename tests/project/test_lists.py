"""Lists: the same columns as text and as html, and what an empty one says."""

import html.parser
from dataclasses import replace

import pytest

from bread_nb import Agent, BreadError, Permissions, human_tool, tool
from bread_nb.project.doctor import Finding
from bread_nb.project.lists import (
    AgentLine,
    agent_line,
    agents_table,
    broken_line,
    findings_table,
    runs_table,
)
from bread_nb.project.open_calls import pending_table
from bread_nb.runtime.outcome import PendingCall
from bread_nb.stores.records import RunRow

MINUTE = 60_000
NOW = 1_000 * MINUTE


@tool
def draft(title: str) -> str:
    return title


@tool
def publish(title: str) -> str:
    return title


def row(handle: str, **fields: object) -> RunRow:
    base: dict[str, object] = {
        "id": f"id-{handle}",
        "session_id": "s",
        "agent_id": handle.partition("-")[0],
        "handle": handle,
        "model": "anthropic:claude-opus-4-8",
        "created_at": NOW,
        "updated_at": NOW,
    }
    return RunRow.model_validate({**base, **fields})


def waiting(handle: str, tool_name: str, minutes: int, kind: str) -> PendingCall:
    run = handle.rpartition(".")[0]
    return PendingCall(
        checkpoint_id=f"c-{handle}",
        handle=handle,
        kind=kind,
        agent_id=run.partition("-")[0],
        run_id=run,
        session_id="s",
        tool_name=tool_name,
        args={},
        created_at=NOW - minutes * MINUTE,
    )


def triage() -> AgentLine:
    error = BreadError(
        "agents/triage/agent.py line 12 does not parse.",
        code="AGENT_BROKEN",
        why="'(' was never closed.",
        context={"file": "agents/triage/agent.py", "line": 12},
    )
    return broken_line("triage", error)


def test_agents_show_what_they_have_and_what_is_broken():
    analyst = Agent(model="anthropic:claude-opus-4-8", tools=[draft, list])
    publisher = Agent(
        model="local:smollm2-135m",
        tools=[publish, draft, human_tool("approve")],
        permissions=Permissions(ask=["tool:pub*"]),
    )
    lines = [agent_line("analyst", analyst), agent_line("publisher", publisher)]
    assert agents_table([*lines, triage()]).plain.splitlines() == [
        "agent      model               tools  asks  state",
        "analyst    anthropic:claude-…  1+     –     ok",
        "publisher  local:smollm2-135m  3      1     ok",
        "triage     –                   –      –     broken",
        "triage: agents/triage/agent.py line 12: '(' was never closed",
    ]


def test_the_html_of_agents_has_a_caption_and_the_same_cells():
    lines = [AgentLine(id="analyst"), AgentLine(id="publisher"), triage()]
    table = agents_table(lines).html
    assert table.startswith(
        "<table><caption>3 agents, 1 broken</caption><thead><tr><th>agent</th>"
    )
    assert tags(table) <= {"table", "caption", "thead", "tbody", "tr", "th", "td", "p"}
    assert table.endswith(
        "<p>triage: agents/triage/agent.py line 12: '(' was never closed</p>"
    )


def bill(calls: int, usd: float, **more: int) -> dict[str, object]:
    return {"calls": calls, "spent": {"USD": usd}, **more}


def test_runs_show_state_cost_time_and_tokens():
    rows = [
        row(
            "analyst-3",
            status="finished",
            turn=3,
            worked_ms=19_000,
            bills=[{"calls": 2, "spent": {"USD": 0.01}}, bill(1, 0.0064)],
        ),
        row("publisher-2", status="waiting", turn=2, created_at=NOW - 12 * MINUTE),
        row(
            "triage-1",
            status="cancelled",
            turn=4,
            usage={"input": 2000, "output": 310},
            bills=[bill(4, 1.0151, unpriced=1)],
        ),
        row("baker-1", status="working", model="local:smollm2-135m"),
        row("baker-2", status="finished", turn=2, bills=[bill(2, 0.0, free=2)]),
        row("baker-3", status="finished", turn=2, bills=[bill(2, 0.0, unpriced=1)]),
    ]
    table = runs_table(
        rows, now=NOW, waiting={"id-publisher-2": 1}, interrupted=["id-baker-1"]
    )
    assert table.plain.splitlines() == [
        "run          state        turns  cost            time  when    tokens",
        "analyst-3    finished     3      $0.0164         0:19  now     0",
        "publisher-2  waiting (1)  2      unknown         0:00  12 min  0",
        "triage-1     stopped      4      at least $1.02  0:00  now     2,310",
        "baker-1      interrupted  0      –               0:00  now     0",
        "baker-2      finished     2      no charge       0:00  now     0",
        "baker-3      finished     2      unknown         0:00  now     0",
    ]


def test_open_calls_show_what_they_ask_and_how_to_answer():
    calls = [
        waiting("publisher-2.a", "tool_publish", 12, "approval"),
        waiting("baker-1.a", "tool_order", 1440, "outcome"),
    ]
    assert pending_table(calls, now=NOW).plain.splitlines() == [
        "call           agent      asks     age     answer",
        "publisher-2.a  publisher  publish  12 min  form below",
        "baker-1.a      baker      order ?  1 day   form below",
        "Without a page: %bread resume publisher-2.a --approve",
        "order had begun when its process ended: it may have happened, or not.",
        "  it happened: %bread resume baker-1.a --answer "
        """'{"happened": true, "result": …}'""",
        """  run it now: %bread resume baker-1.a --answer '{"run": true}'""",
        """  cannot tell: %bread resume baker-1.a --answer '{"failed": true}'""",
    ]


def test_without_a_page_open_calls_show_the_options():
    calls = [
        waiting("publisher-2.a", "human_approve", 0, "input"),
        waiting("baker-2.a", "tool_order", 0, "outcome"),
    ]
    lost = [row("baker-1", updated_at=NOW - 3 * MINUTE)]
    shown = pending_table(calls, lost, now=NOW, answer=None).plain.splitlines()
    assert shown[:5] == [
        "call           agent      asks         age    answer",
        """publisher-2.a  publisher  approve      now    --answer '{"answer": …}'""",
        "baker-2.a      baker      order ?      now    did it happen? see below",
        "baker-1        baker      interrupted  3 min  %bread recover baker-1",
        """Answer: %bread resume publisher-2.a --answer '{"answer": …}'""",
    ]


def test_what_waits_is_shown_with_its_arguments(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SHOP_TOKEN", "hunter2-hunter2")
    recipe = "\n".join(f"step {n}" for n in range(3)) + "\n<b>hunter2-hunter2</b>"
    calls = [
        replace(
            waiting("publisher-2.a", "tool_publish", 0, "approval"),
            args={"title": "Rye", "words": 250, "token": "s3cret"},
        ),
        replace(
            waiting("baker-1.a", "tool_bake", 0, "approval"),
            args={"loaf": "rye", "recipe": recipe + " and so on" * 10},
        ),
    ]
    table = pending_table(calls, now=NOW, answer=None)
    assert table.plain.splitlines()[1:-1] == [
        "publisher-2.a  publisher  publish  now  --approve | --deny",
        '  title="Rye", words=250, token="••••"',
        "baker-1.a      baker      bake     now  --approve | --deny",
        '  loaf:   "rye"',
        "  recipe:",
        "    step 0",
        "    step 1",
        "    step 2",
        "    <b>••••</b>" + " and so on" * 10,
    ]
    assert "<pre>title=" in table.html
    assert "&lt;b&gt;" in table.html
    assert "hunter2" not in table.plain + table.html


@pytest.mark.parametrize(
    ("table", "text"),
    [
        (agents_table([]), "No agents here. Make one: `bread new agent writer`"),
        (runs_table([], now=NOW), "No runs yet. Start one: `%%bread writer`"),
        (pending_table([], now=NOW), "No run waits for you."),
    ],
)
def test_an_empty_list_says_what_to_do(table: object, text: str):
    assert str(table) == text
    assert getattr(table, "html").startswith("<p>")  # noqa: B009


def test_findings_are_a_line_each_with_the_mend_below():
    found = [
        Finding("ok", "Python 3.12"),
        Finding("warn", "ANTHROPIC_API_KEY not set", "export it"),
    ]
    table = findings_table(found)
    assert table.plain.splitlines() == [
        "ok    Python 3.12",
        "warn  ANTHROPIC_API_KEY not set",
        "        do: export it",
    ]
    assert "<caption>1 of 2 need a hand</caption>" in table.html


def test_names_from_elsewhere_can_neither_hide_nor_break_the_table():
    nasty = "<script>alert(1)</script>\u202egnp\x1b[31m"
    calls = [replace(waiting("a-1.a", f"tool_{nasty}\n", 0, "approval"))]
    table = pending_table(calls, now=NOW)
    assert "\x1b" not in table.plain + table.html
    assert "⟦U+202E⟧" in table.plain
    assert "<script" not in table.html
    assert len(table.plain.splitlines()) == 3


def tags(text: str) -> set[str]:
    found: set[str] = set()

    class Reader(html.parser.HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]):
            assert attrs == []
            found.add(tag)

    Reader().feed(text)
    return found


def test_an_agent_that_a_command_hides_is_told():
    table = agents_table([agent_line("runs", Agent(model="scripted:x"))])
    assert table.plain.splitlines()[1].endswith("hidden")
    assert table.plain.splitlines()[2] == (
        "runs: in a cell runs is a command, so that no cell can run this agent"
    )


@pytest.mark.parametrize(
    ("lists", "told"),
    [
        ({"ask": ["tool:publsh"]}, "ask tool:publsh"),
        ({"deny": ["tool:publsh"]}, "deny tool:publsh"),
        ({"allow": ["tool:drft", "tool:publish"]}, "allow tool:drft"),
        ({"ask": ["tool:pblish*"]}, "ask tool:pblish*"),
        ({"ask": ["tool:tool_publish"]}, "ask tool:tool_publish"),
        ({"deny": ["tool:shell"]}, "deny tool:shell"),
    ],
)
def test_a_rule_that_matches_no_tool_is_told(lists: dict[str, list[str]], told: str):
    agent = Agent(
        model="scripted:x",
        tools=[publish, draft],
        permissions=Permissions(**lists),
    )
    *_, row, note = agents_table([agent_line("writer", agent)]).plain.splitlines()
    assert row.endswith("  warn")
    assert note.startswith(f"writer: the rule {told} matches no tool: ")
    assert "publish" in note or "draft" in note


@pytest.mark.parametrize(
    ("tools", "lists"),
    [
        ([publish, draft], {"allow": ["tool:*"], "ask": ["tool:publish"]}),
        ([publish, draft], {"deny": ["tool:delete_*", "tool:*_secret"]}),
        ([publish], {"ask": ["task:publsh", "skill:*", "plugin:mcp/pub", "core:*"]}),
        ([publish, lambda: [draft]], {"ask": ["tool:publsh", "tool:draft"]}),
        ([], {"ask": ["tool:publish"]}),
        ([human_tool("approve")], {"ask": ["tool:publish"]}),
        ([publish], {"ask": [lambda tool, args: True]}),
    ],
)
def test_a_rule_that_matches_nothing_on_purpose_is_not(
    tools: list[object], lists: dict[str, list[object]]
):
    agent = Agent(model="scripted:x", tools=tools, permissions=Permissions(**lists))
    assert len(agents_table([agent_line("writer", agent)]).plain.splitlines()) == 2
