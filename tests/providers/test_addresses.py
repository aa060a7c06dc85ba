"""Addresses that lead elsewhere, or nowhere, and what stands on the way."""

import gzip

import pytest
from fixtures.model_play import play, play_to_fault, text_of
from fixtures.model_server import ModelServer, Reply
from fixtures.ovens import KEY, OVENS, Oven

from bread_nb import Agent, Bread
from bread_nb.errors import ProviderError
from bread_nb.providers.catalog import resolve
from bread_nb.providers.model import Model
from bread_nb.providers.openai import OpenAI
from bread_nb.providers.reach import reach

each = pytest.mark.parametrize("oven", OVENS, ids=str)


async def fault_of(model: object) -> ProviderError:
    _, fault = await play_to_fault(model)  # type: ignore[arg-type]
    await model.aclose()  # type: ignore[attr-defined]
    assert isinstance(fault, ProviderError)
    assert KEY[:8] not in f"{fault}{fault.context}{fault.args}"
    return fault


@each
@pytest.mark.parametrize(
    "url",
    [
        *("bakery.example/v1", "localhost:8000/v1", "ftp://127.0.0.1"),
        *("http://127.0.0.1:oven", "http://127.0.0.1:99999", "http://[::1/v1"),
    ],
)
async def test_an_address_that_is_none_is_one_clear_error(oven: Oven, url: str):
    fault = await fault_of(resolve(oven.model(url)))
    assert (fault.code, fault.retryable) == ("BAD_REQUEST", False)
    assert ("http:// or https://" in fault.why) != url.startswith("http:")


@each
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0", "[::1]"])
async def test_a_server_of_this_machine_that_is_silent_is_to_be_started(
    oven: Oven, host: str
):
    async with ModelServer() as server:
        gone = server.url.replace("127.0.0.1", host)
    described = oven.model(gone)
    fault = await fault_of(resolve(described))
    assert fault.code == "MODEL_UNREACHABLE"
    provider = described.name.partition(":")[0].replace("responses", "openai")
    if provider == "ollama":
        mend = "start Ollama: ollama serve; or set OLLAMA_BASE_URL to where it runs"
    else:
        at = gone.partition("//")[2].partition("/")[0]
        place = f"base_url or {provider.upper()}_BASE_URL"
        mend = f"is it running? Start the server at {at}, or set {place}"
    assert fault.do == f"{mend}. The text so far is kept"
    assert (await reach(described)).do == mend


@each
async def test_a_host_elsewhere_that_is_silent_is_a_matter_of_the_network(oven: Oven):
    fault = await fault_of(resolve(oven.model("http://bakery.invalid:81/v1")))
    assert fault.do == "check the network, then run again. The text so far is kept"


@each
async def test_a_service_that_moved_says_where_to_without_a_secret(oven: Oven):
    there = {"location": f"https://elsewhere.example/v1?key={KEY}"}
    async with ModelServer(Reply([], 308, there)) as server:
        fault = await fault_of(resolve(oven.model(server.url)))
        assert len(server.seen) == 1
    assert fault.why == "HTTP 308: it points to https://elsewhere.example."
    assert (fault.code, fault.status, fault.retryable) == ("MODEL_ERROR", 308, False)


@each
async def test_a_web_page_is_no_answer_and_is_asked_for_once(oven: Oven):
    page = {"content-type": "text/html; charset=utf-8"}
    async with ModelServer(Reply([b"<html>Log in</html>"], 200, page)) as server:
        fault = await fault_of(resolve(oven.model(server.url)))
        assert len(server.seen) == 1
    assert fault.what == "127.0.0.1 answered with a web page."
    assert (fault.code, fault.retryable) == ("MODEL_ERROR", False)


@each
@pytest.mark.parametrize("size", [1, 7, 10_000])
async def test_an_answer_that_was_packed_on_the_way_is_read(oven: Oven, size: int):
    reply = oven.reply("crème 🍞")
    packed = gzip.compress(b"".join(reply.chunks))
    pieces = [packed[at : at + size] for at in range(0, len(packed), size)]
    headers = {**reply.headers, "content-encoding": "gzip"}
    async with ModelServer(Reply(pieces, headers=headers)) as server:
        model = resolve(oven.model(server.url))
        assert text_of(await play(model)) == "crème 🍞"
        await model.aclose()


@each
async def test_what_is_said_to_be_packed_and_is_not_is_no_answer(oven: Oven):
    reply = oven.reply("good")
    headers = {**reply.headers, "content-encoding": "gzip"}
    async with ModelServer(Reply(reply.chunks, headers=headers)) as server:
        fault = await fault_of(resolve(oven.model(server.url)))
    assert fault.code == "STREAM_INCOMPLETE"


@pytest.mark.parametrize(
    ("proxy", "told"), [("socks5://127.0.0.1:1", "SOCKS"), ("a:b:c", "that is none")]
)
async def test_a_proxy_that_cannot_be_used_is_one_clear_error(
    monkeypatch: pytest.MonkeyPatch, proxy: str, told: str
):
    monkeypatch.setenv("ALL_PROXY", proxy)
    described = Model("openai:oven-1", base_url="http://oven.example", api_key=KEY)
    fault = await fault_of(OpenAI(described))
    assert fault.code == "MODEL_UNREACHABLE"
    assert told in fault.why
    assert told in (await reach(described)).what


@pytest.mark.parametrize("url", ["localhost:8000/v1", "http://[::1"])
async def test_the_doctor_names_an_address_that_is_none_and_the_mend(
    monkeypatch: pytest.MonkeyPatch, url: str
):
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    async with Bread({"baker": Agent(model="openai:oven-1")}) as bread:
        found = await bread.doctor("baker")
    [wrong] = [f for f in found if "OPENAI_BASE_URL" in f.what and f.level == "bad"]
    assert wrong.do == "OPENAI_BASE_URL=http://localhost:8000/v1"
    assert all(f.do for f in found if f.level == "bad")
