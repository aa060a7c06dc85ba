"""A cluster whose scheduler goes away: one error that says what is kept."""

import asyncio
from pathlib import Path

import pytest
from distributed import Client, LocalCluster
from evals.test_fanout import numbered, paid

from bread_nb import Bread, BreadError, Suite
from bread_nb.evals import exact
from bread_nb.evals.evaluate import Options, Progress, evaluate

pytestmark = pytest.mark.kernel


async def test_a_cluster_that_is_lost_is_one_error_and_the_rows_are_kept(
    tmp_path: Path,
):
    baker = paid(tmp_path / "ledger")
    suite = Suite(baker, numbered(8), scorers=[exact()])
    store = f"sqlite:///{tmp_path / 'bread.db'}"
    async with (
        LocalCluster(
            n_workers=1, processes=False, asynchronous=True, dashboard_address=None
        ) as cluster,
        Bread(store=store) as bread,
    ):
        client = await Client(cluster, asynchronous=True)

        closing: list[asyncio.Task[None]] = []

        def pull(progress: Progress) -> None:
            if progress.done == 1 and not closing:
                closing.append(asyncio.create_task(client.close()))

        with pytest.raises(BreadError, match="The cluster is gone") as caught:
            await evaluate(bread, [suite], Options(on=client, watch=pull))
        await asyncio.gather(*closing)
    assert caught.value.code == "NO_CLUSTER"
    async with Bread(store=store) as bread:
        report = await evaluate(bread, [suite], Options())
    assert len(report.rows) == 8
