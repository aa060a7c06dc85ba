"""Sessions that are forgotten, with all that belongs to them."""

from __future__ import annotations

import asyncio

import pytest

from bread_nb.base.ids import pinned
from bread_nb.stores.records import (
    Call,
    Checkpoint,
    Grant,
    RunRow,
    Session,
    crumb_log,
    message_log,
)
from bread_nb.stores.store import Append, Entry, Put, Record, Store
from bread_nb.stores.upkeep import clean_sessions, forget_session

KINDS: list[type[Record]] = [Session, RunRow, Call, Checkpoint, Grant]


def grant(id: str, scope: str, scope_id: str) -> Grant:
    return Grant.model_validate(
        {
            "id": id,
            "scope": scope,
            "scope_id": scope_id,
            "agent_id": "baker",
            "selector": "tool:order",
            "checkpoint_id": "c",
            "created_at": 1,
        }
    )


async def fill(store: Store, name: str, *, at: int = 1, **tags: str) -> None:
    """A session with two runs, each with a call that waits."""
    await store.put(Session(id=name, created_at=at, updated_at=at, tags=tags))
    await store.append(message_log(name), [Entry(1, "hello"), Entry(2, "good day")])
    for number in (1, 2):
        run = f"{name}/{number}"
        mine = {"session_id": name, "agent_id": "baker", "created_at": at}
        await store.atomic(
            Put(
                RunRow.model_validate(
                    {"id": run, "handle": run, "updated_at": at, **mine}
                )
            ),
            Put(
                Call.model_validate(
                    {
                        "id": f"{run}/1/0",
                        "run_id": run,
                        "turn": 1,
                        "index": 0,
                        "call_id": "call_0",
                        "name": "order",
                        **mine,
                    }
                )
            ),
            Put(
                Checkpoint.model_validate(
                    {
                        "id": f"{run}/asks",
                        "run_id": run,
                        "call": f"{run}/1/0",
                        "tool_call_id": "call_0",
                        "tool_name": "order",
                        "ask": "approval",
                        "handle": f"{run}.a",
                        **mine,
                    }
                )
            ),
            Put(grant(f"{run}/grant", "run", run)),
            Append(crumb_log(run), [Entry(1, "start"), Entry(2, "end")]),
        )
    await store.put(grant(f"{name}/grant", "session", name))


async def left(store: Store) -> list[str]:
    """The ids of all records that are left."""
    return [record.id for kind in KINDS for record in await store.query(kind)]


async def entries_left(store: Store, name: str) -> int:
    logs = [message_log(name), crumb_log(f"{name}/1"), crumb_log(f"{name}/2")]
    return sum([len(await store.read(log)) for log in logs])


async def test_a_forgotten_session_leaves_nothing_and_takes_nothing_else(
    store: Store,
):
    await fill(store, "keep")
    before = sorted(await left(store))
    await fill(store, "gone")
    await store.put(grant("for ever", "agent", "baker"))
    assert await forget_session(store, "gone")
    assert sorted(await left(store)) == sorted([*before, "for ever"])
    assert await entries_left(store, "gone") == 0
    assert await entries_left(store, "keep") == 6
    assert not await forget_session(store, "gone")


async def test_a_session_forgotten_twice_at_once_is_forgotten_once(store: Store):
    await fill(store, "gone")
    done = await asyncio.gather(
        forget_session(store, "gone"), forget_session(store, "gone")
    )
    assert sorted(done) == [False, True]
    assert await left(store) == []


async def test_only_sessions_older_than_asked_are_cleaned(store: Store):
    for name, at in (("old", 1_000), ("edge", 2_000), ("young", 2_001)):
        await fill(store, name, at=at)
    with pinned(start_ms=12_000):
        assert await clean_sessions(store, 10_000) == 1
    assert [s.id for s in await store.query(Session)] == ["edge", "young"]
    assert await entries_left(store, "old") == 0
    assert await entries_left(store, "edge") == 6


@pytest.mark.parametrize(
    ("tags", "cleaned"),
    [
        ({"kind": "test"}, ["a", "b"]),
        ({"kind": "test", "who": "me"}, ["a"]),
        ({"kind": "other"}, []),
        ({}, ["a", "b", "c"]),
        (None, ["a", "b", "c"]),
    ],
)
async def test_tags_narrow_what_is_cleaned(
    store: Store, tags: dict[str, str] | None, cleaned: list[str]
):
    await fill(store, "a", kind="test", who="me")
    await fill(store, "b", kind="test")
    await fill(store, "c")
    assert await clean_sessions(store, 1_000, tags) == len(cleaned)
    stay = [name for name in "abc" if name not in cleaned]
    assert [session.id for session in await store.query(Session)] == stay


async def test_a_session_that_is_used_while_it_is_cleaned_stays(store: Store):
    class Used:
        """The store, with somebody who speaks in the session just before the end."""

        async def atomic(self, *steps: object) -> object:
            await store.claim(Session, "s", {}, {"updated_at": 5})
            return await store.atomic(*steps)

        def __getattr__(self, name: str) -> object:
            return getattr(store, name)

    await fill(store, "s")
    assert await clean_sessions(Used(), 1_000) == 0
    assert await entries_left(store, "s") == 6
