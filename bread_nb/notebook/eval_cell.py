"""What one cell shows of an evaluation that is under way; nothing of it stays.

The report is what stays. The card is told of each row and sends what changed when the
pump has room; it gives way when the evaluation is over. It waits a little with that:
a page that was loaded meanwhile asks for it only when the cell has ended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import cast

from IPython.core.interactiveshell import InteractiveShell
from pydantic import JsonValue

from bread_nb.a2ui.card import surface_id
from bread_nb.a2ui.eval_sheet import EvalEnd, EvalFigures, EvalSheet
from bread_nb.a2ui.words import say
from bread_nb.base.ids import monotonic, new_id
from bread_nb.evals.evaluate import Progress
from bread_nb.evals.tables import figures_of
from bread_nb.notebook.bridge import Engine
from bread_nb.notebook.cells import Cell, client_of
from bread_nb.notebook.letters import Action, Bye, Hello, Stay, read_letter
from bread_nb.notebook.pump import Pump
from bread_nb.notebook.show import UNSEEN_SECONDS, Screen

__all__ = ["EvalCell"]


_LOOK_SECONDS = 1.0
_KEPT_SECONDS = 5.0


class EvalCell:
    """The card of one evaluation in one cell.

    Args:
        shell: The shell of the cell.
        cell: The cell.
        engine: Where it is worked at.
        pump: Who says when something may be sent.
        stop: Ends the evaluation; called from any thread.
    """

    def __init__(
        self,
        shell: InteractiveShell,
        cell: Cell,
        engine: Engine,
        pump: Pump,
        stop: Callable[[], None],
    ) -> None:
        self._shell = shell
        self._cell = cell
        self._engine = engine
        self._pump = pump
        self._stop = stop
        self._lock = threading.RLock()
        self._sheet = EvalSheet(surface_id(new_id()))
        self._began = monotonic()
        self._screen: Screen | None = None
        self._ended: float | None = None

    # -- what the evaluation tells, on the engine thread -------------------------------

    @property
    def figures(self) -> EvalFigures:
        """How far it has come."""
        return self._sheet.figures

    def in_foreground(self) -> None:
        """The cell waits for it and for nothing else."""
        self._sheet.foreground = True

    def tell(self, progress: Progress, budget: float | None) -> None:
        """Show how far it has come; the first time the card is put into the cell."""
        with self._lock:
            self._sheet.figures = figures_of(progress, budget)
        if self._screen is None:
            self._open()
        self._pump.touch(self)

    def stopping(self) -> None:
        """It was asked to stop."""
        with self._lock:
            self._sheet.stopping = True
        self._pump.touch(self)

    def over(self, end: EvalEnd) -> None:
        """It is over: nothing more comes but the report."""
        with self._lock:
            self._sheet.end = end
            self._ended = monotonic()
            if self._screen is not None:
                self._say_what_is_missing(self._screen)
            sent = self.send_news()
        self._pump.spend(sent)
        screen = self._screen
        if screen is not None and not screen.views:
            self._settle(screen)

    # -- in the cell -------------------------------------------------------------------

    def _open(self) -> None:
        """Put the card there; where nobody looks there is none to begin with."""
        screen = self._screen = Screen(self._shell, self._cell)
        if not self._cell.watched:
            screen.settled = True
            return
        screen.open(self._hear, live=True)
        self._engine.loop().call_later(_LOOK_SECONDS, self._look, screen)

    def _look(self, screen: Screen) -> None:
        if screen.settled:
            return
        now, ended = monotonic(), self._ended
        if ended is None and screen.unseen(UNSEEN_SECONDS):
            screen.say(f"{self.figures.line()}. Interrupt the kernel to stop.")
        if ended is not None and now - ended >= _KEPT_SECONDS:
            self.rest()
        self._engine.loop().call_later(_LOOK_SECONDS, self._look, screen)

    def rest(self) -> bool:
        """Give way when it is over, but not in a page that gets no report.

        Returns:
            Whether it shows nothing any more.
        """
        screen = self._screen
        if screen is None or screen.settled:
            return self._ended is not None
        if self._ended is not None and not screen.late:
            self._settle(screen)
        return screen.settled

    def next_cell(self, cell_id: str | None) -> bool:
        """Another cell begins, or this one anew; whether it shows nothing any more."""
        screen = self._screen
        if screen is not None and cell_id is not None and self._cell.id == cell_id:
            screen.give_way(self._engine)
        return self.rest()

    def drop(self) -> None:
        """Nobody looks after it any more: end it, and take it away."""
        if self._ended is None:
            self._stop()
        if self._screen is not None:
            self._screen.close()

    def _settle(self, screen: Screen) -> None:
        screen.settle()
        self._pump.forget(self)

    # -- the page, from any thread -----------------------------------------------------

    def send_news(self) -> int:
        """Send what changed to the views."""
        with self._lock:
            screen = self._screen
            if screen is None or not screen.views:
                return 0
            self._clock()
            frame = self._sheet.frame()
            return 0 if frame is None else int(screen.tell(frame))

    def _say_what_is_missing(self, screen: Screen) -> None:
        """A page that was loaded meanwhile gets neither report nor error."""
        if not screen.late:
            return
        match self._sheet.end:
            case "finished":
                self._sheet.note = say("eval_late")
            case "stopped" | "failed":
                self._sheet.note = f"{self.figures.kept_words()}."
            case None:
                return

    def _clock(self) -> None:
        if self._sheet.end is None:
            self._sheet.elapsed_ms = round(1000 * (monotonic() - self._began))

    def _hear(self, content: object) -> None:
        screen = self._screen
        assert screen is not None
        letter = read_letter(cast("JsonValue", content))
        match letter:
            case Hello(view=view):
                with self._lock:
                    sent = self.send_news()
                    screen.greet(view, client_of(self._shell))
                    self._say_what_is_missing(screen)
                    self._clock()
                    screen.answer({**self._sheet.snapshot(), "view": view})
                    self._pump.spend(sent + 1)
            case Bye(view=view):
                screen.leave(view)
            case Action():
                self._act(screen, letter)
            case Stay() | None:
                return

    def _act(self, screen: Screen, action: Action) -> None:
        """Stop is all that can be asked for here."""
        screen.acknowledge(action.id)
        works = self._sheet.end is None
        ok = works and action.name == "stop" and action.surface == self._sheet.surface
        if ok:
            self._stop()
        words = None if ok else "It does not work any more. There is nothing to stop."
        screen.result(action.id, ok=ok, say=words)
