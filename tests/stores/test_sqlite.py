"""What only the SQLite store can get wrong: files, threads and other processes."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from stores.sqlite_file import make, names, raw, session

from bread_nb.base.ids import monotonic
from bread_nb.errors import BreadError
from bread_nb.stores.records import Counter, Session
from bread_nb.stores.sqlite import SqliteStore
from bread_nb.stores.store import Add, Entry

ROOT = Path(__file__).resolve().parents[2]
CHILDREN = Path(__file__).with_name("store_children.py")
PATIENCE = 60
LOCKS_ARE_LISTED = Path("/proc/locks").exists()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".bread" / "bread.db"


@pytest.fixture
def store(tmp_path: Path, path: Path) -> SqliteStore:
    return SqliteStore(path, root=tmp_path)


def threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name == "bread-store"]


@contextmanager
def child(job: str, path: Path, word: str = "") -> Iterator[subprocess.Popen[str]]:
    """Another process at work on the store; killed at the end, if it still runs."""
    with subprocess.Popen(
        [sys.executable, str(CHILDREN), job, str(path), word],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@contextmanager
def lock_held(path: Path) -> Iterator[None]:
    with raw(path) as db:
        db.execute("BEGIN IMMEDIATE")
        yield
        db.execute("ROLLBACK")


def commits(path: Path) -> int:
    """The commits in the write-ahead log: its frames that say how large the file is."""
    data = Path(f"{path}-wal").read_bytes()
    step = 24 + int.from_bytes(data[8:12], "big")
    frames = [data[at : at + 24] for at in range(32, len(data), step)]
    return sum(frame[8:16] == data[16:24] and any(frame[4:8]) for frame in frames)


# opening


async def test_a_store_that_is_not_used_opens_no_file_and_starts_no_thread(
    store: SqliteStore, tmp_path: Path
):
    await store.close()
    assert threads() == []
    assert names(tmp_path) == []


async def test_reading_makes_no_file(store: SqliteStore, tmp_path: Path):
    assert await store.get(Session, "s") is None
    assert await store.query(Session, {"tags": {"a": "b"}}) == []
    assert await store.read("log") == []
    await store.close()
    assert names(tmp_path) == []


async def test_the_first_write_makes_a_folder_that_git_leaves_alone(
    store: SqliteStore, path: Path
):
    await store.put(session("s"))
    ignored = path.parent / ".gitignore"
    assert await asyncio.to_thread(ignored.read_text) == "*\n"
    await asyncio.to_thread(ignored.write_text, "mine\n")
    await store.close()
    await store.put(session("s"))
    assert await asyncio.to_thread(ignored.read_text) == "mine\n"
    await store.close()


async def test_a_folder_of_another_name_is_left_to_its_owner(tmp_path: Path):
    store = SqliteStore(tmp_path / "data" / "runs.db")
    await store.put(session("s"))
    await store.close()
    assert names(tmp_path / "data") == ["runs.db"]


async def test_an_empty_file_becomes_a_store(store: SqliteStore, path: Path):
    make(path, b"")
    assert await store.get(Session, "s") is None
    await store.put(session("s"))
    await store.close()


# threads


async def test_the_thread_lives_from_the_first_verb_to_the_close(store: SqliteStore):
    for _ in range(3):
        assert threads() == []
        await store.put(session("s"))
        await store.put(session("t"))
        assert threads() == ["bread-store"]
        await store.close()
    assert threads() == []


async def test_a_store_that_is_forgotten_ends_its_thread(path: Path):
    store = SqliteStore(path)
    await store.put(session("s"))
    del store
    gc.collect()
    assert threads() == []


async def test_closing_while_others_still_ask_loses_nothing(store: SqliteStore):
    async with asyncio.TaskGroup() as group:
        for number in range(50):
            group.create_task(store.put(Counter(id=f"{number:02}", value=number)))
            if number % 10 == 0:
                group.create_task(store.close())
    assert [c.value for c in await store.query(Counter)] == list(range(50))
    await store.close()


def test_verbs_work_from_loops_that_come_and_go(store: SqliteStore):
    asyncio.run(store.put(Counter(id="c")))
    results: list[object] = []

    def use() -> None:
        results.append(asyncio.run(store.atomic(Add(Counter, "c", "value", 1))))

    users = [threading.Thread(target=use) for _ in range(20)]
    for user in users:
        user.start()
    for user in users:
        user.join(PATIENCE)
    assert sorted(map(str, results)) == sorted(f"[{n}]" for n in range(1, 21))
    asyncio.run(store.close())


# group commit


async def test_what_is_asked_for_together_is_committed_together(
    store: SqliteStore, path: Path
):
    await store.put(Counter(id="first"))
    before = commits(path)
    with lock_held(path):
        puts = [
            asyncio.create_task(store.put(Counter(id=str(number))))
            for number in range(200)
        ]
        await asyncio.sleep(0)
    await asyncio.wait_for(asyncio.gather(*puts), PATIENCE)
    assert commits(path) - before == 1
    for number in range(5):
        await store.put(Counter(id=str(number), value=1))
    assert commits(path) - before == 6
    await store.close()


# other processes


async def test_two_processes_a_reader_and_a_lock_of_two_seconds_lose_no_event(
    store: SqliteStore, path: Path
):
    await store.append("other", [Entry(1, "made")])
    with (
        child("write_200", path, "1000") as one,
        child("write_200", path, "2000") as two,
    ):
        with lock_held(path):
            assert line(one) == line(two) == "started"
            until = monotonic() + 2
            while monotonic() < until:
                assert await store.read("events") == []
        seen = 0
        while seen < 400:
            now = len(await store.read("events"))
            assert now >= seen
            seen = now
        assert one.wait(PATIENCE) == two.wait(PATIENCE) == 0
    events = await store.read("events")
    assert [entry.value for entry in events] == [
        [word, number] for word in ("1000", "2000") for number in range(1, 201)
    ]
    await store.close()


async def test_a_store_that_stays_locked_is_an_error_that_names_the_holder(
    store: SqliteStore, path: Path, tmp_path: Path
):
    await store.put(Counter(id="c"))
    impatient = SqliteStore(path, root=tmp_path, busy=0.05)
    with child("hold", path) as holder:
        assert line(holder) == "held"
        refused = await asyncio.gather(
            *(impatient.atomic(Add(Counter, "c", "value", 1)) for _ in range(50)),
            return_exceptions=True,
        )
        assert await impatient.get(Counter, "c") == Counter(id="c")
        assert {getattr(error, "code", None) for error in refused} == {"STORE_LOCKED"}
        error = refused[0]
        assert isinstance(error, BreadError)
        assert error.what == "The store .bread/bread.db is busy."
        assert error.retryable
        if LOCKS_ARE_LISTED:
            assert error.do == f"close pid {holder.pid}"
            assert error.why == "another process has held the lock for 0.05 s."
        assert holder.stdin is not None
        holder.stdin.close()
        holder.wait(PATIENCE)
    assert await impatient.atomic(Add(Counter, "c", "value", 1)) == [1]
    await impatient.close()
    await store.close()


async def test_a_killed_process_loses_nothing_that_was_acknowledged(
    store: SqliteStore, path: Path
):
    with child("count_for_ever", path) as victim:
        acknowledged = 0
        while acknowledged < 25:
            acknowledged = int(line(victim))
        victim.send_signal(signal.SIGKILL)
        victim.wait(PATIENCE)
    counter = await store.get(Counter, "acknowledged")
    assert counter is not None
    assert counter.value >= acknowledged
    numbers = [entry.value for entry in await store.read("numbers")]
    assert numbers == list(range(1, counter.value + 1))
    assert len(await store.query(Counter)) == counter.value + 1
    await store.close()


async def test_a_process_that_ends_writes_what_it_was_asked_to(
    store: SqliteStore, path: Path
):
    with child("leave_early", path) as leaving:
        assert leaving.wait(PATIENCE) == 0
    assert len(await store.query(Counter)) == 20
    await store.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
async def test_a_forked_process_and_its_parent_both_go_on(
    store: SqliteStore, path: Path
):
    with child("fork", path) as parent:
        assert line(parent) == "0"
        assert parent.wait(PATIENCE) == 0
    found = {counter.id for counter in await store.query(Counter)}
    assert found == {"before", "child", "parent"}
    await store.close()


async def test_a_full_disk_is_one_error_and_loses_nothing_that_was_acknowledged(
    path: Path,
):
    with child("fill", path) as filling:
        assert line(filling).startswith("STORE_UNWRITABLE")
        assert int(line(filling)) >= 0
        assert filling.wait(PATIENCE) == 0
