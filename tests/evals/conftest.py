"""Bread for evaluations, and a short way to evaluate."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from bread_nb import Agent, Bread, Scripted
from bread_nb.evals import Suite
from bread_nb.evals.evaluate import Options, evaluate
from bread_nb.evals.report import Report

Evaluate = Callable[..., Awaitable[Report]]


@pytest.fixture
async def bread() -> AsyncIterator[Bread]:
    async with Bread(store="memory:") as made:
        yield made


@pytest.fixture
def evaluated(bread: Bread) -> Evaluate:
    """Evaluates suites with options by name."""

    async def run(*suites: Suite, **options: object) -> Report:
        return await evaluate(bread, suites, Options(**options))

    return run


def answering(answer: Callable[[str], object], **fields: object) -> Agent:
    """An agent whose answer is a function of what it is asked."""

    def turn(request: object) -> object:
        return answer(request.messages[-1].text)

    model = Scripted([turn], repeat_last=True)
    return Agent(**{"name": "baker", "model": model, **fields})
