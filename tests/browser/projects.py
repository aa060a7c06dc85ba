"""The agents that browser tests run, and the files through which a test holds them."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

from browser.waiting import eventually
from fixtures.projects import Project
from playwright.sync_api import Locator

SECONDS = 20
# A button of another widget, which keeps the thread of all widgets until the gate
# `button` is open. A page that has just begun sends its click to the main thread.
HOLD_BUTTON = """\
import threading
import ipywidgets
from bread_nb.notebook.channels import pin
from gates import pass_blocking, write_down
def hold(_):
    early = threading.current_thread() is threading.main_thread()
    write_down('early' if early else 'held')
    if not early:
        pass_blocking('button')
button = ipywidgets.Button(description='Hold')
button.on_click(hold)
pin(button.comm)
button"""
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

    def forget_trust(self) -> None:
        """Make the notebooks here foreign ones, as if they came from elsewhere."""
        for notebook in self.root.glob("*.ipynb"):
            text = notebook.read_text("utf-8")
            notebook.write_text(text.replace("%load_ext", " %load_ext"), "utf-8")

    def ledger(self, name: str = "ledger") -> list[str]:
        """What the tools wrote down, a line a call."""
        file = self.root / f"{name}.txt"
        return file.read_text("utf-8").splitlines() if file.exists() else []

    def hold_widgets(self, button: Locator) -> None:
        """Click the button of `HOLD_BUTTON` until it keeps the widgets' thread."""
        before = self.ledger()
        while "held" not in before:
            button.click()
            before = eventually(partial(self._more, before), SECONDS, "it is clicked")

    def _more(self, before: list[str]) -> list[str] | None:
        """The ledger, once it is longer."""
        now = self.ledger()
        return now if len(now) > len(before) else None

    def wait_for_ledger(self, *lines: str, name: str = "ledger") -> None:
        """Wait until the tools have written down exactly these lines."""
        wanted = list(lines)
        what = f"{name} has {wanted}"
        eventually(lambda: self.ledger(name) == wanted, SECONDS, what)
