"""Results of calls on their way into the store, each as it arrives.

Results that arrive in the same moment go in one transaction. When the store finds one
of them otherwise than expected, each is kept by itself, so that none spoils another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from pydantic import JsonValue

from bread_nb.runtime.steady import Steady
from bread_nb.stores.records import Call, RunRow
from bread_nb.stores.store import Add, Claim, Step, Store

__all__ = ["Results", "settle_call"]


class Results:
    """Keeps the results of calls that run together."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._arrived: list[Call] = []
        self._keeping: Steady[None] | None = None

    async def keep(self, call: Call) -> None:
        """Store a result; it is stored when this returns, cancelled or not."""
        self._arrived.append(call)
        if len(self._arrived) == 1:
            self._keeping = Steady(self._keep_all())
        keeping = self._keeping
        assert keeping is not None
        cancelled = await keeping.wait()
        keeping.task.result()
        if cancelled:
            raise asyncio.CancelledError

    async def _keep_all(self) -> None:
        """Begins after all tasks that can go on now have done so."""
        calls, self._arrived = self._arrived, []
        if await self._store.atomic(*_settled(calls)) is None and len(calls) > 1:
            for call in calls:
                await self._store.atomic(*_settled([call]))


def _settled(calls: Sequence[Call]) -> list[Step]:
    claims = [_claim(call, was="running") for call in calls]
    return [*claims, Add(RunRow, calls[0].run_id, "open", -len(calls))]


def settle_call(call: Call, *, was: str = "ready") -> list[Step]:
    """The steps that keep a call's result and close it."""
    return [_claim(call, was=was), Add(RunRow, call.run_id, "open", -1)]


def _claim(call: Call, *, was: str) -> Step:
    change: dict[str, JsonValue] = {
        "status": "done",
        "result": call.result,
        "failed": call.failed,
        "refused_by": call.refused_by,
        "ended_at": call.ended_at,
    }
    if call.files:
        change["files"] = call.files
    if was != "running":
        change["args"] = call.args
    return Claim(Call, call.id, {"status": was}, change)
