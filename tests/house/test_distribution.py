"""What the wheel and the source distribution carry, built from this checkout."""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUNDLE = "bread_nb/notebook/static/widget.js"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build(ROOT, "--directory", str(folder))
    return folder


def test_the_wheel_carries_the_built_widget_and_the_types(built: Path):
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = [name for name in names if name.endswith("/entry_points.txt")]
        commands = archive.read(metadata).decode()
    assert {BUNDLE, "bread_nb/py.typed"} <= set(names)
    assert "bread = bread_nb.cli.main:main" in commands
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"bread_nb"}


def test_a_wheel_is_made_from_the_source_distribution_without_node(
    built: Path, tmp_path: Path
):
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path)
    (source,) = tmp_path.iterdir()
    build(source, "--target", "wheel", PATH="")
    (wheel,) = (source / "dist").glob("*.whl")
    assert BUNDLE in zipfile.ZipFile(wheel).namelist()
    assert not list(source.rglob("node_modules"))


def build(source: Path, *arguments: str, **variables: str) -> None:
    """Build with the hook's own requirements already there, quietly."""
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", *arguments],
        cwd=source,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
