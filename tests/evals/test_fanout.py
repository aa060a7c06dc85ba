"""Evaluations on a dask cluster: every row once, also when a worker is killed."""

import asyncio
import os
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from distributed import Client, LocalCluster

from bread_nb import Agent, Bread, BreadError, Case, Scripted, Suite
from bread_nb.crumbs import Crumb
from bread_nb.evals import exact
from bread_nb.evals.evaluate import Options, Progress, evaluate

pytestmark = pytest.mark.kernel
PATIENCE = 300


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    """A cluster of two worker processes on this machine."""
    async with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            processes=True,
            asynchronous=True,
            dashboard_address=None,
        ) as cluster,
        Client(cluster, asynchronous=True) as made,
    ):
        yield made


def paid(ledger: Path) -> Agent:
    """An agent whose model writes into a ledger what it was asked, and by which pid."""

    def turn(request: object) -> str:
        asked = request.messages[-1].text
        with ledger.open("a") as file:
            file.write(f"{os.getpid()} {asked}\n")
        return asked.replace("question", "answer")

    return Agent(name="baker", model=Scripted([turn], repeat_last=True))


def numbered(count: int) -> list[Case]:
    return [
        Case(name=f"case-{i}", input=f"question {i}", expected=f"answer {i}")
        for i in range(1, count + 1)
    ]


def entries(ledger: Path) -> list[tuple[int, str]]:
    lines = ledger.read_text().splitlines()
    return [(int(pid), asked) for pid, asked in (x.split(" ", 1) for x in lines)]


@pytest.fixture
async def bread(tmp_path: Path) -> AsyncIterator[Bread]:
    async with Bread(root=tmp_path, store=f"sqlite:///{tmp_path / 'b.db'}") as made:
        yield made


async def test_rows_are_made_by_the_workers_and_crumbs_come_back(
    bread: Bread, client: Client, tmp_path: Path
):
    ledger = tmp_path / "ledger"
    suite = Suite(paid(ledger), numbered(20), scorers=[exact()])
    told: list[Crumb] = []
    bread.on("crumb", told.append)
    async with asyncio.timeout(PATIENCE):
        report = await bread.eval(suite, on=client)
    assert [row.case for row in report.rows] == [f"case-{i}" for i in range(1, 21)]
    assert [row.why for row in report.rows] == [""] * 20
    pids = {pid for pid, _ in entries(ledger)}
    assert len(pids) == 2
    assert os.getpid() not in pids
    assert Counter(crumb.type for crumb in told)["agent:run:end"] == 20


async def test_a_killed_worker_costs_no_row_and_no_second_payment(
    bread: Bread, client: Client, tmp_path: Path, full_counts: bool
):
    ledger, count = tmp_path / "ledger", 1000 if full_counts else 120
    suite = Suite(paid(ledger), numbered(count), scorers=[exact()])
    killed: list[int] = []

    def watch(progress: Progress) -> None:
        if progress.done >= count // 2 and not killed:
            killed.append(entries(ledger)[0][0])
            os.kill(killed[0], signal.SIGKILL)

    options = Options(on=client, concurrency=8, watch=watch)
    async with asyncio.timeout(PATIENCE):
        report = await evaluate(bread, [suite], options)
    assert killed
    assert (len(report.rows), report.passed) == (count, count)
    finished = [r for r in await bread.runs(limit=None) if r.status == "finished"]
    assert len(finished) == count
    assert len({run.session_id for run in finished}) == count


async def test_many_inputs_are_mapped_to_their_outcomes_in_order(
    bread: Bread, client: Client, tmp_path: Path
):
    agent = paid(tmp_path / "ledger")
    inputs = [f"question {i}" for i in range(10)]
    async with asyncio.timeout(PATIENCE):
        outcomes = await bread.map(agent, inputs, on=client)
    assert [o.output for o in outcomes] == [f"answer {i}" for i in range(10)]
    assert os.getpid() not in {pid for pid, _ in entries(tmp_path / "ledger")}


async def test_a_store_in_memory_cannot_be_shared(client: Client):
    suite = Suite(paid(Path("nowhere")), numbered(1), scorers=[exact()])
    async with Bread(store="memory:") as bread:
        with pytest.raises(BreadError) as caught:
            await bread.eval(suite, on=client)
    assert caught.value.code == "STORE_NOT_SHARED"


async def test_a_cluster_that_is_not_there_is_one_error(
    bread: Bread, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("DASK_SCHEDULER_ADDRESS", raising=False)
    suite = Suite(paid(Path("nowhere")), numbered(1), scorers=[exact()])
    for named in ("dask", "spark"):
        with pytest.raises(BreadError) as caught:
            await bread.eval(suite, on=named)
        assert caught.value.code == "NO_CLUSTER"


async def test_a_cluster_without_dask_names_the_extra(
    bread: Bread, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delitem(sys.modules, "bread_nb.evals.fanout", raising=False)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(BreadError) as caught:
        await bread.eval(
            Suite(paid(Path("nowhere")), numbered(1), scorers=[exact()]), on="dask"
        )
    assert caught.value.code == "MISSING_EXTRA"
    assert caught.value.do == 'pip install "bread-nb[fanout]"'
