"""Bread in code, for tests with a loop and for scripts without one."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping

import pytest
from fixtures.journey import within

from bread_nb import Agent, Bread, BreadConfig
from bread_nb.stores.blobs import MemoryBlobs
from bread_nb.stores.in_memory import InMemoryStore
from bread_nb.stores.store import Store

MakeBread = Callable[..., Bread]


def bread_in_memory(
    agents: Mapping[str, Agent] | None = None,
    *,
    store: Store | None = None,
    **options: object,
) -> Bread:
    """Bread of these agents, on a store that forgets everything with the test."""
    config = BreadConfig(**{"blob_store": MemoryBlobs(), **options})
    return Bread(agents, config=config, store=store or InMemoryStore())


@pytest.fixture
async def make_bread() -> AsyncIterator[MakeBread]:
    """Makes Bread of agents by id and configuration fields; closed at the end."""
    made: list[Bread] = []

    def make(*args: object, **options: object) -> Bread:
        made.append(bread_in_memory(*args, **options))
        return made[-1]

    yield make
    for bread in made:
        await within(bread.close())


@pytest.fixture
def make_script_bread() -> Iterator[MakeBread]:
    """Makes Bread where no loop runs, as in a script; closed at the end."""
    made: list[Bread] = []

    def make(*args: object, **options: object) -> Bread:
        made.append(bread_in_memory(*args, **options))
        return made[-1]

    yield make
    for bread in made:
        asyncio.run(within(bread.close()))
