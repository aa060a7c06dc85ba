"""How a run ended, read off the store: one that somebody else ended, or any other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from bread_nb.crumbs import Crumb, RunFailed
from bread_nb.errors import BreadError
from bread_nb.runtime.drive import Drive, common_fields, row_fields
from bread_nb.runtime.journal import Journal
from bread_nb.runtime.outcome import (
    Finished,
    Outcome,
    PendingCall,
    Stopped,
    Suspended,
)
from bread_nb.stores.records import RunRow

__all__ = ["ended_elsewhere", "kept_outcome"]


async def ended_elsewhere(drive: Drive, lost: BreadError | None = None) -> Outcome:
    """The end of the run as it is stored.

    Args:
        drive: Who worked on the run.
        lost: Raised when the run has not ended but is in other hands.

    Raises:
        BreadError: The fault the run ended with, `RUN_CANCELLED` or `lost`.
    """
    scope = drive.scope
    row = await scope.store.get(RunRow, drive.row.id) or drive.row
    history = await scope.kit.histories.read(scope.store, row.session_id)
    drive.journal = Journal(scope, row, history)
    fields = cast("dict[str, Any]", common_fields(drive))
    match row.status:
        case "stopped":
            return Stopped(reason=row.stop_reason or "stopped", **fields)
        case "finished":
            return Finished(output=drive.agent.returns.validate(row.output), **fields)
        case "cancelled":
            raise _fault("Stopped by you.", "RUN_CANCELLED", row)
        case "failed":
            error = row.error if isinstance(row.error, dict) else {}
            code = str(error.get("code") or "AGENT_ERROR")
            raise _fault(str(error.get("message") or "The run failed."), code, row)
        case _:
            raise lost or _fault(f"Run {row.handle} goes on.", "RUN_LOST", row)


def _fault(what: str, code: str, row: RunRow) -> BreadError:
    return BreadError(
        what,
        code=code,
        why=f"{row.handle} was ended while this call was at work.",
        do=f"%bread show {row.handle}",
    )


def kept_outcome(
    row: RunRow, crumbs: Sequence[Crumb], pending: Sequence[PendingCall] = ()
) -> Outcome:
    """How a run ended, as it is kept; its output is plain JSON.

    Args:
        row: The run.
        crumbs: Its crumbs.
        pending: Its open calls.

    Raises:
        BreadError: The fault it ended with, or `RUN_INTERRUPTED`.
    """
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
