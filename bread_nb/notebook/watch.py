"""All runs that this kernel shows, and who keeps their cards up to date.

One listener a Bread instance hears every crumb; those of a run that some cell shows go
to its card. Everything else here is about when: when a card gives way to a line of
text, when it is settled, when its run is forgotten.
"""

from __future__ import annotations

from functools import partial
from typing import Any, cast
from weakref import WeakKeyDictionary

from IPython.core.interactiveshell import InteractiveShell

from bread_nb.base.ids import monotonic
from bread_nb.bread import Bread
from bread_nb.crumbs import (
    Crumb,
    HumanRequired,
    HumanResumed,
    ModelUsed,
    ReasoningDelta,
    RunEnd,
    RunFailed,
    RunStart,
    TextDelta,
)
from bread_nb.errors import BreadError
from bread_nb.notebook.bridge import Engine
from bread_nb.notebook.cells import Cell, client_of
from bread_nb.notebook.deeds import Deeds
from bread_nb.notebook.inbox_cell import InboxCell
from bread_nb.notebook.pump import Pump
from bread_nb.notebook.recovering import driven
from bread_nb.notebook.show import SLOW_PAGE_SECONDS, UNSEEN_SECONDS, Screen
from bread_nb.notebook.shown import Shown
from bread_nb.providers.deck import Deck
from bread_nb.runtime.live import Live
from bread_nb.runtime.run import Run
from bread_nb.stores.records import crumb_log

__all__ = ["Watch"]

_KEPT_SECONDS = 20.0
_LOOK_SECONDS = 1.0
_TRIES = 5
_TEXT = (TextDelta, ReasoningDelta)
_RESTING = (HumanRequired, HumanResumed, RunEnd, RunFailed)


class Watch:
    """The runs that are shown in the cells of one kernel."""

    def __init__(self, shell: InteractiveShell, engine: Engine, deck: Deck) -> None:
        self._shell = shell
        self._deck = deck
        self._engine = engine
        self.pump = Pump(engine)
        self._runs: dict[str, Shown] = {}
        self._starting: list[tuple[Shown, Live]] = []
        self._deeds: dict[Shown, Deeds] = {}
        self._inboxes: list[InboxCell] = []
        self._opened: list[tuple[Shown, str]] = []
        self._heard: WeakKeyDictionary[Bread, Any] = WeakKeyDictionary()

    # -- beginning to show -------------------------------------------------------------

    def start(self, run: Run) -> Shown:
        """Show a run that was just started here, from its first crumb on."""
        bread = cast("Bread", run.live.keeper)
        shown = self._new(bread, run.agent_id)
        shown.run = run
        self._engine.soon(lambda: self._attach(shown, run.live))
        self.follow(shown, run)
        return shown

    def known(self, run_id: str) -> Shown | None:
        """A run that is shown already."""
        return self._runs.get(run_id)

    async def find(self, bread: Bread, name: str) -> Shown:
        """Show a stored run, at work or not; on the engine thread.

        Raises:
            BreadError: `RUN_NOT_FOUND`.
        """
        row = await bread.find_run(name)
        known = self._runs.get(row.id)
        if known is not None:
            return known
        shown = self._new(bread, row.agent_id)
        shown.begin(row.id, row.handle)
        shown = self._runs.setdefault(row.id, shown)
        await self.renew(shown)
        return shown

    async def renew(self, shown: Shown) -> None:
        """Show a run as the store has it now; on the engine thread."""
        bread, run_id = shown.bread, shown.run_id
        for _ in range(_TRIES):
            heard = len(shown.crumbs)
            stored = await bread.crumbs(run_id)
            at_work = bread.at_work(run_id)
            if at_work or heard == len(shown.crumbs):
                self._retell(shown, stored, at_work)
                break
        if any(one.id == run_id for one in await bread.interrupted()):
            shown.interrupted()
        for form in tuple(shown.card.story.open_forms.values()):
            await self._deeds[shown].arm(form.crumb.checkpoint_id)

    def open(
        self, shown: Shown, cell: Cell, *, card: bool = True, waiting_too: bool = True
    ) -> Screen:
        """Put a run into a cell; its picture follows when the run rests.

        Args:
            shown: The run.
            cell: The cell.
            card: Whether its live card is put there.
            waiting_too: Whether the picture is drawn for a run that waits, too.
        """
        screen = Screen(self._shell, cell, waiting_too=waiting_too)
        self._opened.append((shown, cell.execution))
        shown = shown.now
        deeds = self._deeds[shown]
        with shown.lock:
            shown.screens.append(screen)
            if card:
                live = cell.watched or not shown.ended
                screen.open(lambda content: deeds.hear(screen, content), live=live)
        self._tend(shown, screen)
        return screen

    def holds(self, cell: Cell, run_id: str) -> bool:
        """Whether the cell being executed shows a run, also one forgotten meanwhile."""
        return any(
            shown.now.run_id == run_id and execution == cell.execution
            for shown, execution in tuple(self._opened)
        )

    def deeds(self, shown: Shown) -> Deeds:
        """Who carries out what is asked for at a run's cards."""
        return self._deeds[shown]

    async def open_inbox(self, bread: Bread, cell: Cell) -> None:
        """Put what waits for a person into a cell; on the engine thread."""
        inbox = InboxCell(self, bread, self._engine, self.pump, self._client)
        await inbox.open(self._shell, cell)
        self._inboxes.append(inbox)

    def vacate(self, shown: Shown, cell: Cell) -> None:
        """Empty what a cell holds of a run, for another run takes its place there."""
        with shown.lock:
            for screen in tuple(shown.screens):
                if screen.cell.execution == cell.execution:
                    shown.screens.remove(screen)
                    screen.vacate()

    def follow(self, shown: Shown, run: Run) -> None:
        """Keep an eye on a run that goes on."""
        shown.run = run
        self.listen(shown.bread)
        run.live.ended.add_done_callback(lambda _: shown.now.rest())
        if shown.state == "interrupted":
            self._engine.submit(lambda: self._take_up(shown, run.live))

    def listen(self, bread: Bread) -> None:
        """Hear every crumb of a Bread instance, once."""
        if bread not in self._heard:
            self._heard[bread] = bread.on("crumb", self._accept)

    # -- crumbs, on the engine thread --------------------------------------------------

    def _new(self, bread: Bread, agent: str) -> Shown:
        shown = Shown(bread, agent, _title(bread, agent), self.pump)
        self._deeds[shown] = Deeds(shown, self._engine, self, self._client)
        self.listen(bread)
        return shown

    def _attach(self, shown: Shown, live: Live) -> None:
        """Hear what the run drops from now on, and take in what it has dropped."""
        self._catch_up(shown, live)
        shown.attached.set()

    def _catch_up(self, shown: Shown, live: Live) -> None:
        if not live.run_id:
            self._starting.append((shown, live))
            live.ended.add_done_callback(lambda _: self._ended_early(shown, live))
            return
        if self._begin(shown, live):
            for crumb in tuple(live.crumbs):
                self._pass_on(shown, crumb)

    def _ended_early(self, shown: Shown, live: Live) -> None:
        """It has ended, and dropped no crumb that told of its beginning."""
        if live.run_id and any(one is live for _, one in self._starting):
            self._engine.soon(lambda: self._begin(shown, live))
        self._unstart(live)

    def _unstart(self, live: Live) -> None:
        self._starting = [item for item in self._starting if item[1] is not live]

    def _begin(self, shown: Shown, live: Live) -> bool:
        """The run has its id; False when it is shown already, by somebody else."""
        known = self._runs.setdefault(live.run_id, shown)
        if known is not shown:
            for screen in shown.join(known):
                screen.hear = partial(self._deeds[known].hear, screen)
            self._deeds.pop(shown, None)
            known.rest()
            return False
        shown.begin(live.run_id, live.handle)
        if not live.crumbs or not isinstance(live.crumbs[0], RunStart):
            self._engine.submit(lambda: self._tell_beginning(shown))
        return True

    async def _tell_beginning(self, shown: Shown) -> None:
        """A run that goes on has told nothing of how it came here: the store has it."""
        await self.renew(shown)
        shown.rest()

    def _accept(self, crumb: Crumb) -> None:
        if isinstance(crumb, _RESTING):
            for inbox in self._inboxes:
                inbox.ask_again()
        for shown, live in tuple(self._starting):
            if live.run_id == crumb.run_id:
                self._unstart(live)
                self._begin(shown, live)
        shown = self._runs.get(crumb.run_id)
        if shown is not None:
            self._pass_on(shown, crumb)

    def _pass_on(self, shown: Shown, crumb: Crumb) -> None:
        shown.accept(crumb)
        if isinstance(crumb, HumanRequired):
            deeds, checkpoint_id = self._deeds[shown], crumb.checkpoint_id
            self._engine.submit(lambda: deeds.arm(checkpoint_id))
        elif isinstance(crumb, HumanResumed):
            self._deeds[shown].resumed(crumb)
        elif isinstance(crumb, ModelUsed):
            deck, run_id = self._deck, crumb.run_id
            replayed, recording = run_id in deck.played, run_id in deck.recorded
            shown.set_facts(replayed=replayed, recording=recording)
        if isinstance(crumb, _RESTING):
            self._engine.loop().call_later(0.1, shown.rest)
        text = isinstance(crumb, _TEXT)
        self.pump.touch(shown, text=text)
        if not text:
            for onlooker in shown.onlookers:
                self.pump.touch(onlooker)

    def _retell(self, shown: Shown, stored: list[Crumb], at_work: list[Live]) -> None:
        """Tell what is stored, then what the work under way has dropped since."""
        live = tuple(at_work[0].crumbs) if at_work else ()
        first = next((c.seq for c in live if c.seq is not None), None)
        before = [c for c in stored if first is None or (c.seq or 0) < first]
        shown.retell([*before, *live])

    async def _take_up(self, shown: Shown, live: Live) -> None:
        """Say that an interrupted run works again, once the store says so."""
        if await driven(live):
            shown.taken_up()

    # -- when --------------------------------------------------------------------------

    def next_cell(self, cell_id: str | None) -> None:
        """A cell begins: settle what has ended, and what this cell held before."""
        self._opened.clear()
        self._next_after_inboxes(cell_id)
        for shown in tuple(self._runs.values()):
            for screen in tuple(shown.screens):
                if cell_id is not None and screen.cell.id == cell_id:
                    screen.give_way(self._engine)
                    shown.screens.remove(screen)
                elif shown.ended and not screen.late and not screen.held:
                    screen.settle()
            self._forget(shown)

    def _next_after_inboxes(self, cell_id: str | None) -> None:
        for inbox in tuple(self._inboxes):
            if cell_id is not None and inbox.screen.cell.id == cell_id:
                inbox.give_way()
            if inbox.screen.settled:
                self._inboxes.remove(inbox)

    def _tend(self, shown: Shown, screen: Screen) -> None:
        """Look after a card now and then, until it is settled."""
        loop = self._engine.loop()
        self._engine.soon(
            lambda: loop.call_later(_LOOK_SECONDS, self._look, shown, screen)
        )

    def _look(self, shown: Shown, screen: Screen) -> None:
        now, shown = monotonic(), shown.now
        rested = shown.rested_at
        over = shown.ended and rested is not None and now - rested >= _KEPT_SECONDS
        over = over and not screen.late and not screen.held
        if not screen.settled:
            if shown.working and screen.unseen(UNSEEN_SECONDS):
                screen.say(shown.line())
            elif over or screen.unseen(SLOW_PAGE_SECONDS):
                screen.settle()
            elif screen.greeted and now - screen.opened >= UNSEEN_SECONDS:
                shown.stay(screen)
        if screen.settled:
            self._forget(shown)
            return
        if screen.views and shown.run_id and not shown.ended and not shown.at_work():
            self._engine.submit(lambda: self._look_elsewhere(shown))
        self._tend(shown, screen)

    async def _look_elsewhere(self, shown: Shown) -> None:
        """Somebody looks at a run that another process may drive: show how it is."""
        bread, run_id = shown.bread, shown.run_id
        newest = await bread.store.read(crumb_log(run_id), newest=1)
        if shown.at_work() or shown.ended or shown.run_id not in self._runs:
            return
        if newest and newest[0].seq > shown.card.story.seq:
            await self.renew(shown)
        elif shown.working:
            if any(one.id == run_id for one in await bread.interrupted()):
                shown.interrupted()
        else:
            for form in tuple(shown.card.story.open_forms.values()):
                await self._deeds[shown].look(form.crumb.checkpoint_id)

    def _forget(self, shown: Shown) -> None:
        """A run that is over and in nobody's sight needs no memory."""
        over = shown.ended and all(screen.settled for screen in shown.screens)
        if over:
            self.drop(shown)

    def drop(self, shown: Shown) -> None:
        """Show a run no more; its cards are closed."""
        for screen in shown.screens:
            screen.settle()
        self._runs.pop(shown.run_id, None)
        self._deeds.pop(shown, None)
        self.pump.forget(shown)

    def settle_ended(self) -> None:
        """Settle every card whose run has ended; those that wait stay as they are."""
        for shown in tuple(self._runs.values()):
            if shown.ended:
                for screen in shown.screens:
                    screen.settle()

    def close(self) -> None:
        """Settle what has ended, close the other cards, and hear nothing any more."""
        self.settle_ended()
        for shown in tuple(self._runs.values()):
            for screen in shown.screens:
                screen.close()
        for inbox in self._inboxes:
            inbox.close()
        self._inboxes.clear()
        self._runs.clear()
        for remove in self._heard.values():
            remove()
        self._heard.clear()

    def _client(self) -> str | None:
        """The page that the message at hand came from."""
        return client_of(self._shell)


def _title(bread: Bread, agent_id: str) -> str | None:
    """The name that an agent has for people, if it has one."""
    try:
        return bread.agent(agent_id).name
    except BreadError:
        return None
