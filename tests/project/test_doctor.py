"""The doctor names what is wrong with its mend, shows no secret and never raises."""

import sqlite3
from pathlib import Path

import pytest
from fixtures.projects import Project

from bread_nb import Bread
from bread_nb.project.doctor import Finding, report
from bread_nb.stores.sql import VERSION

PAID = """
    from bread_nb import Agent

    agent = Agent(model="anthropic:claude-opus-4-8")
"""


@pytest.fixture(autouse=True)
def no_local_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("BREAD_LOCAL_MODEL", str(tmp_path / "none.gguf"))


async def findings(project: Project, agent: str | None = None) -> list[Finding]:
    async with Bread.load(project.root) as bread:
        return await bread.doctor(agent)


def about(found: list[Finding], word: str) -> Finding:
    (finding,) = [f for f in found if word in f.what]
    return finding


async def test_a_healthy_project_says_so(project: Project):
    project.agent("writer")
    found = await findings(project)
    assert about(found, "Python").level == "ok"
    assert about(found, "store").what == (
        f"store .bread/bread.db, version {VERSION}, 0 runs wait"
    )
    assert about(found, "agent:").what == "1 agent: writer"
    assert not (project.root / ".bread").exists()


async def test_runs_that_wait_are_counted(project: Project):
    project.write(
        {"script.yaml": '- calls: [{name: human_ask, args: {question: "?"}}]'}
    )
    text = f"""
        from bread_nb import Agent, human_tool

        agent = Agent(model="scripted:{project.root}/script.yaml",
                      tools=[human_tool("ask")])
    """
    project.agent("writer", text)
    async with Bread.load(project.root) as bread:
        await bread.run("writer", "hi")
        found = await bread.doctor()
    assert about(found, "store").what.endswith("1 run waits")


async def test_a_missing_key_is_named_only_where_an_agent_needs_it(project: Project):
    project.agent("writer", PAID)
    found = await findings(project)
    key = about(found, "ANTHROPIC_API_KEY")
    assert (key.level, key.what) == (
        "warn",
        "ANTHROPIC_API_KEY not set; writer needs it",
    )
    assert about(found, "OPENAI_API_KEY").level == "ok"


async def test_a_key_that_is_set_is_never_shown(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    project.agent("writer", PAID)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "made-up-" + "k3y" * 11)
    found = await findings(project)
    assert about(found, "ANTHROPIC_API_KEY") == Finding(
        "ok", "ANTHROPIC_API_KEY is set"
    )
    assert "made-up" not in report(found)


async def test_broken_agents_and_unknown_providers_are_named(project: Project):
    project.agent("triage", "agent = (")
    project.agent(
        "writer", 'from bread_nb import Agent\nagent = Agent(model="antropic:x")'
    )
    found = await findings(project)
    assert about(found, "line 1").what == (
        "agents/triage/agent.py line 1 does not parse: '(' was never closed"
    )
    assert about(found, "antropic").level == "bad"


async def test_only_what_one_agent_needs_is_looked_at(project: Project):
    project.agent("triage", "agent = (")
    project.agent("writer")
    found = await findings(project, "writer")
    assert about(found, "agent:").what == "1 agent: writer"
    assert not [f for f in found if "triage" in f.what]
    missing = await findings(project, "writr")
    assert about(missing, "No agent called 'writr'").do == "%%bread writer"


async def test_a_store_of_a_newer_version_is_named_and_left_alone(project: Project):
    project.agent("writer")
    path = project.root / ".bread" / "bread.db"
    path.parent.mkdir()
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {VERSION + 1}")
    db.close()
    before = path.read_bytes()
    finding = about(await findings(project), "store")
    assert finding.level == "bad"
    assert f"store version {VERSION + 1}, package knows {VERSION}" in finding.what
    assert path.read_bytes() == before


async def test_a_folder_without_agents_is_told_how_to_make_one(project: Project):
    found = await findings(project)
    assert about(found, "no agents here").do == "bread new agent writer"
