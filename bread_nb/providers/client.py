"""The one way to a model's service: HTTP requests whose answers are streams.

A dialect gives the bytes to send and a parser; everything that can go wrong on the
way becomes a `ProviderError` here. There are no retries but one: a connection that
died before it gave a single byte of answer is replaced once.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from ssl import SSLContext
from typing import Protocol
from urllib.parse import urlsplit

import httpx2
from pydantic import JsonValue

from bread_nb.base.redact import Redactor, environment_secrets
from bread_nb.errors import ProviderError
from bread_nb.providers.faults import (
    body_fault,
    broken_stream,
    incomplete_stream,
    retry_after,
    unreachable,
)
from bread_nb.providers.lines import (
    BodyReader,
    EventReader,
    LineReader,
    SseReader,
    parse_json,
)
from bread_nb.providers.model import Delta
from bread_nb.providers.pace import Pace, Waits

__all__ = ["Call", "Client", "Parser", "Transport", "exchange"]

_CONNECT_SECONDS = 20.0
_DRAIN_SECONDS = 0.5
_KEPT = 100
_KEPT_SECONDS = 60.0
_OK = 200
_LONGEST_ERROR = 1 << 16
_DONE = b"[DONE]"
_DIED = (httpx2.ReadError, httpx2.WriteError, httpx2.RemoteProtocolError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request as it goes on the wire."""

    service: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def host(self) -> str:
        """Who is asked, for a person to read."""
        try:
            return urlsplit(self.url).hostname or self.service
        except ValueError:
            return self.service


class Transport(Protocol):
    """Sends a call and gives the response, its body still to be read."""

    async def send(self, call: Call, *, fresh: bool = False) -> httpx2.Response:
        """The response to `call`; whoever asked closes it.

        `fresh` asks for a connection that was not used before.
        """
        ...

    async def aclose(self) -> None:
        """Free the connections; it may be called twice."""
        ...


class Parser(Protocol):
    """Makes deltas of the events of one answer."""

    done: bool

    def read(self, event: dict[str, JsonValue]) -> list[Delta] | None:
        """The deltas that an event stands for; None for a keep-alive.

        It sets `done` when the event is the last one.
        """
        ...

    def close(self) -> list[Delta] | None:
        """The last deltas, a `Finish` at their end; None when the answer is cut."""
        ...


class Client:
    """Connections to services, kept open between calls, for each event loop its own.

    Args:
        trust_env: Whether proxy settings of the environment count.
    """

    def __init__(self, *, trust_env: bool = True) -> None:
        self._trust_env = trust_env
        self._clients: weakref.WeakKeyDictionary[
            asyncio.AbstractEventLoop, dict[bool, httpx2.AsyncClient]
        ] = weakref.WeakKeyDictionary()

    async def send(self, call: Call, *, fresh: bool = False) -> httpx2.Response:
        """The response to `call`, its body still to be read."""
        clients = self._clients.setdefault(asyncio.get_running_loop(), {})
        if fresh not in clients:
            clients[fresh] = self._made(call, keep=0 if fresh else _KEPT)
        client = clients[fresh]
        request = client.build_request(
            "POST", call.url, headers=dict(call.headers), content=call.body
        )
        return await client.send(request, stream=True)

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        for client in self._clients.pop(asyncio.get_running_loop(), {}).values():
            await client.aclose()

    def _made(self, call: Call, *, keep: int) -> httpx2.AsyncClient:
        secure = self._trust_env or call.url.startswith("https:")
        return httpx2.AsyncClient(
            verify=_certificates() if secure else False,
            timeout=httpx2.Timeout(None, connect=_CONNECT_SECONDS),
            limits=httpx2.Limits(
                max_connections=None,
                max_keepalive_connections=keep,
                keepalive_expiry=_KEPT_SECONDS,
            ),
            trust_env=self._trust_env,
        )


@cache
def _certificates() -> SSLContext:
    """The trusted certificates, read once: that takes longer than a call."""
    return httpx2.create_ssl_context()


async def exchange(
    transport: Transport, call: Call, parser: Parser, waits: Waits
) -> AsyncIterator[Delta]:
    """Send a call and stream what its parser makes of the answer.

    Raises:
        ProviderError: When the service fails, or stops before its final event.
        TimeoutError: When it is silent for too long.
    """
    pace = Pace(waits, call.host)
    response = await _response(transport, call, pace)
    try:
        if response.status_code != _OK:
            raise await _refusal(response, call, pace)
        chunks, reader = response.aiter_bytes(), _reader(response)
        ended = False
        while not (ended or parser.done):
            chunk = await _next(chunks, call, pace)
            ended = chunk is None
            for data in reader.rest() if chunk is None else reader.feed(chunk):
                deltas = _read(parser, data, call, last=ended)
                if deltas is not None:
                    pace.event()
                    for delta in deltas:
                        yield delta
        await _drain(chunks)
    finally:
        await response.aclose()
    closing = parser.close()
    if closing is None:
        raise incomplete_stream(call.host, "its stream ended without a final event.")
    for delta in closing:
        yield delta


async def _response(transport: Transport, call: Call, pace: Pace) -> httpx2.Response:
    """The response, asked for once more where the connection died."""
    fault = unreachable(call.host, "the connection was lost before it answered, twice.")
    for fresh in (False, True):
        try:
            return await pace.wait(transport.send(call, fresh=fresh))
        except _DIED:
            continue
        except (httpx2.LocalProtocolError, httpx2.UnsupportedProtocol):
            fault = _unsendable(call)
        except (httpx2.InvalidURL, UnicodeError):
            fault = _unsendable(call)
        except httpx2.HTTPError as error:
            fault = unreachable(call.host, _why(call, error))
        break
    raise fault


def _why(call: Call, error: httpx2.HTTPError) -> str:
    if isinstance(error, httpx2.ConnectTimeout):
        return f"no connection within {_CONNECT_SECONDS:g} s."
    words = " ".join(str(error).split()) or type(error).__name__
    return f"{Redactor([*call.secrets, *environment_secrets()]).text(words)}."


def _unsendable(call: Call) -> ProviderError:
    return ProviderError(
        f"The request to {call.service} cannot be sent.",
        code="BAD_REQUEST",
        why="its base_url or its key holds something that HTTP does not allow.",
        do="check base_url and the key for blanks and line ends",
    )


async def _refusal(response: httpx2.Response, call: Call, pace: Pace) -> ProviderError:
    """The error that a status other than 200 stands for."""
    try:
        body = parse_json(await pace.wait(_head(response)))
    except (httpx2.HTTPError, ValueError):
        body = None
    return body_fault(
        call.service,
        body,
        call.secrets,
        status=response.status_code,
        wait=retry_after(response.headers),
    )


async def _head(response: httpx2.Response) -> bytes:
    head = b""
    async for chunk in response.aiter_bytes():
        head += chunk
        if len(head) > _LONGEST_ERROR:
            break
    return head


def _reader(response: httpx2.Response) -> EventReader:
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        return BodyReader()
    return LineReader() if kind.endswith(("ndjson", "jsonl")) else SseReader()


async def _next(chunks: AsyncIterator[bytes], call: Call, pace: Pace) -> bytes | None:
    """The next bytes, None at the end of the body."""
    try:
        return await pace.wait(anext(chunks, None))
    except httpx2.HTTPError:
        pass
    raise incomplete_stream(call.host, "the connection was lost.")


def _read(parser: Parser, data: bytes, call: Call, *, last: bool) -> list[Delta] | None:
    if data == _DONE or parser.done:
        parser.done = True
        return []
    try:
        event = parse_json(data)
    except ValueError:
        event = None
    if not isinstance(event, dict):
        if last:
            return []
        raise broken_stream(call.host, "a line of its stream is not a JSON object.")
    if event.get("error"):
        raise body_fault(call.service, event, call.secrets)
    try:
        return parser.read(event)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        pass
    raise broken_stream(call.host, "an event of its stream has the wrong shape.")


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Read a finished answer to its end, so that its connection can be used again."""
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in chunks:
                pass
    except (TimeoutError, httpx2.HTTPError):
        pass
