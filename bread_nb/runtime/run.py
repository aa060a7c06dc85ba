"""`Run`, the handle of one run: iterate it for crumbs, await it for the outcome.

The engine appends to the run's own crumb list; each reader follows that list at its own
pace, from any thread, and never blocks the run.
"""

from __future__ import annotations

import asyncio
import builtins
import concurrent.futures
from collections.abc import AsyncIterator, Callable, Generator
from typing import Any, ClassVar, Protocol

from bread_nb.crumbs import Crumb, ModelUsed, RunStart
from bread_nb.errors import BreadError, TimeoutError
from bread_nb.runtime.live import Live, Work, follow, running
from bread_nb.runtime.outcome import Outcome, Suspended

__all__ = ["Here", "Home", "Live", "Run", "Work"]

_DOLLARS = (None, "USD")


class Home(Protocol):
    """Where runs live: the loop their tasks belong to, if it is running already."""

    def loop(self) -> asyncio.AbstractEventLoop | None: ...


class Here:
    """Runs live on the loop that is running where they are asked for."""

    def loop(self) -> asyncio.AbstractEventLoop | None:
        """No loop of its own."""
        return None


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
        loop = home.loop() or running()
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
        """The agent that runs; empty until a run that goes on has told of it."""
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
        """What is known of the cost so far, in US dollars; None when nothing is.

        A run that goes on from an answer knows it again when it has ended.
        """
        if self.outcome is not None:
            return self.outcome.cost
        crumbs = self.crumbs
        if not crumbs or not isinstance(crumbs[0], RunStart):
            return None
        used = [crumb for crumb in crumbs if isinstance(crumb, ModelUsed)]
        known = [c.cost for c in used if c.cost is not None and c.currency in _DOLLARS]
        return round(sum(known), 12) if known else None

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
        ended = self._live.ended
        try:
            await follow(self._live, loop, ended.done, crumbs=False)
        except asyncio.CancelledError as cancelled:
            self.cancel()
            await follow(self._live, loop, ended.done, crumbs=False)
            self._live.explain(cancelled)
            raise
        return ended.result()

    def __aiter__(self) -> AsyncIterator[Crumb]:
        return _Crumbs(self)

    def result(self, timeout: float | None = None) -> Outcome:
        """The outcome, in the blocking form.

        Args:
            timeout: Seconds to wait. When they are over the run goes on, or is
                cancelled where no other thread works on it.

        Raises:
            BreadError: `WOULD_BLOCK` on a thread whose own loop runs the engine.
            TimeoutError: When the time is over.
        """
        if self._work is not None:
            return _run_here(self, timeout)
        if not self.done and self._live.loop is running():
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
            do = "call result() again, or run.cancel()"
            raise _too_slow(self.agent_id, timeout, do) from None
        except KeyboardInterrupt:
            self.cancel()
            raise

    def _ipython_display_(self) -> None:
        if Run.display is None:
            raise NotImplementedError
        Run.display(self)

    def __repr__(self) -> str:
        agent = f"{self.agent_id!r}, " if self.agent_id else ""
        return f"Run({agent}{_figures(self)})"

    def __del__(self) -> None:
        if self._left_early and not self._live.ended.done():
            self._live.cancel()


class _Crumbs:
    """One reader's place in a run."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._next = 0
        self._left = False

    def __aiter__(self) -> _Crumbs:
        return self

    async def __anext__(self) -> Crumb:
        live = self._run._live  # pyright: ignore[reportPrivateUsage]
        self._left = True
        if self._next >= len(live.crumbs):
            loop = asyncio.get_running_loop()
            self._run._begin(loop)  # pyright: ignore[reportPrivateUsage]
            try:
                await follow(live, loop, self._has_news)
            except asyncio.CancelledError as cancelled:
                live.explain(cancelled)
                raise
        if self._next < len(live.crumbs):
            crumb = live.crumbs[self._next]
            self._next += 1
            return crumb
        self._left = False
        live.ended.result()
        raise StopAsyncIteration

    def _has_news(self) -> bool:
        live = self._run._live  # pyright: ignore[reportPrivateUsage]
        return self._next < len(live.crumbs) or live.ended.done()

    def __del__(self) -> None:
        if self._left:
            self._run._left_early = True  # pyright: ignore[reportPrivateUsage]


def _too_slow(agent_id: str, timeout: float | None, do: str) -> TimeoutError:
    return TimeoutError(
        f"The run of {agent_id} takes longer than it may.",
        why=f"it did not end in {timeout} s.",
        do=do,
    )


def _run_here(run: Run, timeout: float | None) -> Outcome:
    if running() is not None:
        raise BreadError(
            "result() would wait for itself here.",
            code="WOULD_BLOCK",
            why="an event loop is running on this thread.",
            do="outcome = await run",
        )
    work = run._wait()  # pyright: ignore[reportPrivateUsage]
    try:
        with asyncio.Runner() as runner:
            return runner.run(asyncio.wait_for(work, timeout))
    except builtins.TimeoutError:
        do = "give it more time; it was cancelled and its history is whole"
        raise _too_slow(run.agent_id, timeout, do) from None


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
