"""Addresses of stores, good and bad."""

from __future__ import annotations

from pathlib import Path

import pytest

from bread_nb.errors import BreadError
from bread_nb.stores.in_memory import InMemoryStore
from bread_nb.stores.opening import DEFAULT_STORE, open_store
from bread_nb.stores.records import Counter
from bread_nb.stores.sqlite import SqliteStore


@pytest.mark.parametrize(
    ("url", "place"),
    [
        (DEFAULT_STORE, ".bread/bread.db"),
        ("sqlite:///runs.db", "runs.db"),
        (" sqlite:///a b/ä?.db ", "a b/ä?.db"),
        ("sqlite:////elsewhere/runs.db", "/elsewhere/runs.db"),
    ],
)
def test_a_file_is_found_from_the_project_on(tmp_path: Path, url: str, place: str):
    store = open_store(url, tmp_path)
    assert isinstance(store, SqliteStore)
    assert store.path == tmp_path / place
    assert store.place == place
    assert list(tmp_path.iterdir()) == []


async def test_a_path_with_odd_characters_is_only_a_path(tmp_path: Path):
    store = open_store("sqlite:///a b/ä?mode=ro#%20'.db", tmp_path)
    await store.put(Counter(id="c"))
    await store.close()
    assert await open_store("sqlite:///a b/ä?mode=ro#%20'.db", tmp_path).get(
        Counter, "c"
    ) == Counter(id="c")


@pytest.mark.parametrize("url", ["memory:", "memory://"])
def test_memory_is_a_store_without_a_file(tmp_path: Path, url: str):
    assert isinstance(open_store(url, tmp_path), InMemoryStore)


@pytest.mark.parametrize(
    "url",
    ["postgresql://me:CANARY@host/db", "postgres://host", "postgresql+psycopg://host"],
)
def test_postgres_is_not_available_yet(tmp_path: Path, url: str):
    with pytest.raises(BreadError) as caught:
        open_store(url, tmp_path)
    assert caught.value.code == "NOT_AVAILABLE"
    assert "CANARY" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("", "begins with sqlite:///"),
        (".bread/bread.db", "begins with sqlite:///"),
        ("sqlit:///x.db", "did you mean sqlite:"),
        ("mysql://me:CANARY@host/db", "begins with sqlite:///"),
        ("sqlite://x.db", "three slashes"),
        ("sqlite:x.db", "three slashes"),
        ("sqlite", "begins with sqlite:///"),
        ("sqlite:///", "names no file"),
        ("sqlite:///folder/", "names no file"),
        ("sqlite:///:memory:", "memory:"),
        ("memory:x", "begins with sqlite:///"),
    ],
)
def test_a_bad_address_is_one_error_that_says_what_is_wrong(
    tmp_path: Path, url: str, says: str
):
    with pytest.raises(BreadError) as caught:
        open_store(url, tmp_path)
    error = caught.value
    assert error.code == "INVALID_STORE"
    assert says in error.why
    assert error.do.startswith("BREAD_STORE=")
    assert "CANARY" not in str(error)
