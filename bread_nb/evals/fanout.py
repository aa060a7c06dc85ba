"""Rows made by the workers of a dask cluster, on the store that all of them share.

A worker that is lost loses no money: whoever makes its row anew finds the run of that
row in the store, takes the end it had, or goes on where it broke off.
"""

from __future__ import annotations

import asyncio
import os
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from distributed import Client, KilledWorker, get_worker
from distributed.client import FutureCancelledError
from pydantic import JsonValue

from bread_nb.base.ids import new_id
from bread_nb.bread import Bread
from bread_nb.crumbs import Crumb, from_wire, to_wire
from bread_nb.errors import BreadError
from bread_nb.evals.attempts import Attempts
from bread_nb.evals.case import Suite
from bread_nb.evals.rows import row_of
from bread_nb.evals.scoresheet import EvalRow, Item
from bread_nb.project.config import load_config
from bread_nb.runtime.agent import ModelSource

__all__ = ["Cluster", "cluster_of", "shared_store"]

_CONNECT_SECONDS = 10
_LAST_CRUMB_SECONDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Errand:
    """One row to be made somewhere else, with all that is needed for it."""

    root: str
    store: str
    topic: str
    suite: Suite
    item: Item
    session: str
    model: ModelSource | None
    keep_waiting: bool


class Cluster:
    """The workers of a dask cluster.

    Args:
        client: A client of the cluster, sync or async.
        bread: The project, whose store every worker must reach.

    Raises:
        BreadError: `STORE_NOT_SHARED` for a store that only this process has.
    """

    def __init__(self, client: Client, bread: Bread) -> None:
        self._client: Any = client
        self._bread = bread
        self._store = shared_store(bread)
        self._topic = f"bread-{new_id()}"
        self._ended: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    @property
    def room(self) -> int:
        """How many rows its workers can make at once."""
        found: Any = self._client.scheduler_info(n_workers=-1)
        workers = cast("dict[str, dict[str, int]]", found["workers"])
        return max(1, sum(worker["nthreads"] for worker in workers.values()))

    @asynccontextmanager
    async def listening(self, hear: Callable[[Crumb], None]) -> AsyncGenerator[None]:
        """Hear the crumbs of all rows that are made meanwhile, as they come."""
        loop = asyncio.get_running_loop()

        def take(event: tuple[float, JsonValue]) -> None:
            match event[1]:
                case {"ended": str() as session}:
                    loop.call_soon_threadsafe(self._ended[session].set)
                case {**crumb}:
                    loop.call_soon_threadsafe(hear, from_wire(crumb))
                case _:
                    pass

        self._client.subscribe_topic(self._topic, take)
        try:
            yield
        finally:
            self._client.unsubscribe_topic(self._topic)

    async def make(
        self, attempts: Attempts, item: Item, session: str
    ) -> EvalRow | None:
        """A row, made by a worker.

        Raises:
            BreadError: What the worker could not do.
        """
        errand = _Errand(
            root=str(self._bread.root),
            store=self._store,
            topic=self._topic,
            suite=attempts.suite,
            item=item,
            session=session,
            model=attempts.model,
            keep_waiting=attempts.keep_waiting,
        )
        future: Any = self._client.submit(_run_errand, errand, pure=False)
        try:
            found = await _came(self._client, future)
        except asyncio.CancelledError:
            future.cancel()
            raise
        except KilledWorker:
            fault = "every worker that made this row died [WORKER_DIED]"
            case, repeat = item.case.name, item.repeat
            return EvalRow(case=case, repeat=repeat, status="error", error=fault)
        except (OSError, FutureCancelledError) as error:
            raise _lost(error) from None
        await self._told_all(session)
        return None if found is None else EvalRow.from_json(cast("JsonValue", found))

    async def _told_all(self, session: str) -> None:
        """Wait for the last crumb of a row, for as long as that may reasonably take."""
        try:
            async with asyncio.timeout(_LAST_CRUMB_SECONDS):
                await self._ended[session].wait()
        except TimeoutError:
            pass
        del self._ended[session]


def cluster_of(named: object, bread: Bread) -> Cluster:
    """The cluster that is named: a client, `dask` or `dask:ADDRESS`.

    Raises:
        BreadError: `NO_CLUSTER` when there is none, or `STORE_NOT_SHARED`.
    """
    if isinstance(named, Client):
        return Cluster(named, bread)
    kind, _, address = str(named).partition(":")
    address = address or os.environ.get("DASK_SCHEDULER_ADDRESS", "")
    if kind != "dask" or not address:
        raise BreadError(
            f"There is no cluster {named!r}.",
            code="NO_CLUSTER",
            why="neither the option nor DASK_SCHEDULER_ADDRESS names one.",
            do="--on dask:tcp://127.0.0.1:8786, or on=Client(...)",
        )
    try:
        return Cluster(Client(address, timeout=_CONNECT_SECONDS), bread)
    except OSError as error:
        raise BreadError(
            f"The cluster at {address} does not answer.",
            code="NO_CLUSTER",
            why=f"{error}.",
            do="dask scheduler, and dask worker ADDRESS",
        ) from None


def shared_store(bread: Bread) -> str:
    """The address of a store that other processes can open too.

    Raises:
        BreadError: `STORE_NOT_SHARED`.
    """
    path: object = getattr(bread.store, "path", None)
    if isinstance(path, Path):
        return f"sqlite:///{path.absolute()}"
    address: object = getattr(bread.store, "address", None)
    if isinstance(address, str):
        return address
    raise BreadError(
        "The workers cannot reach this store.",
        code="STORE_NOT_SHARED",
        why="it is in the memory of this process.",
        do="set BREAD_STORE=sqlite:///PATH on a disk that all of them see",
    )


def _lost(error: Exception) -> BreadError:
    return BreadError(
        "The cluster is gone.",
        code="NO_CLUSTER",
        why=f"{error}.",
        do="evaluate again: the rows that were made are kept",
    )


async def _came(client: Any, future: Any) -> object:  # noqa: ANN401
    if client.asynchronous:
        return cast("object", await future)
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def told(_future: object) -> None:
        loop.call_soon_threadsafe(done.set)

    future.add_done_callback(told)
    await done.wait()
    return await asyncio.to_thread(future.result)


# -- on a worker -----------------------------------------------------------------------


def _run_errand(errand: _Errand) -> dict[str, JsonValue] | None:
    """Make one row; called on a thread of a worker."""
    return asyncio.run(_made(errand))


async def _made(errand: _Errand) -> dict[str, JsonValue] | None:
    worker: Any = get_worker()
    root = Path(errand.root)
    config = load_config(root)
    async with Bread(config=config, root=root, store=errand.store) as bread:

        def tell(crumb: Crumb) -> None:
            worker.log_event(errand.topic, to_wire(crumb))

        bread.on("crumb", tell)
        attempts = Attempts(
            bread, errand.suite, errand.model, keep_waiting=errand.keep_waiting
        )

        row = await row_of(attempts, errand.item, errand.session)
        worker.log_event(errand.topic, {"ended": errand.session})
        return row.to_json() if row is not None else None
