"""The stores give the same answers to the same random steps."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from contracts.store_contract import STORES, Loaf
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from bread_nb.stores.store import (
    Add,
    Append,
    Claim,
    Drop,
    DropLog,
    Entry,
    Put,
    Step,
    Store,
)

IDS = st.sampled_from(["a", "b", "c"])
LOGS = st.sampled_from(["x", "y"])
SMALL = st.integers(-2, 2)
JSON: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | SMALL | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner)
    ),
    max_leaves=4,
)
FIELDS: dict[str, st.SearchStrategy[JsonValue]] = {
    "created_at": st.integers(0, 2),
    "session_id": st.none() | IDS,
    "status": st.sampled_from(["rising", "baked"]),
    "grams": st.integers(-2, 2),
    "ready": st.booleans(),
    "note": st.none() | st.text(max_size=2),
    "tags": st.dictionaries(IDS, IDS, max_size=2),
    "extra": JSON,
}
SOME = st.fixed_dictionaries({}, optional=FIELDS)
LOAVES = st.builds(lambda id, fields: Loaf(id=id, **fields), IDS, SOME)
NUMBERS = st.lists(st.integers(1, 6), max_size=3)
ENTRIES = st.lists(st.builds(Entry, st.integers(1, 6), JSON), max_size=3)
STEPS: st.SearchStrategy[Step] = st.one_of(
    st.builds(Put, LOAVES, st.booleans()),
    st.builds(Claim, st.just(Loaf), IDS, SOME, SOME),
    st.builds(Add, st.just(Loaf), IDS, st.just("grams"), SMALL),
    st.builds(Append, LOGS, ENTRIES),
    st.builds(Drop, st.just(Loaf), IDS),
    st.builds(DropLog, LOGS),
)
GROUPS = st.lists(STEPS, min_size=1, max_size=4)


async def answers(
    store: Store, groups: list[list[Step]], asks: list[dict[str, JsonValue]]
) -> list[object]:
    said: list[object] = []
    for group in groups:
        said.append(await store.atomic(*group))
        said.append(await store.query(Loaf))
    for where in asks:
        said.append(await store.query(Loaf, where, newest_first=True))
        said.append(await store.query(Loaf, where, limit=1))
    for log in ("x", "y"):
        said.append(await store.read(log))
        said.append(await store.read(log, after=2, newest=2))
    await store.close()
    said.append(await store.query(Loaf))
    await store.close()
    return said


@given(st.lists(GROUPS, max_size=6), st.lists(SOME, max_size=4))
def test_all_stores_answer_alike(
    groups: list[list[Step]], asks: list[dict[str, JsonValue]]
):
    async def compare() -> None:
        said: dict[str, object] = {}
        for name, make in STORES.items():
            with tempfile.TemporaryDirectory() as folder:
                said[name] = await answers(make(Path(folder)), groups, asks)
        first, *others = said.values()
        for other in others:
            assert other == first

    asyncio.run(compare())
