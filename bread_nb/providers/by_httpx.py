"""Calls that httpx2 carries: through the proxies of the environment, to odd addresses.

It is not imported before such a call, or one that needs the trusted certificates.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from functools import cache
from ssl import SSLContext
from typing import Any

import httpx2

from bread_nb.providers.transport import (
    CONNECT_SECONDS,
    KEPT,
    KEPT_SECONDS,
    Call,
    Lost,
    Unreachable,
    Unsendable,
)

__all__ = ["Answer", "ByHttpx", "certificates", "fetch", "transport_fault"]

_DIED = (httpx2.ReadError, httpx2.WriteError, httpx2.RemoteProtocolError)
_UNSENDABLE = (
    httpx2.InvalidURL,
    httpx2.LocalProtocolError,
    httpx2.UnsupportedProtocol,
    UnicodeError,
)


@cache
def certificates() -> SSLContext:
    """The trusted certificates, read once: that takes longer than a call."""
    return httpx2.create_ssl_context()


class Answer:
    """A response of httpx2."""

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self._chunks: AsyncIterator[bytes] = response.aiter_bytes()
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers

    async def read(self) -> bytes:
        """The next bytes of the body; none at its end."""
        try:
            async for chunk in self._chunks:
                if chunk:
                    return chunk
        except httpx2.HTTPError as error:
            raise Lost from error
        return b""

    async def aclose(self) -> None:
        """Let go of the connection."""
        await self._response.aclose()


def transport_fault(
    error: Exception, *, rested: bool = False
) -> Lost | Unreachable | Unsendable:
    """What an error of httpx2 means for the call.

    Args:
        error: What it raised.
        rested: Whether the connection was kept from an earlier call.
    """
    if isinstance(error, _DIED):
        return Lost(rested=rested)
    if isinstance(error, _UNSENDABLE):
        return Unsendable()
    if isinstance(error, httpx2.ConnectTimeout):
        return Unreachable(f"no connection within {CONNECT_SECONDS:g} s")
    return Unreachable(" ".join(str(error).split()) or type(error).__name__)


async def fetch(url: str, headers: Mapping[str, str]) -> tuple[int, bytes]:
    """The status and the body that a plain question is answered with.

    Raises:
        Lost: When the connection broke.
        Unreachable: When there was none.
        Unsendable: When the question cannot be sent.
    """
    timeout = httpx2.Timeout(None, connect=CONNECT_SECONDS)
    async with _client(verify=certificates(), timeout=timeout) as client:
        try:
            answer = await client.get(url, headers=dict(headers))
        except (httpx2.HTTPError, *_UNSENDABLE) as error:
            raise transport_fault(error) from error
        return answer.status_code, answer.content


def _client(**options: Any) -> httpx2.AsyncClient:  # noqa: ANN401
    """A client of httpx2.

    Raises:
        Unreachable: When the environment names a proxy that it cannot use.
    """
    try:
        return httpx2.AsyncClient(**options)
    except ImportError:
        why = 'the environment names a SOCKS proxy: pip install "httpx2[socks]"'
        raise Unreachable(why) from None
    except (ValueError, httpx2.InvalidURL):
        why = "the environment names a proxy that is none, such as in HTTPS_PROXY"
        raise Unreachable(why) from None


class ByHttpx:
    """The clients of one event loop.

    Args:
        trust_env: Whether proxy settings of the environment count.
    """

    def __init__(self, *, trust_env: bool = True) -> None:
        self._trust_env = trust_env
        self._clients: dict[bool, httpx2.AsyncClient] = {}

    async def send(self, call: Call, *, fresh: bool) -> Answer:
        """The response to `call`, its body still to be read."""
        if fresh not in self._clients:
            self._clients[fresh] = self._made(keep=0 if fresh else KEPT)
        client = self._clients[fresh]
        rested = True

        async def trace(event: str, info: object) -> None:
            nonlocal rested
            rested = rested and not event.endswith("connect_tcp.started")

        try:
            request = client.build_request(
                "POST",
                call.url,
                headers=dict(call.headers),
                content=call.body,
                extensions={"trace": trace},
            )
            return Answer(await client.send(request, stream=True))
        except (httpx2.HTTPError, *_UNSENDABLE) as error:
            raise transport_fault(error, rested=rested) from error

    async def aclose(self) -> None:
        """Close the connections."""
        for client in self._clients.values():
            await client.aclose()

    def _made(self, *, keep: int) -> httpx2.AsyncClient:
        return _client(
            verify=certificates(),
            timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
            limits=httpx2.Limits(
                max_connections=None,
                max_keepalive_connections=keep,
                keepalive_expiry=KEPT_SECONDS,
            ),
            trust_env=self._trust_env,
        )
