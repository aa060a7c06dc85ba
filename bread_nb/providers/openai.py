"""The Chat Completions dialect: OpenAI and every host that speaks like it.

`Model("openai:…", base_url=…)` names another host. Settings go into the request as
they are, apart from these: `max_tokens` is sent under the name the host takes,
`system_role` (`system`, `developer` or `user`) says how the system prompt is sent, and
a setting that is null leaves out what would be sent otherwise.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import cast

from pydantic import JsonValue

from bread_nb.base.wire import dumps
from bread_nb.messages import (
    File,
    Message,
    Native,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from bread_nb.providers.chat_stream import ChatParser, reasoning_back
from bread_nb.providers.client import Call, Transport, carrier, exchange
from bread_nb.providers.encoding import (
    body,
    empty_request,
    encode,
    file_words,
    result_words,
)
from bread_nb.providers.fitting import as_instruction, object_schema, strict
from bread_nb.providers.keys import access
from bread_nb.providers.model import Delta, Model, ModelRequest
from bread_nb.providers.naming import CallIds, originals, wire_id, wire_name
from bread_nb.providers.pace import PACE_SETTINGS, Waits

__all__ = ["OpenAI"]

_URL = "https://api.openai.com/v1"
_REASONING_MODELS = re.compile(r"(?:o\d|gpt-(?:[5-9]|\d\d))")
_OWN_SETTINGS = PACE_SETTINGS | {"system_role", "max_tokens", "stop_sequences"}


class OpenAI:
    """A model that is asked by Chat Completions.

    Args:
        model: The model's id, or its description with base_url, api_key and settings.
        transport: What carries the calls; by default a connection of its own.
        provider: The name that is read in errors and before `_API_KEY`.
    """

    free = False

    def __init__(
        self,
        model: str | Model,
        *,
        transport: Transport | None = None,
        provider: str = "openai",
    ) -> None:
        described = model if isinstance(model, Model) else Model(f"{provider}:{model}")
        self.name = described.name
        self._provider = provider
        self._model = described.name.partition(":")[2]
        self._described = described
        self._transport = carrier(transport, described.client)
        self._key = f"chat:{provider}:{self._model}"

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """Ask, and stream the answer."""
        settings = {**self._described.settings, **request.settings}
        place = access(
            self._provider,
            base_url=self._described.base_url,
            key=self._described.api_key,
            default_url=_URL,
            agent=request.agent_id,
            client=self._described.client,
        )
        headers = {"content-type": "application/json", "accept": "text/event-stream"}
        if place.key:
            headers["authorization"] = f"Bearer {place.key}"
        call = Call(
            service=self._provider,
            url=f"{place.base_url}/chat/completions",
            headers=headers,
            body=self.encode(request, settings, official=place.official),
            secrets=place.secrets,
        )
        parser = ChatParser(
            provider=self._provider,
            model=self._model,
            names=originals(request.tools),
            ids=CallIds(request.messages),
        )
        return exchange(self._transport, call, parser, Waits.read(settings))

    def encode(
        self,
        request: ModelRequest,
        settings: Mapping[str, JsonValue],
        *,
        official: bool = True,
    ) -> bytes:
        """The body of a request.

        Raises:
            BreadError: `INVALID_INPUT` when there is nothing to send.
        """
        fields: dict[str, JsonValue] = {
            "model": self._model,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        tools = [_tool(tool) for tool in request.tools]
        if tools:
            fields["tools"] = cast("JsonValue", tools)
            fields["tool_choice"] = _choice(request.tool_choice)
        wanted, instruction = _format(request.output_schema)
        fields["response_format"] = wanted
        fields |= self._settings(settings, official)
        system = "\n\n".join(filter(str.strip, (request.system, instruction)))
        role = settings.get("system_role") or self._system_role(official)
        said = [part for part in map(self._encoded, request.messages) if part]
        if not said:
            raise empty_request(self._provider)
        if system:
            said.insert(0, encode({"role": role, "content": system}))
        return body(fields, said)

    def _settings(
        self, settings: Mapping[str, JsonValue], official: bool
    ) -> dict[str, JsonValue]:
        out = {k: v for k, v in settings.items() if k not in _OWN_SETTINGS}
        limit = "max_completion_tokens" if official else "max_tokens"
        if "max_tokens" in settings:
            out.setdefault(limit, settings["max_tokens"])
        if "stop_sequences" in settings:
            out.setdefault("stop", settings["stop_sequences"])
        return out

    def _system_role(self, official: bool) -> str:
        newer = official and _REASONING_MODELS.match(self._model)
        return "developer" if newer else "system"

    def _encoded(self, message: Message) -> bytes:
        """A message as JSON objects joined by commas; empty when it says nothing."""
        kept = message.encoded.get(self._key)
        if kept is None:
            kept = b",".join(map(encode, self._wire(message)))
            message.encoded[self._key] = kept
        return kept

    def _wire(self, message: Message) -> Iterator[JsonValue]:
        if message.role == "tool":
            for part in message.parts:
                if isinstance(part, ToolResult):
                    yield _result(part)
        elif message.role == "user":
            if words := _words(message):
                yield {"role": "user", "content": words}
        else:
            yield from self._answer(message)

    def _answer(self, message: Message) -> Iterator[JsonValue]:
        words = _words(message)
        calls = [_call(call) for call in message.calls]
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


def _words(message: Message) -> str:
    pieces = [
        part.text if isinstance(part, Text) else file_words(part)
        for part in message.parts
        if isinstance(part, Text | File)
    ]
    text = "".join(pieces)
    return text if text.strip() else ""


def _call(call: ToolCall) -> JsonValue:
    arguments = dumps(call.args)
    return {
        "id": wire_id(call.id),
        "type": "function",
        "function": {"name": wire_name(call.name), "arguments": arguments},
    }


def _result(result: ToolResult) -> JsonValue:
    words = result_words(result)
    if result.failed and not words.lower().startswith("error"):
        words = f"Error: {words}"
    return {
        "role": "tool",
        "tool_call_id": wire_id(result.call_id),
        "content": words,
    }


def _tool(tool: ToolSpec) -> JsonValue:
    return {
        "type": "function",
        "function": {
            "name": wire_name(tool.name),
            "description": tool.description,
            "parameters": object_schema(tool.parameters),
        },
    }


def _choice(choice: str | None) -> JsonValue:
    if choice is None or choice == "required":
        return choice
    return {"type": "function", "function": {"name": wire_name(choice)}}


def _format(schema: dict[str, JsonValue] | None) -> tuple[JsonValue, str]:
    """The response format for an answer of this schema, and words to add to it."""
    if schema is None:
        return None, ""
    closed = strict(schema, all_required=True)
    if closed is not None:
        named = {"name": "answer", "strict": True, "schema": closed}
        return {"type": "json_schema", "json_schema": cast("JsonValue", named)}, ""
    loose = {"type": "json_object"} if schema.get("type") == "object" else None
    return cast("JsonValue", loose), as_instruction(schema)
