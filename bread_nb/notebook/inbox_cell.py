"""What one cell holds of the inbox: rows that can be answered, and the list that stays.

The rows come from the store, which other processes write to as well, so it is asked
again now and then while somebody looks. A run that goes on gets its card below them.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from html import escape
from typing import Protocol, cast

from IPython.core.interactiveshell import InteractiveShell
from pydantic import JsonValue

from bread_nb.a2ui.card import surface_id
from bread_nb.a2ui.inbox_sheet import InboxRow, InboxSheet, inbox_title
from bread_nb.base.ids import monotonic, new_id, now_ms
from bread_nb.bread import Bread
from bread_nb.crumbs import RunStart
from bread_nb.notebook.bridge import Engine
from bread_nb.notebook.cells import Cell
from bread_nb.notebook.deeds import Deeds
from bread_nb.notebook.letters import Action, Bye, Hello, Stay, read_letter
from bread_nb.notebook.pump import Pump
from bread_nb.notebook.show import SLOW_PAGE_SECONDS, Screen
from bread_nb.notebook.shown import Shown
from bread_nb.project.listing import list_pending

__all__ = ["InboxCell"]


_MOST_ROWS = 100
_ASK_SECONDS = 2.0
_GREY_MS = 10_000
_KEPT_SECONDS = 20.0


class Shows(Protocol):
    """Who shows runs in cells."""

    async def find(self, bread: Bread, name: str) -> Shown: ...
    async def renew(self, shown: Shown) -> None: ...
    def deeds(self, shown: Shown) -> Deeds: ...
    def open(
        self, shown: Shown, cell: Cell, *, card: bool = True, waiting_too: bool = True
    ) -> Screen: ...


class InboxCell:
    """The inbox in one cell.

    Args:
        shows: Who shows the runs it is about.
        bread: Whose questions they are.
        engine: Where what takes time is done.
        pump: Who says when something may be sent.
        client: Which page the message at hand came from.
    """

    def __init__(
        self,
        shows: Shows,
        bread: Bread,
        engine: Engine,
        pump: Pump,
        client: Callable[[], str | None],
    ) -> None:
        self.bread = bread
        self._shows = shows
        self._engine = engine
        self._pump = pump
        self._client = client
        self._sheet = InboxSheet(surface_id(new_id()))
        self._shown: dict[str, Shown] = {}
        self._settled: dict[str, int] = {}
        self._lock = threading.RLock()
        self._asking = asyncio.Lock()
        self._emptied: float | None = None
        self._screen: Screen | None = None

    # -- in the cell -------------------------------------------------------------------

    async def open(self, shell: InteractiveShell, cell: Cell) -> None:
        """Put the rows into a cell, and below them the list that stays."""
        await self.refresh()
        first = next(iter(self._sheet.rows.values()), None)
        if first is not None:
            self._unfold(first)
        self._screen = Screen(shell, cell)
        self._screen.open(self._hear, live=cell.watched)
        await self._list()
        self._tend()

    @property
    def screen(self) -> Screen:
        """Its outputs."""
        assert self._screen is not None
        return self._screen

    async def _list(self) -> None:
        """Draw the list anew: folded while the rows stand above it."""
        live = not self.screen.settled
        answer = "form above" if live else None
        table = await list_pending(self.bread, answer=answer)
        waiting = self._sheet.waiting()
        calls = sum(row.checkpoint is not None for row in waiting)
        html = table.html
        if live and waiting:
            title = escape(inbox_title(calls, len(waiting) - calls))
            html = f"<details><summary>{title}</summary>\n{html}</details>"
        self.screen.keep({"text/plain": table.plain, "text/html": html})

    def _tend(self) -> None:
        loop = self._engine.loop()
        self._engine.soon(lambda: loop.call_later(_ASK_SECONDS, self._look))

    def _look(self) -> None:
        """Ask the store again while somebody looks; settle when nobody needs it."""
        screen, now = self.screen, monotonic()
        if screen.settled:
            return
        if screen.unseen(SLOW_PAGE_SECONDS):
            self.settle()
            return
        emptied = self._emptied
        over = emptied is not None and now - emptied >= _KEPT_SECONDS
        if over and not screen.late and not screen.held:
            self.settle()
            return
        if screen.views:
            self.ask_again()
        self._tend()

    def settle(self) -> None:
        """Give way to the list."""
        self.screen.settle()
        self.close()
        self._engine.submit(self._list)

    def give_way(self) -> None:
        """The cell is run again."""
        self.screen.give_way(self._engine)
        self._look_away()

    def close(self) -> None:
        """Look at nothing any more; what is displayed stays as it is."""
        self.screen.close()
        self._look_away()

    def _look_away(self) -> None:
        self._pump.forget(self)
        for shown in self._shown.values():
            if self in shown.onlookers:
                shown.onlookers.remove(self)

    # -- rows, on the engine thread ----------------------------------------------------

    def ask_again(self) -> None:
        """Look at the store once more; from any thread."""
        self._engine.submit(self.refresh)

    async def refresh(self) -> None:
        """Bring the rows in line with the store; they keep their places."""
        async with self._asking:
            changed = await self._compare()
        self._count()
        if self._screen is not None:
            self._pump.touch(self)
            if changed:
                await self._list()

    async def _compare(self) -> bool:
        """Add rows and settle rows; whether there were any."""
        calls = await self.bread.pending()
        broken = await self.bread.interrupted()
        found: list[tuple[str, str, str | None, int]] = [
            (f"q_{_plain(c.checkpoint_id)}", c.run_id, c.checkpoint_id, c.created_at)
            for c in calls
        ]
        found += [(f"r_{_plain(r.id)}", r.id, None, r.updated_at) for r in broken]
        wanted = {key for key, *_ in found}
        rows = self._sheet.rows
        changed = False
        for key, run_id, checkpoint, at in found:
            known = rows.get(key)
            if known is not None and known.state == "open":
                continue
            if known is None and self._standing() >= _MOST_ROWS:
                continue
            shown = await self._shows.find(self.bread, run_id)
            if checkpoint is not None and shown.form(checkpoint) is None:
                await self._shows.renew(shown)
            with self._lock:
                rows[key] = self._row(shown, key, checkpoint, at)
            changed = True
        with self._lock:
            self._sheet.more = len(wanted - rows.keys())
        for key, row in tuple(rows.items()):
            if row.state == "open" and key not in wanted:
                changed = await self._settle_row(row) or changed
            elif self._grown_old(row):
                row.state = "gone"
        return changed

    def _standing(self) -> int:
        return sum(row.state != "gone" for row in self._every())

    def _row(self, shown: Shown, key: str, checkpoint: str | None, at: int) -> InboxRow:
        self._shown[key] = shown
        if self not in shown.onlookers:
            shown.onlookers.append(self)
        starts = (c.input for c in shown.crumbs if isinstance(c, RunStart))
        return InboxRow(
            id=key,
            card=shown.card,
            run=shown.handle,
            checkpoint=checkpoint,
            asked_at=at,
            input=next(starts, None),
        )

    async def _settle_row(self, row: InboxRow) -> bool:
        """A row needs nobody any more; False while its run has not told of it yet."""
        shown = self._shown[row.id]
        if row.checkpoint is not None:
            ended = await shown.forms.ended(row.checkpoint)
            form = shown.form(row.checkpoint)
            if shown.at_work() and form is not None and form.open:
                return False
            if ended is not None:
                shown.settled(row.checkpoint, *ended)
        with self._lock:
            form = shown.form(row.checkpoint) if row.checkpoint is not None else None
            row.end = form.ended if form is not None else None
            row.state = "settled"
            self._settled[row.id] = now_ms()
        self._go_on(row)
        return True

    def _grown_old(self, row: InboxRow) -> bool:
        over = now_ms() - self._settled.get(row.id, 0) >= _GREY_MS
        return row.state == "settled" and not row.here and over

    def _count(self) -> None:
        busy = any(row.here and self._shown[row.id].working for row in self._every())
        if self._sheet.waiting() or busy:
            self._emptied = None
        elif self._emptied is None:
            self._emptied = monotonic()

    def _every(self) -> list[InboxRow]:
        return list(self._sheet.rows.values())

    def _go_on(self, row: InboxRow) -> None:
        """Show a run that goes on from here in a card below the rows."""
        shown, cell = self._shown[row.id], self.screen.cell
        here = any(one.cell.execution == cell.execution for one in shown.screens)
        goes_on = shown.ended or (shown.working and bool(shown.at_work()))
        if not row.here or here or not goes_on:
            return
        self._shows.open(shown, cell, card=not shown.ended, waiting_too=False)
        shown.rest()

    # -- the page ----------------------------------------------------------------------

    def _draw(self) -> None:
        now = now_ms()
        for row in self._every():
            shown = self._shown[row.id]
            with shown.lock:
                row.card = shown.card
                row.draw(now)

    def send_news(self) -> int:
        """Send what changed to the views."""
        with self._lock:
            if not self.screen.views:
                return 0
            self._draw()
            frame = self._sheet.frame()
            return 0 if frame is None else int(self.screen.tell(frame))

    def _hear(self, content: object) -> None:
        screen = self.screen
        letter = read_letter(cast("JsonValue", content))
        match letter:
            case Hello(view=view):
                with self._lock:
                    sent = self.send_news()
                    screen.greet(view, self._client())
                    self._draw()
                    screen.answer({**self._sheet.snapshot(), "view": view})
                    self._pump.spend(sent + 1)
            case Bye(view=view):
                screen.leave(view)
            case Stay(view=view, here=here):
                screen.hold(view, here)
            case Action():
                self._act(letter)
            case None:
                return

    def _act(self, action: Action) -> None:
        row = self._row_of(action)
        if row is None or row.state != "open" or action.name == "unfold":
            self._at_row(action, row)
            return
        shown = self._shown[row.id]
        row.here = row.here or action.name in ("answer", "recover", "end")
        form = shown.form(row.checkpoint) if row.checkpoint is not None else None
        source = form.id if form is not None and action.name == "answer" else "root"
        inner = replace(action, surface=shown.card.surface, source=source)
        self._shows.deeds(shown).act(self.screen, inner)

    def _at_row(self, action: Action, row: InboxRow | None) -> None:
        """What needs no run: a row is unfolded, or it can be answered no more."""
        ok = row is not None and action.name == "unfold"
        if row is not None and ok:
            self._unfold(row)
        words = row.end if row is not None and row.end else "This waits no more."
        self.screen.acknowledge(action.id)
        self.screen.result(action.id, ok=ok, say=None if ok else words)

    def _row_of(self, action: Action) -> InboxRow | None:
        rows = self._sheet.rows
        key = action.source.removeprefix("f_")
        return rows.get(key) if action.surface == self._sheet.surface else None

    def _unfold(self, row: InboxRow) -> None:
        row.unfolded = True
        if self._screen is not None:
            self._pump.touch_soon(self)


def _plain(name: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
