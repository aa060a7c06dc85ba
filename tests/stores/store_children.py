"""What other processes do to a store in the tests; run as a script.

python store_children.py JOB PATH [WORD]
"""

import asyncio
import os
import resource
import signal
import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from bread_nb.errors import BreadError
from bread_nb.stores.records import Counter
from bread_nb.stores.sqlite import SqliteStore
from bread_nb.stores.store import Add, Append, Entry, Put


def say(text: object) -> None:
    print(text, flush=True)


async def write_200(path: Path, word: str) -> None:
    """Two hundred events of a run, each in a commit of its own."""
    store = SqliteStore(path)
    say("started")
    for number in range(1, 201):
        await store.append("events", [Entry(int(word) + number, [word, number])])
    await store.close()


async def count_for_ever(path: Path, word: str) -> None:
    """Groups of steps without end, each told when it is acknowledged."""
    store = SqliteStore(path)
    await store.put(Counter(id="acknowledged"))
    number = 0
    while True:
        number += 1
        await store.atomic(
            Add(Counter, "acknowledged", "value", 1),
            Append("numbers", [Entry(number, number)]),
            Put(Counter(id=str(number), value=number)),
        )
        say(number)


async def hold(path: Path, word: str) -> None:
    """The lock, for as long as standard input is open."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    say("held")
    sys.stdin.read()
    db.execute("ROLLBACK")


async def leave_early(path: Path, word: str) -> None:
    """Ask for twenty writes and wait for none."""
    store = SqliteStore(path)
    tasks = [
        asyncio.create_task(store.put(Counter(id=str(number)))) for number in range(20)
    ]
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()


async def fork(path: Path, word: str) -> None:
    """A fork that uses the store it has inherited; then the parent goes on."""
    store = SqliteStore(path)
    await store.put(Counter(id="before"))
    child = os.fork()
    if child == 0:
        # On paper this thread still runs the parent's loop; a new one runs its own.
        with ThreadPoolExecutor(1) as pool:
            pool.submit(asyncio.run, use(store)).result()
        os._exit(0)
    _, status = await asyncio.to_thread(os.waitpid, child, 0)
    await store.put(Counter(id="parent"))
    await store.close()
    say(status)


async def use(store: SqliteStore) -> None:
    await store.put(Counter(id="child"))
    await store.close()


async def fill(path: Path, word: str) -> None:
    """Write until the disk is full, here a limit on the size of files; then go on."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, hard))
    store = SqliteStore(path)
    number = 0
    with suppress(BreadError):
        while True:
            results = await asyncio.gather(
                *(
                    store.append("log", [Entry(number + more, "x" * 2000)])
                    for more in range(1, 11)
                ),
                return_exceptions=True,
            )
            failed = [error for error in results if isinstance(error, BreadError)]
            if failed:
                say(f"{failed[0].code} {len(failed)}")
                raise failed[0]
            number += 10
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    kept = await store.read("log")
    say(len(kept) - number)
    await store.append("more", [Entry(1, "room again")])
    await store.close()


if __name__ == "__main__":
    job, where, *words = sys.argv[1:]
    asyncio.run(globals()[job](Path(where), words[0] if words else ""))
