"""What carries a request to a service: one method, and a response read in pieces.

A carrier says what went wrong by one of three errors, which `exchange` makes a
`ProviderError` of: `Lost` when a connection broke, `Unreachable` when there was none,
`Unsendable` when the request itself cannot go out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import urlsplit

__all__ = [
    "CONNECT_SECONDS",
    "KEPT",
    "KEPT_SECONDS",
    "Call",
    "Lost",
    "Response",
    "Transport",
    "Unreachable",
    "Unsendable",
    "is_loopback",
]

CONNECT_SECONDS = 20.0
KEPT = 100
KEPT_SECONDS = 60.0
_LOOPBACK = re.compile(r"127(?:\.\d{1,3}){3}|[^.]+\.localhost")
_LOOPBACKS = frozenset({"localhost", "::1"})


def is_loopback(host: str) -> bool:
    """Whether a host is this machine itself."""
    return host in _LOOPBACKS or bool(_LOOPBACK.fullmatch(host))


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request as it goes on the wire."""

    service: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    expose_body: bool = False

    @property
    def host(self) -> str:
        """Who is asked, for a person to read."""
        try:
            return urlsplit(self.url).hostname or self.service
        except ValueError:
            return self.service


class Lost(Exception):
    """A connection broke before its answer was whole.

    Args:
        rested: Whether it had been kept from an earlier call, or may have been: then
            the service may have shut it before this call was ever made.
    """

    def __init__(self, *, rested: bool = False) -> None:
        super().__init__()
        self.rested = rested


class Unreachable(Exception):
    """No connection could be made; the text says why."""


class Unsendable(Exception):
    """The request holds something that HTTP does not allow."""


class Response(Protocol):
    """An answer under way; header names are in lower case."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    async def read(self) -> bytes:
        """The next bytes of the body; none at its end.

        Raises:
            Lost: When the connection broke before the end.
        """
        ...

    async def aclose(self) -> None:
        """Let go of the connection: for the next call when the body was read whole."""
        ...


class Transport(Protocol):
    """Sends a call and gives the response, its body still to be read."""

    async def send(self, call: Call, *, fresh: bool = False) -> Response:
        """The response to `call`; whoever asked closes it.

        `fresh` asks for a connection that was not kept from an earlier call.

        Raises:
            Lost: When the connection broke before the head of the answer was there.
            Unreachable: When there is no connection.
            Unsendable: When the request cannot be sent.
        """
        ...

    async def aclose(self) -> None:
        """Free the connections; it may be called twice."""
        ...
