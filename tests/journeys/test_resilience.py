"""Runs whose model is wrapped: exact counts, and what the person is told."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from fixtures.journey import call, calls, fault, finished, only, stopped, texts
from fixtures.model_server import ModelServer, Reply
from fixtures.more_wire import lines, ndjson
from journeys.conftest import MakeBread

from bread_nb import (
    Agent,
    Cassette,
    CircuitBreaker,
    ErrorHandling,
    Fallback,
    Hooks,
    Model,
    Retry,
    Retrying,
    RetryPolicy,
    Scripted,
    tool,
)
from bread_nb.a2ui.card import Card
from bread_nb.errors import FallbackError, Halt
from bread_nb.providers.model import ChatModel

LOST = {"deltas": ["half "], "error": {"code": "STREAM_INCOMPLETE"}}


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits between tries, noted and not waited for."""
    noted: list[float] = []
    sleep = asyncio.sleep

    async def note(seconds: float) -> None:
        noted.append(seconds)
        await sleep(0)

    monkeypatch.setattr("bread_nb.base.retry.asyncio.sleep", note)
    return noted


def down(error: object = 529) -> Scripted:
    return Scripted([{"error": error}], repeat_last=True)


def policy(attempts: int) -> RetryPolicy:
    return RetryPolicy(attempts=attempts, backoff=0, retry_on="transient")


def twice(first: Scripted, second: Scripted) -> ChatModel:
    return Fallback([Retrying(first, policy(4)), Retrying(second, policy(2))])


def broken(first: Scripted, second: Scripted) -> ChatModel:
    return Fallback([CircuitBreaker(first, failures=1), second])


@pytest.mark.parametrize(
    ("wrapped", "handling", "hooks", "asked"),
    [
        (lambda a, b: a, None, None, (3, 0)),
        (lambda a, b: a, policy(5), None, (5, 0)),
        (lambda a, b: Retrying(a, policy(4)), None, None, (4, 0)),
        (lambda a, b: Retrying(a), None, None, (3, 0)),
        (lambda a, b: Retrying(a, policy(1)), None, None, (1, 0)),
        (lambda a, b: Retrying(a, policy(2)), policy(3), None, (6, 0)),
        (lambda a, b: Retrying(a, policy(2)), None, Retry(), (4, 0)),
        (lambda a, b: CircuitBreaker(Retrying(a, policy(2))), None, None, (2, 0)),
        (lambda a, b: Fallback([a, b]), None, None, (3, 3)),
        (lambda a, b: Fallback([a, b]), policy(2), None, (2, 2)),
        (twice, None, None, (4, 2)),
        (lambda a, b: Retrying(Fallback([a, b]), policy(2)), None, None, (2, 2)),
        (lambda a, b: CircuitBreaker(a, failures=2), None, None, (2, 0)),
        (lambda a, b: CircuitBreaker(a, failures=1), policy(9), None, (1, 0)),
        (broken, None, None, (1, 3)),
    ],
)
async def test_each_model_is_asked_an_exact_number_of_times(
    make_bread: MakeBread,
    wrapped: Callable[[Scripted, Scripted], ChatModel],
    handling: RetryPolicy | None,
    hooks: Retry | None,
    asked: tuple[int, int],
):
    first, second = down(), down(503)
    agent = Agent(
        model=wrapped(first, second),
        error_handling=ErrorHandling(retry=handling) if handling else None,
        hooks=Hooks(on_error=lambda _: hooks) if hooks else None,
    )
    bread = make_bread({"baker": agent})
    await fault(bread, bread.run("baker", "go"))
    assert (len(first.requests), len(second.requests)) == asked


async def test_each_try_of_a_wrapper_is_told_and_its_text_withdrawn(
    make_bread: MakeBread,
):
    model = Retrying(Scripted([LOST, LOST, "whole"]), RetryPolicy(attempts=3))
    bread = make_bread({"baker": Agent(model=model)})
    run = bread.run("baker", "go", session="s1")
    assert (await finished(bread, run)).text == "whole"
    retries = only(run.crumbs, "model:retry")
    told = [(r["attempt"], r["attempts"], r["delayMs"]) for r in retries]
    assert told == [(1, 3, 500), (2, 3, 1000)]
    said = texts(await bread.sessions.messages("s1"))
    assert said == [("user", "go"), ("assistant", "whole")]


async def test_text_of_the_last_try_is_kept_when_all_failed(make_bread: MakeBread):
    model = Fallback([down(), Scripted([LOST], repeat_last=True)])
    bread = make_bread({"baker": Agent(model=model)})
    error = await fault(bread, bread.run("baker", "go"))
    assert isinstance(error, FallbackError)
    assert error.context["text"] == "half "
    assert (await bread.find_run("last")).text == "half "


@pytest.mark.parametrize("wrapped", [lambda m: m, Retrying])
async def test_the_last_words_are_kept_when_later_tries_said_nothing(
    make_bread: MakeBread, wrapped: Callable[[Scripted], ChatModel]
):
    script = Scripted([LOST, {"error": 529}, {"error": 529}])
    bread = make_bread({"baker": Agent(model=wrapped(script))})
    error = await fault(bread, bread.run("baker", "go"))
    assert (error.code, error.context["text"]) == ("MODEL_OVERLOADED", "half ")
    assert (await bread.find_run("last")).text == "half "


async def test_no_call_of_a_failed_try_ever_runs(make_bread: MakeBread):
    ran: list[int] = []

    @tool
    def weigh(grams: int = 0) -> str:
        """Weigh."""
        ran.append(grams)
        return f"{grams} g"

    half = {**calls(call("tool_weigh", grams=1)), "error": {"code": "STREAM_BROKEN"}}
    first = Scripted([half, "never"])
    second = Scripted([calls(call("tool_weigh", grams=2)), "done"])
    model = Fallback([first, second])
    bread = make_bread({"baker": Agent(model=model, tools=[weigh])})
    outcome = await finished(bread, bread.run("baker", "go"))
    assert (outcome.text, ran) == ("never", [2])


async def test_a_halt_crosses_all_wrappers(make_bread: MakeBread):
    spare = Scripted(["never"])
    breaker = CircuitBreaker(Retrying(down(Halt("till"))), failures=1)
    bread = make_bread({"baker": Agent(model=Fallback([breaker, spare]))})
    outcome = await stopped(bread, bread.run("baker", "go"))
    assert (outcome.reason, spare.requests) == ("halt:till", [])
    assert breaker.state == "closed"


async def test_a_callback_that_raises_is_a_fault_and_ends_nothing(
    make_bread: MakeBread,
):
    def raising(*told: object) -> None:
        raise RuntimeError("pager is off")

    model = Fallback([down(), Scripted(["fine"])], on_fallback=raising)
    bread = make_bread({"baker": Agent(model=model)})
    faults: list[tuple[str, str]] = []
    bread.on("fault", lambda error, source: faults.append((str(error), source)))
    assert (await finished(bread, bread.run("baker", "go"))).text == "fine"
    assert faults == [("pager is off", "on_fallback")]


async def test_a_model_in_place_of_another_is_named_from_the_wire_to_the_card(
    make_bread: MakeBread,
):
    busy = {"type": "error", "error": {"type": "overloaded_error", "message": "Full"}}
    answer = ndjson(lines({"content": "From the small oven."}))
    async with (
        ModelServer(Reply.json(busy, 529)) as cloud,
        ModelServer(answer) as home,
    ):
        large = Model("anthropic:claude-opus", base_url=cloud.url, api_key="k")
        model = Fallback([large, Model("ollama:qwen3:8b", base_url=home.url)])
        bread = make_bread({"baker": Agent(model=model)})
        run = bread.run("baker", "go")
        outcome = await finished(bread, run)
        assert (len(cloud.seen), len(home.seen)) == (1, 1)
    assert (outcome.text, outcome.model) == ("From the small oven.", "ollama:qwen3:8b")
    [start] = only(run.crumbs, "agent:run:start")
    [used] = only(run.crumbs, "model:usage")
    [again] = only(run.crumbs, "model:retry")
    assert start["model"] == "anthropic:claude-opus"
    assert (used["model"], used["cost"]) == ("ollama:qwen3:8b", 0.0)
    assert (again["model"], again["error"]["code"]) == (
        "ollama:qwen3:8b",
        "MODEL_OVERLOADED",
    )
    card = Card(run.id, clock=lambda: 60_000)
    for crumb in run.crumbs:
        card.accept(crumb)
    shown = str(card.snapshot())
    assert "ollama:qwen3:8b, in place of anthropic:claude-opus" in shown
    assert "Asking ollama:qwen3:8b instead" in shown


async def test_the_first_model_is_asked_again_at_the_next_turn(make_bread: MakeBread):
    first = Scripted([{"error": 529}, "back again"])
    bread = make_bread({"baker": Agent(model=Fallback([first, Scripted(["spare"])]))})
    texts = [(await finished(bread, bread.run("baker", "go"))).text for _ in range(2)]
    assert texts == ["spare", "back again"]


async def test_wrappers_come_from_a_providers_factory_as_well(make_bread: MakeBread):
    def safe(model_id: str) -> ChatModel:
        return Fallback([CircuitBreaker(Retrying(f"house:{model_id}")), "house:spare"])

    def house(model_id: str) -> ChatModel:
        return Scripted(["from the spare"]) if model_id == "spare" else down()

    agent = Agent(model="safe:main", providers={"safe": safe, "house": house})
    bread = make_bread({"baker": agent})
    run = bread.run("baker", "go")
    assert (await finished(bread, run)).text == "from the spare"
    models = [r.get("model") for r in only(run.crumbs, "model:retry")]
    assert models == [None, None, "house:spare"]


async def test_a_temperature_that_was_left_out_is_told_in_crumb_and_outcome(
    make_bread: MakeBread,
):
    words = {"error": {"message": "`temperature` is deprecated for this model."}}
    answer = ndjson(lines({"content": "Without it."}))
    async with ModelServer(Reply.json(words, 400), answer) as server:
        asked = {"base_url": server.url, "settings": {"temperature": 0.2}}
        bread = make_bread({"baker": Agent(model=Model("ollama:oven", **asked))})
        run = bread.run("baker", "go")
        outcome = await finished(bread, run)
        assert len(server.seen) == 2
    [used] = only(run.crumbs, "model:usage")
    assert (outcome.text, used["temperatureDropped"]) == ("Without it.", True)
    assert outcome.metrics.temperature_dropped
    assert only(run.crumbs, "model:retry") == []


async def test_a_fallback_is_replayed_as_it_was_recorded(
    make_bread: MakeBread, tmp_path: Path
):
    path = tmp_path / "a.cassette.jsonl"
    told: list[list[tuple[object, ...]]] = []
    for mode in ("record", "replay"):
        spare = Scripted([{"text": "whole", "usage": {"input": 3, "output": 1}}])
        model = Cassette(Fallback([Scripted([LOST]), spare]), path, mode=mode)
        bread = make_bread({"baker": Agent(model=model)})
        run = bread.run("baker", "go")
        assert (await finished(bread, run)).text == "whole"
        assert len(spare.requests) == (mode == "record")
        again, used = (only(run.crumbs, f"model:{k}")[0] for k in ("retry", "usage"))
        told.append([(again["model"], again["error"]["code"]), (used["model"],)])
    assert told[0] == told[1] == [("scripted", "STREAM_INCOMPLETE"), ("scripted",)]
