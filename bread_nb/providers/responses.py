"""The OpenAI Responses dialect: `responses:gpt-5`, with the key of `openai`.

It keeps what a reasoning model thought between its calls, encrypted, which Chat
Completions does not; nothing is left at the service, `store` is false. Settings go
into the request as they are, apart from these: `max_tokens` is another word for
`max_output_tokens`; `tools` are the service's own and offered beside the agent's; a
setting that is null leaves out what would be sent otherwise.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import cast

from pydantic import JsonValue

from bread_nb.base.media import data_uri
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
from bread_nb.providers.client import Call
from bread_nb.providers.dialect import Dialect
from bread_nb.providers.encoding import (
    IMAGES,
    PDF,
    body,
    empty_request,
    file_words,
    held,
    keep_encoded,
    kind_of,
    offered,
    pictures_again,
    readable,
    result_words,
)
from bread_nb.providers.fitting import as_instruction, object_schema, strict
from bread_nb.providers.lines import fields
from bread_nb.providers.model import ModelRequest
from bread_nb.providers.naming import CallIds, originals, wire_id, wire_name
from bread_nb.providers.pace import CALL_SETTINGS
from bread_nb.providers.responses_stream import PROVIDER, ResponsesParser

__all__ = ["Responses"]

_SERVICE = "openai"
_OWN_SETTINGS = CALL_SETTINGS | {"max_tokens", "tools", "text"}
# Other models refuse to be asked for encrypted reasoning.
_REASONING_MODELS = re.compile(
    r"(?:^|/)(?:o\d|codex|computer-use|gpt-(?:[5-9]|\d\d)(?!\S*-chat))"
)


class Responses(Dialect):
    """A model that is asked by the Responses API."""

    provider = PROVIDER
    wire = "responses"
    home = "https://api.openai.com/v1"

    @property
    def _service(self) -> str:
        return _SERVICE

    def _url(self, base_url: str) -> str:
        return f"{base_url}/responses"

    def _parser(self, request: ModelRequest, call: Call) -> ResponsesParser:
        return ResponsesParser(
            _SERVICE,
            model=self._model,
            names=originals(request.tools),
            ids=CallIds(request.messages),
            secrets=call.secrets,
            expose=call.expose_body,
        )

    def encode(self, request: ModelRequest, settings: Mapping[str, JsonValue]) -> bytes:
        """The body of a request.

        Raises:
            BreadError: `INVALID_INPUT` when there is nothing to send.
        """
        wanted, instruction = _format(request.output_schema)
        system = "\n\n".join(filter(str.strip, (request.system, instruction)))
        sent: dict[str, JsonValue] = {
            "model": self._model,
            "stream": True,
            "store": False,
            "instructions": system or None,
            "max_output_tokens": settings.get("max_tokens"),
        }
        if _REASONING_MODELS.search(self._model):
            sent["include"] = ["reasoning.encrypted_content"]
        if request.tools:
            sent["tool_choice"] = _choice(request.tool_choice)
        tools = [*map(_tool, request.tools), *offered(settings)]
        if tools:
            sent["tools"] = tools
        text = {**fields(settings.get("text")), **wanted}
        sent["text"] = text or None
        sent |= {k: v for k, v in settings.items() if k not in _OWN_SETTINGS}
        said = [
            kept
            for message in pictures_again(request.messages, request.blobs, self._drew)
            if (kept := keep_encoded(message, self._key, request.blobs, self._items))
        ]
        if not said:
            raise empty_request(_SERVICE)
        return body(sent, said, name="input")

    def _items(
        self, message: Message, blobs: Mapping[str, bytes]
    ) -> Iterator[JsonValue]:
        """A message as items of the input."""
        if message.role == "tool":
            for part in message.parts:
                if isinstance(part, ToolResult):
                    yield _result(part, blobs)
        if message.role != "assistant":
            content = list(_content(message, blobs))
            if content:
                yield {"role": "user", "content": content}
        else:
            yield from self._answer(message, blobs)

    def _answer(self, message: Message, blobs: Mapping[str, bytes]) -> list[JsonValue]:
        """An answer as the items it came in; one that nothing follows is left out."""
        items: list[dict[str, JsonValue]] = []
        begun: dict[str, JsonValue] = {}
        for part in message.parts:
            match part:
                case Text(text=text):
                    if text.strip():
                        items.append(_said(text, begun))
                    begun = {}
                case File():
                    items.append(_made(part, begun, blobs))
                    begun = {}
                case ToolCall():
                    items.append(_call(part, self._own(part.native)))
                case Reasoning():
                    items += filter(None, [self._own(part.native)])
                case Native():
                    block = self._own(part)
                    if block.get("type") in ("message", "image_generation_call"):
                        begun = block
                    elif block:
                        items.append(block)
                case _:
                    pass
        while items and items[-1].get("type") == "reasoning":
            items.pop()
        return cast("list[JsonValue]", items)

    def _drew(self, message: Message) -> bool:
        """Whether this model made the pictures of an answer, which go back with it."""
        blocks = [self._own(part) for part in message.parts if isinstance(part, Native)]
        return any(block.get("type") == "image_generation_call" for block in blocks)

    def _own(self, native: Native | None) -> dict[str, JsonValue]:
        """The block of a native part of this model, else nothing."""
        if native is None or native.provider != PROVIDER:
            return {}
        return fields(native.block) if native.model == self._model else {}


def _content(message: Message, blobs: Mapping[str, bytes]) -> Iterator[JsonValue]:
    """What the user said and showed."""
    for part in message.parts:
        if isinstance(part, Text):
            if part.text.strip():
                yield {"type": "input_text", "text": part.text}
        elif isinstance(part, File):
            yield _shown(part, held(part, blobs))


def _shown(file: File, data: bytes | None) -> JsonValue:
    kind = kind_of(file)
    if data is None or not (kind in IMAGES or kind == PDF):
        return {"type": "input_text", "text": readable(file, data)}
    address = data_uri(data, kind)
    if kind in IMAGES:
        return {"type": "input_image", "image_url": address}
    name = file.name or "file.pdf"
    return {"type": "input_file", "filename": name, "file_data": address}


def _said(text: str, begun: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Text of the model, as the message it came in where that is known."""
    if begun.get("type") != "message":
        return {"role": "assistant", "content": text}
    said: JsonValue = {"type": "output_text", "text": text, "annotations": []}
    return {**begun, "role": "assistant", "status": "completed", "content": [said]}


def _made(
    file: File, begun: Mapping[str, JsonValue], blobs: Mapping[str, bytes]
) -> dict[str, JsonValue]:
    """A file of the model: the image it made, where that is at hand, else its name."""
    data = held(file, blobs)
    if data is None or begun.get("type") != "image_generation_call":
        return {"role": "assistant", "content": file_words(file)}
    return {**begun, "result": b64encode(data).decode()}


def _call(call: ToolCall, known: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {
        "type": "function_call",
        **known,
        "call_id": wire_id(call.id),
        "name": wire_name(call.name),
        "arguments": dumps(call.args),
    }


def _result(result: ToolResult, blobs: Mapping[str, bytes]) -> JsonValue:
    words = result_words(result, marked=True)
    shown = [_shown(file, held(file, blobs)) for file in result.files]
    return {
        "type": "function_call_output",
        "call_id": wire_id(result.call_id),
        "output": [{"type": "input_text", "text": words}, *shown] if shown else words,
    }


def _tool(tool: ToolSpec) -> JsonValue:
    """A tool, strict where that changes nothing it accepts."""
    closed = strict(tool.parameters, all_required=True)
    return {
        "type": "function",
        "name": wire_name(tool.name),
        "description": tool.description,
        "parameters": closed or object_schema(tool.parameters),
        "strict": closed is not None,
    }


def _choice(choice: str | None) -> JsonValue:
    if choice is None or choice == "required":
        return choice
    return {"type": "function", "name": wire_name(choice)}


def _format(
    schema: dict[str, JsonValue] | None,
) -> tuple[dict[str, JsonValue], str]:
    """The format for an answer of this schema, and words to add to it."""
    if schema is None:
        return {}, ""
    closed = strict(schema, all_required=True)
    if closed is None and schema.get("type") != "object":
        return {}, as_instruction(schema)
    wanted: dict[str, JsonValue] = {
        "type": "json_schema",
        "name": "answer",
        "strict": closed is not None,
        "schema": closed or schema,
    }
    return {"format": wanted}, "" if closed else as_instruction(schema)
