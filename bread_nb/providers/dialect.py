"""What all dialects do alike: one call, carried somewhere, its answer parsed.

A dialect says the rest: the address, the headers, the body, and what reads the answer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import ClassVar

from pydantic import JsonValue

from bread_nb.providers.client import Call, Parser, Transport, carrier, exchange
from bread_nb.providers.keys import Access, access
from bread_nb.providers.model import Delta, Model, ModelRequest
from bread_nb.providers.pace import Waits, merged
from bread_nb.providers.temperature import Temperature

__all__ = ["Dialect", "bearer"]

Settings = Mapping[str, JsonValue]


class Dialect(ABC):
    """A model that is asked over HTTP.

    `provider` is the name before the colon, `wire` the dialect's own, under which a
    message keeps the bytes that were made of it, and `home` the service's own address,
    which asks for a key.

    Args:
        model: The model's id, or its description with base_url, api_key and settings.
        transport: What carries the calls; by default a connection of its own.
    """

    free: bool = False
    provider: ClassVar[str]
    wire: ClassVar[str]
    home: ClassVar[str]

    def __init__(
        self, model: str | Model, *, transport: Transport | None = None
    ) -> None:
        described = model if isinstance(model, Model) else self._description(model)
        self.described = described
        self.name = described.name
        self._model = described.name.partition(":")[2]
        self._key = f"{self.wire}:{self._model}"
        self._transport = carrier(transport, described.client)
        self._temperature = Temperature(self.name)

    def _description(self, model: str) -> Model:
        return Model(f"{self.provider}:{model}")

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """Ask, and stream the answer."""
        settings = merged(self.described.settings, request.settings)
        return self._temperature.stream(settings, partial(self._ask, request))

    def _ask(self, request: ModelRequest, settings: Settings) -> AsyncIterator[Delta]:
        place = self._place(request)
        call = Call(
            service=self._service,
            url=self._url(place.base_url),
            headers=self._headers(place.key, settings),
            body=self._body(request, settings, place),
            secrets=place.secrets,
            expose_body=bool(settings.get("expose_error_body")),
        )
        parser = self._parser(request, call)
        return exchange(self._transport, call, parser, Waits.read(settings))

    @property
    def _service(self) -> str:
        """The name that is read in errors and before `_API_KEY`."""
        return self.provider

    def _place(self, request: ModelRequest) -> Access:
        """Where the service is, and the key for it."""
        return access(
            self._service,
            base_url=self.described.base_url,
            key=self.described.api_key,
            default_url=self.home,
            agent=request.agent_id,
            client=self.described.client,
        )

    def _headers(self, key: str | None, settings: Settings) -> dict[str, str]:
        """The headers of a call; `settings` may add to them."""
        return bearer(key)

    @abstractmethod
    def _url(self, base_url: str) -> str:
        """The address of a call."""

    def _body(self, request: ModelRequest, settings: Settings, place: Access) -> bytes:
        """The body of a call to a place; most dialects say the same everywhere."""
        return self.encode(request, settings)

    @abstractmethod
    def encode(self, request: ModelRequest, settings: Settings) -> bytes:
        """The body of a request."""

    @abstractmethod
    def _parser(self, request: ModelRequest, call: Call) -> Parser:
        """What reads the answer."""


def bearer(key: str | None) -> dict[str, str]:
    """The headers of a JSON call whose answer is a stream of events."""
    headers = {"content-type": "application/json", "accept": "text/event-stream"}
    if key:
        headers["authorization"] = f"Bearer {key}"
    return headers
