"""`bread refresh`: notebooks run again, shown what changes, written in one step."""

import json
from pathlib import Path

import nbformat
import pytest
from cli.conftest import NearProject

pytestmark = pytest.mark.kernel
WIDGET = "application/vnd.jupyter.widget-view+json"


def notebook(root: Path, *cells: tuple[str, list[object]]) -> Path:
    """A notebook of sources and their saved outputs."""
    made = nbformat.v4.new_notebook()
    made.metadata = {
        "kernelspec": {"name": "python3", "display_name": "Python 3"},
        "widgets": {WIDGET: {"state": {}}},
    }
    for source, outputs in cells:
        cell = nbformat.v4.new_code_cell(source, metadata={"execution": {"t": "now"}})
        cell.outputs = outputs
        made.cells.append(cell)
    path = root / "story.ipynb"
    nbformat.write(made, path)
    return path


def said(text: str) -> object:
    return nbformat.v4.new_output("stream", name="stdout", text=text)


def outputs(path: Path) -> list[str]:
    read = nbformat.read(path, as_version=4)
    return ["".join(o.get("text", "") for o in cell.outputs) for cell in read.cells]


def test_a_change_is_shown_before_it_is_written(project: NearProject):
    path = notebook(project.root, ("print('new')", [said("old\n")]))
    before = path.read_text()
    refused = project.bread("refresh", "story.ipynb", stdin="n\n")
    assert refused.code == 1
    lines = refused.out.splitlines()
    assert lines[0] == "story.ipynb, cell 0"
    assert {"-stream:stdout: old", "+stream:stdout: new"} <= set(lines)
    assert path.read_text() == before
    assert project.bread("refresh", "--check", "story.ipynb").code == 1
    assert path.read_text() == before
    agreed = project.bread("refresh", "story.ipynb", stdin="y\n")
    assert agreed.code == 0
    assert outputs(path) == ["new\n"]
    again = project.bread("refresh", "story.ipynb")
    assert (again.code, again.out) == (0, "story.ipynb: nothing changed\n")


def test_widgets_their_state_and_timings_are_left_out(project: NearProject):
    widget = nbformat.v4.new_output("display_data", data={WIDGET: {"model_id": "x"}})
    path = notebook(project.root, ("print('same')", [widget, said("same\n")]))
    done = project.bread("refresh", "--yes", "story.ipynb")
    assert done.code == 0
    assert "only what nobody sees" in done.out
    text = path.read_text()
    assert WIDGET not in text
    assert '"execution"' not in text
    assert json.loads(text)["metadata"]["kernelspec"]["name"] == "python3"


def test_a_notebook_with_a_cell_that_fails_stays_as_it_is(project: NearProject):
    path = notebook(project.root, ("1 / 0", []), ("print('x')", [said("old\n")]))
    before = path.read_text()
    failed = project.bread("refresh", "--yes", "story.ipynb")
    assert failed.code == 1
    assert "Cell 0 of story.ipynb raised ZeroDivisionError. [CELL_FAILED]" in failed.err
    assert path.read_text() == before


def test_a_file_that_is_no_notebook_is_one_error(project: NearProject):
    (project.root / "story.ipynb").write_text("no json")
    failed = project.bread("refresh", "--yes", "story.ipynb")
    assert failed.code == 1
    assert "[NOTEBOOK_UNREADABLE]" in failed.err


def test_a_cell_that_may_show_anything_keeps_what_it_shows(project: NearProject):
    path = notebook(project.root, ("print(object())", [said("anything\n")]))
    read = nbformat.read(path, as_version=4)
    read.cells[0].metadata["tags"] = ["nbval-ignore-output"]
    nbformat.write(read, path)
    project.bread("refresh", "--yes", "story.ipynb")
    assert outputs(path) == ["anything\n"]
    assert project.bread("refresh", "story.ipynb").out.endswith("nothing changed\n")


def test_what_is_typed_in_cells_alone_stays_as_it_is_typed_there(project: NearProject):
    mend = "%bread mode record tale, run all cells; or %bread pending"
    raises = f"raise BreadError('No.', code='X', do={mend!r})"
    cell = f"%load_ext bread_nb\nfrom bread_nb import BreadError\n{raises}"
    notebook(project.root, (cell, []))
    failed = project.bread("refresh", "--yes", "story.ipynb")
    assert failed.code == 1
    assert "%bread mode record tale, run all cells; or bread pending" in failed.err
