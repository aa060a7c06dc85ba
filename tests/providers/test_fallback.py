"""Retrying and Fallback round a model: how often who is asked, and what is told."""

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from fixtures.model_play import ask, end_of, play, play_to_fault, text_of, usage_of

from bread_nb import Fallback, Model, Retrying, RetryPolicy, Scripted
from bread_nb.errors import BreadError, FallbackError, Halt, ProviderError
from bread_nb.messages import Price
from bread_nb.providers.catalog import Catalog
from bread_nb.providers.model import (
    ChatModel,
    Delta,
    ModelRequest,
    Restart,
    TextChunk,
    Wrapper,
)

LOST = {"deltas": ["half "], "error": {"code": "STREAM_INCOMPLETE"}}


class Dear(Scripted):
    """A scripted model under a name of its own that costs something."""

    free = False

    def __init__(self, name: str, *turns: object, **options: object) -> None:
        super().__init__(list(turns), **options)  # type: ignore[arg-type]
        self.name = name


class Odd:
    """A model of somebody else, which raises what it likes."""

    name = "odd:one"
    free = False

    def __init__(self, error: BaseException) -> None:
        self.error = error
        self.asked = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        self.asked += 1
        yield TextChunk("half ")
        raise self.error

    async def aclose(self) -> None:
        return None


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


def restarts(deltas: list[Delta]) -> list[Restart]:
    return [delta for delta in deltas if isinstance(delta, Restart)]


def after_restart(deltas: list[Delta]) -> list[Delta]:
    """What is left when the reader drops what it is told to drop."""
    last = max((i for i, d in enumerate(deltas) if isinstance(d, Restart)), default=-1)
    return deltas[last + 1 :]


async def fault_of(model: ChatModel) -> BreadError:
    _, fault = await play_to_fault(model)
    assert isinstance(fault, BreadError)
    return fault


async def test_retrying_begins_anew_in_mid_stream_and_says_so(waits: list[float]):
    script = Scripted([LOST, {"error": {"status": 429, "retry_after": 9}}, "whole"])
    policy = RetryPolicy(attempts=3, backoff=1, retry_on="transient")
    deltas = await play(Retrying(script, policy))
    assert text_of(after_restart(deltas)) == "whole"
    told = [(r.attempt, r.attempts, r.delay, r.model) for r in restarts(deltas)]
    assert told == [(1, 3, 1, None), (2, 3, 9, None)]
    assert waits == [1, 9]
    assert [request.attempt for request in script.requests] == [1, 2, 3]


@pytest.mark.parametrize(
    ("error", "policy", "asked"),
    [
        (529, None, 3),
        ({"status": 429, "retry_after": 99999999}, None, 1),
        ({"code": "ETIMEDOUT"}, None, 3),
        (401, None, 1),
        ({"code": "EDEADLINE"}, None, 1),
        (RuntimeError("odd"), None, 1),
        (RuntimeError("odd"), RetryPolicy(attempts=3), 3),
        (529, RetryPolicy(attempts=1), 1),
        (401, RetryPolicy(attempts=4), 1),
        (401, RetryPolicy(attempts=4, retry_on=lambda e: e.code == "MODEL_AUTH"), 4),
        (Halt("till"), RetryPolicy(attempts=4, retry_on=lambda _: True), 1),
        (
            BreadError("No.", code="INVALID_INPUT"),
            RetryPolicy(attempts=4, retry_on=lambda _: True),
            1,
        ),
    ],
)
async def test_retrying_asks_as_often_as_its_policy_says(
    error: object, policy: RetryPolicy | None, asked: int
):
    script = Scripted([{"error": error}], repeat_last=True)
    fault = await fault_of(Retrying(script, policy))
    assert len(script.requests) == asked
    assert fault.exhausted or isinstance(fault, Halt)


async def test_a_fallback_goes_on_where_a_model_breaks_off():
    first = Dear("anthropic:opus", LOST)
    second = Scripted([{"text": "whole", "usage": {"input": 3, "output": 1}}])
    told: list[tuple[str, str, str]] = []
    model = Fallback(
        [first, second],
        on_fallback=lambda error, was, now: told.append((error.code, was, now)),
    )
    deltas = await play(model)
    assert text_of(after_restart(deltas)) == "whole"
    [restart] = restarts(deltas)
    assert (restart.attempt, restart.attempts, restart.model) == (1, 2, "scripted")
    assert told == [("STREAM_INCOMPLETE", "anthropic:opus", "scripted")]
    assert (model.name, model.free) == ("anthropic:opus", False)
    assert end_of(deltas).name == "scripted"
    assert usage_of(deltas) is not None
    assert [getattr(d, "price", None) for d in deltas if hasattr(d, "price")] == [
        Price(0.0, "free")
    ]
    assert [request.model for request in first.requests] == ["opus"]


async def test_a_model_that_answers_keeps_its_own_name_and_price():
    paid = {"text": "done", "usage": {"input": 3, "output": 1}}
    deltas = await play(Fallback([Dear("anthropic:opus", paid), Scripted(["no"])]))
    assert (text_of(deltas), end_of(deltas).name) == ("done", None)
    assert [getattr(d, "price", 1) for d in deltas if hasattr(d, "price")] == [None]


async def test_when_all_fail_the_error_holds_every_failure():
    models = [
        Dear("a:one", {"error": {"status": 429, "retry_after": 7}}),
        Dear("b:two", {"error": 401}),
    ]
    fault = await fault_of(Fallback(models))
    assert isinstance(fault, FallbackError)
    assert [f.code for f in fault.failures] == ["MODEL_RATE_LIMIT", "MODEL_AUTH"]
    assert (fault.code, fault.retryable, fault.retry_after) == (
        "ALL_MODELS_FAILED",
        True,
        7,
    )
    assert "a:one" in fault.why
    assert "b:two" in fault.why
    hopeless = [Dear("a:one", {"error": 401}), Dear("b:two", {"error": 400})]
    assert (await fault_of(Fallback(hopeless))).retryable is False


async def test_should_fallback_is_asked_of_all_but_the_last():
    asked: list[tuple[str, int]] = []

    async def should(error: BreadError, index: int) -> bool:
        asked.append((error.code, index))
        return error.retryable

    models = [Dear(f"a:{n}", {"error": code}) for n, code in ((1, 529), (2, 503))]
    assert (await fault_of(Fallback(models, should_fallback=should))).retryable
    assert asked == [("MODEL_OVERLOADED", 0)]
    spare = Scripted(["never"])
    models = [Dear("a:1", {"error": 401}), spare]
    fault = await fault_of(Fallback(models, should_fallback=should))
    assert (fault.code, spare.requests) == ("MODEL_AUTH", [])


@pytest.mark.parametrize(
    "error",
    [
        Halt("budget"),
        BreadError("No.", code="INVALID_INPUT"),
        BreadError("Typo.", code="UNKNOWN_PROVIDER"),
    ],
)
async def test_a_halt_and_a_wrong_request_pass_untouched(error: BreadError):
    spare = Scripted(["never"])
    deltas, fault = await play_to_fault(Fallback([Odd(error), spare]))
    assert fault is error
    assert (restarts(deltas), spare.requests) == ([], [])


async def test_a_turn_whose_calls_have_run_is_asked_of_nobody_else():
    error = ProviderError("Lost.", code="STREAM_INCOMPLETE", retryable=True)
    error.acted = True
    odd, spare = Odd(error), Scripted(["never"])
    policy = RetryPolicy(attempts=9, retry_on=lambda _: True)
    _, fault = await play_to_fault(Fallback([Retrying(odd, policy), spare]))
    assert (fault, odd.asked, spare.requests) == (error, 1, [])


async def test_what_another_models_code_raises_is_a_failure_like_others(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("OVEN_API_KEY", "canary-of-the-oven")
    odd = Odd(ConnectionError("no canary-of-the-oven"))
    deltas = await play(Fallback([odd, Scripted(["whole"])]))
    [restart] = restarts(deltas)
    assert text_of(after_restart(deltas)) == "whole"
    assert (restart.error.code, odd.asked) == ("AGENT_ERROR", 1)
    assert "ConnectionError" in restart.error.what
    assert "canary" not in str(restart.error)


async def test_a_cancelled_reader_asks_nobody_else():
    started, spare = asyncio.Event(), Scripted(["never"])

    class Slow(Odd):
        async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
            yield TextChunk("half ")
            started.set()
            await asyncio.Event().wait()

    reader = asyncio.ensure_future(play(Fallback([Retrying(Slow(Halt())), spare])))
    async with asyncio.timeout(5):
        await started.wait()
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
    assert spare.requests == []


async def test_what_a_callback_raises_ends_nothing_and_is_not_lost(
    caplog: pytest.LogCaptureFixture,
):
    def raising(error: BreadError, was: str, now: str) -> None:
        raise RuntimeError("pager is off")

    def model() -> Fallback:
        return Fallback([Dear("a:1", LOST), Scripted(["ok"])], on_fallback=raising)

    with caplog.at_level(logging.WARNING, "bread_nb"):
        assert text_of(after_restart(await play(model()))) == "ok"
    assert "on_fallback failed: RuntimeError" in caplog.text
    seen: list[tuple[str, str]] = []
    request = ModelRequest(
        model="",
        messages=ask().messages,
        fault=lambda error, source: seen.append((str(error), source)),
    )
    await play(model(), request)
    assert seen == [("pager is off", "on_fallback")]


async def test_a_halt_of_a_callback_is_a_halt():
    def halting(error: BreadError, was: str, now: str) -> None:
        raise Halt("enough")

    models = [Dear("a:1", LOST), Scripted(["no"])]
    fault = await fault_of(Fallback(models, on_fallback=halting))
    assert isinstance(fault, Halt)


@pytest.mark.parametrize("models", [[], (), "anthropic:opus", [3], ["opus"]])
def test_a_fallback_of_nothing_is_refused_when_it_is_made(models: object):
    with pytest.raises(BreadError) as caught:
        Fallback(models)  # pyright: ignore[reportArgumentType]
    assert caught.value.code == "INVALID_MODEL"


async def test_no_key_is_asked_for_before_a_call_and_a_missing_one_is_a_failure(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    model = Fallback(["anthropic:opus", Model("openai:x"), Scripted(["whole"])])
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    deltas = await play(model)
    codes = [restart.error.code for restart in restarts(deltas)]
    assert codes == ["MODEL_KEY_MISSING", "MODEL_UNREACHABLE"]
    assert text_of(after_restart(deltas)) == "whole"
    await model.aclose()
    await model.aclose()


async def test_names_inside_are_looked_up_where_the_agents_are():
    made: list[str] = []

    def house(model_id: str) -> ChatModel:
        made.append(model_id)
        return Scripted([LOST if model_id == "one" else "whole"], repeat_last=True)

    def safe(model_id: str) -> ChatModel:
        return Fallback([Retrying(f"house:{model_id}", RetryPolicy(attempts=1))])

    own, project = {"house": house}, {"safe": safe, "house": safe}
    wrapper = Fallback([Retrying("house:one"), "house:two"])
    catalog = Catalog(project)
    model = catalog.resolve(wrapper, own)
    assert made == []
    deltas = await play(model)
    assert (text_of(after_restart(deltas)), made) == ("whole", ["one", "two"])
    assert catalog.resolve(wrapper, own) is model
    by_name = catalog.resolve("safe:two", own)
    assert text_of(after_restart(await play(by_name))) == "whole"
    assert text_of(await play(Scripted(["kept"]))) == "kept"
    await catalog.aclose()
    fault = await fault_of(wrapper)
    assert fault.code == "UNKNOWN_PROVIDER"


async def test_wrappers_of_objects_are_themselves():
    wrapper = Fallback([Retrying(Scripted(["x"])), Scripted(["y"])])
    assert Catalog().resolve(wrapper) is wrapper


async def test_a_wrapper_of_somebody_else_need_not_be_hashable():
    @dataclass
    class Loud(Wrapper):
        inner: ChatModel

        def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
            return self.inner.stream(request)

    catalog = Catalog({"oven": lambda model_id: Scripted(["whole"])})
    for wrapper in (Loud(Fallback(["oven:one"])), Loud(Scripted(["whole"]))):
        assert text_of(await play(catalog.resolve(wrapper))) == "whole"
    await catalog.aclose()
