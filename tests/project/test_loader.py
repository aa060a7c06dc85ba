"""Agents from folders: read again when they change, and broken ones one by one."""

import os
import sys
import threading
from pathlib import Path

import pytest
from fixtures.projects import PLAIN, Project

from bread_nb import BreadError
from bread_nb.project.loader import AgentFolder

ADD = """
    from bread_nb import tool

    @tool
    def add(a: int, b: int) -> int:
        "Add."
        return a + b
"""


def folder(project: Project, *entrypoints: str) -> AgentFolder:
    return AgentFolder(project.root, list(entrypoints) or None)


def fault(agents: AgentFolder, agent_id: str) -> BreadError:
    with pytest.raises(BreadError) as caught:
        agents.load(agent_id)
    return caught.value


def answer(agents: AgentFolder, agent_id: str, *args: object) -> object:
    """What the agent's first tool says."""
    return agents.load(agent_id).agent.tools[0](*args)


# -- what a folder becomes ---------------------------------------------------------


def test_a_folder_becomes_an_agent_with_its_prompt_and_its_tools(project: Project):
    project.agent("writer", tools__add=ADD)
    project.write({"agents/writer/prompt.md": "Be brief.\n"})
    loaded = folder(project).load("writer")
    assert loaded.agent.prompt == "Be brief.\n"
    assert [tool.leaf for tool in loaded.agent.tools] == ["tool_add"]


def test_a_prompt_in_the_agent_itself_wins_over_the_file(project: Project):
    text = 'from bread_nb import Agent\nagent = Agent(model="scripted:x", prompt="Own")'
    project.agent("writer", text)
    project.write({"agents/writer/prompt.md": "File."})
    assert folder(project).load("writer").agent.prompt == "Own"


def test_an_empty_prompt_file_sends_no_prompt(project: Project):
    project.agent("writer")
    project.write({"agents/writer/prompt.md": "\n \n"})
    assert folder(project).load("writer").agent.prompt == ""


def test_ids_are_the_folders_with_an_agent_in_order(project: Project):
    for name in ("writer", "analyst", "_draft", ".hidden"):
        project.agent(name)
    project.write({"agents/notes/readme.md": "", "agents/loose.py": ""})
    assert folder(project).ids() == ["analyst", "writer"]


def test_entrypoints_choose_and_one_without_a_folder_is_a_problem(project: Project):
    project.agent("writer")
    project.agent("analyst")
    agents = folder(project, "writer", "ghost")
    assert agents.ids() == ["writer"]
    (name, error), *rest = agents.problems().items()
    assert (name, error.code, rest) == ("ghost", "AGENT_NOT_FOUND", [])


def test_all_public_tools_of_a_file_count_in_the_order_of_files(project: Project):
    project.agent(
        "baker",
        tools__weigh="""
            from bread_nb import human_tool, tool
            from ._scale import rough

            @tool
            def weigh() -> int:
                return 1

            approve = human_tool("approve")
            _private = human_tool("private")
        """,
        tools___scale="""
            from bread_nb import tool

            @tool
            def rough() -> int:
                return 2
        """,
        tools__add=ADD,
    )
    loaded = folder(project).load("baker")
    names = [tool.leaf for tool in loaded.agent.tools]
    assert names == ["tool_add", "tool_weigh", "human_approve"]


def test_a_tool_that_the_agent_imports_itself_is_there_once(project: Project):
    project.agent(
        "baker",
        """
        from bread_nb import Agent
        from .tools.add import add

        agent = Agent(model="scripted:x", tools=[add])
        """,
        tools__add=ADD,
    )
    assert len(folder(project).load("baker").agent.tools) == 1


def test_the_source_of_a_tool_is_its_whole_file(project: Project):
    helped = ADD + "\n    MORE = 1\n"
    project.agent("baker", tools__add=ADD)
    agents = folder(project)
    before = agents.load("baker").agent.tools[0].source
    project.agent("baker", tools__add=helped)
    after = agents.load("baker").agent.tools[0].source
    project.agent("baker", tools__add=ADD)
    assert before != after
    assert agents.load("baker").agent.tools[0].source == before


def test_types_written_as_text_are_found_in_the_tools_own_file(project: Project):
    project.agent(
        "baker",
        tools__order="""
            from __future__ import annotations
            from typing import Annotated, Literal, Optional
            from pydantic import BaseModel, Field
            from bread_nb import tool

            class Loaf(BaseModel):
                flour: Literal["rye", "wheat"]

            @tool
            def order(loaf: Loaf, number: Annotated[int, Field(ge=1)],
                      note: Optional[str] = None) -> str:
                return type(loaf).__name__
        """,
    )
    tool = folder(project).load("baker").agent.tools[0]
    values = tool.arguments.validate({"loaf": {"flour": "rye"}, "number": "2"})
    assert (type(values["loaf"]).__name__, values["number"]) == ("Loaf", 2)
    with pytest.raises(BreadError) as caught:
        tool.arguments.validate({"loaf": {"flour": "oat"}, "number": 0})
    assert "loaf.flour" in caught.value.why
    assert "number: must be 1 or more" in caught.value.why


def test_the_definition_keeps_the_files_that_make_the_agent(project: Project):
    project.agent("writer", tools__add=ADD, helpers="X = 1")
    project.write(
        {
            "agents/writer/prompt.md": "Hi",
            "agents/writer/skills/cite/SKILL.md": "Cite.",
            "agents/writer/evals/one.yaml": "[]",
        }
    )
    kept = folder(project).load("writer").definition
    assert sorted(kept.files) == [
        "agent.py",
        "prompt.md",
        "skills/cite/SKILL.md",
        "tools/add.py",
    ]
    assert (kept.agent_id, kept.files["prompt.md"]) == ("writer", "Hi")


def test_two_agents_of_equal_content_have_definitions_of_their_own(project: Project):
    project.agent("writer")
    project.agent("reader")
    agents = folder(project)
    ids = {agents.load(name).definition.id for name in ("writer", "reader")}
    assert len(ids) == 2


def test_a_key_in_the_agents_file_is_not_kept_in_its_definition(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    key = "made-up-" + "k3y" * 11
    monkeypatch.setenv("BAKERY_API_KEY", key)
    project.agent("writer", PLAIN + f"\n    KEY = {key!r}\n")
    kept = folder(project).load("writer").definition
    assert key[:8] not in str(kept.files)


# -- hot reload --------------------------------------------------------------------


def test_an_unchanged_folder_gives_the_same_agent(project: Project):
    project.agent("writer")
    agents = folder(project)
    assert agents.load("writer") is agents.load("writer")


@pytest.mark.parametrize("name", ["agent", "helpers", "tools__add", "deep__inner__it"])
def test_a_change_in_any_module_of_the_folder_is_read_at_the_next_load(
    project: Project, name: str
):
    base = {
        "agent": PLAIN + "\n    VALUE = 1\n",
        "helpers": "VALUE = 1",
        "deep__inner__it": "VALUE = 1",
        "tools__add": """
            from bread_nb import tool
            from .. import agent, helpers
            from ..deep.inner.it import VALUE as deepest

            VALUE = 1

            @tool
            def told() -> int:
                return agent.VALUE + helpers.VALUE + deepest + VALUE
        """,
    }
    project.agent("baker", base["agent"], **{k: base[k] for k in base if k != "agent"})
    agents = folder(project)
    assert answer(agents, "baker") == 4
    # Equally long and within the same second: only the content tells.
    changed = base[name].replace("VALUE = 1", "VALUE = 5")
    path = f"agents/baker/{name.replace('__', '/')}.py"
    before = (project.root / path).stat()
    project.write({path: changed})
    os.utime(project.root / path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert answer(agents, "baker") == 8


def test_no_bytecode_is_left_in_the_project(project: Project):
    project.write({"prices.py": "RYE = 3"})
    project.agent("baker", "import prices\n" + PLAIN.strip().replace("    ", ""))
    folder(project).load("baker")
    assert list(project.root.rglob("*.pyc")) == []


def test_an_old_version_leaves_the_table_of_modules_and_still_works(project: Project):
    tool = """
        from bread_nb import tool

        @tool
        def price() -> int:
            from ..prices import RYE
            return RYE
    """
    project.agent("baker", tools__price=tool, prices="RYE = 3")
    agents = folder(project)
    old = agents.load("baker").agent.tools[0]
    names = {name for name in sys.modules if name.startswith("_bread_baker")}
    project.agent("baker", tools__price=tool, prices="RYE = 4")
    new = agents.load("baker").agent.tools[0]
    assert names
    assert names & set(sys.modules) == set()
    assert (old(), new()) == (3, 4)


def test_what_changed_is_told_once(project: Project):
    project.agent("writer")
    project.write({"agents/writer/prompt.md": "One"})
    agents = folder(project)
    agents.load("writer")
    assert agents.changed("writer") == []
    project.write({"agents/writer/prompt.md": "Two", "agents/writer/notes.md": ""})
    agents.load("writer")
    agents.load("writer")
    assert agents.changed("writer") == ["notes.md", "prompt.md"]
    assert agents.changed("writer") == []
    assert agents.changed("nobody") == []


def test_a_helper_outside_the_folder_needs_a_reload(project: Project):
    text = "import prices_outside\n" + PLAIN.strip().replace("    ", "")
    project.write({"prices_outside.py": "RYE = 3"})
    project.agent(
        "baker",
        text,
        tools__price="""
            import prices_outside
            from bread_nb import tool

            @tool
            def price() -> int:
                return prices_outside.RYE
        """,
    )
    agents = folder(project)
    assert answer(agents, "baker") == 3
    project.write({"prices_outside.py": "RYE = 4"})
    assert answer(agents, "baker") == 3
    agents.reload()
    assert answer(agents, "baker") == 4


def test_a_reload_leaves_installed_packages_and_our_own_modules(project: Project):
    installed = project.root / ".venv" / "lib" / "site-packages"
    installed.mkdir(parents=True)
    (installed / "flour_installed.py").write_text("X = 1")
    sys.path.insert(0, str(installed))
    imports = "import flour_installed\nimport bread_nb.errors\n"
    project.agent("baker", imports + PLAIN.strip().replace("    ", ""))
    agents = folder(project)
    agents.load("baker")
    kept = sys.modules["flour_installed"], sys.modules["bread_nb.errors"]
    agents.reload()
    assert (sys.modules["flour_installed"], sys.modules["bread_nb.errors"]) == kept


def test_many_threads_load_one_agent_once(project: Project):
    project.agent("writer")
    agents, found = folder(project), []
    gate = threading.Barrier(8)

    def load() -> None:
        gate.wait(10)
        found.append(agents.load("writer"))

    threads = [threading.Thread(target=load) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(found) == 8
    assert len({id(loaded) for loaded in found}) == 1


def test_backups_and_hidden_files_are_no_change(project: Project):
    project.agent("writer")
    agents = folder(project)
    before = agents.load("writer")
    project.write(
        {
            "agents/writer/agent.py~": "x",
            "agents/writer/.agent.py.swp": "x",
            "agents/writer/.ipynb_checkpoints/agent.py": "x",
            "agents/writer/__pycache__/agent.pyc": "x",
        }
    )
    assert agents.load("writer") is before


def test_a_link_in_a_circle_does_not_hold_it_up(project: Project):
    project.agent("writer")
    (project.root / "agents/writer/again").symlink_to(project.root / "agents/writer")
    assert folder(project).load("writer").id == "writer"


# -- broken agents -----------------------------------------------------------------


def test_two_broken_agents_are_one_error_each_and_the_good_ones_work(project: Project):
    project.agent("triage", "from bread_nb import Agent\n\n\nagent = Agent(\n")
    project.agent("clerk", "import no_such_package\n")
    project.agent("writer")
    agents = folder(project)
    assert fault(agents, "triage").lines() == [
        "agents/triage/agent.py line 4 does not parse. [AGENT_BROKEN]",
        "  why  '(' was never closed.",
        "  do   mend line 4; the next run reads it again. 1 other agent works",
    ]
    assert fault(agents, "clerk").lines() == [
        "agents/clerk/agent.py line 1 raises ModuleNotFoundError. [AGENT_BROKEN]",
        "  why  No module named 'no_such_package'.",
        "  do   mend line 1; the next run reads it again. 1 other agent works",
    ]
    assert sorted(agents.problems()) == ["clerk", "triage"]
    assert agents.load("writer").id == "writer"


@pytest.mark.parametrize(
    ("good", "tail"),
    [
        ([], "the next run reads it again"),
        (["writer"], "the next run reads it again. The other agent works"),
        (["writer", "reader"], "the next run reads it again. The other 2 agents work"),
    ],
)
def test_the_mend_says_how_many_others_work(
    project: Project, good: list[str], tail: str
):
    project.agent("triage", "agent = (")
    for name in good:
        project.agent(name)
    assert fault(folder(project), "triage").do == f"mend line 1; {tail}"


BROKEN = {
    "an exception": (
        {"agent": "x = 1\nraise ValueError('no flour')"},
        ("agents/baker/agent.py", 2),
        "agents/baker/agent.py line 2 raises ValueError.",
        "no flour.",
    ),
    "an exit": (
        {"agent": "import sys\nsys.exit('done')"},
        ("agents/baker/agent.py", 2),
        "agents/baker/agent.py line 2 raises SystemExit.",
        "done.",
    ),
    "no agent": (
        {"agent": "bot = 1"},
        ("agents/baker/agent.py", None),
        "agents/baker/agent.py has no agent.",
        "there is no `agent` in it.",
    ),
    "another name": (
        {"agent": "from bread_nb import Agent\nbot = Agent(model='scripted:x')"},
        ("agents/baker/agent.py", None),
        "agents/baker/agent.py has no agent.",
        "its Agent is called bot.",
    ),
    "another type": (
        {"agent": "agent = 'scripted:x'"},
        ("agents/baker/agent.py", None),
        "agents/baker/agent.py has no agent.",
        "`agent` is a str, not an Agent.",
    ),
    "a bad selector": (
        {
            "agent": "from bread_nb import Agent, Permissions\n"
            "agent = Agent(model='scripted:x',\n"
            "    permissions=Permissions(deny=['tols:x']))"
        },
        ("agents/baker/agent.py", 3),
        "agents/baker/agent.py line 3 cannot be used.",
        "'tols:x' is not a permission selector: the scopes are tool, skill, task, "
        "plugin, core.",
    ),
    "a field of later": (
        {"agent": "from bread_nb import Agent\nagent = Agent(model='a:b', loop=[1])"},
        ("agents/baker/agent.py", 2),
        "agents/baker/agent.py line 2 cannot be used.",
        "Agent(loop=...) is not available yet: this version has no such capability.",
    ),
    "a tool that does not parse": (
        {"agent": PLAIN, "tools__add": "def add(:\n"},
        ("agents/baker/tools/add.py", 1),
        "agents/baker/tools/add.py line 1 does not parse.",
        "invalid syntax.",
    ),
    "a tool that raises": (
        {"agent": PLAIN, "tools__add": "\n1 / 0"},
        ("agents/baker/tools/add.py", 1),
        "agents/baker/tools/add.py line 1 raises ZeroDivisionError.",
        "division by zero.",
    ),
    "a function that is no tool": (
        {"agent": PLAIN, "tools__add": "def add(a, b):\n    return a + b"},
        ("agents/baker/tools/add.py", None),
        "agents/baker/tools/add.py cannot be used.",
        "there is no tool in it: it has add.",
    ),
    "two tools of one name": (
        {"agent": PLAIN, "tools__add": ADD, "tools__sum": ADD},
        ("agents/baker/tools/sum.py", None),
        "agents/baker/tools/sum.py cannot be used.",
        "tools/add.py has a tool 'add' too: the model could not tell them apart.",
    ),
    "a helper in the folder": (
        {"agent": "from .helpers import x\n", "helpers": "\n\nx = y"},
        ("agents/baker/helpers.py", 1),
        "agents/baker/helpers.py line 1 raises NameError.",
        "name 'y' is not defined.",
    ),
    "a helper that is not there": (
        {"agent": "from .helprs import x\n"},
        ("agents/baker/agent.py", 1),
        "agents/baker/agent.py line 1 raises ModuleNotFoundError.",
        "No module named '.helprs'.",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_named_with_its_line_and_reason(project: Project, case: str):
    files, (file, line), what, why = BROKEN[case]
    project.agent("baker", text=files["agent"], **_without(files, "agent"))
    error = fault(folder(project), "baker")
    assert (error.code, error.what, error.why) == ("AGENT_BROKEN", what, why)
    assert (error.context["file"], error.context["line"]) == (file, line)


def _without(files: dict[str, str], name: str) -> dict[str, str]:
    return {key: text for key, text in files.items() if key != name}


def test_a_file_that_is_not_utf_8_is_named(project: Project):
    project.agent("writer")
    (project.root / "agents/writer/prompt.md").write_bytes(b"\xff\xfe caf\xe9")
    error = fault(folder(project), "writer")
    assert error.what == "agents/writer/prompt.md is not UTF-8 text."


def test_a_broken_agent_never_runs_in_an_older_version(project: Project):
    project.agent("writer")
    agents = folder(project)
    before = agents.load("writer")
    project.agent("writer", "agent = (")
    assert fault(agents, "writer").code == "AGENT_BROKEN"
    assert fault(agents, "writer").code == "AGENT_BROKEN"
    project.agent("writer")
    assert agents.load("writer").definition.id == before.definition.id


def test_what_is_mended_outside_the_folder_is_seen_without_a_reload(project: Project):
    project.agent("baker", "import flour_later\n" + PLAIN.strip().replace("    ", ""))
    agents = folder(project)
    assert fault(agents, "baker").code == "AGENT_BROKEN"
    project.write({"flour_later.py": ""})
    assert agents.load("baker").id == "baker"


def test_a_folder_that_is_not_snake_case_is_refused_alone(project: Project):
    project.agent("My-Agent")
    project.agent("writer")
    agents = folder(project)
    error = fault(agents, "My-Agent")
    assert error.code == "INVALID_NAME"
    assert "'my_agent'" in error.do
    assert list(agents.problems()) == ["My-Agent"]


def test_an_unknown_agent_is_answered_with_the_nearest(project: Project):
    for name in ("analyst", "publisher", "writer"):
        project.agent(name)
    assert fault(folder(project), "writr").lines() == [
        "No agent called 'writr'. [AGENT_NOT_FOUND]",
        "  why  agents/ has analyst, publisher, writer.",
        "  do   %%bread writer",
    ]


def test_an_agent_that_cannot_run_is_never_suggested(project: Project):
    project.agent("analyst")
    project.agent("help")
    project.agent("writer", "agent = (")
    assert fault(folder(project), "writr").lines()[1:] == [
        "  why  agents/ has analyst, help, writer (broken).",
        "  do   %%bread analyst",
    ]
    assert fault(folder(project, "writer"), "writr").do == "%bread doctor"


def test_without_any_agent_the_error_says_how_to_make_one(tmp_path: Path):
    error = fault(AgentFolder(tmp_path), "writer")
    assert (error.code, error.do) == ("AGENT_NOT_FOUND", "bread new agent writer")


def test_no_secret_of_the_environment_is_in_an_error(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    key = "made-up-" + "k3y" * 11
    monkeypatch.setenv("BAKERY_TOKEN", key)
    project.agent("baker", "import os\nraise ValueError(os.environ['BAKERY_TOKEN'])")
    error = fault(folder(project), "baker")
    assert key[:8] not in str(error)
    assert error.why == "••••."
