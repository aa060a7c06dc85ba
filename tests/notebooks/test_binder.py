"""What Binder would build from binder/, without Docker."""

import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from notebooks.conftest import ROOT

Part = dict[str, Callable[..., Any]]


@pytest.fixture
def part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Part:
    """The parts of scripts/check-binder, in a place with a binder/ of its own."""
    (tmp_path / "binder").mkdir()
    for path in (ROOT / "binder").iterdir():
        copy = tmp_path / "binder" / path.name
        copy.write_bytes(path.read_bytes())
        copy.chmod(path.stat().st_mode)
    monkeypatch.chdir(tmp_path)
    return runpy.run_path(str(ROOT / "scripts" / "binder.py"))


def test_the_dockerfile_is_in_order():
    done = subprocess.run(
        [sys.executable, "scripts/binder.py", "image"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("The Dockerfile is in order: Python 3.11")


def test_a_step_that_comes_too_early_is_named(part: Part):
    dockerfile = "RUN ./binder/postBuild\nCOPY --chown=0:0 src/ x\n"
    wrong = part["wrong_steps"](dockerfile)
    assert "  'RUN ./binder/postBuild' comes too early" in wrong
    assert any("no step" in line and "requirements.txt" in line for line in wrong)


def test_a_pin_that_replaces_what_the_image_has_is_named(part: Part):
    path = Path("binder/requirements.txt")
    path.write_text(path.read_text().replace("ipykernel==7.0.1", "ipykernel==7.4.0"))
    assert part["wrong_pins"]() == [
        "  ipykernel==7.4.0 would replace 7.0.1 of the base image"
    ]


def test_what_is_no_pin_is_refused(part: Part):
    with Path("binder/requirements.txt").open("a") as file:
        file.write("-e .\n")
    with pytest.raises(SystemExit, match=r"'-e \.' is no pin"):
        part["pins"]()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_new_environment_runs_every_notebook(full_counts: bool):
    if not full_counts:
        pytest.skip("installs an environment; runs with --all")
    done = subprocess.run(
        ["scripts/check-binder"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=890,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "06-regression.ipynb, auto: ran to its end" in done.stdout
