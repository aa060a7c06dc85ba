"""The circuit breaker: when it opens, whom it lets through, what counts."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from fixtures.model_play import play, play_to_fault, text_of

from bread_nb import CircuitBreaker, Model, Scripted
from bread_nb.errors import BreadError, CircuitOpenError, Halt
from bread_nb.providers.catalog import Catalog
from bread_nb.providers.model import ChatModel, Delta, Finish, ModelRequest, TextChunk


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("bread_nb.providers.circuit.monotonic", made)
    return made


class Gated:
    """A model whose calls wait until the test ends them, each as it likes."""

    name, free = "gated:one", True

    def __init__(self) -> None:
        self.calls: list[asyncio.Future[None]] = []
        self.asked = asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        call: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.calls.append(call)
        self.asked.set()
        yield TextChunk("…")
        await call
        yield Finish("end_turn")

    async def aclose(self) -> None:
        return None


def failing(*errors: object, then: str = "fine") -> Scripted:
    turns = [*({"error": error} for error in errors), then]
    return Scripted(turns, repeat_last=True)  # type: ignore[arg-type]


async def fault_of(model: ChatModel) -> BreadError:
    _, fault = await play_to_fault(model)
    assert isinstance(fault, BreadError)
    return fault


async def started(breaker: CircuitBreaker, gated: Gated) -> asyncio.Task[list[Delta]]:
    """A call of the model that is under way."""
    gated.asked.clear()
    task = asyncio.ensure_future(play(breaker))
    async with asyncio.timeout(5):
        await gated.asked.wait()
    return task


async def test_it_opens_after_failures_in_a_row_and_asks_nobody(clock: Clock):
    script = failing(529, 529, 529)
    breaker = CircuitBreaker(script, failures=3, reset_after=60)
    for _ in range(3):
        assert (await fault_of(breaker)).code == "MODEL_OVERLOADED"
    clock.now += 18
    fault = await fault_of(breaker)
    assert isinstance(fault, CircuitOpenError)
    assert (fault.code, fault.seconds, fault.retryable) == ("CIRCUIT_OPEN", 42, True)
    assert fault.context == {"seconds": 42, "key": "scripted"}
    assert "3 times in a row" in fault.why
    assert "[MODEL_OVERLOADED]" in fault.why
    assert "in 42 s" in fault.why
    assert (len(script.requests), breaker.state) == (3, "open")


async def test_a_trial_that_is_answered_closes_it(clock: Clock):
    changes: list[tuple[str, str, str]] = []

    def told(key: str, was: str, now: str) -> None:
        changes.append((key, was, now))

    breaker = CircuitBreaker(
        failing(529),
        failures=1,
        reset_after=60,
        key="oven",
        on_change=told,
    )
    await fault_of(breaker)
    clock.now += 60
    assert text_of(await play(breaker)) == "fine"
    assert changes == [
        ("oven", "closed", "open"),
        ("oven", "open", "half-open"),
        ("oven", "half-open", "closed"),
    ]
    assert breaker.state == "closed"


async def test_a_trial_that_fails_begins_the_wait_anew(clock: Clock):
    script = failing(529, 529)
    breaker = CircuitBreaker(script, failures=1, reset_after=60)
    await fault_of(breaker)
    clock.now += 61
    assert (await fault_of(breaker)).code == "MODEL_OVERLOADED"
    clock.now += 59
    fault = await fault_of(breaker)
    assert isinstance(fault, CircuitOpenError)
    assert (fault.seconds, len(script.requests)) == (1, 2)


async def test_one_trial_at_a_time_goes_through(clock: Clock):
    gated = Gated()
    breaker = CircuitBreaker(gated, failures=1, reset_after=60)
    first = await started(breaker, gated)
    gated.calls[0].set_exception(BreadError("Lost.", retryable=True))
    await asyncio.wait([first])
    clock.now += 60
    trial = await started(breaker, gated)
    others = [await fault_of(breaker) for _ in range(3)]
    assert [type(other) for other in others] == [CircuitOpenError] * 3
    assert "trial" in others[0].why
    gated.calls[1].set_result(None)
    await trial
    assert (len(gated.calls), breaker.state) == (2, "closed")
    assert isinstance(first.exception(), BreadError)


async def test_a_trial_that_is_given_up_lets_the_next_one_through(clock: Clock):
    gated = Gated()
    breaker = CircuitBreaker(gated, failures=1, reset_after=60)
    first = await started(breaker, gated)
    gated.calls[0].set_exception(BreadError("Lost.", retryable=True))
    await asyncio.wait([first])
    clock.now += 60
    trial = await started(breaker, gated)
    trial.cancel()
    await asyncio.wait([trial])
    assert breaker.state == "half-open"
    again = await started(breaker, gated)
    gated.calls[2].set_result(None)
    await again
    assert breaker.state == "closed"
    assert isinstance(first.exception(), BreadError)


async def test_a_result_that_comes_late_changes_nothing(clock: Clock):
    gated = Gated()
    breaker = CircuitBreaker(gated, failures=2, reset_after=60)
    slow, one, two = [await started(breaker, gated) for _ in range(3)]
    for call in gated.calls[1:]:
        call.set_exception(BreadError("Lost.", retryable=True))
    await asyncio.wait([one, two])
    assert breaker.state == "open"
    gated.calls[0].set_result(None)
    await slow
    assert breaker.state == "open"
    assert [type(t.exception()) for t in (one, two)] == [BreadError] * 2


@pytest.mark.parametrize(
    ("errors", "state"),
    [
        ([529, 529], "open"),
        ([{"code": "ETIMEDOUT"}, {"code": "STREAM_INCOMPLETE"}], "open"),
        ([400, 400], "closed"),
        ([529, 400, 529], "closed"),
        ([529, Halt("till"), 529], "open"),
        ([Halt("till"), Halt("till")], "closed"),
        ([529, BreadError("No key.", code="MODEL_KEY_MISSING"), 529], "open"),
        ([RuntimeError("odd"), RuntimeError("odd")], "closed"),
    ],
)
async def test_only_a_fault_of_the_service_counts(errors: list[object], state: str):
    breaker = CircuitBreaker(failing(*errors), failures=2)
    for _ in errors:
        await fault_of(breaker)
    assert breaker.state == state


async def test_breakers_of_one_key_know_of_each_other_within_a_project():
    def oven(model_id: str) -> ChatModel:
        return failing(529, 529, 529)

    catalog = Catalog({"oven": oven})
    first, second = (CircuitBreaker("oven:one", failures=2) for _ in range(2))
    other = CircuitBreaker("oven:two", failures=2)
    for wrapper in (first, first):
        await fault_of(catalog.resolve(wrapper))
    assert (await fault_of(catalog.resolve(second))).code == "CIRCUIT_OPEN"
    assert (await fault_of(catalog.resolve(other))).code == "MODEL_OVERLOADED"
    elsewhere = Catalog({"oven": oven})
    assert (await fault_of(elsewhere.resolve(second))).code == "MODEL_OVERLOADED"
    await catalog.aclose()
    await elsewhere.aclose()


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("http://oven.example/v1", " at http://oven.example/v1"),
        ("https://me:pass@oven.example:8/v1?key=k", " at https://oven.example:8/v1"),
        (None, ""),
    ],
)
def test_the_key_holds_no_secret_of_an_address(address: str | None, shown: str):
    breaker = CircuitBreaker(Model("openai:oven-1", base_url=address))
    assert breaker.key == f"openai:oven-1{shown}"


async def test_model_objects_share_only_by_a_key_that_is_given():
    catalog = Catalog()
    alone = [CircuitBreaker(failing(529), failures=1) for _ in range(2)]
    assert [(await fault_of(catalog.resolve(b))).code for b in alone] == [
        "MODEL_OVERLOADED"
    ] * 2
    keyed = [CircuitBreaker(failing(529), failures=1, key="eu") for _ in range(2)]
    assert [(await fault_of(catalog.resolve(b))).code for b in keyed] == [
        "MODEL_OVERLOADED",
        "CIRCUIT_OPEN",
    ]


async def test_what_on_change_raises_ends_nothing(caplog: pytest.LogCaptureFixture):
    def raising(*change: str) -> None:
        raise RuntimeError("odd")

    breaker = CircuitBreaker(failing(529), failures=1, on_change=raising)
    assert (await fault_of(breaker)).code == "MODEL_OVERLOADED"
    assert "on_change failed" in caplog.text


@pytest.mark.parametrize(
    "options",
    [
        {"failures": 0},
        {"failures": 2.5},
        {"failures": float("nan")},
        {"reset_after": -1},
        {"reset_after": float("nan")},
    ],
)
def test_figures_that_make_no_sense_are_refused(options: dict[str, float]):
    with pytest.raises(BreadError) as caught:
        CircuitBreaker("a:b", **options)  # type: ignore[arg-type]
    assert caught.value.code == "INVALID_MODEL"
