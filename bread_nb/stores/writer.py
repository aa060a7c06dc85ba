"""One thread that does a store's work for all event loops, in groups.

Jobs are done in the order they come. What has come together is committed together, and
nobody hears of a job before its commit. The thread is a daemon: it ends when it is told
to, and its store tells it so at the exit of the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import threading
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from bread_nb.base.ids import monotonic
from bread_nb.errors import BreadError

__all__ = ["Desk", "Job", "Writer"]

_LARGEST_GROUP = 500
_FAULTS = (ArithmeticError, BreadError, RecursionError, TypeError, ValueError)

Loop = asyncio.AbstractEventLoop


class Desk(Protocol):
    """What works on the database, on the writer's thread alone."""

    def commit(self) -> None:
        """Keep what has been done since the last commit.

        Raises:
            BreadError: When it is lost; all of it is.
        """
        ...

    def close(self) -> None:
        """Let go of the database."""
        ...


D = TypeVar("D", bound=Desk)


class Job(Generic[D]):
    """A piece of work, when it was asked for, and who waits for it."""

    __slots__ = ("asked", "error", "future", "loop", "result", "work")

    def __init__(self, work: Callable[[D, float], object]) -> None:
        self.work = work
        self.loop: Loop = asyncio.get_running_loop()
        self.future: asyncio.Future[object] = self.loop.create_future()
        self.asked = monotonic()
        self.result: object = None
        self.error: Exception | None = None

    def do(self, desk: D) -> None:
        """Do the work; a fault is kept for whoever waits."""
        try:
            self.result = self.work(desk, self.asked)
        except _FAULTS as error:
            self.error = error

    def tell(self) -> None:
        """Hand over the outcome, on the loop that waits."""
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


class Writer(Generic[D]):
    """A thread at a desk, from its first job to `finish`."""

    def __init__(self, desk: D) -> None:
        self._desk = desk
        self._jobs: queue.SimpleQueue[Job[D] | None] = queue.SimpleQueue()
        self._group: list[Job[D]] = []
        self._last: Job[D] | None = None
        self._open = True
        self._gate = threading.Lock()
        self._pid = os.getpid()
        self._thread = threading.Thread(
            target=self._serve, name="bread-store", daemon=True
        )
        self._thread.start()

    def take(self, job: Job[D]) -> bool:
        """Put a job in the queue; False when the thread takes no more.

        In a forked process there is no thread.
        """
        if self._pid != os.getpid():
            return False
        with self._gate:
            if self._open:
                self._jobs.put(job)
            return self._open

    def finish(self, last: Job[D] | None = None) -> bool:
        """Take no more jobs, do those there are, let go, tell `last` and end.

        False when that has been said before.
        """
        if self._pid != os.getpid():
            return False
        with self._gate:
            if not self._open:
                return False
            self._open = False
            self._last = last
            self._jobs.put(None)
            return True

    def wait(self, seconds: float) -> None:
        """Wait until the thread has ended."""
        if self._pid == os.getpid() and threading.current_thread() is not self._thread:
            self._thread.join(seconds)

    def _serve(self) -> None:
        more = True
        try:
            while more:
                more = self._do_group()
        finally:
            try:
                self._desk.close()
            finally:
                self._leave()

    def _do_group(self) -> bool:
        """Do the next job and those behind it in one commit; False at the end."""
        job = self._jobs.get()
        with contextlib.suppress(queue.Empty):
            while job is not None:
                self._group.append(job)
                job.do(self._desk)
                if len(self._group) == _LARGEST_GROUP:
                    break
                job = self._jobs.get_nowait()
        try:
            self._desk.commit()
        except BreadError as error:
            for lost in self._group:
                lost.error = lost.error or error
        _tell(self._group)
        self._group = []
        return job is not None

    def _leave(self) -> None:
        """Answer everybody, also when the thread ends by a fault of its own."""
        with self._gate:
            self._open = False
        rest = self._group
        while not self._jobs.empty():
            job = self._jobs.get()
            if job is not None:
                rest.append(job)
        for job in rest:
            job.error = job.error or BreadError(
                "The store's thread has ended.",
                code="STORE_CLOSED",
                why="it met a fault of its own; the traceback is on standard error.",
                do="try again; the store opens itself anew",
                retryable=True,
            )
        _tell(rest if self._last is None else [*rest, self._last])


def _tell(jobs: list[Job[D]]) -> None:
    """One wake-up for each loop; a loop that has ended waits for nothing."""
    for loop in {job.loop for job in jobs}:
        its_jobs = [job for job in jobs if job.loop is loop]
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_tell_all, its_jobs)


def _tell_all(jobs: list[Job[D]]) -> None:
    for job in jobs:
        job.tell()
