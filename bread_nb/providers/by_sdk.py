"""Calls that a client of the `anthropic` or `openai` package carries.

The client gives its keys, address, proxies and paths; the body is ours, and the answer
is read as it comes. Its own retries are off.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from inspect import signature
from typing import Protocol, cast

import httpx2
from pydantic import JsonValue

from bread_nb.base.redact import Redactor, environment_secrets
from bread_nb.errors import BreadError
from bread_nb.providers.by_httpx import Answer, transport_fault
from bread_nb.providers.lines import fields, parse_json
from bread_nb.providers.transport import CONNECT_SECONDS, Call, Lost, Unreachable

__all__ = ["BySdk"]

_EVENT_STREAM = "application/vnd.amazon.eventstream"
_UNREADABLE = b"data: no event\n\n"
# The version that the dialect speaks, which may not be the newest the client knows.
_OWN_HEADERS = ("anthropic-beta", "anthropic-version")
_VERSIONS = {
    "AsyncAnthropicBedrock": "bedrock-2023-05-31",
    "AsyncAnthropicVertex": "vertex-2023-10-16",
}
# These send a body as it is; others put parts of it in the path.
_PLAIN = frozenset({"AsyncAnthropic", "AsyncOpenAI"})


class _Client(Protocol):
    """What is asked of a client."""

    def post(
        self, path: str, *, cast_to: object, options: dict[str, object], **rest: object
    ) -> Awaitable[httpx2.Response]: ...


class _Event(Protocol):
    data: str


class _Decoder(Protocol):
    def aiter_bytes(self, iterator: AsyncIterator[bytes]) -> AsyncIterator[_Event]: ...


class _Frames(Answer):
    """A response in the framing of AWS, read as server-sent events."""

    def __init__(self, response: httpx2.Response, decoder: _Decoder) -> None:
        super().__init__(response)
        self.headers = httpx2.Headers({"content-type": "text/event-stream"})
        self._events = decoder.aiter_bytes(self._chunks)

    async def read(self) -> bytes:
        """The next event; none at the end."""
        try:
            async for event in self._events:
                return b"data: %s\n\n" % event.data.encode()
        except httpx2.HTTPError as error:
            raise Lost from error
        except Exception:  # noqa: BLE001 - what the decoder of the client raises
            return _UNREADABLE
        return b""


class BySdk:
    """A client that somebody made, as a carrier; closing it is their business.

    Args:
        client: An asynchronous client, such as `anthropic.AsyncAnthropic()`.
    """

    def __init__(self, client: object) -> None:
        self._client = client
        self._answered = False
        self._takes_bytes = _takes_bytes(client)

    async def send(self, call: Call, *, fresh: bool = False) -> Answer:
        """The response to `call`; `fresh` is for the client to know.

        Raises:
            BreadError: `CLIENT_FAILED` when the client does not send it.
        """
        try:
            response = await self._sent(call)
        except BreadError:
            raise
        except Exception as error:
            response = _refusal(error)
            if response is None:
                raise _fault(error, call, rested=self._answered) from error
        self._answered = True
        kind = response.headers.get("content-type", "")
        make = getattr(self._client, "_make_sse_decoder", None)
        if kind.startswith(_EVENT_STREAM) and make is not None:
            return _Frames(response, cast("Callable[[], _Decoder]", make)())
        return Answer(response)

    async def aclose(self) -> None:
        """The client stays open: it is not ours."""

    async def _sent(self, call: Call) -> httpx2.Response:
        options: dict[str, object] = {
            "max_retries": 0,
            "timeout": httpx2.Timeout(None, connect=CONNECT_SECONDS),
            "headers": {k: v for k, v in call.headers.items() if k in _OWN_HEADERS},
        }
        if self._takes_bytes:
            sent: dict[str, object] = {"content": call.body}
        else:
            sent = {"body": {**_version(self._client), **fields(parse_json(call.body))}}
        return await cast("_Client", self._client).post(
            call.url, cast_to=httpx2.Response, stream=True, options=options, **sent
        )


def _takes_bytes(client: object) -> bool:
    """Whether a client sends a body as it is; older ones take no bytes."""
    plain = type(client).__name__ in _PLAIN
    if not plain or getattr(client, "_provider", None) is not None:
        return False
    return "content" in signature(cast("_Client", client).post).parameters


def _version(client: object) -> dict[str, JsonValue]:
    """The version in the body, for the clouds that want it there."""
    for each in type(client).__mro__:
        if each.__name__ in _VERSIONS:
            return {"anthropic_version": _VERSIONS[each.__name__]}
    return {}


def _refusal(error: Exception) -> httpx2.Response | None:
    """The answer that a client made an error of, if there was one."""
    response: object = getattr(error, "response", None)
    return response if isinstance(response, httpx2.Response) else None


def _fault(error: Exception, call: Call, *, rested: bool) -> Exception:
    """What became of a request that got no answer.

    Which connection a client took is not told; before its first answer it had none
    that had `rested`.
    """
    cause = error.__cause__
    for each in (error, cause):
        if isinstance(each, httpx2.HTTPError | httpx2.InvalidURL | UnicodeError):
            return transport_fault(each, rested=rested)
    if isinstance(cause, TimeoutError | OSError):
        return Unreachable(str(cause) or type(cause).__name__)
    told = cause or error
    redactor = Redactor([*call.secrets, *environment_secrets()])
    words = redactor.text(" ".join(str(told).split())) or "it does not say why"
    return BreadError(
        f"The client of {call.service} did not send the request.",
        code="CLIENT_FAILED",
        why=f"{type(told).__name__}: {words}.",
        do="check its credentials; a client works on one event loop only: "
        "give Model(...) one that nothing else uses",
    )
