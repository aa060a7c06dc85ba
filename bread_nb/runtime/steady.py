"""Work that a cancellation must not cut in two."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Generic, TypeVar

__all__ = ["Steady", "to_the_end"]

T = TypeVar("T")


async def to_the_end(work: Coroutine[Any, Any, T]) -> tuple[T, bool]:
    """The result of `work`, and whether somebody cancelled while it was done.

    A commit that was cut off by a cancellation would be in the store and unknown here;
    so it is waited for, and the caller acts on the cancellation afterwards.
    """
    steady = Steady(work)
    cancelled = await steady.wait()
    return steady.task.result(), cancelled


class Steady(Generic[T]):
    """Work in a task of its own that whoever waits for it cannot cancel."""

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiters: list[asyncio.Future[None]] = []
        self.task = self._loop.create_task(self._whole(work))

    async def _whole(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            return await work
        finally:
            for waiter in self._waiters:
                if not waiter.done():
                    waiter.set_result(None)

    async def wait(self) -> bool:
        """Wait until the work is done; whether somebody cancelled the waiting."""
        cancelled = False
        while not self.task.done():
            waiter: asyncio.Future[None] = self._loop.create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                cancelled = True
        return cancelled
