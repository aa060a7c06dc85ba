"""`bread new`, `install`, `uninstall` and `local`."""

import json
import sys
from pathlib import Path

from fixtures.projects import Project


def test_a_new_agent_runs_at_once(tmp_path: Path):
    fresh = Project(tmp_path)
    made = fresh.bread("new", "agent", "baker")
    assert (made.code, made.out.splitlines()) == (
        0,
        ["agents/baker/agent.py", "agents/baker/prompt.md"],
    )
    fresh.write({"script.yaml": "- Bread."})
    said = fresh.bread("run", "baker", "hi", BREAD_MODEL="scripted:script.yaml")
    assert (said.code, said.out) == (0, "Bread.\n")


def test_below_a_project_a_new_agent_is_written_there_and_runs(project: Project):
    project.write({"notebooks/deep/note.txt": ""})
    below = Project(project.root / "notebooks" / "deep")
    made = below.bread("new", "agent", "poet")
    assert (made.code, made.out.splitlines()) == (
        0,
        ["../../agents/poet/agent.py", "../../agents/poet/prompt.md"],
    )
    again = below.bread("new", "agent", "poet")
    assert again.error()[1:] == [
        "  why  ../../agents/poet/ is there; nothing was changed.",
        "  do   edit ../../agents/poet/agent.py, or choose another name",
    ]
    said = below.bread("run", "writer", "hi")
    assert (said.code, said.out) == (0, "A loaf of rye.\n")
    below.write({"script.yaml": "- Found here first."})
    assert below.bread("run", "writer", "hi").out == "Found here first.\n"
    missing = below.bread("run", "writer", "hi", "--model", "scripted:no.yaml")
    assert missing.error()[0] == "There is no script 'no.yaml'. [SCRIPT_NOT_FOUND]"
    assert f"seen from {below.root} and from {project.root}" in missing.error()[1]


def test_a_new_agent_takes_no_others_place_and_needs_a_good_name(project: Project):
    text = (project.root / "agents/writer/agent.py").read_text()
    there = project.bread("new", "agent", "writer")
    assert (there.code, there.error()[0][-14:]) == (1, "[AGENT_EXISTS]")
    assert (project.root / "agents/writer/agent.py").read_text() == text
    bad = project.bread("new", "agent", "My-Agent")
    assert (bad.code, bad.error()[0][-14:]) == (1, "[INVALID_NAME]")


def test_a_new_agent_cannot_be_called_as_a_command_of_a_cell(project: Project):
    for word in ("runs", "help", "eval"):
        said = project.bread("new", "agent", word)
        hidden = "is a command, so that no cell can run this agent."
        assert said.error() == [
            f"An agent cannot be called '{word}'. [INVALID_NAME]",
            f"  why  in a cell {word} {hidden}",
            f"  do   bread new agent my_{word}",
        ]
        assert not (project.root / "agents" / word).exists()


def test_the_kernel_is_installed_checked_and_removed(project: Project):
    prefix = project.root / "prefix"
    found = {"JUPYTER_PATH": str(prefix / "share" / "jupyter"), "HOME": str(prefix)}
    missing = project.bread("install", "--check", **found)
    assert (missing.code, missing.error()[0][-16:]) == (1, "[KERNEL_MISSING]")
    assert project.bread("install", "--prefix", str(prefix)).code == 0
    spec = json.loads((prefix / "share/jupyter/kernels/bread/kernel.json").read_text())
    assert spec["display_name"] == "Python (bread)"
    assert spec["argv"] == [
        sys.executable,
        "-m",
        "ipykernel_launcher",
        "-f",
        "{connection_file}",
        "--IPKernelApp.extensions=bread_nb",
    ]
    assert project.bread("install", "--check", **found).code == 0
    assert project.bread("uninstall", "--prefix", str(prefix)).code == 0
    assert not (prefix / "share/jupyter/kernels/bread").exists()
    assert project.bread("uninstall", "--prefix", str(prefix)).code == 0


def test_a_kernel_of_another_python_is_said_to_be_stale(project: Project):
    prefix = project.root / "prefix"
    project.bread("install", "--prefix", str(prefix))
    file = prefix / "share/jupyter/kernels/bread/kernel.json"
    file.write_text(file.read_text().replace(sys.executable, "/no/such/python"))
    found = {"JUPYTER_PATH": str(prefix / "share" / "jupyter"), "HOME": str(prefix)}
    said = project.bread("install", "--check", **found)
    assert (said.code, said.error()[0][-14:]) == (1, "[KERNEL_STALE]")


def test_only_one_place_can_be_named(project: Project):
    said = project.bread("install", "--user", "--sys-prefix")
    assert said.code == 2


def test_without_weights_the_check_of_the_local_model_says_what_to_do(
    project: Project,
):
    cache = {"XDG_CACHE_HOME": str(project.root / "cache")}
    said = project.bread("local", "remove", **cache)
    assert (said.code, said.out) == (0, "There were none.\n")
    missing = project.bread(
        "local", "check", BREAD_LOCAL_MODEL=str(project.root / "no.gguf"), **cache
    )
    assert (missing.code, missing.error()[0][-17:]) == (1, "[LOCAL_NOT_FOUND]")
