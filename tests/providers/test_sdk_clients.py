"""Clients of the vendors' packages carry our dialects, against real servers."""

import asyncio
import json
import subprocess
import sys
from contextlib import aclosing

import anthropic
import openai
import pytest
from fixtures.model_play import ask, play, play_to_fault, text_of, usage_of
from fixtures.model_server import ModelServer, Reply
from fixtures.sdk_clients import CLIENTS, KEY, Carried, claude, framed, openai_client
from fixtures.statuses import STATUSES
from fixtures.wire import call_block, messages, start, stop

from bread_nb import Agent, Bread, tool
from bread_nb.errors import BreadError
from bread_nb.providers.catalog import Catalog, resolve
from bread_nb.providers.model import Finish, Model, TextChunk
from bread_nb.providers.scripted import Scripted

each = pytest.mark.parametrize("carried", CLIENTS, ids=lambda carried: carried.kind)


def model_of(carried: Carried, url: str, **settings: float):
    client = carried.client(url)
    return client, resolve(Model(carried.name, client=client, settings=settings))


async def fault_of(
    carried: Carried, *replies: Reply, requests: int = 1, **settings: float
):
    """The text before the fault, and the fault, after just this many requests."""
    async with ModelServer(*replies) as server:
        client, model = model_of(carried, server.url, **settings)
        deltas, fault = await play_to_fault(model)
        await client.close()
        assert len(server.seen) == requests
    assert isinstance(fault, BreadError)
    assert not any(isinstance(delta, Finish) for delta in deltas)
    assert KEY[:8] not in f"{fault}{fault.context}{fault.args}"
    return text_of(deltas), fault


@each
async def test_a_client_sends_by_its_own_path_and_key(carried: Carried):
    async with ModelServer(carried.reply(carried.whole)) as server:
        client, model = model_of(carried, server.url)
        deltas = await play(model)
        await client.close()
    assert text_of(deltas) == "good"
    [seen] = server.seen
    assert seen.path == carried.path
    name, value = carried.header
    assert seen.headers[name].startswith(value)
    assert carried.body <= seen.body.keys()
    assert not carried.lacks & seen.body.keys()
    if "anthropic_version" in seen.body:
        assert seen.body["anthropic_version"].endswith(("2023-05-31", "2023-10-16"))
    elif carried.name.startswith("anthropic"):
        assert seen.headers["anthropic-version"] == "2023-06-01"


@each
@pytest.mark.parametrize("size", [1, 7])
async def test_the_answer_may_arrive_in_any_pieces(carried: Carried, size: int):
    kind = {"content-type": carried.content_type}
    reply = Reply.stream(carried.whole, size, headers=kind)
    async with ModelServer(reply) as server:
        client, model = model_of(carried, server.url)
        assert text_of(await play(model)) == "good"
        await client.close()


@each
@STATUSES
async def test_a_status_is_an_error_and_the_client_does_not_retry(
    carried: Carried, status: int, code: str, retryable: bool
):
    body = {"error": {"message": f"No bread for {KEY}"}}
    refusal = Reply.json(body, status, retry_after="7")
    _, fault = await fault_of(carried, refusal)
    assert (fault.code, fault.status, fault.retryable) == (code, status, retryable)
    assert fault.retry_after == 7
    assert "No bread" in fault.why


@each
async def test_an_error_in_mid_stream_is_the_error_it_names(carried: Carried):
    text, fault = await fault_of(carried, carried.reply(carried.half, carried.error))
    assert (text, fault.code, fault.retryable) == ("half a", "MODEL_OVERLOADED", True)
    assert "Oven full" in fault.why


@each
async def test_a_body_that_ends_in_the_middle_is_no_answer(carried: Carried):
    for cut in (carried.half, carried.half + carried.whole[:20]):
        text, fault = await fault_of(carried, carried.reply(cut))
        assert (text, fault.code) == ("half a", "STREAM_INCOMPLETE")


@each
async def test_a_reset_in_the_middle_is_no_answer(carried: Carried):
    _, fault = await fault_of(carried, carried.reply(carried.half, end="reset"))
    assert (fault.code, fault.retryable) == ("STREAM_INCOMPLETE", True)


@each
async def test_what_cannot_be_read_is_a_fault(carried: Carried):
    junk = carried.reply(carried.half, b"data: {oven\n\n" + b"\0" * 400)
    text, fault = await fault_of(carried, junk)
    assert (text, fault.code) == ("half a", "STREAM_BROKEN")


@each
async def test_a_stall_and_a_deadline_are_faults_of_ours(carried: Carried):
    silent, stall = (
        carried.reply(end="stall"),
        carried.reply(carried.half, end="stall"),
    )
    _, fault = await fault_of(carried, silent, first_event_timeout=0.3)
    assert (fault.code, fault.retryable) == ("ETIMEDOUT", True)
    text, fault = await fault_of(carried, stall, idle_timeout=0.1)
    assert (text, fault.code) == ("half a", "ETIMEDOUT")
    _, fault = await fault_of(carried, stall, deadline=0.3)
    assert (fault.code, fault.retryable) == ("EDEADLINE", False)


@each
async def test_a_connection_that_was_kept_and_died_unanswered_is_replaced_once(
    carried: Carried,
):
    dead, good = Reply(drop=True), carried.reply(carried.whole)
    async with ModelServer(good, dead, good) as server:
        client, model = model_of(carried, server.url)
        answers = [text_of(await play(model)) for _ in range(2)]
        await client.close()
    assert (answers, len(server.seen)) == (["good", "good"], 3)


@each
async def test_a_new_connection_that_died_unanswered_is_for_the_policy(
    carried: Carried,
):
    _, fault = await fault_of(carried, Reply(drop=True), requests=1)
    assert (fault.code, fault.retryable) == ("MODEL_UNREACHABLE", True)


@each
async def test_nobody_there_is_unreachable(carried: Carried):
    async with ModelServer() as server:
        gone = server.url
    client, model = model_of(carried, gone)
    _, fault = await play_to_fault(model)
    await client.close()
    assert isinstance(fault, BreadError)
    assert (fault.code, fault.retryable) == ("MODEL_UNREACHABLE", True)


@each
async def test_a_cancelled_answer_closes_its_connection(carried: Carried):
    async with ModelServer(carried.reply(carried.half, end="stall")) as server:
        client, model = model_of(carried, server.url)
        started = asyncio.Event()

        async def listen() -> None:
            async with aclosing(model.stream(ask())) as deltas:  # pyright: ignore[reportArgumentType]
                async for delta in deltas:
                    if isinstance(delta, TextChunk):
                        started.set()

        async with asyncio.timeout(10):
            listening = asyncio.create_task(listen())
            await started.wait()
            listening.cancel()
            with pytest.raises(asyncio.CancelledError):
                await listening
            await server.gone.wait()
        await client.close()


async def test_the_client_stays_open_for_its_owner():
    async with ModelServer(Reply([CLIENTS[0].whole])) as server:
        client, model = model_of(CLIENTS[0], server.url)
        await play(model)
        await model.aclose()
        assert not client.is_closed()
        assert text_of(await play(model)) == "good"
        await client.close()


async def test_betas_go_where_the_client_wants_them():
    claude_like, bedrock_like = CLIENTS[0], CLIENTS[1]
    for carried in (claude_like, bedrock_like):
        async with ModelServer(carried.reply(carried.whole)) as server:
            client = carried.client(server.url)
            betas = {"betas": ["oven-2026", "crust-2026"]}
            model = Model(carried.name, client=client, settings=betas)
            await play(resolve(model))
            await client.close()
        [seen] = server.seen
        if carried is claude_like:
            assert seen.headers["anthropic-beta"] == "oven-2026,crust-2026"
        else:
            assert seen.body["anthropic_beta"] == ["oven-2026", "crust-2026"]


@pytest.mark.parametrize("carried", CLIENTS[:2], ids=lambda carried: carried.kind)
async def test_a_run_with_tools_goes_through_a_client(carried: Carried):
    calling = messages(
        start(), *call_block(0, "tool_weigh", '{"grams":5}'), *stop("tool_use")
    )
    if carried.kind == "bedrock":
        calling = framed(calling)

    @tool
    def weigh(grams: int) -> str:
        return f"{grams} g"

    replies = [carried.reply(calling), carried.reply(carried.whole)]
    async with ModelServer(*replies) as server:
        client = carried.client(server.url)
        baker = Agent(model=Model(carried.name, client=client), tools=[weigh])
        async with Bread({"baker": baker}) as bread:
            outcome = await bread.run("baker", "Weigh it")
        await client.close()
    assert outcome.text == "good"
    assert outcome.metrics.tool_calls == {"tool_weigh": 1}
    [_, second] = server.seen
    assert second.body["messages"][-1]["content"][0]["type"] == "tool_result"
    assert len(server.seen) == 2


async def test_a_run_tries_again_by_our_policy_alone():
    carried = CLIENTS[4]
    busy = Reply.json({"error": {"message": "busy"}}, 429, retry_after="0")
    async with ModelServer(busy, busy, carried.reply(carried.whole)) as server:
        client = carried.client(server.url)
        baker = Agent(model=Model(carried.name, client=client))
        async with Bread({"baker": baker}) as bread:
            outcome = await bread.run("baker", "Bake")
        await client.close()
    assert (outcome.text, len(server.seen)) == ("good", 3)


async def test_usage_is_read_from_frames():
    carried = CLIENTS[1]
    async with ModelServer(carried.reply(carried.whole)) as server:
        client, model = model_of(carried, server.url)
        usage = usage_of(await play(model))
        await client.close()
    assert usage is not None
    assert (usage.input, usage.output) == (11, 5)


async def test_a_client_without_credentials_says_so(monkeypatch: pytest.MonkeyPatch):
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    async with ModelServer(Reply()) as server:
        client = anthropic.AsyncAnthropic(base_url=server.url)
        model = resolve(Model("anthropic:oven-1", client=client))
        _, fault = await play_to_fault(model)
        await client.close()
        assert server.seen == []
    assert isinstance(fault, BreadError)
    assert (fault.code, fault.retryable) == ("CLIENT_FAILED", False)
    assert "authentication" in fault.why


def test_a_client_that_is_not_asynchronous_is_refused():
    for name, client in (
        ("anthropic:oven-1", anthropic.Anthropic(api_key=KEY)),
        ("openai:oven-1", openai.OpenAI(api_key=KEY)),
    ):
        with pytest.raises(BreadError) as caught, client:
            Model(name, client=client)
        assert caught.value.code == "INVALID_MODEL"
        assert f"Async{type(client).__name__}" in caught.value.do


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("anthropic:oven-1", openai_client),
        ("openai:oven-1", claude),
        ("responses:oven-1", claude),
        ("gemini:oven-1", claude),
        ("local:smollm2-135m", claude),
        ("anthropic:oven-1", lambda url: object()),
    ],
)
def test_a_client_of_another_kind_is_refused(name: str, make):
    with pytest.raises(BreadError) as caught:
        Model(name, client=make("http://127.0.0.1:1"))
    assert caught.value.code == "INVALID_MODEL"
    assert name in f"{caught.value}"


def test_an_address_or_a_key_beside_a_client_is_refused():
    client = claude("http://127.0.0.1:1")
    for more in ({"api_key": KEY}, {"base_url": "http://127.0.0.1:2"}):
        with pytest.raises(BreadError) as caught:
            Model("anthropic:oven-1", client=client, **more)
        assert caught.value.code == "INVALID_MODEL"
        assert KEY not in f"{caught.value}"


async def test_a_client_beside_a_factory_of_ones_own_is_refused():
    described = Model("anthropic:x", client=claude("http://127.0.0.1:1"))
    model = resolve(described, {"anthropic": lambda _: Scripted(["x"])})
    _, fault = await play_to_fault(model)
    assert isinstance(fault, BreadError)
    assert fault.code == "INVALID_MODEL"


def test_each_client_has_a_model_of_its_own_and_is_not_shown():
    catalog, clients = Catalog(), [claude("http://127.0.0.1:1") for _ in range(2)]
    made = [
        catalog.resolve(Model("anthropic:oven-1", client=each))
        for each in (*clients, clients[0])
    ]
    assert made[0] is made[2]
    assert made[0] is not made[1]
    assert "client" not in repr(Model("anthropic:oven-1", client=clients[0]))


def test_no_vendors_package_is_loaded_without_a_client():
    script = (
        "import sys, asyncio\n"
        "from bread_nb.providers.catalog import resolve\n"
        "from bread_nb.providers.model import Model\n"
        "import bread_nb.providers.anthropic, bread_nb.providers.openai\n"
        "import bread_nb.providers.responses\n"
        "Model('anthropic:x', api_key='k')\n"
        "import json\n"
        "print(json.dumps([m for m in ('anthropic', 'openai', 'httpx2', 'httpx')"
        " if m in sys.modules]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, timeout=60
    )
    assert json.loads(done.stdout) == []


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("openai:rye", "/openai/deployments/loaf/chat/completions"),
        ("responses:rye", "/openai/responses"),
    ],
)
async def test_a_deployment_of_azure_is_in_the_path_where_azure_has_it(
    name: str, path: str
):
    async with ModelServer(Reply.json({"error": {"message": "no"}}, 400)) as server:
        client = openai.AsyncAzureOpenAI(
            api_key=KEY,
            azure_endpoint=server.url,
            azure_deployment="loaf",
            api_version="2026-06-01",
        )
        await play_to_fault(resolve(Model(name, client=client)))
        await client.close()
    assert server.seen[0].path == f"{path}?api-version=2026-06-01"
