"""`Run`, the handle of one run: iterate it for crumbs, await it for the outcome.

The engine appends to the run's own crumb list; each reader follows that list at its own
pace, from any thread, and never blocks the run.
"""

from __future__ import annotations

import asyncio
import builtins
import concurrent.futures
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from bread_nb.crumbs import Crumb
from bread_nb.errors import BreadError, TimeoutError
from bread_nb.runtime.outcome import Outcome, Suspended

__all__ = ["Home", "Live", "Run"]

_TICK_SECONDS = 0.1
Work = Callable[[], Coroutine[Any, Any, Outcome]]


class Home(Protocol):
    """Where runs live: the loop their tasks belong to, if it is running already."""

    def loop(self) -> asyncio.AbstractEventLoop | None: ...


@dataclass(slots=True)
class _Reader:
    loop: asyncio.AbstractEventLoop
    event: asyncio.Event
    waiting: bool = False


@dataclass(eq=False)
class Live:
    """The side of a run that the engine holds: its crumbs and how it ended."""

    agent_id: str
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
    readers: list[_Reader] = field(default_factory=list[_Reader])
    lock: threading.Lock = field(default_factory=threading.Lock)

    def accept(self, crumb: Crumb) -> None:
        """Keep a crumb and wake the readers."""
        self.crumbs.append(crumb)
        if self.readers:
            self.wake()

    def wake(self) -> None:
        """Tell every reader that waits that there is something new."""
        for reader in tuple(self.readers):
            if not reader.waiting:
                continue
            reader.waiting = False
            if reader.loop is self.loop and _on(reader.loop):
                reader.event.set()
            else:
                _tell(reader.loop, reader.event.set)

    def start(self, work: Work, loop: asyncio.AbstractEventLoop) -> None:
        """Begin the work on a loop, from any thread."""
        self.loop = loop
        if _on(loop):
            self._create(work)
        else:
            loop.call_soon_threadsafe(self._create, work)

    def _create(self, work: Work) -> None:
        assert self.loop is not None
        self.task = self.loop.create_task(self._work(work))
        if self.cancel_requested:
            self.task.cancel()

    async def _work(self, work: Work) -> None:
        try:
            outcome = await work()
        except asyncio.CancelledError:
            self._end(error=_cancelled(self.handle or self.agent_id))
        except BaseException as error:
            self._end(error=error)
            if not isinstance(error, Exception):
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
        self.wake()

    def cancel(self) -> None:
        """Ask the work to end now."""
        self.cancel_requested = True
        task, loop = self.task, self.loop
        if task is None or loop is None:
            return
        if _on(loop):
            task.cancel()
        else:
            _tell(loop, task.cancel)


class Run:
    """A run under way, from the moment it was asked for.

    Iterate it for crumbs (any number of readers, each from the first crumb), await it
    for its outcome, or call `result()`. A fault is raised by iteration and by await.

    A notebook says how a run shows itself (`display`) and how a thread waits for one
    so that an interrupt ends it (`hold`).
    """

    display: ClassVar[Callable[[Run], None] | None] = None
    hold: ClassVar[Callable[[Run, float | None], None] | None] = None

    def __init__(self, live: Live, work: Work, home: Home) -> None:
        self._live = live
        self._work: Work | None = work
        self._left_early = False
        self._awaited = 0
        loop = home.loop() or _running()
        if loop is not None:
            self._begin(loop)

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        work, self._work = self._work, None
        if work is not None:
            self._live.start(work, loop)

    @property
    def live(self) -> Live:
        """The engine's side of the run, for who shows it."""
        return self._live

    @property
    def id(self) -> str:
        """The run's id; empty until the run has begun."""
        return self._live.run_id

    @property
    def handle(self) -> str:
        """The name a person types, such as `writer-3`; empty until it has begun."""
        return self._live.handle

    @property
    def agent_id(self) -> str:
        """The agent that runs."""
        return self._live.agent_id

    @property
    def crumbs(self) -> tuple[Crumb, ...]:
        """The crumbs so far."""
        return tuple(self._live.crumbs)

    @property
    def done(self) -> bool:
        """Whether the run has ended (or waits for a person)."""
        return self._live.ended.done()

    @property
    def outcome(self) -> Outcome | None:
        """How the run ended; None while it works or when it failed."""
        if not self.done or self._live.ended.exception() is not None:
            return None
        return self._live.ended.result()

    @property
    def error(self) -> BaseException | None:
        """The fault the run ended with, if any."""
        return self._live.ended.exception() if self.done else None

    @property
    def text(self) -> str:
        """The last text of the model so far."""
        return self.outcome.text if self.outcome else ""

    @property
    def cost(self) -> float | None:
        """What the run cost, or None while that is not known."""
        return self.outcome.cost if self.outcome else None

    @property
    def status(self) -> str:
        """`working`, `waiting`, `finished`, `stopped`, `failed` or `cancelled`."""
        if not self.done:
            return "working"
        error = self.error
        if error is not None:
            code = getattr(error, "code", "")
            return "cancelled" if code == "RUN_CANCELLED" else "failed"
        if isinstance(self.outcome, Suspended):
            return "waiting"
        return type(self.outcome).__name__.lower()

    def cancel(self) -> None:
        """End the run now; it fails with `RUN_CANCELLED`. Its history stays whole."""
        self._live.cancel()

    def stop(self) -> None:
        """End the run at the next boundary, cleanly: `Stopped("stopped")`."""
        self._live.stop_requested = True

    def __await__(self) -> Generator[Any, None, Outcome]:
        return self._wait().__await__()

    async def _wait(self) -> Outcome:
        loop = asyncio.get_running_loop()
        self._begin(loop)
        self._awaited += 1
        try:
            await _follow(self._live, loop, self._live.ended.done)
        except asyncio.CancelledError:
            self.cancel()
            raise
        finally:
            self._awaited -= 1
        return self._live.ended.result()

    def __aiter__(self) -> AsyncIterator[Crumb]:
        return _Crumbs(self)

    def result(self, timeout: float | None = None) -> Outcome:
        """The outcome, in the blocking form.

        Args:
            timeout: Seconds to wait; the run goes on when they are over.

        Raises:
            BreadError: `WOULD_BLOCK` on a thread whose own loop runs the engine.
            TimeoutError: When the time is over.
        """
        if self._work is not None:
            return _run_here(self)
        if not self.done and self._live.loop is _running():
            raise BreadError(
                "result() would wait for itself here.",
                code="WOULD_BLOCK",
                why="the run lives on this thread's own event loop.",
                do="outcome = await run",
            )
        try:
            if Run.hold is None:
                return self._live.ended.result(timeout)
            Run.hold(self, timeout)
            return self._live.ended.result(0)
        except concurrent.futures.TimeoutError:
            raise TimeoutError(
                f"The run of {self.agent_id} is still going on.",
                why=f"it did not end in {timeout} s.",
                do="call result() again, or run.cancel()",
            ) from None
        except KeyboardInterrupt:
            self.cancel()
            raise

    def _ipython_display_(self) -> None:
        if Run.display is None:
            raise NotImplementedError
        Run.display(self)

    def __repr__(self) -> str:
        return f"Run({self.agent_id!r}, {_figures(self)})"

    def __del__(self) -> None:
        if self._left_early and not self._live.ended.done():
            self._live.cancel()


class _Crumbs:
    """One reader's place in a run."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._next = 0
        self._over = False

    def __aiter__(self) -> _Crumbs:
        return self

    async def __anext__(self) -> Crumb:
        live = self._run._live  # pyright: ignore[reportPrivateUsage]
        if self._next >= len(live.crumbs):
            loop = asyncio.get_running_loop()
            self._run._begin(loop)  # pyright: ignore[reportPrivateUsage]
            await _follow(live, loop, self._has_news)
        if self._next < len(live.crumbs):
            crumb = live.crumbs[self._next]
            self._next += 1
            return crumb
        self._over = True
        live.ended.result()
        raise StopAsyncIteration

    def _has_news(self) -> bool:
        live = self._run._live  # pyright: ignore[reportPrivateUsage]
        return self._next < len(live.crumbs) or live.ended.done()

    def __del__(self) -> None:
        if not self._over and self._next:
            self._run._left_early = True  # pyright: ignore[reportPrivateUsage]


async def _follow(
    live: Live, loop: asyncio.AbstractEventLoop, ready: Callable[[], bool]
) -> None:
    """Wait until `ready`, waking ten times a second when the run is elsewhere.

    The waking keeps a cell that awaits a run interruptible on every kernel.
    """
    reader = _Reader(loop, asyncio.Event())
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


def _run_here(run: Run) -> Outcome:
    if _running() is not None:
        raise BreadError(
            "result() would wait for itself here.",
            code="WOULD_BLOCK",
            why="an event loop is running on this thread.",
            do="outcome = await run",
        )
    with asyncio.Runner() as runner:
        return runner.run(run._wait())  # pyright: ignore[reportPrivateUsage]


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _on(loop: asyncio.AbstractEventLoop) -> bool:
    return _running() is loop


def _tell(loop: asyncio.AbstractEventLoop, fn: Callable[[], object]) -> None:
    try:
        loop.call_soon_threadsafe(fn)
    except RuntimeError:
        return


def _cancelled(name: str) -> BreadError:
    return BreadError(
        "Stopped by you.",
        code="RUN_CANCELLED",
        do=f"next message goes on from here; %bread show {name}",
    )


def _figures(run: Run) -> str:
    outcome = run.outcome
    if isinstance(outcome, Suspended):
        tools = ", ".join(p.tool for p in outcome.pending)
        noun = "answer" if len(outcome.pending) == 1 else "answers"
        return f"waiting for {len(outcome.pending)} {noun}: {tools}"
    if outcome is None:
        return run.status
    turns, calls = outcome.metrics.turns, sum(outcome.metrics.tool_calls.values())
    return (
        f"{run.status}, {turns} turn{'' if turns == 1 else 's'}, "
        f"{calls} call{'' if calls == 1 else 's'}"
    )
