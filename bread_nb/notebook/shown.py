"""One run as this kernel shows it: its story, its open forms, the cells that hold it.

The engine thread folds crumbs in; pages talk from other threads. Everything happens
under one lock, and frames leave under it too, so that they keep their order.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

from pydantic import JsonValue

from bread_nb.a2ui.blocks import Form
from bread_nb.a2ui.card import Card, surface_id
from bread_nb.a2ui.figures import clock
from bread_nb.a2ui.picture import Picture, picture, working_picture
from bread_nb.a2ui.questions import Extras
from bread_nb.a2ui.telling import State
from bread_nb.a2ui.values import visible
from bread_nb.a2ui.views import Facts, head_view
from bread_nb.base.ids import monotonic, new_id, now_ms
from bread_nb.base.redact import Redactor, environment_secrets
from bread_nb.bread import Bread
from bread_nb.crumbs import Crumb
from bread_nb.notebook.letters import Hello
from bread_nb.notebook.nonces import OpenForms
from bread_nb.notebook.pump import Pump, Source
from bread_nb.notebook.show import Screen
from bread_nb.runtime.live import Live
from bread_nb.runtime.run import Run

__all__ = ["Shown"]

Json = dict[str, JsonValue]


class Shown:
    """A run and whoever looks at it.

    Args:
        bread: The instance that the run belongs to.
        agent: What to call it before it has told anything.
        title: The name its agent has for people, if it has one.
        pump: Who says when something may be sent.
    """

    def __init__(self, bread: Bread, agent: str, title: str | None, pump: Pump) -> None:
        self.bread = bread
        self._title = title
        self.session: str | None = None
        self.run_id = ""
        self.handle = ""
        self.run: Run | None = None
        self.again: Callable[[], None] | None = None
        self.screens: list[Screen] = []
        self.crumbs: list[Crumb] = []
        self.forms = OpenForms(bread)
        self.lock = threading.RLock()
        self.rested_at: float | None = None
        self.attached = threading.Event()
        self.onlookers: list[Source] = []
        self._joined: Shown | None = None
        self._pump = pump
        self.card = Card(surface_id(new_id()))
        self.card.facts = Facts(title=title or agent)
        self._noted: State | None = None

    # -- what the engine tells ---------------------------------------------------------

    def begin(self, run_id: str, handle: str) -> None:
        """The run has its id; what views see so far gives way to its own surface."""
        with self.lock:
            if self.run_id:
                return
            facts = replace(self.card.facts, title=self._title)
            self.run_id, self.handle = run_id, handle
            self.card = Card(surface_id(run_id))
            self.card.facts = replace(facts, run=handle)
            self.send_whole()

    @property
    def now(self) -> Shown:
        """Who shows this run: another one, when it turned out to be shown already."""
        return self if self._joined is None else self._joined

    def join(self, known: Shown) -> list[Screen]:
        """Leave the cells to another one that shows this run; these are they."""
        with self.lock, known.lock:
            self._joined = known
            screens, self.screens = self.screens, []
            known.screens += screens
            known.run = self.run or known.run
            known.send_whole()
        return screens

    def accept(self, crumb: Crumb) -> None:
        """Take in one more crumb of the run."""
        with self.lock:
            session = crumb.session_id
            if not self.crumbs and session and _is_name(session):
                self.session = session
                self.card.facts = replace(self.card.facts, session=session)
            self.crumbs.append(crumb)
            self.card.accept(crumb)
            if self._noted not in (None, self.state):
                self._noted = None
                self.card.notice("still", "", "")

    def retell(self, crumbs: Sequence[Crumb]) -> None:
        """Tell the run anew, from its first crumb."""
        with self.lock:
            facts = self.card.facts
            self.card = Card(surface_id(self.run_id))
            self.card.facts = facts
            self.crumbs.clear()
            for crumb in crumbs:
                self.accept(crumb)
            self.send_whole()

    # -- what others ask ---------------------------------------------------------------

    @property
    def state(self) -> State:
        """What the run does, as it is told."""
        return self.card.story.state

    @property
    def working(self) -> bool:
        """Whether it works; the person is waiting for it."""
        return self.card.story.working

    @property
    def ended(self) -> bool:
        """Whether it is over."""
        return self.card.story.ended

    @property
    def watched(self) -> bool:
        """Whether any view is open."""
        return any(screen.views for screen in self.screens)

    def at_work(self) -> list[Live]:
        """The work that is under way on it here."""
        if self.run_id:
            return self.bread.at_work(self.run_id)
        return [self.run.live] if self.run is not None and not self.run.done else []

    def form(self, checkpoint_id: str) -> Form | None:
        """The form of a checkpoint, open or settled."""
        return self.card.story.forms.get(checkpoint_id)

    def picture(self) -> Picture:
        """What a notebook keeps of the run as it stands."""
        with self.lock:
            return picture(self.card.story)

    def line(self) -> str:
        """What it does now, in one line."""
        with self.lock:
            head = head_view(self.card.story, self.card.facts, now_ms())
        word = str(head["word"])
        took = clock(int(str(head["elapsed_ms"])))
        said = word[:1].lower() + word[1:]
        stop = f"`%bread cancel {self.handle}` stops it."
        if head["foreground"] is True:
            stop = "Interrupt the kernel to stop."
        return f"{head['agent']}: {said}, {took}. {stop}"

    # -- what goes to the pages --------------------------------------------------------

    def _touch(self) -> None:
        for source in (self, *self.onlookers):
            self._pump.touch_soon(source)

    def set_facts(self, **changes: str | bool | None) -> None:
        """Change what only the kernel knows."""
        with self.lock:
            facts = replace(self.card.facts, **changes)  # type: ignore[arg-type]
            if facts != self.card.facts:
                self.card.facts = facts
                self._touch()

    def note(self, role: str, title: str, text: str, button: str | None = None) -> None:
        """Show a note on the card until the run's state is another."""
        with self.lock:
            self._noted = self.state
            self.card.notice(role, title, text, button=button)
            self._touch()

    def stopping(self) -> None:
        """A person asked it to stop."""
        with self.lock:
            self.card.story.stopping()
            self._touch()

    def settled(self, checkpoint_id: str, line: str, at: int) -> None:
        """A question of it was answered by another process."""
        with self.lock:
            self.card.story.settled_elsewhere(checkpoint_id, line, at)
            self._touch()

    def interrupted(self) -> None:
        """Its process ended while it worked, and nobody has gone on yet."""
        with self.lock:
            self.card.story.interrupted()
            self._touch()

    def taken_up(self) -> None:
        """It was interrupted, and works again."""
        with self.lock:
            self.card.story.taken_up(now_ms())
            self._touch()

    def add_extras(self, checkpoint_id: str, extras: Extras) -> None:
        """Add to a form what only the kernel knows."""
        with self.lock:
            self.card.add_extras(checkpoint_id, extras)
            self._touch()

    def send_news(self) -> int:
        """Send what changed to every card that somebody looks at."""
        with self.lock:
            if not self.watched:
                return 0
            frame = self.card.frame()
            if frame is None:
                return 0
            return sum(screen.tell(frame) for screen in tuple(self.screens))

    def send_whole(self) -> None:
        """Send the whole card to every view."""
        with self.lock:
            if self.watched:
                snapshot = self.card.snapshot()
                sent = sum(screen.tell(snapshot) for screen in tuple(self.screens))
                self._pump.spend(sent)

    def greet(self, screen: Screen, hello: Hello, client: str | None) -> None:
        """A view has come: it gets the whole, the others what they do not have yet."""
        with self.lock:
            sent = self.send_news()
            screen.greet(hello.view, client)
            screen.answer({**self.card.snapshot(), "view": hello.view})
            loaded = None if hello.age is None else monotonic() - hello.age / 1000
            if loaded is not None and screen.missed(hello.view, loaded):
                screen.answer(self._stale(hello.view))
            self._pump.spend(sent + 1)

    def _stale(self, view: str) -> Json:
        """What a view is told whose page does not get the picture any more."""
        return {"t": "stale", "view": view, "run": self.handle}

    # -- when it rests -----------------------------------------------------------------

    def rest(self) -> None:
        """It works no more for now: draw it, and settle what nobody looks at."""
        with self.lock:
            if not self.run_id:
                self._never_began()
            if self.working or not self.run_id:
                return
            self.rested_at = monotonic()
            drawn = self.picture()
            for screen in tuple(self.screens):
                if self.ended or screen.waiting_too:
                    self._draw(screen, drawn)
                if not screen.greeted and not screen.cell.watched:
                    screen.settle()

    def stay(self, screen: Screen) -> None:
        """It works on: put into a cell what stays there if nothing else comes.

        After a reload of the page the end is not drawn there any more.
        """
        with self.lock:
            if self.working and screen.waiting_too and screen.drawn_at is None:
                self._draw(screen, working_picture(visible(self.card.story.agent)))

    def _never_began(self) -> None:
        """A run that failed before it had an id is told by its error alone."""
        error = self.run.error if self.run is not None else None
        if error is None:
            return
        words = Redactor(environment_secrets()).text(str(error))
        for screen in self.screens:
            screen.say(words)
            screen.close()

    def _draw(self, screen: Screen, drawn: Picture) -> None:
        outdated = screen.draw(drawn)
        if outdated:
            for view in screen.late_views():
                screen.answer(self._stale(view))
                self._pump.spend()


def _is_name(session_id: str) -> bool:
    """Whether a person named this session; others have ids."""
    return not (len(session_id) == 36 and session_id.count("-") == 4)
