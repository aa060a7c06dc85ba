"""Messages, tools and formats as Chat Completions has them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import cast

from pydantic import JsonValue

from bread_nb.base.media import data_uri
from bread_nb.base.wire import dumps
from bread_nb.messages import (
    File,
    Message,
    Part,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from bread_nb.providers.encoding import (
    IMAGES,
    PDF,
    file_words,
    held,
    kind_of,
    readable,
    result_words,
)
from bread_nb.providers.fitting import as_instruction, object_schema, strict
from bread_nb.providers.hosts import Host
from bread_nb.providers.naming import wire_name

__all__ = [
    "call_of",
    "choice_of",
    "content_of",
    "format_of",
    "result_of",
    "tool_of",
    "words_of",
]

_AUDIO = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}


def words_of(message: Message) -> str:
    """The words of an answer, its files by name; empty when it says nothing."""
    pieces = [
        part.text if isinstance(part, Text) else file_words(part)
        for part in message.parts
        if isinstance(part, Text | File)
    ]
    text = "".join(pieces)
    return text if text.strip() else ""


def content_of(parts: Iterable[Part], blobs: Mapping[str, bytes]) -> JsonValue:
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


def call_of(call: ToolCall, host: Host) -> JsonValue:
    """A call of an answer."""
    arguments = dumps(call.args)
    return {
        "id": host.identifier(call.id),
        "type": "function",
        "function": {"name": wire_name(call.name), "arguments": arguments},
    }


def result_of(result: ToolResult, host: Host) -> JsonValue:
    """A result as a message; a failure says that it is one."""
    return {
        "role": "tool",
        "tool_call_id": host.identifier(result.call_id),
        "content": result_words(result, marked=True),
    }


def tool_of(tool: ToolSpec) -> JsonValue:
    """A tool as it is offered."""
    return {
        "type": "function",
        "function": {
            "name": wire_name(tool.name),
            "description": tool.description,
            "parameters": object_schema(tool.parameters),
        },
    }


def choice_of(choice: str | None) -> JsonValue:
    """Which tool is to be called."""
    if choice is None or choice == "required":
        return choice
    return {"type": "function", "function": {"name": wire_name(choice)}}


def format_of(schema: dict[str, JsonValue] | None, host: Host) -> tuple[JsonValue, str]:
    """The response format for an answer of this schema, and words to add to it."""
    if schema is None:
        return None, ""
    closed = strict(schema, all_required=True)
    loose = schema.get("type") == "object"
    if "json_schema" in host.formats and (closed or "json_object" not in host.formats):
        named: JsonValue = {
            "name": "answer",
            "strict": closed is not None,
            "schema": closed or schema,
        }
        words = "" if closed else as_instruction(schema)
        return {"type": "json_schema", "json_schema": named}, words
    return ({"type": "json_object"} if loose else None), as_instruction(schema)
