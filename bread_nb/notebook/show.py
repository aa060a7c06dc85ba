"""What one cell holds of a run: the live card, and the picture that stays.

Two outputs and never more. The card is settled, its data become `{}`, when nobody looks
at it any more; the picture is drawn at every end and drawn anew after a resume.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from IPython.core.interactiveshell import InteractiveShell
from pydantic import JsonValue

from bread_nb.a2ui.picture import Picture
from bread_nb.base.ids import monotonic
from bread_nb.notebook.bridge import Engine
from bread_nb.notebook.cells import Bundle, Cell, Output

__all__ = ["SLOW_PAGE_SECONDS", "UNSEEN_SECONDS", "Screen", "Widget"]

Json = dict[str, JsonValue]

# When a card that works and that nobody has looked at becomes a line of text.
UNSEEN_SECONDS = 3.0
# How long a page may take to say that it looks; a distant server is slow.
SLOW_PAGE_SECONDS = 10.0
_HELD_SECONDS = 300.0
_GOODBYE_SECONDS = 1.0
_WIDGET_SOURCE = Path(__file__).parent / "static" / "widget.js"


class Widget(Protocol):
    """The widget as a screen uses it."""

    @property
    def view(self) -> Bundle: ...
    def tell(self, message: Json) -> None: ...
    def close(self) -> None: ...


class Screen:
    """The outputs of one run in one cell.

    Args:
        shell: The shell of the cell.
        cell: The cell.
        waiting_too: Whether the picture is drawn for a run that waits; else it is only
            drawn when the run has ended.
    """

    def __init__(
        self, shell: InteractiveShell, cell: Cell, *, waiting_too: bool = True
    ) -> None:
        self.cell = cell
        self.waiting_too = waiting_too
        self.opened = monotonic()
        self.greeted = False
        self.settled = False
        self.drawn_at: float | None = None
        self._lined = False
        self.views: dict[str, str | None] = {}
        self._holds: dict[str, float] = {}
        self._card = Output(shell, cell)
        self._picture = Output(shell, cell)
        self._widget: Widget | None = None
        self.hear: Callable[[object], None] = _to_nobody

    def unseen(self, seconds: float) -> bool:
        """Whether it has been there for so long and no view has said hello."""
        return not self.greeted and monotonic() - self.opened >= seconds

    @property
    def alive(self) -> bool:
        """Whether there is a widget that views can look through."""
        return self._widget is not None

    def open(self, hear: Callable[[object], None], *, live: bool) -> None:
        """Put the card into the cell; `hear` gets what its views say.

        One that nobody will look at is put there as it is when it is settled. What
        runs notebooks unattended keeps the state of every widget that was ever open,
        its script included, so there is none in its cells.
        """
        if not self.cell.in_kernel:
            return
        if not live:
            self.settled = True
            self._card.show({})
            return
        self.hear = hear
        self._widget = _new_widget(self._heard) if self.cell.watched else None
        self._card.show({} if self._widget is None else self._widget.view)

    def _heard(self, content: object) -> None:
        self.hear(content)

    def tell(self, message: Json) -> bool:
        """Send a message to the views; whether any could get it."""
        if self._widget is None or not self.views:
            return False
        self.cell.context.copy().run(self._widget.tell, message)
        return True

    def answer(self, message: Json) -> None:
        """Send a message that a view waits for."""
        if self._widget is not None:
            self.cell.context.copy().run(self._widget.tell, message)

    def acknowledge(self, action_id: str) -> None:
        """Tell the view that its action has come."""
        self.answer({"t": "ack", "id": action_id})

    def result(
        self,
        action_id: str,
        *,
        ok: bool,
        say: str | None = None,
        problems: Sequence[JsonValue] = (),
        data: JsonValue = None,
    ) -> None:
        """Tell the view what came of its action, and hand it what it asked for."""
        told: Json = {"t": "result", "id": action_id, "ok": ok, "say": say}
        handed: Json = {} if data is None else {"data": data}
        self.answer({**told, "problems": [*problems], **handed})

    def greet(self, view: str, client: str | None) -> None:
        """A view has said that it is there.

        One that came late finds its card again, in place of the line of text.
        """
        self.greeted = True
        self.views[view] = client
        if self._lined and self._widget is not None:
            self._lined = False
            self._card.show(self._widget.view)

    def leave(self, view: str) -> None:
        """A view is gone."""
        self.views.pop(view, None)
        self._holds.pop(view, None)

    def hold(self, view: str, here: bool) -> None:
        """A person is at the card in this view, or has left it."""
        if here and view in self.views:
            self._holds.setdefault(view, monotonic())
        else:
            self._holds.pop(view, None)

    @property
    def held(self) -> bool:
        """Whether a person is at it; after five minutes that counts no more."""
        now = monotonic()
        return any(now - since < _HELD_SECONDS for since in self._holds.values())

    def late_views(self) -> list[str]:
        """The views in a page that no longer gets what this cell displays."""
        return [v for v, client in self.views.items() if client != self.cell.client]

    @property
    def late(self) -> bool:
        """Whether anybody looks who would lose the card for nothing when it settles."""
        return bool(self.late_views())

    def missed(self, view: str, since: float) -> bool:
        """Whether a view's page, which was loaded then, never got the picture."""
        drawn = self.drawn_at
        return view in self.late_views() and drawn is not None and drawn > since

    def draw(self, picture: Picture) -> bool:
        """Draw the picture, or draw it anew; whether a page may hold an older one."""
        return self.keep(
            {
                "text/plain": picture.plain,
                "text/markdown": picture.markdown,
                "text/html": picture.html,
            }
        )

    def keep(self, bundle: Bundle) -> bool:
        """Draw what stays in the cell; whether a page may hold an older one."""
        before = self._picture.bundle
        self._picture.show(bundle)
        if before == self._picture.bundle:
            return False
        self.drawn_at = monotonic()
        return True

    def say(self, line: str) -> None:
        """Show one line of text in place of the card that no view has looked at."""
        if self._card.shown and not self.settled:
            self._lined = True
            self._card.show({"text/plain": line})

    def settle(self) -> None:
        """Empty the card's output and close what stands behind it.

        The views are told first, so that they say no goodbye: JupyterLab deletes the
        subshell with the last widget, and ipykernel complains in the cell at hand of a
        message that was still on its way there.
        """
        if self.settled:
            return
        self.settled = True
        if self.views:
            self.answer({"t": "close"})
        if self._card.shown:
            self._card.show({})
        self.close()

    def vacate(self) -> None:
        """Empty both outputs."""
        self.settle()
        if self._picture.shown:
            self._picture.show({})

    def close(self) -> None:
        """Close the widget; what is displayed stays as it is."""
        self._let_go()()

    def give_way(self, engine: Engine) -> None:
        """The cell is run again: close the widget once its views have said goodbye.

        As in `settle`, nothing may be on its way when JupyterLab deletes the subshell.
        """
        loop, close = engine.loop(), self._let_go()
        engine.soon(lambda: loop.call_later(_GOODBYE_SECONDS, close))

    def _let_go(self) -> Callable[[], None]:
        """Send nothing any more; the answer closes the widget."""
        self.settled = True
        self.views.clear()
        self._holds.clear()
        widget, self._widget = self._widget, None
        if widget is None:
            return _nothing
        context, close = self.cell.context.copy(), widget.close
        return lambda: context.run(close)


def _nothing() -> None:
    """There is no widget."""


def _to_nobody(_content: object) -> None:
    """What nobody takes."""


def _new_widget(hear: Callable[[object], None]) -> Widget | None:
    """A widget, imported when the first one is needed; None when it was not built."""
    if not _WIDGET_SOURCE.is_file():
        return None
    module = import_module("bread_nb.notebook.widget")
    return cast("Widget", module.RunWidget(hear))
