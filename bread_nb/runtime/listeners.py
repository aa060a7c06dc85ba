"""Who hears of crumbs, questions and faults; a listener's fault never ends a run."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from typing import Any, Literal, Protocol

from bread_nb.base.redact import Redactor, environment_secrets
from bread_nb.crumbs import Crumb, HumanRequired
from bread_nb.errors import BreadError, words_of

__all__ = ["Event", "Listeners", "Sink"]

Event = Literal["crumb", "human:required", "fault"]
Listener = Callable[..., Any]
_LOG = logging.getLogger("bread_nb")


class Sink(Protocol):
    """Something crumbs are sent to, such as a file or a tracer."""

    def accept(self, crumb: Crumb) -> object: ...


class Listeners:
    """The listeners and sinks of one Bread instance.

    Args:
        crumb_filter: A crumb for which it returns False is not sent to sinks.
    """

    def __init__(self, crumb_filter: Callable[[Crumb], bool] | None = None) -> None:
        self._crumb_filter = crumb_filter
        self._listeners: dict[Event, list[Listener]] = {
            "crumb": [],
            "human:required": [],
            "fault": [],
        }
        self._sinks: list[Sink] = []
        self._logged: set[tuple[str, str]] = set()
        self._tasks: set[asyncio.Task[object]] = set()

    def add(self, event: Event, fn: Listener) -> Callable[[], None]:
        """Call `fn` at each event from now on; the result takes it away again.

        Raises:
            BreadError: `UNKNOWN_EVENT`.
        """
        if event not in self._listeners:
            raise BreadError(
                f"There is no event {event!r}.",
                code="UNKNOWN_EVENT",
                why=f"the events are {', '.join(self._listeners)}.",
                do='bread.on("crumb", fn)',
            )
        self._listeners[event].append(fn)

        def remove() -> None:
            if fn in self._listeners[event]:
                self._listeners[event].remove(fn)

        return remove

    def add_sink(self, sink: Sink) -> Callable[[], None]:
        """Send crumbs to a sink from now on; the result takes it away again."""
        self._sinks.append(sink)

        def remove() -> None:
            if sink in self._sinks:
                self._sinks.remove(sink)

        return remove

    def publish(self, crumb: Crumb) -> None:
        """Give a crumb to everybody."""
        for listener in tuple(self._listeners["crumb"]):
            self._call(listener, "crumb listener", crumb)
        if isinstance(crumb, HumanRequired):
            for listener in tuple(self._listeners["human:required"]):
                self._call(listener, "human:required listener", crumb)
        if self._sinks and self._passes(crumb):
            for sink in tuple(self._sinks):
                self._call(sink.accept, f"sink {type(sink).__name__}", crumb)

    def fault(self, error: BaseException, source: str) -> None:
        """Tell of a fault outside the run itself; each kind is logged once."""
        key = (source, type(error).__name__)
        if key not in self._logged:
            self._logged.add(key)
            said = Redactor(environment_secrets()).text(words_of(error))
            _LOG.warning("%s failed: %s: %s", source, type(error).__name__, said)
        for listener in tuple(self._listeners["fault"]):
            try:
                self._keep(listener(error, source), "fault listener")
            except Exception as second:  # noqa: BLE001
                _LOG.warning("a fault listener failed: %r", second)

    def _passes(self, crumb: Crumb) -> bool:
        if self._crumb_filter is None:
            return True
        try:
            return self._crumb_filter(crumb) is not False
        except Exception as error:  # noqa: BLE001
            self.fault(error, "crumb_filter")
            return True

    def _call(self, fn: Listener, source: str, crumb: Crumb) -> None:
        try:
            self._keep(fn(crumb), source)
        except Exception as error:  # noqa: BLE001
            self.fault(error, source)

    def _keep(self, answer: object, source: str) -> None:
        """Let an async listener finish beside the run."""
        if not inspect.isawaitable(answer):
            return

        async def finish() -> None:
            try:
                await answer
            except Exception as error:  # noqa: BLE001
                self.fault(error, source)

        task = asyncio.get_running_loop().create_task(finish())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def drain(self) -> None:
        """Wait for the async listeners that are still at work."""
        if self._tasks:
            await asyncio.wait(tuple(self._tasks))
