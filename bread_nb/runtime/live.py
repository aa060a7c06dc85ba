"""The engine's side of a run: its crumbs, its task, and how it ended."""

from __future__ import annotations

import asyncio
import builtins
import concurrent.futures
import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from bread_nb.crumbs import Crumb
from bread_nb.errors import BreadError
from bread_nb.runtime.agent import Agent
from bread_nb.runtime.hooks import as_bread_error
from bread_nb.runtime.outcome import Outcome

__all__ = ["Live", "Reader", "Work", "agent_in", "follow", "running", "too_many"]

_TICK_SECONDS = 0.1
_HANDLE = re.compile(r"(\D.*)-\d+(?:\.[a-z]+)?")
Work = Callable[[], Coroutine[Any, Any, Outcome]]


@dataclass(slots=True)
class Reader:
    """Somebody who waits for crumbs, or only for the end, on a loop of their own."""

    loop: asyncio.AbstractEventLoop
    event: asyncio.Event
    crumbs: bool = True
    waiting: bool = False


@dataclass(eq=False)
class Live:
    """The side of a run that the engine holds: its crumbs and how it ended.

    `keeper` is the Bread instance it belongs to, for who shows the run. `agent` is the
    agent of a run that is gone on with, where whoever does so hands it over.
    """

    agent_id: str
    keeper: object = field(default=None, repr=False)
    agent: Agent | None = field(default=None, repr=False)
    crumbs: list[Crumb] = field(default_factory=list[Crumb])
    ended: concurrent.futures.Future[Outcome] = field(
        default_factory=concurrent.futures.Future[Outcome]
    )
    task: asyncio.Task[None] | None = None
    loop: asyncio.AbstractEventLoop | None = None
    run_id: str = ""
    handle: str = ""
    stop_requested: bool = False
    cancel_requested: bool = False
    readers: list[Reader] = field(default_factory=list[Reader])

    def accept(self, crumb: Crumb) -> None:
        """Keep a crumb and wake the readers."""
        self.crumbs.append(crumb)
        if self.readers:
            self.wake()

    def wake(self, *, ended: bool = False) -> None:
        """Tell the readers that wait for it that there is a crumb, or the end."""
        for reader in tuple(self.readers):
            if not reader.waiting or not (ended or reader.crumbs):
                continue
            reader.waiting = False
            if reader.loop is self.loop and _on(reader.loop):
                reader.event.set()
            else:
                _tell(reader.loop, reader.event.set)

    def start(self, work: Work, loop: asyncio.AbstractEventLoop) -> None:
        """Begin the work on a loop, from any thread; not once it was cancelled."""
        if self.ended.done():
            return
        self.loop = loop
        if _on(loop):
            self._create(work)
        else:
            loop.call_soon_threadsafe(self._create, work)

    def _create(self, work: Work) -> None:
        assert self.loop is not None
        self.task = self.loop.create_task(self._work(work))
        self.task.add_done_callback(self._never_begun)
        if self.cancel_requested:
            self.task.cancel()

    async def _work(self, work: Work) -> None:
        try:
            outcome = await work()
        except asyncio.CancelledError:
            self._end(error=self._cancelled())
        except (Exception, SystemExit) as error:  # noqa: BLE001
            self._end(error=as_bread_error(error, "AGENT_ERROR"))
        except BaseException as error:
            self._end(error=error)
            raise
        else:
            self._end(outcome=outcome)

    def _end(
        self, *, outcome: Outcome | None = None, error: BaseException | None = None
    ) -> None:
        if error is not None:
            self.ended.set_exception(error)
        elif outcome is not None:
            self.ended.set_result(outcome)
        self.wake(ended=True)

    def _never_begun(self, _: asyncio.Task[None]) -> None:
        """A task that is cancelled at once runs no line of its work."""
        if not self.ended.done():
            self._end(error=self._cancelled())

    def _cancelled(self) -> BreadError:
        return BreadError("Stopped by you.", code="RUN_CANCELLED", do=self.next_step)

    @property
    def next_step(self) -> str:
        """What goes on from where the run is left."""
        session = f" --session {self.handle}" if self.handle else ""
        return f"%%bread {self.agent_id}{session}"

    def explain(self, cancelled: asyncio.CancelledError) -> None:
        """Have a notebook show a cell that was cut off here in two lines."""
        end = self.ended.exception() if self.ended.done() else None
        if not isinstance(end, BreadError):
            what = f"Interrupted; {self.handle or self.agent_id} "
            what += "has ended." if self.ended.done() else "works on."
            do = f"%bread show {self.handle or 'last'}"
            end = BreadError(what, code="RUN_CANCELLED", do=do)
        lines = end.lines()
        vars(cancelled)["_render_traceback_"] = lambda: lines

    def cancel(self) -> None:
        """Ask the work to end now; asking twice is asking once."""
        if self.cancel_requested:
            return
        self.cancel_requested = True
        task, loop = self.task, self.loop
        if loop is None and not self.ended.done():
            self._end(error=self._cancelled())
        if task is None or loop is None:
            return
        if _on(loop):
            task.cancel()
        else:
            _tell(loop, task.cancel)


async def follow(
    live: Live,
    loop: asyncio.AbstractEventLoop,
    ready: Callable[[], bool],
    *,
    crumbs: bool = True,
) -> None:
    """Wait until `ready`, waking ten times a second when the run is elsewhere.

    The waking keeps a cell that awaits a run interruptible on every kernel. Without
    `crumbs` no crumb wakes it, only the end.
    """
    reader = Reader(loop, asyncio.Event(), crumbs)
    live.readers.append(reader)
    try:
        while not ready():
            reader.event.clear()
            reader.waiting = True
            if ready():
                return
            if live.loop is loop:
                await reader.event.wait()
            else:
                await _wait_a_tick(reader.event)
    finally:
        live.readers.remove(reader)


async def _wait_a_tick(event: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(_TICK_SECONDS):
            await event.wait()
    except builtins.TimeoutError:
        return


def running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _on(loop: asyncio.AbstractEventLoop) -> bool:
    return running() is loop


def _tell(loop: asyncio.AbstractEventLoop, fn: Callable[[], object]) -> None:
    try:
        loop.call_soon_threadsafe(fn)
    except RuntimeError:
        return


def agent_in(handle: str) -> str:
    """The agent in a handle such as `writer-3.a`; empty for any other name."""
    found = _HANDLE.fullmatch(handle)
    return found[1] if found else ""


def too_many(at_work: int, most: int) -> BreadError:
    """The error for one run more than may be under way at once."""
    return BreadError(
        f"{at_work} runs are under way already.",
        code="CONCURRENCY_LIMIT",
        why=f"concurrency is {most}.",
        do="wait for one to end",
        retryable=True,
        context={"in_flight": at_work, "max": most},
    )
