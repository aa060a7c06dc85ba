"""The notebooks of the repository as tests, in every runner, with no network."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import papermill
import pytest
from notebooks.conftest import NOTEBOOKS, ROOT, environment

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

NBVAL = ("--nbval", "--nbval-current-env")
PARALLEL = ("-n", "2", "--dist", "loadfile")
# The plugins that come with the extra `dev` alone.
UNLIKE_DEV = ("-p", "no:asyncio", "-p", "no:timeout", "-p", "no:xdist")


@pytest.fixture
def clone(place: Path) -> Path:
    """A clone of what matters to the notebooks, with pytest's own settings."""
    shutil.copytree(ROOT / "agents", place / "agents")
    for name in ("pyproject.toml", "conftest.py"):
        shutil.copy(ROOT / name, place)
    return place


def outcomes(clone: Path, *options: str) -> tuple[dict[str, str], str]:
    """What became of each test, and all that pytest printed."""
    env = environment(clone, BREAD_PROJECT=str(clone))
    del env["BREAD_MODE"]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA"]
    done = subprocess.run(
        [*command, *options],
        cwd=clone,
        env=env,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    ends = ("PASSED ", "FAILED ", "ERROR ")
    told = [line for line in done.stdout.splitlines() if line.startswith(ends)]
    named = (line.split(" - ")[0].partition(" ") for line in told)
    return {name: word for word, _, name in named}, done.stdout + done.stderr


def failed_cells(found: dict[str, str]) -> list[int]:
    """The numbers of the cells that failed."""
    return sorted(int(n.split()[-1]) for n, word in found.items() if word == "FAILED")


def code_cells() -> int:
    read = (nbformat.read(path, as_version=4) for path in NOTEBOOKS)
    return sum(cell.cell_type == "code" for nb in read for cell in nb.cells)


def test_nbval_passes_on_all_of_them(clone: Path):
    found, said = outcomes(clone, *NBVAL, *PARALLEL, "notebooks/")
    assert set(found.values()) == {"PASSED"}, said
    assert len(found) == code_cells()


@pytest.mark.parametrize("options", [NBVAL, ("--bread",)])
def test_they_run_without_the_plugins_of_our_own_tests(
    clone: Path, options: tuple[str, ...]
):
    path = "notebooks/01-first-run.ipynb"
    found, said = outcomes(clone, *UNLIKE_DEV, *options, path, "agents/writer")
    assert set(found.values()) == {"PASSED"}, said


def test_our_plugin_passes_on_all_of_them_and_on_the_agents(clone: Path):
    found, said = outcomes(clone, "--bread", *PARALLEL, "notebooks/", "agents/")
    assert set(found.values()) == {"PASSED"}, said
    suites = [name for name in found if name.startswith("agents/")]
    assert len(found) - len(suites) == code_cells()
    assert len(suites) == 7


def test_nbmake_passes_on_them(clone: Path):
    two = ("notebooks/00-welcome.ipynb", "notebooks/06-regression.ipynb")
    found, said = outcomes(clone, "--nbmake", *PARALLEL, *two)
    assert list(found.values()) == ["PASSED", "PASSED"], said


def test_one_changed_word_of_a_prompt_fails_the_right_cells(clone: Path):
    prompt = clone / "agents" / "writer" / "prompt.md"
    prompt.write_text(prompt.read_text().replace("friendly", "grumpy"))
    path = "notebooks/06-regression.ipynb"
    found, said = outcomes(clone, *NBVAL, path)
    cells = [c for c in nbformat.read(ROOT / path, 4).cells if c.cell_type == "code"]
    failed = failed_cells(found)
    assert [cells[n].source.splitlines()[0] for n in failed] == [
        "%%bread writer",
        'report = await bread.eval("writer", concurrency=1)',
    ]
    assert said.count("says 'grumpy', recorded 'friendly'") >= len(failed)
    ours, told = outcomes(clone, "--bread", path, "agents/writer")
    assert list(ours.values()).count("FAILED") == len(failed) + 3
    assert "nearest: 06-regression.cassette.jsonl" in told
    assert "nearest: sentences.cassette.jsonl" in told


def test_without_the_extension_the_first_check_fails(clone: Path):
    path = clone / "notebooks" / "06-regression.ipynb"
    notebook = nbformat.read(path, as_version=4)
    loading = next(c for c in notebook.cells if c.source == "%load_ext bread_nb")
    loading.source = "pass"
    nbformat.write(notebook, path)
    found, said = outcomes(clone, "--nbval-lax", "--nbval-current-env", str(path))
    assert failed_cells(found)[0] == 1
    assert "run %load_ext bread_nb" in said


def test_papermill_sets_its_parameters(clone: Path, monkeypatch: pytest.MonkeyPatch):
    for name, value in environment(clone, BREAD_PROJECT=str(clone)).items():
        monkeypatch.setenv(name, value)
    out = clone / "out.ipynb"
    papermill.execute_notebook(
        clone / "notebooks" / "06-regression.ipynb",
        out,
        parameters={"pass_rate": 0.5},
        cwd=str(clone / "notebooks"),
        progress_bar=False,
        kernel_name="python3",
    )
    cells = json.loads(out.read_text())["cells"]
    injected = [c for c in cells if "injected-parameters" in c["metadata"]["tags"]]
    assert "pass_rate = 0.5" in "".join(injected[0]["source"])
    assert "3 of 3 passed" in "".join(cells[-2]["outputs"][0]["data"]["text/plain"])
