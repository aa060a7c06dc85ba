"""The agents that browser tests run, and the files through which a test holds them."""

from __future__ import annotations

import shutil
from pathlib import Path

from browser.waiting import eventually
from fixtures.projects import Project

SECONDS = 20
AGENTS = Path(__file__).parent / "kitchen"


class Kitchen(Project):
    """A project whose models and tools go on when a file says so."""

    @classmethod
    def at(cls, root: Path) -> Kitchen:
        """Make one in a new folder."""
        shutil.copytree(AGENTS, root, ignore=shutil.ignore_patterns("__pycache__"))
        return cls(root)

    def let(self, *names: str) -> None:
        """Open gates: what waits at them goes on."""
        gates = self.root / "gates"
        gates.mkdir(exist_ok=True)
        for name in names:
            (gates / name).touch()

    def ledger(self, name: str = "ledger") -> list[str]:
        """What the tools wrote down, a line a call."""
        file = self.root / f"{name}.txt"
        return file.read_text("utf-8").splitlines() if file.exists() else []

    def wait_for_ledger(self, *lines: str, name: str = "ledger") -> None:
        """Wait until the tools have written down exactly these lines."""
        wanted = list(lines)
        what = f"{name} has {wanted}"
        eventually(lambda: self.ledger(name) == wanted, SECONDS, what)
