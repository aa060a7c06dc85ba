"""Work that a cancellation must not cut in two."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["to_the_end", "until_done"]

T = TypeVar("T")


async def to_the_end(work: Coroutine[Any, Any, T]) -> tuple[T, bool]:
    """The result of `work`, and whether somebody cancelled while it was done.

    A commit that was cut off by a cancellation would be in the store and unknown here;
    so it is waited for, and the caller acts on the cancellation afterwards.
    """
    return await until_done(asyncio.get_running_loop().create_task(work))


async def until_done(task: asyncio.Task[T]) -> tuple[T, bool]:
    """The result of a task, and whether somebody cancelled while it was waited for."""
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise
            cancelled = True
        except BaseException:  # noqa: BLE001
            break
    return task.result(), cancelled
