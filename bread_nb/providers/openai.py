"""The Chat Completions dialect: OpenAI and every host that speaks like it.

`Model("openai:…", base_url=…)` names another host. Settings go into the request as
they are, apart from these: `max_tokens` is sent under the name the host takes,
`system_role` (`system`, `developer` or `user`) says how the system prompt is sent,
`tools` are the host's own and offered beside the agent's, and a setting that is null
leaves out what would be sent otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import cast

from pydantic import JsonValue

from bread_nb.messages import (
    Message,
    Native,
    Reasoning,
    ToolResult,
)
from bread_nb.providers.chat_stream import ChatParser, reasoning_back
from bread_nb.providers.chat_wire import (
    call_of,
    choice_of,
    content_of,
    format_of,
    result_of,
    tool_of,
    words_of,
)
from bread_nb.providers.client import Call, Transport
from bread_nb.providers.dialect import Dialect
from bread_nb.providers.encoding import (
    beside,
    body,
    empty_request,
    encode,
    keep_encoded,
    offered,
    pictures_again,
)
from bread_nb.providers.hosts import OFFICIAL, Host, host_at
from bread_nb.providers.keys import Access
from bread_nb.providers.model import Model, ModelRequest
from bread_nb.providers.naming import CallIds, originals
from bread_nb.providers.pace import CALL_SETTINGS

__all__ = ["OpenAI"]

_REASONING_MODELS = re.compile(r"(?:o\d|gpt-(?:[5-9]|\d\d))")
_OWN_SETTINGS = CALL_SETTINGS | {"system_role", "max_tokens", "stop_sequences", "tools"}
_SEEN: JsonValue = {"role": "assistant", "content": "I see."}
_GO_ON = encode(_SEEN)


class OpenAI(Dialect):
    """A model that is asked by Chat Completions.

    Args:
        model: The model's id, or its description with base_url, api_key and settings.
        transport: What carries the calls; by default a connection of its own.
        provider: The name that is read in errors and before `_API_KEY`.
    """

    provider = "openai"
    wire = "chat"
    home = "https://api.openai.com/v1"

    def __init__(
        self,
        model: str | Model,
        *,
        transport: Transport | None = None,
        provider: str = "openai",
    ) -> None:
        self._provider = provider
        super().__init__(model, transport=transport)
        self._key = f"{self.wire}:{provider}:{self._model}"

    def _description(self, model: str) -> Model:
        return Model(f"{self._provider}:{model}")

    @property
    def _service(self) -> str:
        return self._provider

    def _url(self, base_url: str) -> str:
        return f"{base_url}/chat/completions"

    def _body(
        self, request: ModelRequest, settings: Mapping[str, JsonValue], place: Access
    ) -> bytes:
        host = host_at(place.base_url, official=place.official)
        return self.encode(request, settings, host=host)

    def _parser(self, request: ModelRequest, call: Call) -> ChatParser:
        return ChatParser(
            provider=self._provider,
            model=self._model,
            names=originals(request.tools),
            ids=CallIds(request.messages),
        )

    def encode(
        self,
        request: ModelRequest,
        settings: Mapping[str, JsonValue],
        *,
        host: Host = OFFICIAL,
    ) -> bytes:
        """The body of a request.

        Raises:
            BreadError: `INVALID_INPUT` when there is nothing to send.
        """
        fields: dict[str, JsonValue] = {"model": self._model, "stream": True}
        if not host.tells_usage:
            fields["stream_options"] = {"include_usage": True}
        if tools := [*map(tool_of, request.tools), *offered(settings)]:
            fields["tools"] = tools
            fields["tool_choice"] = choice_of(request.tool_choice)
        wanted, instruction = format_of(request.output_schema, host)
        fields["response_format"] = wanted
        fields |= self._settings(settings, host)
        system = "\n\n".join(filter(str.strip, (request.system, instruction)))
        role = settings.get("system_role") or self._system_role(host)
        said = list(self._said(request, host))
        if not said:
            raise empty_request(self._provider)
        if system:
            said.insert(0, encode({"role": role, "content": system}))
        return body(fields, said)

    def _said(self, request: ModelRequest, host: Host) -> Iterator[bytes]:
        """The messages, each as objects joined by commas."""
        key, answered = f"{self._key}{host.name}", True
        for message in pictures_again(request.messages, request.blobs):
            kept = keep_encoded(
                message, key, request.blobs, lambda m, b: self._wire(m, b, host)
            )
            if not kept:
                continue
            if message.role == "user" and not answered and host.answer_after_tool:
                yield _GO_ON
            answered = message.role != "tool"
            yield kept

    def _settings(
        self, settings: Mapping[str, JsonValue], host: Host
    ) -> dict[str, JsonValue]:
        out = {k: v for k, v in settings.items() if k not in _OWN_SETTINGS}
        if "max_tokens" in settings:
            out.setdefault(host.limit, settings["max_tokens"])
        if "stop_sequences" in settings:
            out.setdefault("stop", settings["stop_sequences"])
        return out

    def _system_role(self, host: Host) -> str:
        newer = host.official and _REASONING_MODELS.match(self._model)
        return "developer" if newer else "system"

    def _wire(
        self, message: Message, blobs: Mapping[str, bytes], host: Host
    ) -> Iterator[JsonValue]:
        """A message as the messages it is here; none when it says nothing."""
        if message.role == "tool":
            for part in message.parts:
                if isinstance(part, ToolResult):
                    yield result_of(part, host)
            if shown := beside(message):
                if host.answer_after_tool:
                    yield _SEEN
                # A result is text; what a tool shows, the user shows.
                yield {"role": "user", "content": content_of(shown, blobs)}
        elif message.role == "assistant":
            yield from self._answer(message, host)
        elif content := content_of(message.parts, blobs):
            yield {"role": "user", "content": content}

    def _answer(self, message: Message, host: Host) -> Iterator[JsonValue]:
        words = words_of(message)
        calls = [call_of(call, host) for call in message.calls]
        if not words and not calls:
            return
        said: dict[str, JsonValue] = {"role": "assistant", "content": words or None}
        if calls:
            said["tool_calls"] = cast("JsonValue", calls)
        for part in message.parts:
            native = part.native if isinstance(part, Reasoning) else part
            if isinstance(native, Native) and self._own(native):
                said |= reasoning_back(native.block, with_calls=bool(calls))
        yield said

    def _own(self, native: Native) -> bool:
        return (native.provider, native.model) == (self._provider, self._model)
