"""What comes to a coroutine from outside, and what a user's code raised by itself."""

from __future__ import annotations

import asyncio

__all__ = ["cancelled_from_outside", "closed_from_outside"]


def cancelled_from_outside() -> bool:
    """Whether somebody cancelled this call; else the tool raised the error itself."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def closed_from_outside(task: asyncio.Task[object] | None) -> bool:
    """Whether a coroutine of this task is closed; else a user's code raised that.

    One is closed, with a `GeneratorExit`, when its loop is gone or nobody waits for it
    any more; then it is no longer its task that runs.
    """
    try:
        return asyncio.current_task() is not task
    except RuntimeError:  # no loop runs here
        return True
