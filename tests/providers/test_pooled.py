"""Calls over the pool and its sockets, against real servers."""

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from fixtures.model_play import play, text_of
from fixtures.model_server import ModelServer, Reply
from fixtures.wire import said

from bread_nb.errors import BreadError
from bread_nb.providers.client import Client
from bread_nb.providers.model import Model
from bread_nb.providers.openai import OpenAI
from bread_nb.providers.pooled import Pools, place_of
from bread_nb.providers.transport import Call, Lost, Response, Unreachable, Unsendable

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nrye"


def call_to(url: str, **headers: str) -> Call:
    return Call(service="oven", url=url, headers=headers, body=b"{}")


@asynccontextmanager
async def served(serve: Serve, **options: object) -> AsyncIterator[str]:
    """A server of raw bytes on loopback; gives its host and port."""
    tasks: set[asyncio.Task[None]] = set()

    async def accept(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await serve(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0, **options)  # type: ignore[arg-type]
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def read_all(response: Response) -> bytes:
    pieces: list[bytes] = []
    while piece := await response.read():
        pieces.append(piece)
    await response.aclose()
    return b"".join(pieces)


async def test_a_request_says_just_what_is_needed():
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        asked.append(await reader.readuntil(b"{}"))
        writer.write(OK)

    client = Client()
    async with served(serve) as host:
        url = f"http://{host}/v1/chat?version=a%20b&x=%41"
        response = await client.send(call_to(url, accept="text/event-stream"))
        assert (response.status, response.headers["content-length"]) == (200, "3")
        assert await read_all(response) == b"rye"
        await client.aclose()
    first, *lines = asked[0].decode().lower().split("\r\n")
    assert first == "post /v1/chat?version=a%20b&x=%41 http/1.1"
    assert sorted(lines) == [
        "",
        "accept-encoding: identity",
        "accept: text/event-stream",
        "content-length: 2",
        f"host: {host}",
        "user-agent: bread-nb",
        "{}",
    ]


async def test_a_service_may_close_a_connection_that_rests():
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        await reader.readuntil(b"\r\n\r\n")
        body = said("good")
        head = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body)
        writer.write(head + body)
        await writer.drain()

    async with served(serve) as host, asyncio.timeout(10):
        model = OpenAI(Model("openai:oven-1", base_url=f"http://{host}/v1"))
        for _ in range(20):
            assert text_of(await play(model)) == "good"
        await model.aclose()


async def test_a_body_left_unread_is_not_taken_for_the_next_one():
    bodies = iter([OK, OK.replace(b"rye", b"oat"), OK[:-1], OK])

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        while True:
            await reader.readuntil(b"{}")
            writer.write(next(bodies))

    client = Client()
    async with served(serve) as host, asyncio.timeout(5):
        read: list[bytes] = []
        for leave in (True, False, True, False):
            response = await client.send(call_to(f"http://{host}/"))
            if not leave:
                read.append(await read_all(response))
            await response.aclose()
        await client.aclose()
    assert read == [b"oat", b"rye"]


async def test_a_reader_that_is_slow_holds_the_service_back():
    whole = 50_000_000
    written = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        nonlocal written
        await reader.readuntil(b"{}")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % whole)
        while written < whole:
            writer.write(bytes(100_000))
            await writer.drain()
            written += 100_000

    client = Client()
    async with served(serve) as host, asyncio.timeout(60):
        response = await client.send(call_to(f"http://{host}/"))
        for _ in range(2000):
            await asyncio.sleep(0)
        assert written < whole / 2
        assert len(await read_all(response)) == whole
        await client.aclose()


async def test_a_service_that_is_slow_to_read_gets_a_long_request_whole():
    whole = b"x" * 8_000_000

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        head = await reader.readuntil(b"\r\n\r\n")
        body = await reader.readexactly(len(whole))
        assert b"content-length: %d\r\n" % len(whole) in head.lower()
        writer.write(OK if body == whole else b"")

    client = Client()
    async with served(serve) as host, asyncio.timeout(60):
        call = Call(service="oven", url=f"http://{host}/", headers={}, body=whole)
        assert await read_all(await client.send(call)) == b"rye"
        await client.aclose()


async def test_a_connection_that_breaks_is_lost_after_what_it_brought():
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        await reader.readuntil(b"{}")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nrye")

    client = Client()
    async with served(serve) as host:
        response = await client.send(call_to(f"http://{host}/"))
        assert await response.read() == b"rye"
        with pytest.raises(Lost):
            await response.read()
        await response.aclose()
        await client.aclose()


async def test_what_is_no_http_is_a_lost_connection():
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        await reader.readuntil(b"{}")
        writer.write(b"220 mail.example ready\r\n\r\n")

    client = Client()
    async with served(serve) as host:
        with pytest.raises(Lost):
            await client.send(call_to(f"http://{host}/"))
        await client.aclose()


@pytest.mark.parametrize("value", ["a\r\nx: y", "a\nb", "é"])
async def test_a_header_that_would_end_the_line_is_not_sent(value: str):
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        asked.append(await reader.read())

    client = Client()
    async with served(serve) as host:
        with pytest.raises(Unsendable):
            await client.send(call_to(f"http://{host}/", authorization=value))
        await client.aclose()
    assert b"".join(asked) == b""


@pytest.mark.parametrize(
    "url",
    [
        "ftp://oven.example/",
        "oven.example/v1",
        "http://",
        "http://me:secret@oven.example/",
        "http://öfen.example/",
        "http://oven.example/a b",
        "http://oven.example:http/",
        "http://oven.example/\r\nx: y",
    ],
)
def test_an_odd_address_has_no_place(url: str):
    assert place_of(url) is None


def test_a_place_has_the_usual_port():
    assert place_of("https://oven.example/v1/") == place_of(
        "https://oven.example:443/v1/"
    )
    six = place_of("http://[::1]:8080")
    assert six is not None
    assert (six.url.host, six.url.port, six.url.target) == (b"::1", 8080, b"/")
    assert six.host == b"[::1]:8080"


async def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch):
    async with ModelServer(Reply([said("good")])) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        model = OpenAI(Model("openai:oven-1", base_url="http://oven.example/v1"))
        assert text_of(await play(model)) == "good"
        await model.aclose()
        [seen] = proxy.seen
        assert seen.path == "http://oven.example/v1/chat/completions"


async def test_a_client_without_the_environment_uses_no_proxy(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    async with ModelServer(Reply([said("good")])) as server:
        described = Model("openai:oven-1", base_url=server.url)
        model = OpenAI(described, transport=Client(trust_env=False))
        assert text_of(await play(model)) == "good"
        await model.aclose()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that nobody else trusts, and its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("there is no openssl on this machine to make a certificate")
    folder = tmp_path_factory.mktemp("certificate")
    made = (folder / "cert.pem", folder / "key.pem")
    subprocess.run(
        [
            *(openssl, "req", "-x509", "-newkey", "ec", "-nodes", "-days", "2"),
            *("-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj", "/CN=oven"),
            *("-addext", "subjectAltName=IP:127.0.0.1"),
            *("-out", str(made[0]), "-keyout", str(made[1])),
        ],
        check=True,
        capture_output=True,
    )
    return made


async def test_a_secure_connection_is_checked_and_kept(
    certificate: tuple[Path, Path],
):
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        nonlocal connections
        connections += 1
        while True:
            await reader.readuntil(b"{}")
            writer.write(OK)

    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(*certificate)
    async with served(serve, ssl=server) as host, asyncio.timeout(10):
        place = place_of(f"https://{host}/")
        assert place is not None
        call = call_to(f"https://{host}/")
        trusted = ssl.create_default_context(cafile=certificate[0])
        trusting = Pools(lambda: trusted)
        for _ in range(3):
            response = await trusting.send(call, place, fresh=False)
            assert await read_all(response) == b"rye"
        await trusting.aclose()
        assert connections == 1
        doubting = Pools(ssl.create_default_context)
        with pytest.raises(Unreachable, match="CERTIFICATE_VERIFY_FAILED"):
            await doubting.send(call, place, fresh=False)
        await doubting.aclose()


async def test_an_untrusted_service_is_an_error_that_says_so(
    certificate: tuple[Path, Path],
):
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        await reader.read()

    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(*certificate)
    async with served(serve, ssl=server) as host:
        model = OpenAI(Model("openai:oven-1", base_url=f"https://{host}/v1"))
        with pytest.raises(BreadError) as caught:
            await play(model)
        await model.aclose()
    assert caught.value.code == "MODEL_UNREACHABLE"
    assert "certificate" in caught.value.why
