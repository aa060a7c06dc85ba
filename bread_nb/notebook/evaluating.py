"""Evaluations under way in this kernel: shown in their cells, ended by a person.

They work on the engine thread, as runs do, so that a cell that waits for one can be
interrupted at any time. What is done is kept; the same cell, run again, goes on.
"""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from bread_nb.errors import BreadError, BreadStopped
from bread_nb.notebook.bridge import GRACE_SECONDS
from bread_nb.notebook.eval_cell import EvalCell

if TYPE_CHECKING:
    from bread_nb.a2ui.eval_sheet import EvalEnd
    from bread_nb.evals.evaluate import Progress
    from bread_nb.evals.report import Report
    from bread_nb.evals.watching import Baking
    from bread_nb.notebook.stage import Stage

__all__ = ["Evaluating"]

_TICK_SECONDS = 0.1


class Evaluating:
    """One evaluation at work, from the moment it is made.

    Args:
        stage: What the cells of this kernel work with.
        work: The evaluation; it is given who is told of its progress.
        budget: The most it may cost.
        foreground: Whether the cell waits for it and for nothing else.
    """

    def __init__(
        self,
        stage: Stage,
        work: Baking,
        *,
        budget: float | None,
        foreground: bool = False,
    ) -> None:
        self._engine = stage.engine
        self._work = work
        self._budget = budget
        self._task: asyncio.Task[object] | None = None
        self.cancelled = False
        cell = stage.cell()
        pump = stage.watch.pump
        self._card = EvalCell(stage.shell, cell, stage.engine, pump, self.cancel)
        stage.evaluations.append(self._card)
        if foreground:
            self._card.in_foreground()
        self.done = stage.engine.submit(self._through, cell.context)

    async def _through(self) -> Report:
        self._task = asyncio.current_task()
        end: EvalEnd = "failed"
        try:
            if self.cancelled:
                raise asyncio.CancelledError
            report = await self._work(self._tell)
            end = "finished"
            return report
        except asyncio.CancelledError:
            end = "stopped"
            raise
        finally:
            self._card.over(end)

    def _tell(self, progress: Progress) -> None:
        self._card.tell(progress, self._budget)

    def cancel(self) -> None:
        """End it now, from any thread; what is done is kept."""
        self._engine.soon(self._cancel)

    def _cancel(self) -> None:
        if self.cancelled or self.done.done():
            return
        self.cancelled = True
        self._card.stopping()
        if self._task is not None:
            self._task.cancel()

    # -- waiting for it ----------------------------------------------------------------

    def held(self) -> Report:
        """Wait for it in this thread; an interrupt ends it, and so does Stop.

        Raises:
            BreadStopped: `RUN_CANCELLED` when it was ended so.
            BreadError: What the evaluation raised.
        """
        self._engine.hold(self.done, self.cancel, lambda: self.cancelled)
        return self._report()

    async def awaited(self) -> Report:
        """Wait for it on the loop that is running.

        Raises:
            BreadStopped: `RUN_CANCELLED` when it was stopped in its card.
            BreadError: What the evaluation raised.
        """
        loop, over = asyncio.get_running_loop(), asyncio.Event()
        self.done.add_done_callback(lambda _: _tell_loop(loop, over.set))
        try:
            while not over.is_set():
                await _at_most(_TICK_SECONDS, over.wait)
        except asyncio.CancelledError as cancelled:
            self.cancel()
            await _at_most(GRACE_SECONDS, over.wait)
            lines = self.stopped().lines()
            vars(cancelled)["_render_traceback_"] = lambda: lines
            raise
        return self._report()

    def _report(self) -> Report:
        if not self.done.done() or self.done.cancelled():
            raise self.stopped()
        error = self.done.exception()
        if self.cancelled and getattr(error, "code", None) == "RUN_CANCELLED":
            raise self.stopped()
        return self.done.result()

    def stopped(self) -> BreadError:
        """The lines that a cell ends with when the person ended it."""
        return BreadStopped(
            "Stopped by you.",
            code="RUN_CANCELLED",
            why=f"{self._card.figures.kept_words()}.",
            do="run the cell again to go on",
        )


async def _at_most(seconds: float, wait: Callable[[], Awaitable[object]]) -> None:
    try:
        async with asyncio.timeout(seconds):
            await wait()
    except builtins.TimeoutError:
        return


def _tell_loop(loop: asyncio.AbstractEventLoop, fn: Callable[[], object]) -> None:
    """Call `fn` on a loop; one that is closed needs to know nothing any more."""
    try:
        loop.call_soon_threadsafe(fn)
    except RuntimeError:
        return
