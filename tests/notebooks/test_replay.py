"""The notebooks of the repository, replayed: no network, no local model, same bytes."""

import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from notebooks.conftest import NOTEBOOKS, ROOT, environment

FREE = "nbval-ignore-output"


def ids(notebook: Path) -> str:
    return notebook.stem


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
    client.execute(env=environment(place, JPY_SESSION_NAME=str(path), **more))
    for cell, saved in zip(notebook.cells, nbformat.read(path, 4).cells, strict=True):
        if FREE in cell.metadata.get("tags", []):
            cell.outputs = saved.outputs
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
