"""A run of the store as a `Run` in hand: ended, waiting, or broken off."""

from __future__ import annotations

from collections.abc import Sequence

from bread_nb.bread import Bread
from bread_nb.crumbs import Crumb
from bread_nb.notebook.bridge import engine
from bread_nb.runtime.aftermath import kept_outcome
from bread_nb.runtime.live import Live
from bread_nb.runtime.outcome import Outcome
from bread_nb.runtime.run import Run
from bread_nb.stores.records import RunRow

__all__ = ["stored_run"]


async def stored_run(row: RunRow, crumbs: Sequence[Crumb], bread: Bread) -> Run:
    """The run as it is kept; nothing is started.

    Args:
        row: The run.
        crumbs: Its crumbs.
        bread: The instance it belongs to.
    """
    pending = [p for p in await bread.pending() if p.run_id == row.id]
    live = Live(row.agent_id, keeper=bread)
    live.run_id, live.handle = row.id, row.handle
    live.crumbs.extend(crumbs)

    async def work() -> Outcome:
        return kept_outcome(row, crumbs, pending)

    return Run(live, work, engine)
