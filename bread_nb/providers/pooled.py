"""Calls over the connections that httpx2 itself is built on, kept open in between.

What is left out is httpx2's client and its pool: redirects, cookies, auth, models of
requests and a queue, which a call to a model's service has no use for and which cost
more than the rest.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from ssl import SSLContext
from typing import Protocol, cast
from urllib.parse import urlsplit

import httpcore2

from bread_nb.providers.sockets import Sockets
from bread_nb.providers.transport import (
    CONNECT_SECONDS,
    KEPT,
    KEPT_SECONDS,
    Call,
    Lost,
    Unreachable,
    Unsendable,
)

__all__ = ["Place", "Pools", "place_of"]

_Connection = httpcore2.AsyncHTTPConnection
_LOST = (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException)
_PACKED = ("gzip", "x-gzip", "deflate")
_ANY_HEAD = 32  # that of gzip or that of zlib
_EXTENSIONS = {"timeout": {"connect": CONNECT_SECONDS}}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a URL points, as the pool and the service read it."""

    url: httpcore2.URL
    secure: bool
    host: bytes

    @property
    def site(self) -> tuple[bool, bytes]:
        """What a connection is good for."""
        return self.secure, self.host


@lru_cache(maxsize=256)
def place_of(url: str) -> Place | None:
    """The place of a URL; None for one that is out of the ordinary."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    plain = url.isascii() and url.isprintable() and not set(url) & set(' "<>\\^`{|}')
    if parts.scheme not in ("http", "https") or not parts.hostname or not plain:
        return None
    if "@" in parts.netloc:
        return None
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    secure = parts.scheme == "https"
    usual = 443 if secure else 80
    place = httpcore2.URL(
        scheme=parts.scheme, host=parts.hostname, port=port or usual, target=target
    )
    shown = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    if port not in (None, usual):
        shown = f"{shown}:{port}"
    return Place(place, secure, shown.encode())


class _Answer:
    """A response, and what is to be done with its connection afterwards."""

    __slots__ = ("_chunks", "_left", "_packed", "_response", "headers", "status")

    def __init__(
        self, response: httpcore2.Response, left: Callable[[], Awaitable[None]]
    ) -> None:
        self._response = response
        self._left: Callable[[], Awaitable[None]] | None = left
        self._chunks = aiter(cast("AsyncIterable[bytes]", response.stream))
        self.status = response.status
        self.headers = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in response.headers
        }
        self._packed = _packed(self.headers)

    async def read(self) -> bytes:
        """The next bytes of the body; none at its end."""
        try:
            async for chunk in self._chunks:
                if self._packed is not None:
                    chunk = self._packed.decompress(chunk)  # noqa: PLW2901
                if chunk:
                    return chunk
        except (*_LOST, zlib.error) as error:
            raise Lost from error
        return b""

    async def aclose(self) -> None:
        """Let go of the connection."""
        left, self._left = self._left, None
        try:
            await self._response.aclose()
        finally:
            if left is not None:
                await left()


class _Unpacks(Protocol):
    def decompress(self, data: bytes, /) -> bytes: ...


def _packed(headers: Mapping[str, str]) -> _Unpacks | None:
    """What unpacks a body that nobody asked to be packed; some gateways do it."""
    known = headers.get("content-encoding", "").strip().lower() in _PACKED
    return zlib.decompressobj(zlib.MAX_WBITS | _ANY_HEAD) if known else None


class Pools:
    """The connections of one event loop, those at work and those that rest.

    Args:
        certificates: Gives the trusted certificates; asked at the first secure call.
    """

    def __init__(self, certificates: Callable[[], SSLContext]) -> None:
        self._certificates = certificates
        self._at_work: set[_Connection] = set()
        self._resting: dict[tuple[bool, bytes], list[_Connection]] = {}

    async def send(self, call: Call, place: Place, *, fresh: bool) -> _Answer:
        """The response to `call`, its body still to be read."""
        request = _request(call, place)
        rested = None if fresh else await self._rested(place)
        connection = rested or self._new(place)
        self._at_work.add(connection)
        try:
            response = await connection.handle_async_request(request)
        except BaseException as error:
            self._at_work.discard(connection)
            raise _told(error, rested=rested is not None) from error
        return _Answer(response, lambda: self._let_rest(connection, place))

    async def _rested(self, place: Place) -> _Connection | None:
        """The connection that has rested the least; those that have ended are shut."""
        resting = self._resting.get(place.site)
        while resting:
            connection = resting.pop()
            if not connection.has_expired():
                return connection
            await connection.aclose()
        return None

    def _new(self, place: Place) -> _Connection:
        return _Connection(
            place.url.origin,
            ssl_context=self._certificates() if place.secure else None,
            keepalive_expiry=KEPT_SECONDS,
            network_backend=Sockets(),
        )

    async def _let_rest(self, connection: _Connection, place: Place) -> None:
        """Keep a connection for the next call, when it can carry one."""
        self._at_work.discard(connection)
        if not connection.is_idle():
            return
        resting = self._resting.setdefault(place.site, [])
        resting.append(connection)
        if len(resting) > KEPT or resting[0].has_expired():
            await resting.pop(0).aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        resting = [each for rested in self._resting.values() for each in rested]
        for connection in (*resting, *self._at_work):
            await connection.aclose()
        self._resting.clear()
        self._at_work.clear()


def _request(call: Call, place: Place) -> httpcore2.Request:
    try:
        named = [(k.encode(), v.encode("ascii")) for k, v in call.headers.items()]
    except UnicodeEncodeError:
        raise Unsendable from None
    size = b"%d" % len(call.body)
    own = [(b"host", place.host), (b"accept-encoding", b"identity")]
    own += [(b"user-agent", b"bread-nb"), (b"content-length", size)]
    return httpcore2.Request(
        b"POST",
        place.url,
        headers=own + named,
        content=call.body,
        extensions=_EXTENSIONS,
    )


def _told(error: BaseException, *, rested: bool) -> BaseException:
    """What a failure to get an answer means."""
    match error:
        case httpcore2.ConnectTimeout():
            return Unreachable(f"no connection within {CONNECT_SECONDS:g} s")
        case httpcore2.ConnectError():
            return Unreachable(" ".join(str(error).split()) or "there is no connection")
        case httpcore2.LocalProtocolError():
            return Unsendable()
        case _ if isinstance(error, _LOST):
            return Lost(rested=rested)
        case _:
            return error
