"""The only writer of a run: its row, its messages and its crumbs, commit by commit.

Each commit is guarded by the run's fence: a driver that has lost the run to another
process can no longer write. Row, messages, crumbs and whatever else belongs to the step
go to the store together or not at all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from pydantic import JsonValue

from bread_nb.base.ids import monotonic, now_ms
from bread_nb.errors import BreadError
from bread_nb.messages import Message, to_json
from bread_nb.runtime.scope import Scope
from bread_nb.runtime.steady import to_the_end
from bread_nb.stores.records import RunRow, Session, crumb_log, message_log
from bread_nb.stores.store import Append, Claim, Entry, Put, Step

__all__ = ["Journal", "message_steps", "store_crumbs"]

_RENUMBERINGS = 8


class Journal:
    """Keeps one run while this process drives it.

    Args:
        scope: The run's scope.
        row: The run as it is stored, with this process as its owner.
        history: The session's messages, all of them in the store by now.
        since: When the work began that the row does not count yet; now by default.

    While `ending` is set a cancellation changes nothing any more: the run ends anyway.
    """

    def __init__(
        self,
        scope: Scope,
        row: RunRow,
        history: list[Message],
        *,
        since: float | None = None,
    ) -> None:
        self.scope = scope
        self.row = row
        self.history = history
        self._stored = len(history)
        self._since = monotonic() if since is None else since
        self.ending = False
        self._due: dict[str, JsonValue] = {}

    @property
    def worked_ms(self) -> int:
        """The time worked on the run up to now; waiting for a person is no work."""
        return self.row.worked_ms + round((monotonic() - self._since) * 1000)

    def expect(self, **changes: JsonValue) -> None:
        """Change the row now and store the change with the next commit."""
        self._due.update(changes)
        self.row = self.row.model_copy(update=changes)

    async def commit(self, *steps: Step, **changes: JsonValue) -> list[JsonValue]:
        """Store everything new in one step; the results are those of `steps`.

        Raises:
            BreadError: `RUN_LOST` when another process drives the run now.
        """
        now = monotonic()
        change: dict[str, JsonValue] = {
            "updated_at": now_ms(),
            "worked_ms": self.row.worked_ms + round((now - self._since) * 1000),
            **self._due,
            **changes,
        }
        fresh = self.history[self._stored :]
        lease = self.scope.kit.owner.due()
        mine: list[Step] = [
            Claim(RunRow, self.row.id, {"fence": self.row.fence}, change),
            *([] if lease is None else [Put(lease)]),
            *message_steps(self.row.session_id, self._stored, fresh),
        ]
        work = store_crumbs(self.scope, mine, steps)
        results, cancelled = await to_the_end(work)
        kept = self.scope.kit.histories
        if results is None:
            kept.forget(self.row.session_id)
            raise _lost(self.row)
        self.scope.kit.owner.kept(lease)
        if fresh:
            self._stored += len(fresh)
            kept.keep(self.row.session_id, self.history, self._stored)
        self._due.clear()
        self._since = now
        self.row = self.row.model_copy(update=change)
        self.scope.stream.release()
        if cancelled and not self.ending:
            raise asyncio.CancelledError
        return results

    def release(self) -> Step:
        """The step that lets go of the session at the end of a run."""
        return Claim(
            Session,
            self.row.session_id,
            {"run_id": self.row.id},
            {"run_id": None, "updated_at": now_ms(), "agent_id": self.row.agent_id},
        )


async def store_crumbs(
    scope: Scope, first: Sequence[Step], then: Sequence[Step]
) -> list[JsonValue] | None:
    """Do the steps together with the crumbs dropped so far.

    Returns the results of `then`, or None when a step was refused. Crumbs that another
    process has numbered in the meantime are numbered anew.
    """
    stream = scope.stream
    stream.close_windows()
    log = crumb_log(scope.run_id)
    for _ in range(_RENUMBERINGS):
        entries = stream.drain()
        crumbs: list[Step] = [Append(log, entries)] if entries else []
        try:
            results = await scope.store.atomic(*first, *crumbs, *then)
        except BaseException:
            stream.keep(entries)
            raise
        if results is not None:
            return results[len(first) + len(crumbs) :]
        if not entries:
            return None
        newest = await scope.store.read(log, newest=1)
        taken = newest[0].seq if newest else 0
        stream.put_back(entries, above=max(taken, entries[0].seq - 1))
        if taken < entries[0].seq:
            return None
    return None


def message_steps(session_id: str, stored: int, fresh: Sequence[Message]) -> list[Step]:
    """The steps that store messages after the `stored` ones of a session."""
    if not fresh:
        return []
    entries = [Entry(stored + n, to_json(m)) for n, m in enumerate(fresh, start=1)]
    return [Append(message_log(session_id), entries)]


def _lost(row: RunRow) -> BreadError:
    return BreadError(
        f"Run {row.handle} is driven by another process now.",
        code="RUN_LOST",
        why="its lease was taken over; nothing of this process was stored.",
        do=f"%bread show {row.handle}",
        context={"run_id": row.id},
    )
