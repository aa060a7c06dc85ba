"""The doctor names what is wrong with its mend, shows no secret and never raises."""

import os
import sqlite3
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pytest
from fixtures.model_server import ModelServer, Reply
from fixtures.projects import SECONDS, Project
from fixtures.rights import open_folder as open_folder
from fixtures.rights import without_privileges

from bread_nb import Bread
from bread_nb.project import surroundings
from bread_nb.project.doctor import Finding, report
from bread_nb.providers.deck import Deck
from bread_nb.stores.sql import VERSION

KEY = "bk-3f9A7Qz1Lw8Xc5Vn2Rt6Yp4M"
PAID = """
    from bread_nb import Agent

    agent = Agent(model="anthropic:claude-opus-4-8")
"""

SLIP = """
    from bread_nb import Agent, Permissions, tool

    @tool
    def publish(title: str) -> str:
        return title

    agent = Agent(
        model="scripted:x",
        tools=[publish],
        permissions=Permissions(ask=["tool:publsh"]),
    )
"""


@pytest.fixture(autouse=True)
def no_local_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("BREAD_LOCAL_MODEL", str(tmp_path / "none.gguf"))


async def findings(
    project: Project, agent: str | None = None, *, reach: bool = False
) -> list[Finding]:
    async with Bread.load(project.root) as bread:
        return await bread.doctor(agent, reach=reach)


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


async def test_a_store_that_cannot_be_made_is_bad_and_not_ok(project: Project):
    project.agent("writer")
    (project.root / ".bread").write_text("in the way")
    found = await findings(project)
    store = about(found, "store")
    assert (store.level, store.what) == (
        "bad",
        "store .bread/bread.db cannot be written: .bread is a file and no folder",
    )
    assert "BREAD_STORE" in (store.do or "")
    assert about(found, "files .bread/blobs").level == "bad"


async def test_a_read_only_folder_is_named(open_folder: Path):
    project = Project(open_folder)
    project.agent("writer")
    await findings(project)  # what it loads on the way may be root's alone
    project.root.chmod(0o555)
    with without_privileges():
        store = about(await findings(project), "store")
    assert store.level == "bad"
    assert "is read-only" in store.what


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc")
@pytest.mark.parametrize("place", ["/proc/bread.db", "/proc/bread/x/bread.db"])
async def test_a_store_where_no_file_can_be_made_is_bad(
    project: Project, monkeypatch: pytest.MonkeyPatch, place: str
):
    project.agent("writer")
    monkeypatch.setenv("BREAD_STORE", f"sqlite:///{place}")
    store = about(await findings(project), "store /proc")
    assert store.level == "bad"
    assert "cannot be written: " in store.what


@pytest.mark.skipif(os.name != "posix", reason="there are no limits here")
def test_a_disk_that_takes_no_more_is_bad(project: Project):
    project.agent("writer")
    limited = ["sh", "-c", 'ulimit -f 8; exec "$@"', "sh", *project.command("doctor")]
    said = subprocess.run(
        limited,
        cwd=project.root,
        env=project.environment(PYTHONDONTWRITEBYTECODE="1"),
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert said.returncode == 1
    store = next(line for line in said.stdout.splitlines() if "store" in line)
    assert store.startswith("bad   store .bread/bread.db cannot be written: ")


async def test_a_store_whose_file_is_a_folder_is_bad(project: Project):
    project.agent("writer")
    (project.root / ".bread" / "bread.db").mkdir(parents=True)
    assert "bread.db is a folder" in about(await findings(project), "store").what


@pytest.mark.parametrize("bad", ["sk a", "sk-\u2026"])
async def test_a_key_that_is_none_is_bad_and_not_shown(
    project: Project, monkeypatch: pytest.MonkeyPatch, bad: str
):
    project.agent("writer", PAID)
    monkeypatch.setenv("ANTHROPIC_API_KEY", bad)
    found = await findings(project)
    assert about(found, "ANTHROPIC_API_KEY").level == "bad"
    assert bad not in report(found)


async def test_the_models_inside_of_others_need_their_keys(project: Project):
    text = """
        from bread_nb import Agent, Fallback, Model

        agent = Agent(model=Fallback(["anthropic:a", "gemini:b"]))
    """
    project.agent("writer", text)
    found = await findings(project)
    assert about(found, "ANTHROPIC_API_KEY").what.endswith("writer needs it")
    assert about(found, "GEMINI_API_KEY").what.endswith("writer needs it")


async def test_a_program_that_is_a_model_has_to_be_there(project: Project):
    for name, program in (("writer", "sh -c cat"), ("baker", "no-such-program -p")):
        text = f'from bread_nb import Agent\nagent = Agent(model="clipipe:{program}")'
        project.agent(name, text)
    found = await findings(project)
    assert about(found, "the program sh is there").level == "ok"
    missing = about(found, "no-such-program")
    assert (missing.level, missing.what) == (
        "bad",
        "no program no-such-program on the PATH; baker needs it",
    )


async def test_a_model_without_a_price_is_told_and_no_fault(project: Project):
    project.agent("writer", PAID)
    project.agent("baker", PAID.replace("claude-opus-4-8", "oven-1"))
    found = await findings(project)
    unknown = about(found, "no price is known of anthropic:oven-1")
    assert unknown.level == "ok"
    assert "rates=" in (unknown.do or "")
    assert not [f for f in found if "claude-opus" in f.what]


async def test_mode_and_cassettes_are_told(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    project.agent("writer")
    monkeypatch.chdir(project.root)
    monkeypatch.setenv("BREAD_MODE", "replay")
    assert about(await findings(project), "mode replay") == Finding(
        "warn",
        "mode replay, said by BREAD_MODE: no cassettes here",
        "record here, or set BREAD_MODE=live",
    )
    (project.root / "a.cassette.jsonl").write_text("{}\n{}\n")
    assert about(await findings(project), "mode replay").what.endswith(
        "1 cassette here with 2 recordings"
    )
    monkeypatch.setattr(Bread, "common_deck", Deck())
    Bread.common_deck.choose("live")
    found = about(await findings(project), "mode live")
    assert "said by %bread mode" in found.what
    (project.root / "a.cassette.jsonl").write_text("<<<<<<< ours\n")
    assert about(await findings(project), "a.cassette.jsonl").level == "bad"


def at(url: str, name: str) -> str:
    return f"""
        from bread_nb import Agent, Model

        agent = Agent(model=Model("{name}", base_url="{url}", api_key="{KEY}"))
    """


LISTS = {
    "anthropic:oven-1": ("/v1/models?limit=1000", {"data": [{"id": "oven-1"}]}),
    "openai:oven-1": ("/models", {"data": [{"id": "oven-1"}]}),
    "responses:oven-1": ("/models", {"data": [{"id": "oven-1"}]}),
    "gemini:oven-1": (
        "/v1beta/models?pageSize=1000",
        {"models": [{"name": "models/oven-1"}]},
    ),
    "ollama:oven-1": ("/api/tags", {"models": [{"name": "oven-1:latest"}]}),
}


@pytest.mark.parametrize("name", LISTS)
async def test_a_service_is_asked_for_its_models_on_request_alone(
    project: Project, name: str
):
    path, listed = LISTS[name]
    async with ModelServer(Reply.json(listed)) as server:
        project.agent("writer", at(server.url, name))
        await findings(project)
        assert server.seen == []
        found = about(await findings(project, reach=True), "answers at")
        assert [seen.path for seen in server.seen] == [path]
        assert KEY in str(server.seen[0].headers)
    assert found.level == "ok"
    assert found.what.endswith("answers at 127.0.0.1 and has oven-1")


async def test_a_model_that_a_service_does_not_list_is_a_warning(project: Project):
    listed = {"models": [{"name": "llama3.2:latest"}, {"name": "qwen3:8b"}]}
    async with ModelServer(Reply.json(listed)) as server:
        project.agent("writer", at(server.url, "ollama:oven-1"))
        found = about(await findings(project, reach=True), "answers at")
    assert (found.level, found.do) == ("warn", "ollama pull oven-1")
    assert found.what.endswith("does not list oven-1; it has llama3.2, qwen3:8b")


async def test_a_host_without_a_list_answers_all_the_same(project: Project):
    async with ModelServer(Reply.json({}, 404)) as server:
        project.agent("writer", at(server.url, "openai:oven-1"))
        found = about(await findings(project, reach=True), "answers at")
    assert found.level == "ok"


async def test_a_refused_key_and_a_silent_host_are_bad_and_show_no_key(
    project: Project,
):
    words = {"error": {"message": f"bad key {KEY}"}}
    async with ModelServer(Reply.json(words, 401)) as server:
        project.agent("writer", at(server.url, "openai:oven-1"))
        found = await findings(project, reach=True)
    refused = about(found, "refused the key")
    assert (refused.level, refused.do) == (
        "bad",
        "check OPENAI_API_KEY, then run again",
    )
    gone = about(await findings(project, reach=True), "did not answer")
    assert gone.level == "bad"
    assert KEY not in report(found)


async def test_a_missing_key_is_told_when_a_service_is_to_be_reached(project: Project):
    project.agent("writer", PAID)
    found = await findings(project, reach=True)
    assert about(found, "No key for anthropic").level == "bad"


async def test_nothing_is_asked_where_no_agent_needs_a_service(project: Project):
    project.agent("writer")
    assert about(await findings(project, reach=True), "over the network").level == "ok"


def versions(monkeypatch: pytest.MonkeyPatch, **numbers: str | None) -> None:
    """Make packages have these versions; None is not installed."""

    def number(name: str) -> str:
        if name not in numbers:
            return metadata.version(name)
        if (found := numbers[name]) is None:
            raise metadata.PackageNotFoundError(name)
        return found

    monkeypatch.setattr(surroundings, "version", number)


async def test_old_packages_are_named_with_what_they_lack(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    project.agent("writer")
    versions(
        monkeypatch,
        ipykernel="6.29.5",
        ipywidgets=None,
        jupyterlab="4.3.1",
        notebook="7.6.5",
        nbclassic="1.3.3",
    )
    found = await findings(project)
    assert about(found, "ipykernel 6.29") == Finding(
        "warn",
        "ipykernel 6.29: Stop and forms answer after the cell",
        'pip install -U "ipykernel>=7", restart',
    )
    assert about(found, "ipywidgets is not there").do == "pip install ipywidgets"
    assert about(found, "JupyterLab 4.3: Stop works by interrupt").level == "warn"
    assert about(found, "Notebook 7.6").level == "ok"
    assert "nbclassic 1.3 has no subshells" in about(found, "nbclassic").what


@pytest.mark.parametrize(
    ("mark", "words"),
    [
        ("VSCODE_PID", "VS Code has no subshells"),
        ("COLAB_RELEASE_TAG", "Colab draws cards only"),
    ],
)
async def test_what_a_front_end_cannot_do_is_told_in_its_kernel(
    project: Project, monkeypatch: pytest.MonkeyPatch, mark: str, words: str
):
    project.agent("writer")
    monkeypatch.setenv(mark, "1")
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    finding = about(await findings(project), words)
    assert finding.level == "warn"
    assert finding.do


async def test_an_agent_that_a_command_hides_is_told(project: Project):
    project.agent("runs")
    hidden = about(await findings(project), "runs: in a cell runs is a command")
    assert (hidden.level, hidden.do) == ("warn", "mv agents/runs agents/my_runs")


async def test_a_rule_that_matches_no_tool_is_told_with_the_nearest(project: Project):
    project.agent("writer", SLIP)
    slip = about(await findings(project), "writer: the rule ask tool:publsh")
    assert (slip.level, slip.what, slip.do) == (
        "warn",
        "writer: the rule ask tool:publsh matches no tool",
        "did you mean tool:publish? Else take the rule out",
    )
