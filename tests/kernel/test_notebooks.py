"""Whole notebooks: executed by programs, saved, read elsewhere, compared."""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from kernel.conftest import PUBLISHER, WRITER, agent
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbconvert import HTMLExporter, MarkdownExporter
from nbformat.v4 import new_code_cell, new_notebook

pytestmark = pytest.mark.kernel

# A made-up key, of which no part may be found anywhere.
KEY = "sk-made-up-0f1e2d3c4b5a69788796a5b4c3d2"
STORY = [
    "%load_ext bread_nb",
    "%%bread writer\nWrite about bread.",
    "x = %bread writer again",
    "x",
    "%%bread publisher\nPublish it.",
    "%bread resume last --approve",
    "for topic in ['rye', 'wheat']:\n    %bread writer about it",
    "print('after')",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("notebooks")
    agent(folder, "writer", WRITER)
    agent(folder, "publisher", PUBLISHER)
    return folder


def execute(
    folder: Path, cells: list[str], name: str, *, errors: bool = False, **env: str
) -> Path:
    """Run a notebook as nbclient does, and save it."""
    notebook = new_notebook(cells=[new_code_cell(cell) for cell in cells])
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"
    client = NotebookClient(
        notebook,
        timeout=60,
        kernel_name="python3",
        store_widget_state=False,
        record_timing=False,
        allow_errors=errors,
        resources={"metadata": {"path": str(folder)}},
    )
    variables = {"IPYTHONDIR": str(folder / ".ipython"), **env}
    client.execute(env={**os.environ, **variables})
    path = folder / name
    nbformat.write(notebook, path)
    return path


@pytest.fixture(scope="module")
def saved(folder: Path) -> Path:
    return execute(folder, STORY, "first.ipynb")


def test_two_executions_give_the_same_bytes(folder: Path, saved: Path):
    again = execute(folder, STORY, "second.ipynb")
    assert again.read_bytes() == saved.read_bytes()


def test_a_waiting_cell_ends_and_the_notebook_goes_on(saved: Path):
    cells = nbformat.read(saved, 4).cells
    waits = cells[4].outputs
    assert dict(waits[0].data) == {}
    assert waits[1].data["text/plain"].startswith("publisher waits for a person")
    assert cells[7].outputs[0].text == "after\n"


def test_a_saved_file_holds_no_widget_no_id_and_no_time(saved: Path):
    text = saved.read_text()
    for trace in (
        "widget",
        "publisher-1",
        "model_id",
        "checkpoint",
        "0:0",
        "/tmp",
    ):
        assert trace not in text


@pytest.mark.filterwarnings("ignore:Your element with mimetype")
@pytest.mark.parametrize("exporter", [HTMLExporter, MarkdownExporter])
def test_a_saved_file_reads_well_without_a_kernel(
    saved: Path, exporter: type[HTMLExporter | MarkdownExporter]
):
    text, _ = exporter().from_filename(str(saved))
    plain = text.replace("<strong>", "").replace("</strong>", "").replace("**", "")
    assert "publisher waits for a person" in plain
    assert "Bread is good" in plain
    assert "approved, done" in plain
    assert "It is out." in plain
    assert "model not found" not in plain


def test_where_nobody_can_answer_a_build_fails(folder: Path):
    cells = [*STORY[:1], STORY[4]]
    with pytest.raises(CellExecutionError, match="NO_ONE_TO_ASK"):
        execute(folder, cells, "ci.ipynb", CI="1")
    path = execute(folder, cells, "ci.ipynb", errors=True, CI="true")
    outputs = nbformat.read(path, 4).cells[1].outputs
    assert [output.output_type for output in outputs] == [
        "display_data",
        "display_data",
        "error",
    ]
    assert outputs[1].data["text/plain"].startswith("publisher waits for a person")


def test_a_key_is_nowhere_in_the_file_the_store_or_the_log(folder: Path):
    cells = [
        "%load_ext bread_nb",
        "from bread_nb import *",
        "import os; key = os.environ['OPENAI_API_KEY']",
        "def fail(request):\n"
        "    raise RuntimeError(f'401: header Authorization: Bearer {key}')\n"
        "leaky = Agent(model=Scripted([fail], repeat_last=True))",
        "%bread leaky hi",
        "%bread doctor --last",
        "%bread show last",
        "@tool\n"
        "def tell() -> str:\n"
        "    raise RuntimeError(f'key is {key}')\n"
        "teller = Agent(model=Scripted([{'calls': [{'name': 'tool_tell'}]}, 'x']),\n"
        "    tools=[tell])",
        "%bread teller hi",
        "Bread.load().run(leaky, 'hi').result()",
    ]
    path = execute(folder, cells, "key.ipynb", errors=True, OPENAI_API_KEY=KEY)
    outputs = nbformat.read(path, 4).cells[4].outputs
    assert outputs[-1].output_type == "error"
    for file in [path, *(folder / ".bread").rglob("*")]:
        if file.is_file():
            assert KEY[:8].encode() not in file.read_bytes(), file.name


def test_nbval_sees_what_goes_wrong(folder: Path):
    cells = [
        "%load_ext bread_nb",
        "%bread nosuchagent hi",
        "%bread writer --nosuch hi",
        "from bread_nb import *\n"
        "faulty = Agent(model=Scripted([{'error': 400}], repeat_last=True))",
        "%bread faulty hi",
        "%bread writer hi",
    ]
    notebook = new_notebook(cells=[new_code_cell(cell) for cell in cells])
    nbformat.write(notebook, folder / "wrong.ipynb")
    told = nbval(folder, "wrong.ipynb", "--nbval-lax")
    assert [line.split()[2] for line in told if "::ipynb::" in line] == [
        "PASSED",
        "FAILED",
        "FAILED",
        "PASSED",
        "FAILED",
        "PASSED",
    ]


def test_strict_nbval_passes_on_a_saved_notebook(folder: Path, saved: Path):
    told = nbval(folder, saved.name, "--nbval")
    assert [line.split()[2] for line in told if "::ipynb::" in line] == (
        ["PASSED"] * len(STORY)
    )


def nbval(folder: Path, name: str, *options: str) -> list[str]:
    """Run nbval on a notebook; its lines."""
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", name]
    done = subprocess.run(
        [*command, *options, "--nbval-current-env"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        env={**os.environ, "IPYTHONDIR": str(folder / ".ipython")},
    )
    return done.stdout.splitlines()


QUIET = """
import sys, threading
opened = []
INSTALLED = (sys.prefix, sys.base_prefix)
def note(event, args):
    path = str(args[0]) if event == "open" else ""
    if path and not path.endswith(".py") and not path.startswith(INSTALLED):
        opened.append(path)
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
before = threading.active_count()
sys.addaudithook(note)
import bread_nb
shell.run_line_magic("load_ext", "bread_nb")
print(threading.active_count() - before, [p for p in opened if "__pycache__" not in p])
print(sorted(m for m in ("ipywidgets", "anywidget", "openai", "anthropic", "httpx2")
             if m in sys.modules))
"""


def test_loading_starts_no_thread_and_opens_no_file(folder: Path):
    done = subprocess.run(
        [sys.executable, "-c", QUIET],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={**os.environ, "IPYTHONDIR": str(folder / ".ipython")},
    )
    assert done.stdout.splitlines() == [
        "bread 0.1.0: 2 agents (publisher, writer) · %bread help",
        "0 []",
        "[]",
    ]
    assert done.stderr == ""
