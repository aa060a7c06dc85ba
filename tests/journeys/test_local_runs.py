"""Whole runs of the local model, live: what holds whatever such a small model says."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator

import pytest
from fixtures.journey import fault, finished, only, stopped, within
from journeys.conftest import MakeBread
from pydantic import BaseModel

from bread_nb import Agent, Bread, Fallback, Model, Run, Stopped, tool
from bread_nb.crumbs import TextDelta
from bread_nb.providers import weights
from bread_nb.providers.local import Local

pytestmark = pytest.mark.local_model

NAME = "local:smollm2-135m"
ENDLESS = {"ignore_eos": True, "max_tokens": 1900}


class Loaf(BaseModel):
    name: str
    grams: int


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BREAD_LOCAL_MODEL", raising=False)
    if weights.find() is None or not weights.runtime_present():
        pytest.skip("the local model is not installed: bread local install")


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits between tries, noted and not waited for."""
    noted: list[float] = []
    sleep = asyncio.sleep

    async def note(seconds: float) -> None:
        noted.append(seconds)
        await sleep(0)

    monkeypatch.setattr("bread_nb.base.retry.asyncio.sleep", note)
    return noted


@pytest.fixture
async def endless() -> AsyncIterator[Local]:
    model = Local(Model(NAME, settings=ENDLESS))
    yield model
    await model.aclose()


def asked(bread: Bread, text: str = "Tell me everything about bread.") -> Run:
    return bread.run("baker", text)


async def over(run: Run) -> Run:
    """The run, once it has ended, however long that takes on a busy machine."""
    await within(asyncio.wait([asyncio.ensure_future(run)]), 60)
    return run


async def first_words(run: Run) -> None:
    """Wait until the model has said something."""

    async def read() -> None:
        async for crumb in run:
            if isinstance(crumb, TextDelta):
                return

    await within(read(), 60)


async def test_a_run_streams_and_counts_its_tokens_at_no_charge(make_bread: MakeBread):
    described = Model(NAME, settings={"grammar": "two_sentences"})
    bread = make_bread({"baker": Agent(model=described)})
    run = asked(bread, "Write two sentences about bread.")
    outcome = await finished(bread, await over(run))
    pieces = [crumb.delta for crumb in run.crumbs if isinstance(crumb, TextDelta)]
    assert len(pieces) > 10
    assert "".join(pieces) == outcome.text
    [used] = only(run.crumbs, "model:usage")
    assert used["usage"]["output"] >= len(pieces) - 1
    assert (used["cost"], used["costSource"]) == (0.0, "free")
    assert outcome.usage.output == used["usage"]["output"]
    assert outcome.usage.input + outcome.usage.cache_read > 5
    assert outcome.model == NAME


async def test_a_cancelled_run_ends_in_mid_stream_and_frees_the_model(
    make_bread: MakeBread, endless: Local
):
    bread = make_bread({"baker": Agent(model=endless)})
    run = asked(bread)
    await first_words(run)
    run.cancel()
    error = await fault(bread, await over(run))
    assert error.code == "RUN_CANCELLED"
    assert (await bread.find_run("last")).text
    quick = make_bread({"baker": Agent(model=NAME)})
    assert (await finished(quick, await over(asked(quick, "Hello")))).text


async def test_a_conversation_that_is_too_long_is_one_fault_and_one_request(
    make_bread: MakeBread, waits: list[float]
):
    bread = make_bread({"baker": Agent(model=NAME)})
    run = asked(bread, "word " * 3000)
    error = await fault(bread, await over(run))
    assert (error.code, error.retryable) == ("CONTEXT_EXCEEDED", False)
    assert (waits, only(run.crumbs, "model:retry")) == ([], [])


async def test_an_answer_keeps_to_the_agents_schema(make_bread: MakeBread):
    bread = make_bread({"baker": Agent(model=NAME, output_schema=Loaf)})
    outcome = await finished(
        bread, await over(asked(bread, "Describe a rye loaf of 900 grams."))
    )
    assert isinstance(outcome.output, Loaf)
    assert outcome.metrics.turns == 1


async def test_a_loop_of_tools_ends(make_bread: MakeBread):
    ran: list[str] = []

    @tool
    def weigh(what: str) -> float:
        """Weigh something."""
        ran.append("weigh")
        return 31.5

    @tool
    def bell() -> str:
        """Ring the bell."""
        ran.append("bell")
        return "ding"

    bread = make_bread({"baker": Agent(model=NAME, tools=[weigh, bell], steps=8)})
    outcome = await finished(
        bread, await over(asked(bread, 'What is the weight of "rye"?'))
    )
    assert ran == ["weigh", "bell"]
    assert outcome.metrics.turns == 3
    assert outcome.text


async def test_a_text_that_is_cut_at_the_limit_is_no_answer(make_bread: MakeBread):
    cut = Model(NAME, settings={"ignore_eos": True, "max_tokens": 5})
    bread = make_bread({"baker": Agent(model=cut)})
    outcome = await stopped(bread, await over(asked(bread)))
    assert outcome.reason == "truncated:max_tokens"
    assert outcome.text


async def test_a_process_that_dies_in_mid_stream_is_started_and_asked_again(
    make_bread: MakeBread,
):
    model = Local(Model(NAME, settings={"ignore_eos": True, "max_tokens": 80}))
    bread = make_bread({"baker": Agent(model=model)})
    run = asked(bread)
    await first_words(run)
    first = model.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    outcome = await within(run, 60)
    assert isinstance(outcome, Stopped)
    assert outcome.reason == "truncated:max_tokens"
    assert model.pid not in (None, first)
    codes = [r["error"]["code"] for r in only(run.crumbs, "model:retry")]
    assert codes[0] == "STREAM_INCOMPLETE"
    await model.aclose()


async def test_it_answers_in_place_of_a_service_that_is_not_there(
    make_bread: MakeBread,
):
    away = Model("openai:gpt-5", base_url="http://127.0.0.1:9")
    bread = make_bread({"baker": Agent(model=Fallback([away, NAME]))})
    run = asked(bread, "Hello")
    outcome = await finished(bread, await over(run))
    assert outcome.text
    assert outcome.model == NAME
    [used] = only(run.crumbs, "model:usage")
    assert (used["model"], used["cost"]) == (NAME, 0.0)
