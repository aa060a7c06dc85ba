"""The Anthropic Messages dialect.

Settings go into the request as they are, apart from these: `max_tokens` is 8192 when
it is not given, on top of a thinking budget; `stop` is another word for
`stop_sequences`; `betas` is a list for the `anthropic-beta` header; `tools` are the
service's own and offered beside the agent's; `cache` says what the service keeps, see
`caching`; a setting that is null leaves out what would be sent otherwise.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from pydantic import JsonValue

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
from bread_nb.providers.caching import Caching
from bread_nb.providers.client import Call
from bread_nb.providers.dialect import Dialect
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
    offered,
    pictures_again,
    readable,
    result_words,
    turns,
)
from bread_nb.providers.fitting import as_instruction, object_schema, strict
from bread_nb.providers.lines import count, fields
from bread_nb.providers.messages_stream import MessagesParser
from bread_nb.providers.model import ModelRequest
from bread_nb.providers.naming import CallIds, originals, wire_id, wire_name
from bread_nb.providers.pace import CALL_SETTINGS

__all__ = ["Anthropic"]

_VERSION = "2023-06-01"
_MAX_TOKENS = 8192
_OWN_SETTINGS = CALL_SETTINGS | {"max_tokens", "stop", "betas", "tools"}
# Models from before structured outputs refuse `output_config.format`.
_NO_FORMAT = re.compile(
    r"(?:^|\.)claude-(?:[23]|instant|"
    r"(?:opus|sonnet)-4(?:-0)?(?:[-@]20\d{6})?(?:-v\d.*)?$)"
)
_THOUGHTS = ("thinking", "redacted_thinking")
_OPENING = encode({"type": "text", "text": "Go on."})


class Anthropic(Dialect):
    """A model that is asked by the Messages API."""

    provider = "anthropic"
    wire = "messages"
    home = "https://api.anthropic.com"

    def _url(self, base_url: str) -> str:
        return f"{base_url.removesuffix('/v1')}/v1/messages"

    def _headers(
        self, key: str | None, settings: Mapping[str, JsonValue]
    ) -> dict[str, str]:
        return _headers(key, settings)

    def _parser(self, request: ModelRequest, call: Call) -> MessagesParser:
        return MessagesParser(
            provider=self.provider,
            model=self._model,
            names=originals(request.tools),
            ids=CallIds(request.messages),
        )

    def encode(self, request: ModelRequest, settings: Mapping[str, JsonValue]) -> bytes:
        """The body of a request.

        Raises:
            BreadError: `INVALID_INPUT` when there is nothing to send.
        """
        instruction, output = self._format(request.output_schema, settings)
        system = "\n\n".join(filter(str.strip, (request.system, instruction)))
        caching = Caching.read(settings)
        sent: dict[str, JsonValue] = {
            "model": self._model,
            "max_tokens": _limit(settings),
            "stream": True,
            "system": caching.of_system(system),
        }
        if tools := [*map(_tool, request.tools), *offered(settings)]:
            sent["tools"] = caching.of_tools(tools)
            sent["tool_choice"] = _choice(request.tool_choice)
        if "stop" in settings:
            stop = settings["stop"]
            sent["stop_sequences"] = [stop] if isinstance(stop, str) else stop
        sent |= {k: v for k, v in settings.items() if k not in _OWN_SETTINGS}
        if output:
            sent["output_config"] = output
        if self._cannot_think(request, settings):
            del sent["thinking"]
        messages = pictures_again(request.messages, request.blobs)
        marked = caching.places(messages, self._owns, sent)

        def encoded(message: Message) -> bytes:
            kept = keep_encoded(message, self._key, request.blobs, self._blocks)
            return caching.mark(kept) if id(message) in marked else kept

        said = [
            b'{"role":"%s","content":[%s]}' % (role.encode(), blocks)
            for role, blocks in turns(messages, encoded, _OPENING)
        ]
        if not said:
            raise empty_request(self.provider)
        return body(sent, said)

    def _format(
        self, schema: dict[str, JsonValue] | None, settings: Mapping[str, JsonValue]
    ) -> tuple[str, dict[str, JsonValue]]:
        """Words to add to the system prompt, and the output configuration."""
        output = fields(settings.get("output_config"))
        if schema is None:
            return "", output
        closed = strict(schema, all_required=False)
        if closed is None or _NO_FORMAT.search(self._model):
            return as_instruction(schema), output
        return "", {**output, "format": {"type": "json_schema", "schema": closed}}

    def _blocks(
        self, message: Message, blobs: Mapping[str, bytes]
    ) -> Iterator[JsonValue]:
        """A message as content blocks, none of them empty."""
        for part in message.parts:
            match part:
                case Text(text=text):
                    if text.strip():
                        yield _text(text)
                case File() if message.role == "assistant":
                    yield _text(file_words(part))
                case File():
                    yield _file(part, held(part, blobs))
                case ToolCall():
                    yield _call(part)
                case ToolResult():
                    yield _result(part, blobs)
                case Reasoning(native=native) | (Native() as native):
                    if native is not None and self._owns(native):
                        yield native.block

    def _cannot_think(
        self, request: ModelRequest, settings: Mapping[str, JsonValue]
    ) -> bool:
        """Whether the API would refuse the thinking that is asked for.

        It wants a turn with calls to begin with a thought of its own, which one that
        another model began does not, and forces no tool on a model that thinks.
        """
        if fields(settings.get("thinking")).get("type") != "enabled":
            return False
        if request.tool_choice is not None:
            return True
        begun = _turn_with_calls(request.messages)
        return begun is not None and not self._thought_first(begun)

    def _thought_first(self, message: Message) -> bool:
        for part in message.parts:
            native = part.native if isinstance(part, Reasoning) else part
            if isinstance(native, Native) and self._owns(native):
                return fields(native.block).get("type") in _THOUGHTS
            spoken = not isinstance(part, Reasoning | Native | Text)
            if spoken or (isinstance(part, Text) and part.text.strip()):
                return False
        return False

    def _owns(self, native: Native) -> bool:
        return (native.provider, native.model) == (self.provider, self._model)


def _headers(key: str | None, settings: Mapping[str, JsonValue]) -> dict[str, str]:
    headers = {
        "content-type": "application/json",
        "accept": "text/event-stream",
        "anthropic-version": _VERSION,
    }
    if key:
        headers["x-api-key"] = key
    betas = settings.get("betas")
    if isinstance(betas, list):
        headers["anthropic-beta"] = ",".join(map(str, betas))
    return headers


def _turn_with_calls(messages: Sequence[Message]) -> Message | None:
    """The answer that the turn under way began with, where its calls were answered.

    What the user says right after results is a part of that turn.
    """
    begun: Message | None = None
    answered = False
    for message in messages:
        match message.role:
            case "tool":
                answered = True
            case "user" if not answered:
                begun = None
            case "assistant":
                begun, answered = begun or message, False
            case _:
                pass
    return begun if answered else None


def _limit(settings: Mapping[str, JsonValue]) -> JsonValue:
    if settings.get("max_tokens") is not None:
        return settings["max_tokens"]
    return _MAX_TOKENS + count(fields(settings.get("thinking")).get("budget_tokens"))


def _text(text: str) -> JsonValue:
    return {"type": "text", "text": text}


def _call(call: ToolCall) -> JsonValue:
    return {
        "type": "tool_use",
        "id": wire_id(call.id),
        "name": wire_name(call.name),
        "input": call.args,
    }


def _file(file: File, data: bytes | None) -> JsonValue:
    """What the user or a tool shows; what the API cannot read is a name."""
    kind = kind_of(file)
    if data is None or not (kind in IMAGES or kind == PDF):
        return _text(readable(file, data))
    source = {"type": "base64", "media_type": kind, "data": b64encode(data).decode()}
    shown: dict[str, JsonValue] = {"type": "image", "source": cast("JsonValue", source)}
    if kind == PDF:
        shown["type"] = "document"
        shown |= {"title": file.name} if file.name else {}
    return shown


def _result(result: ToolResult, blobs: Mapping[str, bytes]) -> JsonValue:
    words = result_words(result)
    shown = [_file(file, held(file, blobs)) for file in result.files]
    sent: dict[str, JsonValue] = {
        "type": "tool_result",
        "tool_use_id": wire_id(result.call_id),
        "content": [_text(words), *shown] if shown else words,
    }
    if result.failed:
        sent["is_error"] = True
    return sent


def _tool(tool: ToolSpec) -> JsonValue:
    return {
        "name": wire_name(tool.name),
        "description": tool.description,
        "input_schema": object_schema(tool.parameters),
    }


def _choice(choice: str | None) -> JsonValue:
    if choice is None:
        return None
    if choice == "required":
        return {"type": "any"}
    return {"type": "tool", "name": wire_name(choice)}
