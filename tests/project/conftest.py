"""A project on disk, away from the settings of whoever runs the tests."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fixtures.projects import QUIET, Project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    for name in tuple(os.environ):
        if name.startswith(QUIET):
            monkeypatch.delenv(name)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield Project(tmp_path.resolve())
    for name in set(sys.modules) - before:
        place = getattr(sys.modules[name], "__file__", None) or ""
        if place.startswith(str(tmp_path.resolve())) or name.startswith("_bread"):
            del sys.modules[name]
