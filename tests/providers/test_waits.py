"""How long a service may be silent, who says so, and what is no silence."""

import asyncio
import math
from collections.abc import Iterator

import pytest
from fixtures.model_play import ask, play, play_to_fault, text_of
from fixtures.model_server import ModelServer, Reply
from fixtures.ovens import OVENS, Oven

from bread_nb import Agent, Bread, Model
from bread_nb.errors import BreadError, TimeoutError
from bread_nb.providers.catalog import Catalog, resolve
from bread_nb.providers.model import ModelRequest
from bread_nb.providers.openai import OpenAI
from bread_nb.providers.pace import Pace, Waits, merged

ovens = pytest.mark.parametrize("oven", OVENS, ids=str)


def calling(**settings: object) -> ModelRequest:
    return ModelRequest(model="", messages=ask().messages, settings=settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("model", "call", "waits"),
    [
        ({}, {}, (600, 60, math.inf)),
        ({"idle_timeout": 5, "deadline": 9}, {}, (600, 5, 9)),
        ({"idle_timeout": 5}, {"idle_timeout": 7}, (600, 7, math.inf)),
        ({"idle_timeout": 5}, {"idle_timeout": None}, (600, 5, math.inf)),
        ({"deadline": None}, {"deadline": None}, (600, 60, math.inf)),
        ({"deadline": 9}, {"deadline": 0}, (600, 60, math.inf)),
        ({"first_event_timeout": 0}, {}, (math.inf, 60, math.inf)),
        ({"idle_timeout": math.inf}, {}, (600, math.inf, math.inf)),
        ({"idle_timeout": 10**400}, {}, (600, math.inf, math.inf)),
        ({"idle_timeout": 0.5}, {"temperature": None}, (600, 0.5, math.inf)),
    ],
)
def test_a_call_stands_over_its_model_and_the_model_over_the_default(
    model: dict, call: dict, waits: tuple[float, float, float]
):
    found = Waits.read(merged(model, call))
    assert (found.first_event, found.idle, found.deadline) == waits


async def test_an_infinite_wait_of_a_described_model_is_off_in_a_run():
    waits = {"deadline": math.inf, "idle_timeout": math.inf}
    async with ModelServer(OVENS[0].reply("good")) as server:
        model = Model("openai:oven-1", base_url=server.url, settings=waits)
        async with Bread({"baker": Agent(model=model)}) as bread:
            assert (await bread.run("baker", "go")).text == "good"


@pytest.mark.parametrize(
    "settings",
    [
        {"temperature": math.nan},
        {"stop": {"a", "b"}},
        {"top_p": math.inf},
        None,
        ["temperature"],
    ],
)
def test_settings_that_are_no_json_are_refused_where_they_are_written(settings: object):
    with pytest.raises(BreadError) as caught:
        Model("openai:oven-1", settings=settings)  # type: ignore[arg-type]
    assert caught.value.code == "INVALID_SETTING"


def test_any_other_setting_that_is_null_stands_as_null():
    assert merged({"temperature": 1, "n": 2}, {"temperature": None}) == {
        "temperature": None,
        "n": 2,
    }


@ovens
@pytest.mark.parametrize("name", ["first_event_timeout", "idle_timeout", "deadline"])
@pytest.mark.parametrize("value", [-1, "60", "soon", True, math.nan, [60]])
async def test_a_wait_that_is_no_number_of_seconds_is_an_error_before_any_request(
    oven: Oven, name: str, value: object
):
    async with ModelServer(oven.reply("never")) as server:
        model = resolve(oven.model(server.url, **{name: value}))
        _, fault = await play_to_fault(model)
        await model.aclose()
    assert isinstance(fault, BreadError)
    assert (fault.code, server.seen) == ("INVALID_SETTING", [])
    assert name in fault.what


@ovens
async def test_a_call_has_waits_of_its_own(oven: Oven):
    stall = oven.reply("half a", end="none", then="stall")
    async with ModelServer(stall) as server:
        model = resolve(oven.model(server.url, idle_timeout=60))
        deltas, fault = await play_to_fault(model, calling(idle_timeout=0.05))
        await model.aclose()
    assert isinstance(fault, TimeoutError)
    assert (text_of(deltas), fault.context["bound"]) == ("half a", "idle")


async def test_a_factory_is_given_the_waits_of_its_model():
    seen: list[ModelRequest] = []

    class Noting(OpenAI):
        def stream(self, request: ModelRequest):
            seen.append(request)
            return super().stream(request)

    oven = OVENS[0]
    async with ModelServer(oven.reply("ok")) as server:
        url = server.url
        described = oven.model("x", idle_timeout=5)
        described = type(described)("mine:x", settings=described.settings)
        here = {"mine": lambda model_id: Noting(oven.model(url))}
        catalog = Catalog(here)
        await play(catalog.resolve(described), calling(idle_timeout=None))
        await catalog.aclose()
    assert seen[0].settings["idle_timeout"] == 5


@ovens
async def test_the_shorter_of_both_bounds_trips_first_and_says_which(oven: Oven):
    silent = Reply([b"\n"], headers=dict(oven.headers), end="stall")
    for settings, code, bound in (
        ({"first_event_timeout": 0.05, "deadline": 60}, "ETIMEDOUT", "idle"),
        ({"first_event_timeout": 60, "deadline": 0.05}, "EDEADLINE", "deadline"),
    ):
        async with ModelServer(silent) as server:
            model = resolve(oven.model(server.url, **settings))
            _, fault = await play_to_fault(model)
            await model.aclose()
        assert isinstance(fault, TimeoutError)
        assert (fault.code, fault.context["bound"]) == (code, bound)
        assert fault.retryable is (code == "ETIMEDOUT")


@ovens
async def test_a_stream_that_trickles_for_ever_meets_its_deadline(oven: Oven):
    def trickle() -> Iterator[bytes]:
        while True:
            yield oven.said("a", (), "none")

    reply = Reply(trickle(), headers=dict(oven.headers))  # type: ignore[arg-type]
    async with ModelServer(reply) as server:
        model = resolve(oven.model(server.url, idle_timeout=60, deadline=0.2))
        deltas, fault = await play_to_fault(model)
        await model.aclose()
    assert isinstance(fault, TimeoutError)
    assert fault.code == "EDEADLINE"
    assert deltas


async def test_a_reader_that_takes_its_time_makes_no_silence(
    monkeypatch: pytest.MonkeyPatch,
):
    now = [0.0]
    monkeypatch.setattr("bread_nb.providers.pace.monotonic", lambda: now[0])

    async def soon() -> str:
        for _ in range(5):
            await asyncio.sleep(0)
        return "loaf"

    pace = Pace(Waits(idle=60), "oven")
    await pace.wait(soon())
    pace.event()
    now[0] += 1000
    assert await pace.wait(soon()) == "loaf"
    pace.close()


async def test_what_came_while_the_loop_was_held_up_is_read():
    pace = Pace(Waits(first_event=1e-9), "oven")
    came: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(came.set_result, "loaf")
    assert await pace.wait(came) == "loaf"
    with pytest.raises(TimeoutError):
        await pace.wait(asyncio.Event().wait())
