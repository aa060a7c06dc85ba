"""A process that works on a run is known to be alive from its first commit on."""

import asyncio
import platform
from collections.abc import AsyncGenerator, Awaitable
from dataclasses import dataclass, field
from typing import TypeVar

import pytest
import pytest_asyncio
from fixtures.journey import within
from pydantic import JsonValue

from bread_nb import Agent, Bread, BreadError, Finished, Permissions, Scripted, tool
from bread_nb.stores.in_memory import InMemoryStore
from bread_nb.stores.records import Lease
from bread_nb.stores.store import Fields, Record, Step

R = TypeVar("R", bound=Record)


@dataclass
class Shop:
    """Processes on one store, all with a baker whose oven can be held shut."""

    store: InMemoryStore = field(default_factory=InMemoryStore)
    opened: list[Bread] = field(default_factory=list[Bread])
    baked: list[str] = field(default_factory=list[str])
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)

    def process(self, *, ask: bool = False) -> Bread:
        """Another process: a Bread with an owner of its own."""

        @tool
        async def bake(loaf: str) -> str:
            """Bake."""
            self.baked.append(loaf)
            self.begun.set()
            await self.go.wait()
            return loaf

        turns = [{"calls": [{"name": "tool_bake", "args": {"loaf": "rye"}}]}, "done"]
        baker = Agent(
            model=Scripted(turns, by="history"),
            tools=[bake],
            permissions=Permissions(ask=["tool:bake"] if ask else []),
        )
        self.opened.append(Bread({"baker": baker}, store=self.store))
        return self.opened[-1]


@pytest_asyncio.fixture
async def shop() -> AsyncGenerator[Shop]:
    shop = Shop()
    yield shop
    shop.go.set()
    for bread in shop.opened:
        await within(bread.close())


class Stale(InMemoryStore):
    """Shows the runs as they were, once something else has happened."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Awaitable[object] | None = None

    async def query(
        self, kind: type[R], where: Fields | None = None, **options: bool | int | None
    ) -> list[R]:
        found = await super().query(kind, where, **options)
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            await meanwhile
        return found


async def test_a_run_that_ended_meanwhile_is_not_taken_up_again():
    store = Stale()
    shop = Shop(store=store)
    bread = shop.process()
    run = bread.run("baker", "go")
    await within(shop.begun.wait())
    store.meanwhile = run
    shop.go.set()
    [again] = await within(bread.recover())
    with pytest.raises(BreadError) as caught:
        await within(again)
    assert caught.value.code == "RUN_LOST"
    assert (await bread.find_run(run.id)).status == "finished"
    await within(bread.close())


async def test_a_run_whose_number_was_taken_at_first_is_not_up_for_grabs(shop: Shop):
    first, second, third = (shop.process() for _ in range(3))
    shop.go.set()
    await within(first.run("baker", "go"))
    shop.go.clear()
    shop.begun.clear()
    run = second.run("baker", "go")
    await within(shop.begun.wait())
    assert await third.interrupted() == []
    assert await third.recover() == []
    shop.go.set()
    assert isinstance(await within(run), Finished)
    assert shop.baked == ["rye", "rye"]


@pytest.mark.parametrize("late", [False, True])
async def test_an_approved_call_under_way_elsewhere_is_not_up_for_grabs(
    shop: Shop, late: bool
):
    first, second, third = (shop.process(ask=True) for _ in range(3))
    asked = await within(first.run("baker", "go"))
    if late:
        other = await within(first.run("baker", "go"))
        await within(first.resume(other.only, {"approved": False}))
        with pytest.raises(BreadError):
            await within(second.resume(other.only, {"approved": True}))
    run = second.resume(asked.only, {"approved": True})
    await within(shop.begun.wait())
    assert await third.interrupted() == []
    with pytest.raises(BreadError) as caught:
        await within(third.resume(asked.only, {"approved": True}))
    assert caught.value.code == "CHECKPOINT_NOT_FOUND"
    assert "Approved" in caught.value.why
    shop.go.set()
    assert isinstance(await within(run), Finished)
    assert shop.baked == ["rye"]


class Watched(InMemoryStore):
    """Tells when a lease is renewed by itself, with no other step of a run."""

    def __init__(self) -> None:
        super().__init__()
        self.renewed = asyncio.Event()

    async def put(self, record: Record) -> None:
        if isinstance(record, Lease):
            self.renewed.set()
        await super().put(record)


async def test_a_long_step_keeps_its_process_alive(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("bread_nb.runtime.leases._BEAT_MS", 1)
    store = Watched()
    shop = Shop(store=store)
    bread = shop.process()
    run = bread.run("baker", "go")
    await within(shop.begun.wait())
    store.renewed.clear()
    await within(store.renewed.wait())
    shop.go.set()
    assert isinstance(await within(run), Finished)
    await within(bread.close())


async def test_a_process_that_closed_has_left_its_runs_to_others(shop: Shop):
    first = shop.process()
    shop.go.set()
    await within(first.run("baker", "go"))
    assert await shop.store.query(Lease) != []
    await within(first.close())
    assert await shop.store.query(Lease) == []


@pytest.mark.parametrize("ask", [False, True])
async def test_a_session_that_a_run_works_in_is_not_forgotten(shop: Shop, ask: bool):
    bread, other = shop.process(ask=ask), shop.process(ask=ask)
    run = bread.run("baker", "go", session="blog")
    if ask:
        asked = await within(run)
        run = bread.resume(asked.only, {"approved": True})
    await within(shop.begun.wait())
    for each in (bread, other):
        with pytest.raises(BreadError) as caught:
            await each.sessions.forget("blog")
        assert caught.value.code == "SESSION_BUSY"
        assert await each.sessions.clean(older_than_ms=-(10**9)) == 0
    shop.go.set()
    assert isinstance(await within(run), Finished)
    await bread.sessions.forget("blog")
    assert await bread.sessions.get("blog") is None


async def test_a_container_of_the_same_name_has_processes_of_its_own(shop: Shop):
    first, second = shop.process(), shop.process()
    run = first.run("baker", "go")
    await within(shop.begun.wait())
    [lease] = await shop.store.query(Lease)
    unseen = {"host": platform.node(), "pid": 2**22 + 1}
    await shop.store.put(lease.model_copy(update=unseen))
    assert await second.interrupted() == []
    shop.go.set()
    assert isinstance(await within(run), Finished)


class Full(InMemoryStore):
    """A store that takes nothing while it is full."""

    full = False

    async def atomic(self, *steps: Step) -> list[JsonValue] | None:
        if self.full:
            raise BreadError("The disk is full.", code="STORE_UNAVAILABLE")
        return await super().atomic(*steps)


async def test_a_run_that_the_store_broke_is_taken_up_once_its_process_closed():
    store = Full()
    shop = Shop(store=store)
    first, second = shop.process(), shop.process()
    run = first.run("baker", "go", session="blog")
    await within(shop.begun.wait())
    store.full = True
    shop.go.set()
    with pytest.raises(BreadError) as caught:
        await within(run)
    assert caught.value.code == "STORE_UNAVAILABLE"
    store.full = False
    assert await second.interrupted() == []
    await within(first.close())
    [again] = await within(second.recover())
    outcome = await within(again)
    [asked] = outcome.pending
    assert asked.kind == "outcome"
    await within(second.close())
