"""Commands where nothing but the core dependencies is installed."""

import pkgutil
import subprocess
import sys

import pytest
from fixtures.projects import Project

import bread_nb.cli

OPTIONAL = (
    "anthropic",
    "distributed",
    "matplotlib",
    "mcp",
    "nbclient",
    "nbformat",
    "openai",
    "pandas",
    "pytest",
    "wordllama",
    "xllamacpp",
)


@pytest.fixture
def bare(apart: Project) -> dict[str, str]:
    """The variables of a process in which no package of an extra is found."""
    for name in OPTIONAL:
        fault = f"raise ModuleNotFoundError('No module named {name}')\n"
        apart.write({f"hidden/{name}.py": fault})
    return {"PYTHONPATH": str(apart.root / "hidden")}


def test_every_command_is_there(apart: Project, bare: dict[str, str]):
    names = [module.name for module in pkgutil.iter_modules(bread_nb.cli.__path__)]
    lines = [f"import bread_nb.cli.{name}" for name in names]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        env=apart.environment(**bare),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_refresh_says_which_extra_it_needs(apart: Project, bare: dict[str, str]):
    apart.write({"story.ipynb": "{}"})
    said = apart.bread("refresh", "--yes", "story.ipynb", **bare)
    assert (said.code, said.err.splitlines()) == (
        1,
        [
            "Running notebooks needs nbclient. [MISSING_EXTRA]",
            "  why  nbclient or nbformat is not installed.",
            '  do   pip install "bread-nb[test]"',
        ],
    )
