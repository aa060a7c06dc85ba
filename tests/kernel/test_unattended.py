"""Notebooks that run unattended keep pictures and no widgets."""

from pathlib import Path

import nbformat
import pytest
from kernel.conftest import PUBLISHER, WRITER, agent
from nbclient import NotebookClient

pytestmark = pytest.mark.kernel

CELLS = (
    "%load_ext bread_nb",
    "%%bread writer\nhi",
    "%%bread publisher\nhi",
    "%bread pending",
    "%bread show publisher-1",
    "from bread_nb import Bread\n"
    "run = Bread.load().resume('publisher-1', {'approved': True})\nrun",
    "await run",
)


def executed(folder: Path) -> nbformat.NotebookNode:
    agent(folder, "writer", WRITER)
    agent(folder, "publisher", PUBLISHER)
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    notebook = nbformat.v4.new_notebook(cells=cells)
    resources = {"metadata": {"path": str(folder)}}
    return NotebookClient(notebook, resources=resources, timeout=60).execute()


def test_no_script_of_a_widget_is_saved(tmp_path: Path):
    notebook = executed(tmp_path)
    assert "widgets" not in notebook.metadata
    assert len(nbformat.writes(notebook)) < 20_000
    outputs = notebook.cells[1].outputs
    assert [sorted(o["data"]) for o in outputs] == [
        [],
        ["text/html", "text/markdown", "text/plain"],
    ]
    listed = notebook.cells[3].outputs[-1]["data"]
    assert "publisher-1.a" in listed["text/plain"]
    assert "form above" not in listed["text/plain"]
    assert "<details>" not in listed["text/html"]
