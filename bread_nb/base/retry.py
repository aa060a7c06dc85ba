"""The retry policy and the only backoff loop of the house."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal, TypeVar

from bread_nb.base.bounds import fits
from bread_nb.errors import BreadError, Halt, ProviderError

__all__ = [
    "LONGEST_ASKED",
    "TRANSIENT",
    "TRANSIENT_STATUS",
    "RetryPolicy",
    "retrying",
    "retrying_stream",
]

T = TypeVar("T")
RetryOn = Literal["any", "transient"] | Callable[[BreadError], bool]

LONGEST_ASKED = 600.0
"""Seconds that a service may ask to wait, unless `max_delay` is longer."""

TRANSIENT_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_UNMARKED = frozenset({"AGENT_ERROR", "TOOL_ERROR", "TASK_ERROR"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and how long to try again.

    Args:
        attempts: Tries in all, the first one included.
        backoff: Seconds before the second try.
        multiplier: What each further wait is multiplied with.
        max_delay: The longest wait in seconds. A service may ask for more, up to ten
            minutes.
        jitter: The share of a wait, 0 to 1, that is drawn at random.
        retry_on: `"any"` retryable or unmarked error, `"transient"` errors only, or a
            function of the error. A `Halt` is never retried.
    """

    attempts: int = 2
    backoff: float = 0.5
    multiplier: float = 2.0
    max_delay: float = 30.0
    jitter: float = 0.0
    retry_on: RetryOn = "any"

    def __post_init__(self) -> None:
        fields = {
            "attempts": type(self.attempts) is int and self.attempts >= 1,
            "backoff": fits(self.backoff, 0) and self.backoff < math.inf,
            "multiplier": fits(self.multiplier, 0) and 0 < self.multiplier < math.inf,
            "max_delay": fits(self.max_delay, 0),
            "jitter": fits(self.jitter, 0, 1),
        }
        for name, fine in fields.items():
            if not fine:
                raise BreadError(
                    f"RetryPolicy({name}={getattr(self, name)}) cannot be followed.",
                    code="INVALID_AGENT",
                    why="attempts is a whole number from 1, waits are finite and not "
                    "negative, jitter is 0 to 1.",
                    do="RetryPolicy(attempts=3, backoff=0.5, multiplier=2)",
                )

    def covers(self, error: BreadError) -> bool:
        """Whether this kind of error is tried again at all."""
        if isinstance(error, Halt) or error.acted or not self.waits_for(error):
            return False
        if self.retry_on == "any":
            return error.retryable or error.code in _UNMARKED
        if self.retry_on == "transient":
            return error.retryable
        return self.retry_on(error)

    def waits_for(self, error: BreadError) -> bool:
        """Whether the wait that a service asks for, if it does, is not too long."""
        asked = error.retry_after if isinstance(error, ProviderError) else None
        return asked is None or asked <= max(LONGEST_ASKED, self.max_delay)

    def delay(self, attempt: int, error: BreadError | None = None) -> float:
        """Seconds to wait after the failed try number `attempt` (from 1).

        A service's own `Retry-After` is obeyed when it asks for more.
        """
        try:
            wait = min(self.backoff * self.multiplier ** (attempt - 1), self.max_delay)
        except OverflowError:
            wait = self.max_delay if self.backoff else 0.0
        if self.jitter:
            wait -= wait * self.jitter * random.random()
        if isinstance(error, ProviderError) and error.retry_after is not None:
            return max(wait, error.retry_after)
        return wait


TRANSIENT = RetryPolicy(
    attempts=3, backoff=0.5, multiplier=2, jitter=0.2, retry_on="transient"
)


async def retrying(
    operation: Callable[[int], Awaitable[T]],
    decide: Callable[[BreadError, int], Awaitable[float | None]],
) -> T:
    """Run `operation(attempt)` until it returns or `decide` gives up.

    Args:
        operation: Called with the number of the try, from 1.
        decide: Called with the error and the number of the failed try; returns the
            seconds to wait, or None to let the error out. It may raise instead.
    """
    attempt = 1
    while True:
        try:
            return await operation(attempt)
        except Halt:
            raise
        except BreadError as error:
            wait = await decide(error, attempt)
            if wait is None:
                raise
            await asyncio.sleep(0 if error.replayed else wait)
            attempt += 1


async def retrying_stream(
    operation: Callable[[int], AsyncGenerator[T, None]],
    decide: Callable[[BreadError, int], tuple[float, T] | None],
) -> AsyncIterator[T]:
    """The same for a stream, which begins anew with each try.

    Args:
        operation: Called with the number of the try, from 1.
        decide: Called with the error and the number of the failed try; returns the
            seconds to wait and what to tell the reader before, or None to let the
            error out.
    """
    attempt = 1
    while True:
        try:
            async with aclosing(operation(attempt)) as items:
                async for item in items:
                    yield item
            return
        except Halt:
            raise
        except BreadError as error:
            again, replayed = decide(error, attempt), error.replayed
            if again is None:
                raise
        wait, told = again
        yield told
        await asyncio.sleep(0 if replayed else wait)
        attempt += 1
