"""The notebooks of the repository run from top to bottom on the local model."""

import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
VIEW = "application/vnd.jupyter.widget-view+json"


def ids(notebook: Path) -> str:
    return notebook.stem


@pytest.mark.parametrize("path", NOTEBOOKS, ids=ids)
def test_a_saved_notebook_reads_without_a_kernel(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata["kernelspec"]["name"] == "python3"
    assert "widgets" not in notebook.metadata
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code[0].source == "%load_ext bread_nb"
    runs = [cell for cell in code if cell.source.startswith("%%bread")]
    for cell in runs:
        shown = [output.get("data", {}) for output in cell.outputs]
        assert not any(VIEW in data for data in shown)
        assert any(
            {"text/html", "text/markdown", "text/plain"} <= set(d) for d in shown
        )
    outputs = [output for cell in code for output in cell.outputs]
    assert not [o for o in outputs if o.output_type == "error"]


@pytest.mark.kernel
@pytest.mark.local_model
@pytest.mark.parametrize("path", NOTEBOOKS, ids=ids)
def test_a_notebook_runs_from_top_to_bottom(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BREAD_PROJECT", str(path.parents[1]))
    monkeypatch.setenv("BREAD_STORE", "memory:")
    monkeypatch.setenv("BREAD_MODE", "live")
    for report in path.parent.glob("*.json"):
        shutil.copy(report, tmp_path)
    notebook = nbformat.read(path, as_version=4)
    saved = [len(cell.get("outputs", [])) for cell in notebook.cells]
    NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        store_widget_state=False,
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(tmp_path)}},
    ).execute()
    assert [len(cell.get("outputs", [])) for cell in notebook.cells] == saved
