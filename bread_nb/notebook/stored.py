"""A run of the store as a `Run` in hand: ended, waiting, or broken off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from bread_nb.bread import Bread
from bread_nb.crumbs import Crumb, RunFailed
from bread_nb.errors import BreadError
from bread_nb.notebook.bridge import engine
from bread_nb.runtime.drive import row_fields
from bread_nb.runtime.live import Live
from bread_nb.runtime.outcome import (
    Finished,
    Outcome,
    PendingCall,
    Stopped,
    Suspended,
)
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
        return _outcome(row, crumbs, pending)

    return Run(live, work, engine)


def _outcome(
    row: RunRow, crumbs: Sequence[Crumb], pending: Sequence[PendingCall]
) -> Outcome:
    common = cast("dict[str, Any]", row_fields(row))
    match row.status:
        case "finished":
            return Finished(output=row.output, **common)
        case "stopped":
            reason = row.stop_reason or "stopped"
            return Stopped(reason=reason, **common)
        case "waiting" if pending:
            return Suspended(pending=tuple(pending), **common)
        case "failed" | "cancelled":
            raise _failure(crumbs)
        case _:
            raise BreadError(
                f"Run {row.handle} has not ended.",
                code="RUN_INTERRUPTED",
                why="its kernel ended while it worked, or another one works on it.",
                do=f"%bread recover {row.handle}",
            )


def _failure(crumbs: Sequence[Crumb]) -> BreadError:
    failed = next((c for c in reversed(crumbs) if isinstance(c, RunFailed)), None)
    if failed is None:
        return BreadError("The run has failed.", why="its last crumb is not kept.")
    error = failed.error
    return BreadError(
        error.message,
        code=error.code,
        why=error.why,
        do=error.do,
        retryable=error.retryable,
        context=error.context,
    )
