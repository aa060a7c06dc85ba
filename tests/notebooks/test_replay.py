"""The notebooks of the repository, replayed: no network, no local model, same bytes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
# Put before all else into the kernel: nothing is reached, and there is no local model.
GUARD = """
import sys

sys.modules["xllamacpp"] = None

def refuse(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        raise RuntimeError(f"{event} in a replay: {args[1:]}")

sys.addaudithook(refuse)
"""


def ids(notebook: Path) -> str:
    return notebook.stem


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A copy of the notebooks' folder, with the guard beside it."""
    (tmp_path / "guard").mkdir()
    (tmp_path / "guard" / "sitecustomize.py").write_text(GUARD)
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks")
    return tmp_path


def environment(place: Path, **more: str) -> dict[str, str]:
    """An environment in which the local model is not to be had."""
    unset = ("BREAD_STORE", "BREAD_LOCAL_MODEL", "BREAD_MODEL", "BREAD_CASSETTE", "CI")
    clean = {k: v for k, v in os.environ.items() if k not in unset}
    home = place / "home"
    home.mkdir(exist_ok=True)
    paths = f"{place / 'guard'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    places = {"HOME": str(home), "XDG_CACHE_HOME": str(home), "PYTHONPATH": paths}
    return {
        **clean,
        **places,
        "BREAD_MODE": "replay",
        "BREAD_PROJECT": str(ROOT),
        "IPYTHONDIR": str(place / "ipython"),
        **more,
    }


def executed(path: Path, place: Path, **more: str) -> str:
    """The notebook's file as it is after a run from top to bottom."""
    notebook = nbformat.read(path, as_version=4)
    metadata = notebook.metadata
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    client = NotebookClient(
        notebook,
        timeout=100,
        kernel_name="python3",
        store_widget_state=False,
        record_timing=False,
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(place / "notebooks")}},
    )
    client.execute(env=environment(place, **more))
    notebook.metadata = nbformat.from_dict({**metadata})
    notebook.metadata["language_info"] = {"name": "python"}
    return nbformat.writes(notebook) + "\n"


@pytest.mark.kernel
@pytest.mark.parametrize("path", NOTEBOOKS, ids=ids)
def test_a_notebook_replays_to_the_same_bytes(path: Path, place: Path):
    posts = sorted((place / "notebooks").rglob("*.md"))
    for post in posts:
        post.unlink()
    assert executed(path, place) == path.read_text("utf-8")
    assert not sorted((place / "notebooks").rglob("*.md")), "a tool ran"


@pytest.mark.kernel
def test_in_ci_it_replays_without_being_told_to(place: Path):
    path = ROOT / "notebooks" / "03-approvals.ipynb"
    text = executed(path, place, BREAD_MODE="", CI="true")
    assert text == path.read_text("utf-8")


@pytest.mark.kernel
def test_a_changed_prompt_says_what_changed(place: Path):
    project = place / "project"
    shutil.copytree(ROOT / "agents", project / "agents")
    prompt = project / "agents" / "writer" / "prompt.md"
    prompt.write_text(prompt.read_text().replace("friendly", "grumpy"))
    path = ROOT / "notebooks" / "01-first-run.ipynb"
    with pytest.raises(Exception, match="REPLAY_MISS") as caught:
        executed(path, place, BREAD_PROJECT=str(project))
    told = str(caught.value)
    assert "the system prompt says 'grumpy', recorded 'friendly'" in told
    assert "nearest: 01-first-run.cassette.jsonl:1" in told


@pytest.mark.parametrize("path", NOTEBOOKS, ids=ids)
def test_a_notebook_has_its_recording_beside_it(path: Path):
    cassette = path.with_name(f"{path.stem}.cassette.jsonl")
    text = cassette.read_text("utf-8")
    assert text.endswith("}\n")
    assert '"model":"local:smollm2-135m"' in text


@pytest.mark.kernel
def test_each_notebook_is_a_strict_test_of_itself(place: Path):
    env = environment(place)
    del env["BREAD_MODE"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "--nbval", "--nbval-current-env", "-c", os.devnull, "."],
        cwd=place / "notebooks",
        env=env,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout
