"""The IPython extension: `%load_ext bread_nb`.

Loading is quick. It starts no thread and opens no file; everything else happens when
the first `%bread` line, or `Bread.load()`, asks for it.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from IPython.core.interactiveshell import ExecutionInfo, InteractiveShell
from IPython.core.magic import no_var_expand

import bread_nb
from bread_nb.bread import Bread
from bread_nb.errors import BreadError
from bread_nb.evals.watching import Baking, Watching
from bread_nb.notebook.bridge import engine, hold
from bread_nb.notebook.channels import listen
from bread_nb.notebook.completion import Known, matcher
from bread_nb.project.config import find_project
from bread_nb.project.loader import AgentFolder
from bread_nb.providers.deck import Deck
from bread_nb.runtime.run import Run

if TYPE_CHECKING:
    from bread_nb.evals.report import Report
    from bread_nb.notebook.stage import Stage

__all__ = ["load_ipython_extension", "unload_ipython_extension"]

_NAME = "bread"
_SLOT = "_bread_nb"
_DECK = "_bread_nb_deck"
_PATIENCE_SECONDS = 0.5
# Where front ends and pytest tell a kernel which notebook is its own.
_PYTEST = "PYTEST_CURRENT_TEST"
_VS_CODE = "__vsc_ipynb_file__"
_JUPYTER = "JPY_SESSION_NAME"


class _Loaded:
    """What the extension has put into one shell."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._stage: Stage | None = None
        self._raw_cell = ""
        self.deck = _deck_of(shell)
        self._unlisten = listen(shell)
        self._matcher = matcher(Known(agents=_agent_ids, handles=self._handles))

    @property
    def stage(self) -> Stage:
        """What the cells work with, made when it is first needed."""
        if self._stage is None:
            module = import_module("bread_nb.notebook.stage")
            self._stage = cast("Stage", module.Stage(self._shell, engine, self.deck))
            self._stage.raw_cell = self._raw_cell
        return self._stage

    @no_var_expand
    def bread(self, line: str, cell: str | None = None) -> object:
        """Run an agent, or say what waits: `%bread help`."""
        module = import_module("bread_nb.notebook.magics")
        return cast("object", module.bread_magic(self.stage, line, cell))

    def install(self) -> None:
        """Put everything in its place."""
        shell: Any = self._shell
        shell.register_magic_function(self.bread, "line_cell", _NAME)
        shell.events.register("pre_run_cell", self._next_cell)
        shell.Completer.custom_matchers.append(self._matcher)
        Bread.shared = self._shared
        Bread.common_home = engine
        Bread.common_deck = self.deck
        Run.display = self._display
        Run.hold = hold
        Watching.show = self._evaluate

    def remove(self) -> None:
        """Take everything away again; what works is cancelled."""
        shell: Any = self._shell
        for kind in ("line", "cell"):
            shell.magics_manager.magics[kind].pop(_NAME, None)
        shell.events.unregister("pre_run_cell", self._next_cell)
        shell.Completer.custom_matchers.remove(self._matcher)
        self._unlisten()
        Bread.shared = Bread.common_home = Bread.common_deck = None
        Run.display = Run.hold = Watching.show = None
        if self._stage is not None:
            self._stage.close()

    def _shared(self, place: Path | None) -> Bread:
        return self.stage.bread(place)

    def _display(self, run: Run) -> None:
        self.stage.display(run)

    def _evaluate(self, work: Baking, budget: float | None) -> Awaitable[Report]:
        """Show an evaluation that a cell awaits."""
        module = import_module("bread_nb.notebook.evaluating")
        evaluating = module.Evaluating(self.stage, work, budget=budget)
        return cast("Awaitable[Report]", evaluating.awaited())

    def _next_cell(self, info: ExecutionInfo) -> None:
        told: Any = info
        self._raw_cell = str(told.raw_cell or "")
        if self._stage is not None:
            self._stage.raw_cell = self._raw_cell
            self._stage.next_cell(told.cell_id)

    def _handles(self) -> list[str]:
        """The newest runs' handles; none before anything has run here."""
        stage = self._stage
        if stage is None:
            return []
        try:
            rows = stage.engine.submit(stage.bread().runs).result(_PATIENCE_SECONDS)
        except (BreadError, TimeoutError):
            return []
        return [row.handle for row in rows]


def _deck_of(shell: InteractiveShell) -> Deck:
    """The kernel's one deck, which loading the extension again leaves as it is."""
    told: Any = shell

    def notebook() -> str | None:
        """The notebook's name, where the front end or pytest tells it."""
        named: object = told.user_ns.get(_VS_CODE)
        tested = os.environ.get(_PYTEST, "").partition("::")[0]
        said = [tested, str(named), os.environ.get(_JUPYTER, "")]
        return next((Path(p).name for p in said if p.endswith(".ipynb")), None)

    deck = vars(shell).get(_DECK)
    if not isinstance(deck, Deck):
        deck = vars(shell)[_DECK] = Deck(anew=True, notebook=notebook)
    return deck


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Called by `%load_ext bread_nb`."""
    slots = vars(shell)
    if _SLOT in slots:
        return
    loaded = slots[_SLOT] = _Loaded(shell)
    loaded.install()
    print(_greeting(loaded.deck))  # noqa: T201


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Called by `%unload_ext bread_nb` and before `%reload_ext` loads it again."""
    loaded = vars(shell).pop(_SLOT, None)
    if isinstance(loaded, _Loaded):
        loaded.remove()


def _agent_ids() -> list[str]:
    try:
        root = find_project(Path.cwd())
    except BreadError:
        return []
    return AgentFolder(root).ids() if root is not None else []


def _greeting(deck: Deck) -> str:
    ids = _agent_ids()
    noun = "agent" if len(ids) == 1 else "agents"
    agents = f"{len(ids)} {noun} ({', '.join(ids)})" if ids else "no agents here"
    told = [f"bread {bread_nb.__version__}: {agents}", _replay(deck), "%bread help"]
    return " · ".join(filter(None, told))


def _replay(deck: Deck) -> str:
    """Where recordings come from, by the names of files alone."""
    try:
        mode = deck.mode.name
    except BreadError:
        return ""
    found = deck.names() if mode in ("auto", "replay") else []
    name = found[0] if len(found) == 1 else deck.own()
    if name in found:
        return f"replay from {name}"
    return "replay from recordings" if found else ""
