"""An interrupted run is taken up again: by whoever is first, and only by that one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from bread_nb.bread import Bread
from bread_nb.errors import BreadError
from bread_nb.runtime.live import Live, follow
from bread_nb.runtime.run import Run

__all__ = ["driven", "take_up"]


async def take_up(bread: Bread, run_id: str, follow_it: Callable[[Run], None]) -> None:
    """Become the driver of a run, as far as the store lets us.

    Args:
        bread: Whose run it is.
        run_id: The run.
        follow_it: Told of the run as it begins to go on.

    Raises:
        BreadError: `NOT_INTERRUPTED` or `RUN_LOST` when somebody was faster, or
            whatever keeps it from going on.
    """
    try:
        [run] = await bread.recover(run_id)
    except BreadError as error:
        if error.code != "NOT_INTERRUPTED":
            raise
        raise BreadError(
            "Somebody else goes on with it already.",
            code="NOT_INTERRUPTED",
            why="nothing was done twice.",
        ) from error
    follow_it(run)
    if not await driven(run.live) and run.error is not None:
        raise run.error


async def driven(live: Live) -> bool:
    """Wait until a run is driven from here, or never will be; whether it is."""
    loop = asyncio.get_running_loop()
    await follow(live, loop, lambda: bool(live.run_id) or live.ended.done())
    return bool(live.run_id)
