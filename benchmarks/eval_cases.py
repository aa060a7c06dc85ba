"""What evaluating costs a case: the harness alone, and with the runs it makes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from benchmarks import ours
from benchmarks.contestants import Contestant, Sitting
from benchmarks.measures import One
from bread_nb import Agent, Bread, Case, Scripted, Suite
from bread_nb.evals import contains
from bread_nb.evals.evaluate import Options, evaluate

AT_ONCE = 50


def suite(agent: Agent, count: int) -> Suite:
    """A suite of so many cases."""
    cases = [Case(f"case-{n}", f"question {n}") for n in range(count)]
    return Suite(agent, cases, scorers=[contains("", ignore_case=True)])


async def evaluated(bread: Bread, made: Suite) -> float:
    """CPU milliseconds a case of one evaluation."""
    since = time.process_time()
    report = await evaluate(bread, [made], Options(concurrency=AT_ONCE))
    assert report.passed == len(made)
    return (time.process_time() - since) * 1000 / len(made)


async def bare(bread: Bread, made: Suite) -> float:
    """CPU milliseconds a run of the same runs, without any harness."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(case: Case) -> None:
        async with gate:
            await bread.run(made.agent, case.input)

    since = time.process_time()
    async with asyncio.TaskGroup() as group:
        for case in made.cases:
            group.create_task(one(case))
    return (time.process_time() - since) * 1000 / len(made)


def with_agent(provider: str, count: int) -> Contestant:
    """Cases whose agent asks the fake service."""

    @asynccontextmanager
    async def up(sitting: Sitting) -> AsyncIterator[One]:
        agent = ours.agent(provider, sitting.place("text-1"))
        async with ours.bread_with(agent, sitting.store()) as bread:
            yield lambda: evaluated(bread, suite(agent, count))

    return up


def alone(count: int) -> Contestant:
    """What the harness adds to runs of a script."""

    @asynccontextmanager
    async def up(sitting: Sitting) -> AsyncIterator[One]:
        agent = Agent(model=Scripted(["An answer."], repeat_last=True))
        async with ours.bread_with(agent, sitting.store()) as bread:
            made = suite(agent, count)

            async def one() -> float:
                without = await bare(bread, made)
                return await evaluated(bread, made) - without

            yield one

    return up
