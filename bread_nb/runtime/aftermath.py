"""How a run ended that somebody else ended while this driver was at work on it."""

from __future__ import annotations

from typing import Any, cast

from bread_nb.errors import BreadError
from bread_nb.runtime.drive import Drive, common_fields
from bread_nb.runtime.journal import Journal
from bread_nb.runtime.outcome import Finished, Outcome, Stopped
from bread_nb.stores.records import RunRow

__all__ = ["ended_elsewhere"]


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
