"""Sockets for the connection pool of httpx2, as plain asyncio has them.

Bytes go from the loop straight into a buffer and wake whoever reads: no task, no lock
and no scope a read. The pool, HTTP and TLS are those of httpcore2 and asyncio.
"""

# ruff: noqa: ASYNC109 - the parameters are httpcore2's

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable
from typing import Any, cast

import httpcore2

__all__ = ["Sockets"]

_SECOND_ADDRESS = 0.25
_ENOUGH = 1 << 20
_SHORT = 1 << 14


class _Socket(httpcore2.AsyncNetworkStream, asyncio.Protocol):
    """One connection."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._held = b""
        self._waiter: asyncio.Future[None] | None = None
        self._writable: asyncio.Future[None] | None = None
        self._resting = False
        self._gone = False
        self._error: Exception | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if len(self._received) > _ENOUGH and not self._resting and self._transport:
            self._resting = True
            self._transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone, self._error = True, exc
        self._wake()
        self.resume_writing()

    def pause_writing(self) -> None:
        self._writable = self._loop.create_future()

    def resume_writing(self) -> None:
        writable, self._writable = self._writable, None
        if writable is not None and not writable.done():
            writable.set_result(None)

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """What has come, at most so much; nothing at the end."""
        if self._held:
            self._send()
        if not self._received and not self._gone:
            self._waiter = self._loop.create_future()
            try:
                async with asyncio.timeout(timeout):
                    await self._waiter
            except TimeoutError:
                raise httpcore2.ReadTimeout from None
        data = bytes(self._received[:max_bytes])
        del self._received[:max_bytes]
        if not data and self._error is not None:
            raise httpcore2.ReadError(str(self._error))
        if self._resting and not self._received and self._transport:
            self._resting = False
            self._transport.resume_reading()
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send; waits while the other side is slow.

        What is short is held back until more is written or an answer is read, so that
        the head and the body of a request go out together.
        """
        if self._gone or self._transport is None:
            raise httpcore2.WriteError(str(self._error or "the connection is closed"))
        self._held += buffer
        if len(self._held) < _SHORT:
            return
        self._send()
        if self._writable is not None:
            try:
                async with asyncio.timeout(timeout):
                    await self._writable
            except TimeoutError:
                raise httpcore2.WriteTimeout from None

    def _send(self) -> None:
        held, self._held = self._held, b""
        if self._transport is not None:
            self._transport.write(held)

    async def aclose(self) -> None:
        """Close at once."""
        self._gone = True
        if self._transport is not None:
            self._transport.abort()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Go on encrypted, with the other side's certificate checked."""
        assert self._transport is not None
        try:
            async with asyncio.timeout(timeout):
                self._transport = await self._loop.start_tls(
                    self._transport, self, ssl_context, server_hostname=server_hostname
                )
        except TimeoutError:
            await self.aclose()
            raise httpcore2.ConnectTimeout from None
        except OSError as error:
            await self.aclose()
            raise httpcore2.ConnectError(str(error)) from error
        return self

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401
        """What httpcore2 asks about a connection."""
        if info == "is_readable":
            return self._gone or bool(self._received)
        names = {"client_addr": "sockname", "server_addr": "peername"}
        if self._transport is None:
            return None
        return self._transport.get_extra_info(names.get(info, info))


class Sockets(httpcore2.AsyncNetworkBackend):
    """Opens sockets."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """A connection; another address is tried when the first one is slow."""
        loop = asyncio.get_running_loop()
        named = ":" not in host and not host.replace(".", "").isdigit()
        try:
            async with asyncio.timeout(timeout):
                transport, stream = await loop.create_connection(
                    _Socket,
                    host,
                    port,
                    happy_eyeballs_delay=_SECOND_ADDRESS if named else None,
                    local_addr=(local_address, 0) if local_address else None,
                )
        except TimeoutError:
            raise httpcore2.ConnectTimeout from None
        except OSError as error:
            raise httpcore2.ConnectError(str(error)) from error
        for option in socket_options or ():
            transport.get_extra_info("socket").setsockopt(*option)
        return stream

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
