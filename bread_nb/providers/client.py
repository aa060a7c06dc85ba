"""The one way to a model's service: HTTP requests whose answers are streams.

A dialect gives the bytes to send and a parser; everything that can go wrong on the
way becomes a `ProviderError` here. There are no retries but one: a connection that was
kept from an earlier call, and died before it gave a single byte of answer, is replaced.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import weakref
from collections.abc import AsyncIterator
from dataclasses import dataclass
from importlib import import_module
from ssl import SSLContext
from typing import TYPE_CHECKING, Protocol, cast

from pydantic import JsonValue

from bread_nb.base.redact import Redactor, environment_secrets
from bread_nb.errors import ProviderError
from bread_nb.providers.faults import (
    body_fault,
    broken_stream,
    incomplete_stream,
    moved,
    retry_after,
    unreachable,
    unsendable,
    web_page,
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
from bread_nb.providers.pooled import Pools, place_of
from bread_nb.providers.transport import (
    Call,
    Lost,
    Response,
    Transport,
    Unreachable,
    Unsendable,
    is_loopback,
)

if TYPE_CHECKING:
    from bread_nb.providers.by_httpx import ByHttpx

__all__ = ["Call", "Client", "Parser", "Transport", "carrier", "exchange"]

_DRAIN_SECONDS = 0.5
_OK = 200
_MOVED = range(300, 400)
_PAGES = ("text/html", "application/xhtml+xml")
_LONGEST_ERROR = 1 << 16
_DONE = b"[DONE]"
_MISSHAPEN = (AttributeError, IndexError, KeyError, TypeError, ValueError)
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
_LOG = logging.getLogger("bread_nb")


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


@dataclass(slots=True)
class _Carriers:
    """What carries the calls of one event loop."""

    pools: Pools
    proxied: bool
    by_httpx: ByHttpx | None = None


class Client:
    """Connections to services, kept open between calls, for each event loop its own.

    The client of httpx2 carries a call where the environment names a proxy and where
    the address is out of the ordinary; others go straight to the pool under it.

    Args:
        trust_env: Whether proxy settings of the environment count.
    """

    def __init__(self, *, trust_env: bool = True) -> None:
        self._trust_env = trust_env
        self._looked = False
        self._carriers: weakref.WeakKeyDictionary[
            asyncio.AbstractEventLoop, _Carriers
        ] = weakref.WeakKeyDictionary()

    async def send(self, call: Call, *, fresh: bool = False) -> Response:
        """The response to `call`, its body still to be read."""
        if not self._looked:
            self._looked = True
            _look_for_plain_key(call)
        loop = asyncio.get_running_loop()
        carriers = self._carriers.get(loop)
        if carriers is None:
            proxied = self._trust_env and _proxied()
            carriers = _Carriers(Pools(_certificates), proxied)
            self._carriers[loop] = carriers
        place = place_of(call.url)
        if place is None or carriers.proxied:
            if carriers.by_httpx is None:
                carriers.by_httpx = _by_httpx(trust_env=self._trust_env)
            return await carriers.by_httpx.send(call, fresh=fresh)
        return await carriers.pools.send(call, place, fresh=fresh)

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        carriers = self._carriers.pop(asyncio.get_running_loop(), None)
        if carriers is None:
            return
        await carriers.pools.aclose()
        if carriers.by_httpx is not None:
            await carriers.by_httpx.aclose()


def _look_for_plain_key(call: Call) -> None:
    """Warn of a key that goes over a network unencrypted; it is sent all the same."""
    if call.secrets and call.url.lower().startswith("http://"):
        host = call.host
        if not is_loopback(host):
            _LOG.warning(
                "The key for %s goes to %s in plain text: use https, or give no key.",
                call.service,
                host,
            )


def _proxied() -> bool:
    """Whether the environment, or the system's own settings, name a proxy."""
    if any(os.environ.get(n) or os.environ.get(n.upper()) for n in _PROXIES):
        return True
    if sys.platform not in ("darwin", "win32"):
        return False
    found = cast("dict[str, str]", import_module("urllib.request").getproxies())
    return bool(found.keys() & {"http", "https", "all"})


def _by_httpx(*, trust_env: bool) -> ByHttpx:
    module = import_module("bread_nb.providers.by_httpx")
    return cast("ByHttpx", module.ByHttpx(trust_env=trust_env))


def _certificates() -> SSLContext:
    module = import_module("bread_nb.providers.by_httpx")
    return cast("SSLContext", module.certificates())


def carrier(transport: Transport | None, client: object) -> Transport:
    """What carries a model's calls: what it was given, else connections of its own.

    Args:
        transport: A carrier, or None.
        client: A client of the `anthropic` or `openai` package, or None.
    """
    if transport is None and client is not None:
        module = import_module("bread_nb.providers.by_sdk")
        return cast("Transport", module.BySdk(client))
    return transport or Client()


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
        if response.status != _OK:
            raise await _refusal(response, call, pace)
        if _kind_of(response) in _PAGES:
            raise web_page(call.host)
        reader = _reader(response)
        ended = False
        while not (ended or parser.done):
            chunk = await _next(response, call, pace)
            ended = not chunk
            for data in reader.rest() if ended else reader.feed(chunk):
                deltas = _read(parser, data, call, last=ended)
                if deltas is not None:
                    pace.event()
                    for delta in deltas:
                        yield delta
        await _drain(response)
    finally:
        pace.close()
        await response.aclose()
    for delta in _closing(parser, call):
        yield delta


async def _response(transport: Transport, call: Call, pace: Pace) -> Response:
    """The response, asked for once more where a connection died that was kept."""
    why = "the connection was lost before it answered."
    sendable = True
    for fresh in (False, True):
        try:
            return await pace.wait(transport.send(call, fresh=fresh))
        except Lost as lost:
            if lost.rested and not fresh:
                continue
        except Unsendable:
            sendable = False
        except Unreachable as error:
            why = _why(call, error)
        break
    if not sendable:
        raise unsendable(call.service)
    raise unreachable(call.service, call.host, why, url=call.url)


def _why(call: Call, error: Unreachable) -> str:
    redactor = Redactor([*call.secrets, *environment_secrets()])
    return f"{redactor.text(str(error))}."


async def _refusal(response: Response, call: Call, pace: Pace) -> ProviderError:
    """The error that a status other than 200 stands for."""
    location = response.headers.get("location")
    if location and response.status in _MOVED:
        return moved(call.service, response.status, location)
    try:
        body = parse_json(await pace.wait(_head(response)))
    except (Lost, ValueError):
        body = None
    return body_fault(
        call.service,
        body,
        call.secrets,
        status=response.status,
        wait=retry_after(response.headers),
        expose=call.expose_body,
    )


async def _head(response: Response) -> bytes:
    head = b""
    while len(head) <= _LONGEST_ERROR and (chunk := await response.read()):
        head += chunk
    return head


def _kind_of(response: Response) -> str:
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()


def _reader(response: Response) -> EventReader:
    kind = _kind_of(response)
    if kind == "application/json":
        return BodyReader()
    return LineReader() if kind.endswith(("ndjson", "jsonl")) else SseReader()


async def _next(response: Response, call: Call, pace: Pace) -> bytes:
    """The next bytes, none at the end of the body."""
    try:
        return await pace.wait(response.read())
    except Lost:
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
        raise body_fault(call.service, event, call.secrets, expose=call.expose_body)
    try:
        return parser.read(event)
    except _MISSHAPEN:
        pass
    raise _misshapen(call)


def _closing(parser: Parser, call: Call) -> list[Delta]:
    """What is left to say at the end of a stream."""
    try:
        closing = parser.close()
    except _MISSHAPEN:
        raise _misshapen(call) from None
    if closing is None:
        raise incomplete_stream(call.host, "its stream ended without a final event.")
    return closing


def _misshapen(call: Call) -> ProviderError:
    return broken_stream(call.host, "an event of its stream has the wrong shape.")


async def _drain(response: Response) -> None:
    """Read a finished answer to its end, so that its connection can be used again."""
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            while await response.read():
                pass
    except (TimeoutError, Lost):
        pass
