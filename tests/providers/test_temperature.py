"""A temperature that a model refuses is dropped once; any other refusal stays one."""

import logging

import pytest
from fixtures.model_play import end_of, play, play_to_fault, text_of
from fixtures.model_server import ModelServer, Reply
from fixtures.ovens import OVENS, Oven

from bread_nb.errors import ProviderError
from bread_nb.providers.catalog import resolve
from bread_nb.providers.faults import body_fault

ovens = pytest.mark.parametrize("oven", OVENS, ids=str)
REFUSED = (
    "Unsupported value: 'temperature' does not support 0.2 with this model. "
    "Only the default (1) value is supported."
)


def refusal(message: str) -> Reply:
    return Reply.json({"error": {"message": message, "type": "invalid_request"}}, 400)


def temperature_in(body: dict) -> object:
    """The temperature of a request, wherever its dialect puts it."""
    inner = body.get("generationConfig") or body.get("options") or body
    return inner.get("temperature")


@ovens
async def test_a_temperature_that_is_refused_is_left_out_from_then_on(
    oven: Oven, caplog: pytest.LogCaptureFixture
):
    async with ModelServer(refusal(REFUSED), oven.reply("whole")) as server:
        model = resolve(oven.model(server.url, temperature=0.2))
        with caplog.at_level(logging.WARNING, "bread_nb"):
            first, second = await play(model), await play(model)
        await model.aclose()
    assert [temperature_in(seen.body) for seen in server.seen] == [0.2, None, None]
    assert text_of(first) == text_of(second) == "whole"
    assert end_of(first).temperature_dropped
    assert end_of(second).temperature_dropped
    assert caplog.text.count("takes no temperature") == 1


@ovens
async def test_a_temperature_that_is_taken_is_sent_as_it_is(oven: Oven):
    async with ModelServer(oven.reply("whole")) as server:
        model = resolve(oven.model(server.url, temperature=0.2))
        deltas = await play(model)
        await model.aclose()
    assert [temperature_in(seen.body) for seen in server.seen] == [0.2]
    assert not end_of(deltas).temperature_dropped


@ovens
@pytest.mark.parametrize(
    ("status", "message", "settings"),
    [
        (400, "temperature: must be between 0 and 1", {"temperature": 3}),
        (400, "temperature 3 is not supported; the maximum is 2", {"temperature": 3}),
        (400, "Unsupported parameter: 'top_k'", {"temperature": 0.2}),
        (400, REFUSED, {}),
        (400, REFUSED, {"temperature": None}),
        (403, REFUSED, {"temperature": 0.2}),
    ],
)
async def test_any_other_refusal_is_an_error_after_one_request(
    oven: Oven, status: int, message: str, settings: dict[str, object]
):
    reply = Reply.json({"error": {"message": message}}, status)
    async with ModelServer(reply) as server:
        model = resolve(oven.model(server.url, **settings))
        _, fault = await play_to_fault(model)
        await model.aclose()
    assert isinstance(fault, ProviderError)
    assert (fault.status, len(server.seen)) == (status, 1)


@ovens
async def test_a_model_that_refuses_the_request_without_it_too_is_asked_twice(
    oven: Oven,
):
    async with ModelServer(refusal(REFUSED)) as server:
        model = resolve(oven.model(server.url, temperature=0.2))
        _, fault = await play_to_fault(model)
        await model.aclose()
    assert isinstance(fault, ProviderError)
    assert (fault.code, len(server.seen)) == ("BAD_REQUEST", 2)


@pytest.mark.parametrize(
    ("message", "refused"),
    [
        ("`temperature` is deprecated for this model.", True),
        (REFUSED, True),
        (
            "Unsupported parameter: 'temperature' is not supported with this model.",
            True,
        ),
        ("`temperature` may only be set to 1 when thinking is enabled.", True),
        ("x " * 200 + "Temperature is no longer supported", True),
        ("temperature: Input should be less than or equal to 1", False),
        ("Invalid 'temperature': above the maximum value, expected <= 2", False),
        ("top_p is deprecated for this model", False),
    ],
)
def test_what_the_service_says_decides(message: str, refused: bool):
    fault = body_fault("oven", {"error": {"message": message}}, status=400)
    assert ("refused" in fault.context) is refused


def test_a_very_long_message_does_not_hold_anybody_up():
    message = "temperature " * 200_000 + "deprecat"
    fault = body_fault("oven", {"error": {"message": message}}, status=400)
    assert len(fault.why) < 250
