"""How long a service may be silent.

The first event may take long, since a model may think; between events the wait is
short; a deadline, when one is set, bounds the whole answer. Keep-alive lines are no
events.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import TypeVar, cast

from pydantic import JsonValue

from bread_nb import errors
from bread_nb.base.ids import monotonic
from bread_nb.base.wire import dumps
from bread_nb.errors import BreadError

__all__ = ["CALL_SETTINGS", "PACE_SETTINGS", "Pace", "Waits", "merged", "plain"]

T = TypeVar("T")

_FOR_EVER = 1e12
PACE_SETTINGS = frozenset({"first_event_timeout", "idle_timeout", "deadline"})
# The settings that say how a service is asked, and are not sent to it.
CALL_SETTINGS = PACE_SETTINGS | {"expose_error_body", "cache"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """Seconds to wait; infinity is for ever."""

    first_event: float = 600.0
    idle: float = 60.0
    deadline: float = math.inf

    @staticmethod
    def read(settings: Mapping[str, JsonValue]) -> Waits:
        """The waits that settings ask for; 0 and infinity are off.

        Raises:
            BreadError: `INVALID_SETTING` when one is not a number of seconds.
        """
        usual = Waits()
        return Waits(
            first_event=_seconds(settings, "first_event_timeout", usual.first_event),
            idle=_seconds(settings, "idle_timeout", usual.idle),
            deadline=_seconds(settings, "deadline", usual.deadline),
        )


def merged(
    model: Mapping[str, JsonValue], call: Mapping[str, JsonValue]
) -> Mapping[str, JsonValue]:
    """The settings of a call over those of its model; a wait that is null inherits."""
    if not call:
        return model
    inherited = {name for name in PACE_SETTINGS if call.get(name) is None}
    return {**model, **{k: v for k, v in call.items() if k not in inherited}}


def plain(settings: object) -> Mapping[str, JsonValue]:
    """Settings as JSON; a wait that is infinite is off, which JSON says by 0.

    A wait that is no number stays for `Waits.read` to refuse, as a word.

    Raises:
        BreadError: `INVALID_SETTING` when they are none, or one of them is no JSON.
    """
    if not isinstance(settings, Mapping):
        raise _no_json("settings", settings)
    given = cast("Mapping[str, JsonValue]", settings)
    waits: dict[str, JsonValue] = {}
    for name in PACE_SETTINGS & given.keys():
        wait = given[name]
        if isinstance(wait, float) and not math.isfinite(wait):
            waits[name] = 0 if wait > 0 else str(wait)
    found = {**given, **waits}
    for name, value in found.items():
        try:
            dumps({name: value})
        except (TypeError, ValueError, RecursionError):
            raise _no_json(name, value) from None
    return found if waits else given


def _no_json(name: str, value: object) -> BreadError:
    number = isinstance(value, float)
    return BreadError(
        f"{name} cannot be {value if number else f'a {type(value).__name__}'}.",
        code="INVALID_SETTING",
        why="settings are a mapping of JSON values.",
        do='Model(..., settings={"temperature": 0.2})',
    )


def _seconds(settings: Mapping[str, JsonValue], name: str, default: float) -> float:
    value = settings.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise BreadError(
            f"{name} cannot be {value!r}.",
            code="INVALID_SETTING",
            why="it is a number of seconds; 0 is off.",
            do=f"Model(..., settings={{{name!r}: 60}})",
        )
    return float(value) if 0 < value < _FOR_EVER else math.inf


class Pace:
    """The clock of one answer, until `close` or a wait that fails.

    One timer watches all waits of the answer. It is set again when it rings too early
    or would ring too late, not at each wait. Silence counts only while it is waited
    for: a reader that takes its time, or holds up the loop, has not made it.
    """

    def __init__(self, waits: Waits, host: str) -> None:
        self._waits = waits
        self._host = host
        start = monotonic()
        self._end = start + waits.deadline
        self._left = start
        self._idle = waits.first_event
        self._limit = start + waits.first_event
        self._due = math.inf
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: asyncio.Task[object] | None = None
        self._rang = False

    def event(self) -> None:
        """An event came; the wait for the next one begins."""
        self._idle = self._waits.idle
        self._limit = self._left + self._idle

    def close(self) -> None:
        """Nothing is waited for any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def wait(self, step: Awaitable[T]) -> T:
        """The result of `step`, when it comes in time.

        Raises:
            TimeoutError: `ETIMEDOUT`, retryable, or `EDEADLINE`.
        """
        task = self._waiting = asyncio.current_task()
        assert task is not None
        before = task.cancelling()
        self._limit += monotonic() - self._left
        if self._timer is None or self._limit < self._due:
            self._set()
        try:
            return await step
        except BaseException as error:
            self.close()
            late = self._rang and isinstance(error, asyncio.CancelledError)
            if not late or task.uncancel() > before:
                raise
        finally:
            self._waiting = None
            self._left = monotonic()
        raise self._tripped(min(self._limit, self._end))

    def _set(self) -> None:
        """Ring when the time is over, as far as is known now."""
        self.close()
        self._due = min(self._limit, self._end)
        if self._due < math.inf:
            loop = asyncio.get_running_loop()
            rest = max(0.0, self._due - monotonic())
            self._timer = loop.call_later(rest, self._ring)

    def _ring(self) -> None:
        self._timer = None
        if self._waiting is None:
            return
        if monotonic() < min(self._limit, self._end):
            self._set()
        else:
            # What came while the loop was held up is still to be read.
            asyncio.get_running_loop().call_soon(self._give_up)

    def _give_up(self) -> None:
        if self._waiting is None:
            return
        if monotonic() < min(self._limit, self._end):
            self._set()
        else:
            self._rang = True
            self._waiting.cancel()

    def _tripped(self, limit: float) -> errors.TimeoutError:
        if limit == self._end:
            return errors.TimeoutError(
                f"{self._host} took longer than the deadline.",
                code="EDEADLINE",
                why=f"the whole answer had {self._waits.deadline:g} s.",
                do="set a later deadline, or ask for less",
                context={"bound": "deadline"},
            )
        return errors.TimeoutError(
            f"{self._host} went silent.",
            code="ETIMEDOUT",
            why=f"no event came for {self._idle:g} s.",
            do="run again; the text so far is kept",
            retryable=True,
            context={"bound": "idle"},
        )
