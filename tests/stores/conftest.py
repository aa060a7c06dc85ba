"""Every store there is, one after the other."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

pytest.register_assert_rewrite("contracts.store_contract")

from contracts.store_contract import STORES  # noqa: E402

from bread_nb.stores.store import Store  # noqa: E402


@pytest.fixture(params=STORES)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """An empty store of each sort."""
    made = STORES[request.param](tmp_path)
    yield made
    await made.close()
