"""The Chat Completions dialect: OpenAI and every host that speaks like it.

`Model("openai:…", base_url=…)` names another host. Settings go into the request as
they are, apart from these: `max_tokens` is sent under the name the host takes,
`system_role` (`system`, `developer` or `user`) says how the system prompt is sent, and
a setting that is null leaves out what would be sent otherwise.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from functools import partial
from typing import cast

from pydantic import JsonValue

from bread_nb.base.media import data_uri
from bread_nb.base.wire import dumps
from bread_nb.messages import (
    File,
    Message,
    Native,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from bread_nb.providers.chat_stream import ChatParser, reasoning_back
from bread_nb.providers.client import Call, Transport, carrier, exchange
from bread_nb.providers.encoding import (
    IMAGES,
    PDF,
    body,
    empty_request,
    encode,
    file_words,
    held,
    keep_encoded,
    kind_of,
    readable,
    result_words,
)
from bread_nb.providers.fitting import as_instruction, object_schema, strict
from bread_nb.providers.keys import access
from bread_nb.providers.model import Delta, Model, ModelRequest
from bread_nb.providers.naming import CallIds, originals, wire_id, wire_name
from bread_nb.providers.pace import CALL_SETTINGS, Waits
from bread_nb.providers.temperature import Temperature

__all__ = ["OpenAI"]

_URL = "https://api.openai.com/v1"
_REASONING_MODELS = re.compile(r"(?:o\d|gpt-(?:[5-9]|\d\d))")
_AUDIO = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}
_OWN_SETTINGS = CALL_SETTINGS | {"system_role", "max_tokens", "stop_sequences"}


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
        self.described = self._described = described
        self._transport = carrier(transport, described.client)
        self._temperature = Temperature(self.name)
        self._key = f"chat:{provider}:{self._model}"

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """Ask, and stream the answer."""
        settings = {**self._described.settings, **request.settings}
        return self._temperature.stream(settings, partial(self._ask, request))

    def _ask(
        self, request: ModelRequest, settings: Mapping[str, JsonValue]
    ) -> AsyncIterator[Delta]:
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
            expose_body=bool(settings.get("expose_error_body")),
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
        said = [
            kept
            for message in request.messages
            if (kept := keep_encoded(message, self._key, request.blobs, self._wire))
        ]
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

    def _wire(
        self, message: Message, blobs: Mapping[str, bytes]
    ) -> Iterator[JsonValue]:
        """A message as the messages it is here; none when it says nothing."""
        if message.role == "tool":
            for part in message.parts:
                if isinstance(part, ToolResult):
                    yield _result(part)
            if message.files:
                # A result is text; what a tool shows, the user shows.
                yield {"role": "user", "content": _content(message.files, blobs)}
        elif message.role == "assistant":
            yield from self._answer(message)
        elif content := _content(message.parts, blobs):
            yield {"role": "user", "content": content}

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


def _content(parts: Iterable[Part], blobs: Mapping[str, bytes]) -> JsonValue:
    """What the user said and showed: text where it is nothing else, for all hosts."""
    shown: list[dict[str, JsonValue]] = []
    for part in parts:
        if isinstance(part, Text):
            shown.append({"type": "text", "text": part.text})
        elif isinstance(part, File):
            shown.append(_file(part, held(part, blobs)))
    if all(each["type"] == "text" for each in shown):
        text = "".join(str(each["text"]) for each in shown)
        return text if text.strip() else ""
    said = [each for each in shown if str(each.get("text", "x")).strip()]
    return cast("JsonValue", said)


def _file(file: File, data: bytes | None) -> dict[str, JsonValue]:
    kind = kind_of(file)
    if data is None:
        return {"type": "text", "text": file_words(file)}
    if kind in IMAGES:
        return {"type": "image_url", "image_url": {"url": data_uri(data, kind)}}
    if kind in _AUDIO:
        heard: JsonValue = {
            "data": b64encode(data).decode(),
            "format": _AUDIO[kind],
        }
        return {"type": "input_audio", "input_audio": heard}
    if kind == PDF:
        named: JsonValue = {
            "filename": file.name or "file.pdf",
            "file_data": data_uri(data, kind),
        }
        return {"type": "file", "file": named}
    return {"type": "text", "text": readable(file, data)}


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
