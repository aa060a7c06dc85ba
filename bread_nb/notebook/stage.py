"""All that the extension keeps in one kernel: projects, shown runs, the last error."""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from IPython.core.interactiveshell import InteractiveShell

from bread_nb.base.ids import frozen
from bread_nb.bread import Bread
from bread_nb.errors import BreadError
from bread_nb.notebook.bridge import Engine
from bread_nb.notebook.cells import Cell
from bread_nb.notebook.given import look_up
from bread_nb.notebook.shown import Shown
from bread_nb.notebook.stored import stored_run
from bread_nb.notebook.watch import Watch
from bread_nb.project.config import find_project
from bread_nb.project.lists import Table
from bread_nb.providers.deck import Deck
from bread_nb.runtime.agent import Agent
from bread_nb.runtime.run import Live, Run, Work

if TYPE_CHECKING:
    from bread_nb.notebook.eval_cell import EvalCell

__all__ = ["SharedBread", "Stage"]


class SharedBread(Bread):
    """The instance that a kernel's cells share; the kernel closes it.

    Leaving `async with` closes nothing, for other cells still use it.
    """

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **options)
        self._begun: list[Live] = []
        self._last = ""

    @property
    def last_run(self) -> str:
        """The id of the run that was last started or gone on with here, if any."""
        begun = (live.run_id for live in reversed(self._begun) if live.run_id)
        return next(begun, self._last)

    def resume(
        self,
        checkpoint: str,
        answer: object,
        *,
        ctx: object = None,
        agent: Agent | None = None,
    ) -> Run:
        """As everywhere; `last` is the last run of this kernel, when there is one."""
        named = self.last_run if checkpoint == "last" else ""
        return super().resume(named or checkpoint, answer, ctx=ctx, agent=agent)

    def _begin(self, live: Live, work: Work, ctx: object) -> Run:
        self._last = self.last_run
        self._begun = [one for one in self._begun if not one.ended.done()]
        self._begun.append(live)
        return super()._begin(live, work, ctx)

    async def __aexit__(self, *_: object) -> None:
        return

    async def close(self) -> None:
        """Close it on the loop that its runs live on."""
        loop = self._home.loop()
        if loop is None or loop is asyncio.get_running_loop():
            await super().close()
            return
        closing = asyncio.run_coroutine_threadsafe(super().close(), loop)
        await asyncio.wrap_future(closing)


class Stage:
    """What the cells of one kernel work with.

    Args:
        shell: The shell.
        engine: Where runs live.
        deck: The recordings of this kernel, and the mode.
    """

    def __init__(self, shell: InteractiveShell, engine: Engine, deck: Deck) -> None:
        self.shell = shell
        self.engine = engine
        self.deck = deck
        self.watch = Watch(shell, engine, deck)
        self.evaluations: list[EvalCell] = []
        self.raw_cell = ""
        self.last_error: BaseException | None = None
        self._breads: dict[Path, Bread] = {}
        self._earlier: list[Bread] = []
        self._clock = ExitStack()
        atexit.register(self.settle_ended)

    def bread(self, place: Path | None = None) -> Bread:
        """The instance for the project around a folder, opened at its first use.

        Raises:
            BreadError: For a configuration that cannot be used.
        """
        start = place or Path.cwd()
        root = find_project(start) or start.resolve()
        bread = self._breads.get(root)
        if bread is None:
            self._stop_clock()
            bread = SharedBread.open(start)
            bread.look_up_names(self._names)
            bread.look_up_agents(self.variable)
            self._breads[root] = bread
            self.watch.listen(bread)
        return bread

    def take_mode(self, name: str, cassette: str | None) -> None:
        """Call models in another way from now on.

        What is recorded or replayed has a store of its own; runs that are under way
        stay where they are.

        Raises:
            BreadError: `RECORD_REFUSED` in CI.
        """
        apart = self.deck.fresh_store
        self.deck.choose(name, cassette)
        if apart or self.deck.fresh_store:
            self._earlier += self._breads.values()
            self._breads.clear()
            self._clock.close()

    def _stop_clock(self) -> None:
        """In a replay each time and each id is that of any other replay."""
        if self.deck.fresh_store and self.deck.mode.name == "replay":
            self._clock.close()
            self._clock.enter_context(frozen())

    @property
    def space(self) -> dict[str, object]:
        """The variables of the notebook."""
        return cast("Any", self.shell).user_ns

    @property
    def own(self) -> dict[str, object]:
        """The variables that the notebook has made, without those of IPython."""
        hidden: dict[str, object] = cast("Any", self.shell).user_ns_hidden
        return {
            name: value
            for name, value in self.space.items()
            if not (name in hidden and hidden[name] is value)
        }

    def cell(self) -> Cell:
        """The cell that is being executed."""
        return Cell.here(self.shell)

    def variable(self, name: str) -> Agent | None:
        """The agent that a variable of the notebook holds."""
        value = self.space.get(name)
        return value if isinstance(value, Agent) else None

    def say(self, text: str) -> None:
        """Say a line in the cell."""
        publisher: Any = self.shell.display_pub
        publisher.publish({"text/plain": text}, {})

    def keep(self, result: object) -> None:
        """Show what draws itself in the cell, and leave it there."""
        publisher: Any = self.shell.display_pub
        publisher.publish(cast("Any", result)._repr_mimebundle_(), {})

    def list(self, table: Table) -> None:
        """Show a list in the cell."""
        publisher: Any = self.shell.display_pub
        publisher.publish({"text/plain": table.plain, "text/html": table.html}, {})

    def _names(self, names: Sequence[str]) -> object:
        return look_up(names, self.own)

    def run_name(self, bread: Bread, name: str) -> str:
        """The run that a name means here: `last` is this kernel's last, if any."""
        if name != "last" or not isinstance(bread, SharedBread):
            return name
        return bread.last_run or name

    # -- runs --------------------------------------------------------------------------

    def display(self, run: Run) -> None:
        """Show a run in the cell that is being executed, once."""
        cell = self.cell()
        if run.id and self.watch.holds(cell, run.id):
            return
        shown = self.watch.known(run.id) if run.id else None
        if not run.id and run.done:
            self.say(repr(run))
            return
        if shown is None and run.id and run.done:
            shown = self.show(run.live.keeper, run.id)
        shown = shown or self.watch.start(run)
        self.watch.open(shown, cell, card=not shown.now.ended)
        shown.now.rest()

    def show(self, keeper: object, name: str) -> Shown:
        """A stored run, ready to be put into a cell.

        Raises:
            BreadError: `RUN_NOT_FOUND`.
        """
        bread = keeper if isinstance(keeper, Bread) else self.bread()
        return self.engine.call(lambda: self.watch.find(bread, name))

    async def run_of(self, shown: Shown) -> Run:
        """A `Run` for what is shown: the one at work here, or as it is kept."""
        bread = shown.bread
        if shown.run is not None and bread.at_work(shown.run_id):
            return shown.run
        row = await bread.find_run(shown.run_id)
        return await stored_run(row, shown.crumbs, bread)

    def next_cell(self, cell_id: str | None) -> None:
        """A cell begins: what is over gives way, and what this cell held before."""
        self.watch.next_cell(cell_id)
        kept = [one for one in self.evaluations if not one.next_cell(cell_id)]
        self.evaluations = kept

    def settle_ended(self) -> None:
        """Settle all that has ended; what waits stays as it is."""
        self.watch.settle_ended()
        for one in self.evaluations:
            one.rest()

    def close(self) -> None:
        """Settle, cancel what works, and end the thread."""
        atexit.unregister(self.settle_ended)
        for one in self.evaluations:
            one.drop()
        self.watch.close()
        breads = [*self._breads.values(), *self._earlier]
        self._breads.clear()
        self._earlier.clear()
        if self.engine.started:
            for bread in breads:
                try:
                    self.engine.call(bread.close)
                except BreadError as error:
                    self.last_error = error
            self.engine.close()
        self._clock.close()
