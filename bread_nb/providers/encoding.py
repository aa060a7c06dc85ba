"""Messages as bytes, each encoded once and joined for every request."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import cast

from pydantic import JsonValue

from bread_nb.errors import BreadError
from bread_nb.messages import File, ToolResult
from bread_nb.providers.lines import whole

__all__ = ["body", "empty_request", "encode", "file_words", "result_words"]

_NO_OUTPUT = "(no output)"


def encode(value: JsonValue) -> bytes:
    """Compact JSON in UTF-8; a lone half of a character becomes U+FFFD."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return whole(text).encode()


def body(fields: Mapping[str, JsonValue], messages: Iterable[bytes]) -> bytes:
    """A request body: its fields, then `messages`, which are encoded already.

    A field that is None is left out.
    """
    given = {key: value for key, value in fields.items() if value is not None}
    head = encode(cast("JsonValue", given))[:-1]
    return head + b',"messages":[' + b",".join(messages) + b"]}"


def result_words(result: ToolResult) -> str:
    """What the model reads of a result; never blank."""
    text = result.text
    return text if text.strip() else _NO_OUTPUT


def file_words(file: File) -> str:
    """A file as words, for a dialect that does not send the file itself."""
    return f"[file {file.name or file.uri} ({file.mime_type})]"


def empty_request(service: str) -> BreadError:
    """The error for a conversation without a single word in it."""
    return BreadError(
        f"There is nothing to send to {service}.",
        code="INVALID_INPUT",
        why="no message of the request has any text.",
        do="write something, then run again",
    )
