"""Calls over the connection pool that httpx2 itself is built on.

What is left out is httpx2's client: redirects, cookies, auth and models of requests,
which a call to a model's service has no use for and which cost as much as the rest.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable
from dataclasses import dataclass
from functools import lru_cache
from ssl import SSLContext
from typing import cast
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

# A pool looks at all its connections for each request: many small ones cost less.
_MOST_IN_A_POOL = 16
_LOST = (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException)
_EXTENSIONS = {"timeout": {"connect": CONNECT_SECONDS}}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a URL points, as the pool and the service read it."""

    url: httpcore2.URL
    secure: bool
    host: bytes


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
    """A response of a pool."""

    __slots__ = ("_chunks", "_left", "_response", "headers", "status")

    def __init__(self, response: httpcore2.Response, left: Callable[[], None]) -> None:
        self._response = response
        self._left = left
        self._chunks = aiter(cast("AsyncIterable[bytes]", response.stream))
        self.status = response.status
        self.headers = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in response.headers
        }

    async def read(self) -> bytes:
        """The next bytes of the body; none at its end."""
        try:
            async for chunk in self._chunks:
                if chunk:
                    return chunk
        except _LOST as error:
            raise Lost from error
        return b""

    async def aclose(self) -> None:
        """Let go of the connection."""
        left, self._left = self._left, _nothing
        try:
            await self._response.aclose()
        finally:
            left()


class _Pool:
    """A pool, and how many of its answers are under way."""

    def __init__(self, certificates: SSLContext | None, *, keep: int) -> None:
        self.at_work = 0
        self.core = httpcore2.AsyncConnectionPool(
            ssl_context=certificates,
            max_connections=None,
            max_keepalive_connections=keep,
            keepalive_expiry=KEPT_SECONDS,
            network_backend=Sockets(),
        )

    def leave(self) -> None:
        self.at_work -= 1


class Pools:
    """The pools of one event loop: for plain and secure calls, kept and fresh ones.

    Args:
        certificates: Gives the trusted certificates; asked at the first secure call.
    """

    def __init__(self, certificates: Callable[[], SSLContext]) -> None:
        self._certificates = certificates
        self._pools: dict[tuple[bool, bool], list[_Pool]] = {}

    async def send(self, call: Call, place: Place, *, fresh: bool) -> _Answer:
        """The response to `call`, its body still to be read."""
        request = _request(call, place)
        pool = self._pool(secure=place.secure, fresh=fresh)
        pool.at_work += 1
        try:
            response = await pool.core.handle_async_request(request)
        except BaseException as error:
            pool.leave()
            raise _told(error) from error
        return _Answer(response, pool.leave)

    def _pool(self, *, secure: bool, fresh: bool) -> _Pool:
        """The first pool that is not busy, so that few calls share few connections."""
        pools = self._pools.setdefault((secure, fresh), [])
        for pool in pools:
            if pool.at_work < _MOST_IN_A_POOL:
                return pool
        context = self._certificates() if secure else None
        pools.append(_Pool(context, keep=0 if fresh else KEPT))
        return pools[-1]

    async def aclose(self) -> None:
        """Close the connections."""
        for pools in self._pools.values():
            for pool in pools:
                await pool.core.aclose()


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


def _told(error: BaseException) -> BaseException:
    """What a failure to get an answer means."""
    match error:
        case httpcore2.ConnectTimeout():
            return Unreachable(f"no connection within {CONNECT_SECONDS:g} s")
        case httpcore2.ConnectError():
            return Unreachable(" ".join(str(error).split()) or "there is no connection")
        case httpcore2.LocalProtocolError():
            return Unsendable()
        case _ if isinstance(error, _LOST):
            return Lost()
        case _:
            return error


def _nothing() -> None:
    """There is nothing left to let go of."""
