"""A project with a publisher that asks before it publishes, and a plain writer.

`apart` runs each command in a process of its own; `project` runs them here, which is
quicker, each on an instance of its own all the same.
"""

import io
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fixtures.projects import QUIET, Project, Said

from bread_nb.cli.main import main

SCRIPT = """
    - deltas: ["The post ", "is ready."]
      calls: [{name: tool_publish, args: {title: Rye, token: s3cret}}]
    - "It is out."
"""
PUBLISHER = """
    from bread_nb import Agent, Permissions

    agent = Agent(model="scripted:publish.yaml",
                  permissions=Permissions(ask=["tool:publish"]))
"""
PUBLISH = """
    from pathlib import Path

    from bread_nb import tool

    LEDGER = Path(__file__).parents[3] / "ledger.txt"

    @tool
    def publish(title: str, token: str = "") -> str:
        "Publish a post."
        with LEDGER.open("a") as ledger:
            ledger.write(title + chr(10))
        return "published " + title
"""


@dataclass(frozen=True)
class NearProject(Project):
    """A project whose commands run in this process."""

    patch: pytest.MonkeyPatch
    capture: pytest.CaptureFixture[str]

    def bread(
        self, *arguments: str, stdin: str | None = None, **variables: str
    ) -> Said:
        """Run `bread` in the project, in this process."""
        with self.patch.context() as patch:
            patch.chdir(self.root)
            patch.setattr(sys, "stdin", io.StringIO(stdin or ""))
            for name, value in variables.items():
                patch.setenv(name, value)
            self.capture.readouterr()
            code = main(arguments)
            out, err = self.capture.readouterr()
        return Said(code, out, err)


@pytest.fixture
def apart(tmp_path: Path) -> Project:
    return furnished(Project(tmp_path.resolve()))


@pytest.fixture
def project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Project]:
    for name in tuple(os.environ):
        if name.startswith(QUIET):
            monkeypatch.delenv(name)
    monkeypatch.setenv("BREAD_MODE", "live")
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield furnished(NearProject(tmp_path.resolve(), monkeypatch, capsys))
    for name in tuple(sys.modules):
        if name.startswith("_bread"):
            del sys.modules[name]


def furnished(made: Project) -> Project:
    """The project with its two agents and their scripts."""
    made.agent("publisher", PUBLISHER, tools__publish=PUBLISH)
    made.agent("writer")
    made.write({"publish.yaml": SCRIPT, "script.yaml": "- A loaf of rye.\n"})
    return made


def ledger(project: Project) -> list[str]:
    """What was really published."""
    path = project.root / "ledger.txt"
    return path.read_text().splitlines() if path.exists() else []
