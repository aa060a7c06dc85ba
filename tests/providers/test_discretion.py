"""What is kept to ourselves: bodies of failed answers, and keys in plain text."""

import logging

import pytest
from fixtures.model_play import play, play_to_fault
from fixtures.model_server import ModelServer, Reply
from fixtures.ovens import KEY, OVENS, Oven

from bread_nb.errors import BreadError
from bread_nb.providers.catalog import resolve

ovens = pytest.mark.parametrize("oven", OVENS, ids=str)
BODY = {"error": {"message": "No bread", "param": "flour"}, "echo": f"you sent {KEY}"}


async def fault_of(oven: Oven, reply: Reply, **settings: object) -> BreadError:
    async with ModelServer(reply) as server:
        model = resolve(oven.model(server.url, **settings))
        _, fault = await play_to_fault(model)
        await model.aclose()
        assert "expose_error_body" not in str(server.seen[0].body)
    assert isinstance(fault, BreadError)
    return fault


@ovens
async def test_the_body_of_a_failed_answer_is_kept_out_of_the_error(oven: Oven):
    fault = await fault_of(oven, Reply.json(BODY, 400))
    assert fault.why == "HTTP 400: No bread"
    assert "flour" not in f"{fault}{fault.context}{fault.args}"


@ovens
async def test_the_body_is_there_when_it_is_asked_for_without_its_secrets(oven: Oven):
    fault = await fault_of(oven, Reply.json(BODY, 400), expose_error_body=True)
    body = fault.context["body"]
    assert isinstance(body, dict)
    assert body["error"] == BODY["error"]
    assert "you sent" in str(body["echo"])
    assert KEY[:8] not in str(fault.context)
    assert "flour" not in str(fault)


@ovens
async def test_the_body_of_an_error_in_mid_stream_is_kept_out_as_well(oven: Oven):
    reply = oven.reply("half a", end="none", after=oven.error)
    assert "body" not in (await fault_of(oven, reply)).context
    exposed = await fault_of(oven, reply, expose_error_body=True)
    assert "Oven full" in str(exposed.context["body"])


@ovens
async def test_a_key_in_plain_text_is_warned_of_once_and_sent(
    oven: Oven, caplog: pytest.LogCaptureFixture
):
    async with ModelServer(oven.reply("whole")) as server:
        elsewhere = server.url.replace("127.0.0.1", "0.0.0.0")
        model = resolve(oven.model(elsewhere))
        with caplog.at_level(logging.WARNING, "bread_nb"):
            await play(model)
            await play(model)
        await model.aclose()
        assert KEY in str(server.seen[0].headers)
    assert caplog.text.count("in plain text") == 1
    assert KEY[:8] not in caplog.text


@ovens
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST"])
async def test_a_key_that_stays_on_this_machine_is_nothing_to_warn_of(
    oven: Oven, host: str, caplog: pytest.LogCaptureFixture
):
    async with ModelServer(oven.reply("whole")) as server:
        model = resolve(oven.model(server.url.replace("127.0.0.1", host)))
        with caplog.at_level(logging.WARNING, "bread_nb"):
            await play(model)
        await model.aclose()
    assert "plain text" not in caplog.text
