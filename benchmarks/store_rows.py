"""Rows a second into the SQLite store, against a plain sqlite3 loop in one sitting.

    python benchmarks/store_rows.py [--rows 5000]

The plain loop does on the calling thread what the store does on its own: the same
tables, the same settings, the same rows in the same transactions.
"""

from __future__ import annotations

import argparse
import asyncio
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from bread_nb.stores import sql
from bread_nb.stores.bodies import COLUMNS, body_of, columns_of
from bread_nb.stores.records import RunRow, Session
from bread_nb.stores.sqlite import SqliteStore
from bread_nb.stores.store import Append, Claim, Entry

VALUE = {"type": "text:delta", "agentId": "writer", "seq": 1, "text": "Bread is good. "}
BODY = '{"type":"text:delta","agentId":"writer","seq":1,"text":"Bread is good. "}'
ROUNDS = 5

Measure = tuple[float, float]


def session(number: int) -> Session:
    return Session(id=f"s{number:09}", created_at=number, updated_at=number)


def run_row() -> RunRow:
    return RunRow(
        id="r",
        session_id="s",
        agent_id="writer",
        handle="writer-1",
        created_at=1,
        updated_at=1,
    )


@contextmanager
def plain_database(folder: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(folder / "plain.db", isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        for statement in sql.MIGRATIONS[0]:
            db.execute(statement)
        yield db


def clock(work: Callable[[], object], rows: int) -> Measure:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return measured(wall, cpu, rows)


async def aclock(work: Callable[[], Awaitable[object]], rows: int) -> Measure:
    wall, cpu = time.perf_counter(), time.process_time()
    await work()
    return measured(wall, cpu, rows)


def measured(wall: float, cpu: float, rows: int) -> Measure:
    """Rows a second, and microseconds of CPU a row."""
    return (
        rows / (time.perf_counter() - wall),
        (time.process_time() - cpu) / rows * 1e6,
    )


def plain_appends(db: sqlite3.Connection, log: str, rows: int, group: int) -> None:
    for first in range(1, rows, group):
        db.execute("BEGIN IMMEDIATE")
        for seq in range(first, first + group):
            db.execute(sql.INSERT_ENTRY, (log, seq, BODY))
        db.execute("COMMIT")


def plain_puts(db: sqlite3.Connection, rows: int) -> None:
    for number in range(rows):
        record = session(number)
        columns = columns_of(record)
        values = (columns[name] for name in COLUMNS)
        db.execute("BEGIN IMMEDIATE")
        db.execute(sql.UPSERT, ("session", record.id, *values, body_of(record)))
        db.execute("COMMIT")


def plain_gets(db: sqlite3.Connection, rows: int) -> None:
    for number in range(rows):
        row = db.execute(sql.GET, ("session", session(number).id)).fetchone()
        Session.model_validate_json(row[0])


def plain_commits(db: sqlite3.Connection, rows: int) -> None:
    record = run_row()
    columns = columns_of(record)
    values = (columns[name] for name in COLUMNS)
    db.execute(sql.UPSERT, ("run", "r", *values, body_of(record)))
    update = sql.update(())
    for number in range(1, rows + 1):
        db.execute("BEGIN IMMEDIATE")
        row = db.execute(sql.GET, ("run", "r")).fetchone()
        record = RunRow.model_validate_json(row[0])
        assert record.fence == 0
        record = record.model_copy(update={"updated_at": number})
        db.execute(update, (body_of(record), "run", "r"))
        for seq in (3 * number, 3 * number + 1):
            db.execute(sql.INSERT_ENTRY, ("crumbs/r", seq, BODY))
        db.execute(sql.INSERT_ENTRY, ("messages/s", number, BODY))
        db.execute("COMMIT")


async def appends(store: SqliteStore, log: str, rows: int, group: int) -> None:
    for first in range(1, rows, group):
        numbers = range(first, first + group)
        await store.append(log, [Entry(seq, VALUE) for seq in numbers])


async def appends_at_once(store: SqliteStore, log: str, rows: int) -> None:
    async with asyncio.TaskGroup() as tasks:
        for seq in range(1, rows + 1):
            tasks.create_task(store.append(log, [Entry(seq, VALUE)]))


async def puts(store: SqliteStore, rows: int) -> None:
    for number in range(rows):
        await store.put(session(number))


async def gets(store: SqliteStore, rows: int) -> None:
    for number in range(rows):
        await store.get(Session, session(number).id)


async def commits(store: SqliteStore, rows: int) -> None:
    """What a run stores at the end of a turn: its row, crumbs and a message."""
    await store.put(run_row())
    for number in range(1, rows + 1):
        crumbs = [Entry(3 * number, VALUE), Entry(3 * number + 1, VALUE)]
        await store.atomic(
            Claim(RunRow, "r", {"fence": 0}, {"updated_at": number}),
            Append("crumbs/r", crumbs),
            Append("messages/s", [Entry(number, VALUE)]),
        )


async def sitting(folder: Path, rows: int) -> dict[str, tuple[Measure, Measure]]:
    """Each scenario once: the plain loop, then the store."""
    found: dict[str, tuple[Measure, Measure]] = {}
    store = SqliteStore(folder / "store.db")
    with plain_database(folder) as db:
        for group in (1, 10, 100):
            log = f"by {group}"
            found[f"append, {group} a commit"] = (
                clock(lambda log=log, g=group: plain_appends(db, log, rows, g), rows),
                await aclock(
                    lambda log=log, g=group: appends(store, log, rows, g), rows
                ),
            )
        found["append, not waited for"] = (
            clock(lambda: plain_appends(db, "once", rows, 1), rows),
            await aclock(lambda: appends_at_once(store, "once", rows), rows),
        )
        found["put"] = (
            clock(lambda: plain_puts(db, rows), rows),
            await aclock(lambda: puts(store, rows), rows),
        )
        found["get"] = (
            clock(lambda: plain_gets(db, rows), rows),
            await aclock(lambda: gets(store, rows), rows),
        )
        found["commit of a turn"] = (
            clock(lambda: plain_commits(db, rows), rows),
            await aclock(lambda: commits(store, rows), rows),
        )
        await store.close()
    return found


def middle(measures: list[Measure]) -> Measure:
    return (
        statistics.median(rate for rate, _ in measures),
        statistics.median(cpu for _, cpu in measures),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=3000)
    rows = parser.parse_args().rows // 100 * 100
    sittings: list[dict[str, tuple[Measure, Measure]]] = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            sittings.append(asyncio.run(sitting(Path(folder), rows)))
    print(f"{'':24}{'plain sqlite3':>22}{'store':>22}{'ratio':>8}")
    print(f"{'':24}{'rows/s  cpu µs':>22}{'rows/s  cpu µs':>22}")
    for name in sittings[0]:
        plain = middle([sitting[name][0] for sitting in sittings])
        ours = middle([sitting[name][1] for sitting in sittings])
        print(
            f"{name:24}{plain[0]:14,.0f}{plain[1]:8.1f}"
            f"{ours[0]:14,.0f}{ours[1]:8.1f}{ours[0] / plain[0]:8.2f}"
        )


if __name__ == "__main__":
    main()
