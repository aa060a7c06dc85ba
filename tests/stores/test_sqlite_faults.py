"""Files of a SQLite store that are not as they should be: each is one error."""

from __future__ import annotations

import asyncio
import os
import pickle
import shutil
from pathlib import Path

import pytest
from fixtures.rights import open_folder as open_folder
from fixtures.rights import without_privileges
from stores.sqlite_file import make, names, raw, session

from bread_nb.errors import BreadError
from bread_nb.stores.records import Session
from bread_nb.stores.sqlite import SqliteStore
from bread_nb.stores.store import Entry


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".bread" / "bread.db"


@pytest.fixture
def store(tmp_path: Path, path: Path) -> SqliteStore:
    return SqliteStore(path, root=tmp_path)


async def test_a_newer_store_is_refused_and_left_alone(store: SqliteStore, path: Path):
    await store.put(session("s"))
    await store.close()
    with raw(path) as db:
        db.execute("PRAGMA user_version = 4")
    before = await asyncio.to_thread(path.read_bytes)
    for attempt in (store.get(Session, "s"), store.put(session("t"))):
        with pytest.raises(BreadError) as caught:
            await attempt
        assert str(caught.value) == (
            "The store .bread/bread.db is newer than this package. [STORE_NEWER]\n"
            "  why  store version 4, package knows 1.\n"
            "  do   pip install -U bread-nb. Nothing was changed"
        )
    await store.close()
    assert await asyncio.to_thread(path.read_bytes) == before
    assert names(path.parent) == [".gitignore", "bread.db"]
    with raw(path) as db:
        db.execute("PRAGMA user_version = 1")
    assert await store.get(Session, "s") == session("s")
    await store.close()


async def test_a_place_that_cannot_be_written_is_named_from_the_project_on(
    store: SqliteStore, path: Path, tmp_path: Path
):
    make(path.parent, b"a file where the folder should be")
    assert await store.get(Session, "s") is None
    with pytest.raises(BreadError) as caught:
        await store.put(session("s"))
    error = caught.value
    assert error.code == "STORE_UNWRITABLE"
    assert error.what == "The store .bread/bread.db cannot be written."
    assert error.do.startswith("make .bread and the files in it writable")
    assert str(tmp_path) not in str(error)
    await asyncio.to_thread(path.parent.unlink)
    await store.put(session("s"))
    assert await store.get(Session, "s") == session("s")
    await store.close()


async def test_a_folder_in_place_of_the_file_is_one_error(
    store: SqliteStore, path: Path
):
    make(path / "x", b"")
    for attempt in (store.get(Session, "s"), store.put(session("s"))):
        with pytest.raises(BreadError) as caught:
            await attempt
        assert caught.value.code == "STORE_UNWRITABLE"
    await store.close()


async def test_a_file_that_may_not_be_written_is_one_error(open_folder: Path):
    path = open_folder / "bread.db"
    store = SqliteStore(path, root=open_folder)
    await store.put(session("s"))
    await store.close()
    await asyncio.to_thread(path.chmod, 0o444)
    with without_privileges(), pytest.raises(BreadError) as caught:
        await store.put(session("t"))
    assert caught.value.code == "STORE_UNWRITABLE"
    await store.close()


async def test_a_file_that_is_no_database_is_one_error(store: SqliteStore, path: Path):
    make(path, b"not a database, just words. " * 100)
    for attempt in (store.get(Session, "s"), store.put(session("s"))):
        with pytest.raises(BreadError) as caught:
            await attempt
        assert caught.value.code == "STORE_CORRUPT"
        assert "mv .bread/bread.db .bread/bread.db.broken" in caught.value.do
    await store.close()
    assert (await asyncio.to_thread(path.read_bytes)).startswith(b"not a database")


async def test_a_store_whose_file_was_taken_away_begins_a_new_one(
    store: SqliteStore, path: Path
):
    await store.put(session("s"))
    await asyncio.to_thread(shutil.rmtree, path.parent)
    assert await store.get(Session, "s") is None
    await store.put(session("t"))
    await store.close()
    assert await store.query(Session) == [session("t")]
    await store.close()


# rows that are not as they should be


class Trap:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("{broken", "it is not JSON"),
        ("", "it is not JSON"),
        ("[1, 2]", "mapping"),
        ('{"id": "bad"}', "created_at: is missing"),
        ('{"id": "bad", "created_at": "x", "updated_at": 1}', "whole number"),
        ('{"id": "other", "created_at": 1, "updated_at": 1}', "its own id is 'other'"),
        (b"\xff\xfe\x00", "it is not JSON"),
        ("pickle", "it is not JSON"),
        (7, "mapping"),
    ],
    ids=lambda value: ascii(value)[:20],
)
async def test_a_row_that_does_not_parse_is_an_error_that_names_it(
    store: SqliteStore, path: Path, tmp_path: Path, body: object, why: str
):
    if body == "pickle":
        body = pickle.dumps(Trap(tmp_path / "pwned"))
    await store.put(session("good", agent_id="baker"))
    with raw(path) as db:
        db.execute(
            "INSERT INTO record (kind, id, agent_id, created_at, body) "
            "VALUES ('session', 'bad', 'baker', 1, ?)",
            (body,),
        )
    for attempt in (
        store.get(Session, "bad"),
        store.query(Session),
        store.query(Session, {"agent_id": "baker"}),
    ):
        with pytest.raises(BreadError) as caught:
            await attempt
        error = caught.value
        assert error.code == "STORE_CORRUPT"
        assert error.what == (
            "The session 'bad' in the store .bread/bread.db cannot be read."
        )
        assert why in error.why
        assert error.context == {"kind": "session", "id": "bad"}
    assert not await asyncio.to_thread((tmp_path / "pwned").exists)
    assert await store.get(Session, "good") == session("good", agent_id="baker")
    statement = error.do[error.do.index("DELETE") :]
    with raw(path) as db:
        db.execute(statement)
    assert await store.query(Session) == [session("good", agent_id="baker")]
    await store.close()


@pytest.mark.parametrize("body", ["{broken", b"\x80\x04pickle"])
async def test_a_broken_row_is_named_also_where_the_database_reads_it(
    store: SqliteStore, path: Path, body: object
):
    await store.put(session("good", tags={"a": "b"}))
    with raw(path) as db:
        db.execute(
            "INSERT INTO record (kind, id, body) VALUES ('session', 'bad', ?)", (body,)
        )
    for where in ({"tags": {"a": "b"}}, {"updated_at": 1}):
        with pytest.raises(BreadError, match="The session 'bad'") as caught:
            await store.query(Session, where)
        assert caught.value.code == "STORE_CORRUPT"
    with pytest.raises(BreadError, match="The session 'bad'"):
        await store.claim(Session, "bad", {"updated_at": 1}, {"updated_at": 2})
    await store.put(session("bad"))
    assert len(await store.query(Session, {"updated_at": 1})) == 2
    await store.close()


async def test_an_entry_that_does_not_parse_is_an_error_that_names_it(
    store: SqliteStore, path: Path
):
    await store.append("crumbs/r", [Entry(1, "good")])
    with raw(path) as db:
        db.execute("INSERT INTO log VALUES ('crumbs/r', 2, ?)", (b"\x80\x04pickle",))
    with pytest.raises(BreadError) as caught:
        await store.read("crumbs/r")
    assert caught.value.code == "STORE_CORRUPT"
    assert caught.value.context == {"log": "crumbs/r", "seq": 2}
    assert await store.read("crumbs/r", limit=1) == [Entry(1, "good")]
    await store.close()
