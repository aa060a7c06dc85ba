"""The engine thread: the only way across between blocking code and coroutines.

One daemon thread with one loop per kernel, started at its first use. Whatever is sent
there keeps the context of the cell that sent it, so that what it prints and displays
stays with that cell.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import signal
import threading
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from contextvars import Context, copy_context
from types import FrameType
from typing import Any, TypeVar

from bread_nb.base.ids import monotonic
from bread_nb.errors import BreadStopped
from bread_nb.runtime.run import Live, Run

__all__ = [
    "GRACE_SECONDS",
    "Engine",
    "engine",
    "hold",
    "stopped",
    "was_cancelled",
]

T = TypeVar("T")

GRACE_SECONDS = 1.0
_SLICE_SECONDS = 0.05
_BEGIN_SECONDS = 0.15
_CLOSING_SECONDS = 5.0


class Engine:
    """A loop on a thread of its own, where all runs of this kernel live."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def started(self) -> bool:
        """Whether the thread is there."""
        return self._loop is not None

    def loop(self) -> asyncio.AbstractEventLoop:
        """The engine's loop; the thread is started when it is not there yet."""
        with self._lock:
            if self._loop is None:
                ready: concurrent.futures.Future[asyncio.AbstractEventLoop] = (
                    concurrent.futures.Future()
                )
                self._thread = threading.Thread(
                    target=_serve, args=(ready,), name="bread-engine", daemon=True
                )
                self._thread.start()
                self._loop = ready.result()
            return self._loop

    def submit(
        self, work: Callable[[], Coroutine[Any, Any, T]], context: Context | None = None
    ) -> concurrent.futures.Future[T]:
        """Run a coroutine on the engine thread; in a copy of `context` if one is given.

        The future is done when the coroutine is, also after it was cancelled.
        """
        done: concurrent.futures.Future[T] = concurrent.futures.Future()
        loop = self.loop()

        def start() -> None:
            task = loop.create_task(_into(done, work))
            self._tasks.add(task)
            task.add_done_callback(self._ended)

        self.soon(start, context)
        return done

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # who asked was told; the loop need not log it as well

    def soon(self, fn: Callable[[], object], context: Context | None = None) -> None:
        """Call `fn` on the engine thread."""
        if context is None:
            self.loop().call_soon_threadsafe(fn)
        else:
            self.loop().call_soon_threadsafe(fn, context=context.copy())

    def call(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine on the engine thread, for this cell, and wait for it here.

        Raises:
            BreadStopped: `RUN_CANCELLED` when the person interrupts the waiting.
        """
        done = self.submit(work, copy_context())
        presses = _Presses()
        try:
            with presses.heard():
                _Waiting(done, lambda: presses.pressed).until(lambda: False, None)
        except KeyboardInterrupt:
            raise stopped(None) from None
        if not done.done():
            raise stopped(None)
        return done.result()

    def hold(
        self,
        done: concurrent.futures.Future[Any],
        cancel: Callable[[], None],
        cancelled: Callable[[], bool],
    ) -> None:
        """Wait here until work is done; once it is cancelled it gets a second to end.

        Args:
            done: What is done when the work is.
            cancel: Ends the work; called when the person interrupts the waiting.
            cancelled: Whether somebody has ended it.
        """
        presses = _Presses(cancel)
        try:
            with presses.heard():
                stopping = _Waiting(done, lambda: presses.pressed or cancelled())
                stopping.until(lambda: False, None)
        except KeyboardInterrupt:
            cancel()

    def close(self) -> None:
        """End the thread; it is started anew when it is needed again."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(_CLOSING_SECONDS)


engine = Engine()


def _serve(ready: concurrent.futures.Future[asyncio.AbstractEventLoop]) -> None:
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    ready.set_result(loop)
    try:
        while not _served(loop):
            continue
    finally:
        loop.close()


def _served(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether the loop was stopped; an exit that somebody's code raises stops none.

    Signals reach the main thread alone, so no exit raised here is the person's.
    """
    try:
        loop.run_forever()
    except (KeyboardInterrupt, SystemExit):
        return False
    return True


async def _into(
    done: concurrent.futures.Future[T], work: Callable[[], Coroutine[Any, Any, T]]
) -> None:
    try:
        done.set_result(await work())
    except asyncio.CancelledError:
        done.cancel()
        raise
    except Exception as error:  # noqa: BLE001
        done.set_exception(error)
    except BaseException as error:
        done.set_exception(error)
        raise


class _Presses:
    """Interrupts by the person while a cell waits; the first one is only noted."""

    def __init__(self, first: Callable[[], None] | None = None) -> None:
        self.pressed = False
        self._first = first

    @contextmanager
    def heard(self) -> Generator[None]:
        """Take SIGINT meanwhile; on other threads than the main one nothing changes."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGINT, self._press)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _press(self, _number: int, _frame: FrameType | None) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True
        if self._first is not None:
            self._first()


def hold(
    run: Run, timeout: float | None = None, *, begun: Callable[[], None] | None = None
) -> None:
    """Wait until a run has ended; an interrupt cancels it, and so does a Stop.

    After that it gets a second to end. A second interrupt breaks the waiting off.

    Args:
        run: The run.
        timeout: Seconds to wait at most.
        begun: Called here once the run has begun, or has taken its time to; not when
            it fails before it begins.

    Raises:
        BreadStopped: `RUN_CANCELLED` when the run was cancelled, ended or not.
    """
    live = run.live
    presses = _Presses(run.cancel)
    waiting = _Waiting(live.ended, lambda: live.cancel_requested, timeout)
    try:
        with presses.heard():
            if begun is not None:
                waiting.until(lambda: bool(run.id), _BEGIN_SECONDS)
                if run.id or not run.done:
                    begun()
            waiting.until(lambda: False, None)
    except KeyboardInterrupt:
        run.cancel()
        raise stopped(live) from None
    if live.cancel_requested and (not live.ended.done() or was_cancelled(live)):
        raise stopped(live)


def was_cancelled(live: Live) -> bool:
    """Whether a run that has ended was cancelled."""
    return getattr(live.ended.exception(), "code", None) == "RUN_CANCELLED"


class _Waiting:
    """Waits in slices, so that an interrupt and a Stop are seen and end it in time."""

    def __init__(
        self,
        done: concurrent.futures.Future[Any],
        stopping: Callable[[], bool],
        timeout: float | None = None,
    ) -> None:
        self._stopping = stopping
        self._began = monotonic()
        self._timeout = timeout
        self._asked: float | None = None
        self._finished = threading.Event()
        done.add_done_callback(lambda _: self._finished.set())

    def until(self, ready: Callable[[], bool], most: float | None) -> None:
        """Wait for the end, for `ready`, for so many seconds, or for the grace."""
        since = monotonic()
        step = _SLICE_SECONDS if most is None else most / 30
        while not self._finished.wait(step) and not ready():
            now = monotonic()
            if self._asked is None and self._stopping():
                self._asked = now
            if self._asked is not None:
                if now - self._asked >= GRACE_SECONDS:
                    return
            elif self._timeout is not None and now - self._began >= self._timeout:
                return
            if most is not None and now - since >= most:
                return


def stopped(live: Live | None) -> BreadStopped:
    """The two lines a cell ends with when the person ended it."""
    if live is None:
        return BreadStopped("Stopped by you.", code="RUN_CANCELLED", do="%bread runs")
    ending = f"%bread show {live.handle or 'last'}"
    do = live.next_step if live.ended.done() else ending
    return BreadStopped("Stopped by you.", code="RUN_CANCELLED", do=do)
