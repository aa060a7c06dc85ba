"""How a figure comes about, the same for everybody who is measured."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable

One = Callable[[], Awaitable[float]]


def cpu_ms(work: Callable[[], Awaitable[object]], times: int) -> One:
    """CPU milliseconds of one time, from so many in a row."""

    async def one() -> float:
        since = time.process_time()
        for _ in range(times):
            await work()
        return (time.process_time() - since) * 1000 / times

    return one


async def read(words: AsyncIterator[str]) -> float:
    """Read a stream to its end; CPU seconds since its first word."""
    since = 0.0
    async for _ in words:
        since = since or time.process_time()
    return time.process_time() - since


def half(
    suspend: Callable[[], Awaitable[object]],
    resume: Callable[..., Awaitable[object]],
    which: str,
    times: int = 25,
) -> One:
    """CPU milliseconds up to the question, or from the answer on."""

    async def one() -> float:
        spent = {"suspend": 0.0, "resume": 0.0}
        for _ in range(times):
            since = time.process_time()
            asked = await suspend()
            middle = time.process_time()
            await resume(asked)
            spent["suspend"] += middle - since
            spent["resume"] += time.process_time() - middle
        return spent[which] * 1000 / times

    return one


async def at_once(work: Callable[[], Awaitable[object]], number: int) -> float:
    """Wall seconds of doing something so many times at once."""
    since = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(number):
            group.create_task(work())  # type: ignore[arg-type]
    return time.perf_counter() - since
