"""The installed kernel: a notebook in it has the magics without asking."""

import os
from pathlib import Path

import nbformat
import pytest
from fixtures.projects import SECONDS, Project
from nbclient import NotebookClient

pytestmark = pytest.mark.kernel


def test_a_cell_of_the_installed_kernel_has_the_magics_at_once(
    apart: Project, monkeypatch: pytest.MonkeyPatch
):
    prefix = apart.root / "prefix"
    assert apart.bread("install", "--prefix", str(prefix)).code == 0
    monkeypatch.setenv("JUPYTER_PATH", str(prefix / "share" / "jupyter"))
    for name in tuple(os.environ):
        if name.startswith("BREAD_"):
            monkeypatch.delenv(name)
    cell = nbformat.v4.new_code_cell("%bread agents")
    client = NotebookClient(
        nbformat.v4.new_notebook(cells=[cell]),
        kernel_name="bread",
        timeout=SECONDS,
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(Path(apart.root))}},
    )
    (ran,) = client.execute().cells
    assert "publisher" in "".join(str(output) for output in ran.outputs)
