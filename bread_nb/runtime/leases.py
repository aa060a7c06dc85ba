"""Who drives a run: a process, known to be alive or dead.

Among the processes that this one can see, one is alive while its number is in use and
it was born when the lease says. On another machine, or in another container, it is
alive while its lease is renewed, which it is as long as there is work.
"""

from __future__ import annotations

import asyncio
import os
import platform
import subprocess
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from bread_nb.base.ids import new_id, now_ms
from bread_nb.errors import BreadError
from bread_nb.stores.records import Lease
from bread_nb.stores.store import Drop, Store

__all__ = ["Owner", "lease_alive"]

_SILENT_MS = 60_000
_BEAT_MS = 10_000


class Owner:
    """This process as a driver of runs; its lease is stored at the first use."""

    def __init__(self) -> None:
        self._lease: Lease | None = None

    @property
    def id(self) -> str:
        """The id of this process's lease."""
        return self._current().id

    def due(self) -> Lease | None:
        """The lease to be stored now, when it is new or has not been renewed lately.

        It stays due until it is `kept`: a commit that is refused stores no lease.
        """
        lease = self._current()
        now = now_ms()
        if now - lease.beat_at < _BEAT_MS:
            return None
        return lease.model_copy(update={"beat_at": now})

    def kept(self, lease: Lease | None) -> None:
        """Know that a lease that was due is stored."""
        if lease is not None:
            self._lease = lease

    @contextmanager
    def at_work(self, store: Store) -> Generator[None]:
        """Renew the lease meanwhile, however long a single step takes."""
        beat = _Beat(self, store)
        try:
            yield
        finally:
            beat.stop()

    async def renew(self, store: Store) -> None:
        """Store the lease if it is due; a store that cannot take it is asked again."""
        lease = self.due()
        if lease is not None:
            with suppress(BreadError):
                await store.put(lease)
                self.kept(lease)

    async def give_up(self, store: Store) -> None:
        """Be known as gone: what this process left undone is anybody's."""
        if self._lease is not None and self._lease.beat_at >= 0:
            with suppress(BreadError):
                await store.atomic(Drop(Lease, self._lease.id))
        self._lease = None

    def _current(self) -> Lease:
        if self._lease is None or self._lease.pid != os.getpid():
            self._lease = Lease(
                id=new_id(),
                created_at=now_ms(),
                beat_at=-_BEAT_MS,
                host=_here(),
                pid=os.getpid(),
                born=_birth(os.getpid()) or "",
            )
        return self._lease


class _Beat:
    """Renews an owner's lease now and then, as long as it is not stopped."""

    def __init__(self, owner: Owner, store: Store) -> None:
        self._owner = owner
        self._store = store
        self._task: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(_BEAT_MS / 1000, self._begin)

    def _begin(self) -> None:
        self._task = self._loop.create_task(self._owner.renew(self._store))
        self._timer = self._loop.call_later(_BEAT_MS / 1000, self._begin)

    def stop(self) -> None:
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()


async def lease_alive(store: Store, lease_id: str | None) -> bool:
    """Whether the process behind a lease is still there to go on."""
    if lease_id is None:
        return False
    lease = await store.get(Lease, lease_id)
    if lease is None:
        return False
    if lease.host == _here():
        born = _birth(lease.pid)
        return born is not None and born == lease.born
    return now_ms() - lease.beat_at < _SILENT_MS


def _here() -> str:
    """This machine, and in it the space that process numbers are counted in."""
    try:
        return f"{platform.node()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return platform.node()


def _birth(pid: int) -> str | None:
    """When a process began, as a text that only it has; None when there is none."""
    stat = Path(f"/proc/{pid}/stat")
    if stat.parent.parent.exists() and Path("/proc/self/stat").exists():
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            return None
        return None if fields[0] in "ZX" else fields[19]
    asked = subprocess.run(
        ["ps", "-o", "lstart=", "-p", str(pid)],
        capture_output=True,
        text=True,
        check=False,
    )
    return asked.stdout.strip() or None
