"""A place where the notebooks of the repository run with nothing but recordings."""

import os
import shutil
from pathlib import Path

import pytest

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
_UNSET = (
    "BREAD_STORE",
    "BREAD_LOCAL_MODEL",
    "BREAD_MODEL",
    "BREAD_CASSETTE",
    "CI",
    "PYTEST_CURRENT_TEST",
    "PYTEST_ADDOPTS",
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A copy of the notebooks' folder, with the guard beside it."""
    (tmp_path / "guard").mkdir()
    (tmp_path / "guard" / "sitecustomize.py").write_text(GUARD)
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks")
    return tmp_path


def environment(place: Path, **more: str) -> dict[str, str]:
    """An environment in which the local model is not to be had."""
    clean = {k: v for k, v in os.environ.items() if k not in _UNSET}
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
