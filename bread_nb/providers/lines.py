"""Streams of bytes as events: server-sent events, lines of JSON, halved characters.

Bytes may be cut anywhere, also inside a character; nothing is decoded before an
event is whole. There is no limit on the length of a line.
"""

from __future__ import annotations

import json
from typing import Any, Protocol, cast

from pydantic import JsonValue
from pydantic_core import from_json

__all__ = [
    "BodyReader",
    "EventReader",
    "Halves",
    "LineReader",
    "SseReader",
    "count",
    "fields",
    "parse_json",
    "whole",
]

# A stream may begin with a byte order mark, which is no part of its first event.
_MARKED = b"\xef\xbb\xbfdata:"


class EventReader(Protocol):
    """Cuts a stream of bytes into the payloads of its events."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """The payloads that `chunk` completes."""
        ...

    def rest(self) -> list[bytes]:
        """What is left when the stream has ended without a last line end."""
        ...


class SseReader:
    """Server-sent events: the data of each event, its lines joined by a newline.

    Lines end in LF, CRLF or CR. Comments, event names, ids and retry times are left
    out: the events of the model services say their type in their data.
    """

    def __init__(self) -> None:
        self._partial: list[bytes] = []
        self._data: list[bytes] = []
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """The data of the events that `chunk` completes."""
        if b"\r" in chunk or self._after_cr:
            chunk = self._plain(chunk)
        lines = _whole_lines(self._partial, chunk)
        events: list[bytes] = []
        data = self._data
        for line in lines:
            if not line:
                if data:
                    events.append(data[0] if len(data) == 1 else b"\n".join(data))
                    data.clear()
            elif line.startswith(b"data:"):
                data.append(line[6:] if line[5:6] == b" " else line[5:])
            elif line.startswith(_MARKED):
                data.append(line.removeprefix(_MARKED).removeprefix(b" "))
        return events

    def rest(self) -> list[bytes]:
        """The event that was not ended by an empty line, if there is one."""
        return self.feed(b"\n\n")

    def _plain(self, chunk: bytes) -> bytes:
        """`chunk` with LF as its only line end."""
        if self._after_cr and chunk[:1] == b"\n":
            chunk = chunk[1:]
        self._after_cr = chunk[-1:] == b"\r"
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


class LineReader:
    """One JSON value a line; empty lines are left out."""

    def __init__(self) -> None:
        self._partial: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that `chunk` completes."""
        lines = _whole_lines(self._partial, chunk)
        return [line for line in lines if line.strip()]

    def rest(self) -> list[bytes]:
        """The last line, when no line end came after it."""
        return self.feed(b"\n")


def _whole_lines(partial: list[bytes], chunk: bytes) -> list[bytes]:
    """The lines that `chunk` completes; the pieces of the next one are in `partial`.

    A long line is put together once, at its end.
    """
    if b"\n" not in chunk:
        partial.append(chunk)
        return []
    if partial:
        partial.append(chunk)
        chunk = b"".join(partial)
        partial.clear()
    *lines, rest = chunk.split(b"\n")
    if rest:
        partial.append(rest)
    return lines


class BodyReader:
    """A body that is one JSON value."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """Nothing: the value is whole at the end."""
        self._chunks.append(chunk)
        return []

    def rest(self) -> list[bytes]:
        """The body."""
        return [b"".join(self._chunks)]


class Halves:
    """Joins characters that were cut in two between two pieces of text.

    A lone half, which no text may hold, becomes U+FFFD.
    """

    __slots__ = ("_high",)

    def __init__(self) -> None:
        self._high = ""

    def join(self, text: str) -> str:
        """`text` with the half that was kept before it, without one at its end."""
        if not self._high and text.isascii():
            return text
        text = self._high + text
        self._high = ""
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self._high = text[:-1], text[-1]
        return whole(text)

    def end(self) -> str:
        """What is left over: nothing, or U+FFFD for a half that stayed alone."""
        left, self._high = self._high, ""
        return "\ufffd" if left else ""


def whole(text: str) -> str:
    """`text` with surrogate pairs joined and lone surrogates as U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        pairs = text.encode("utf-16-le", "surrogatepass")
        return pairs.decode("utf-16-le", "replace")
    return text


def parse_json(data: bytes) -> JsonValue:
    """A JSON text; halved characters in it stay as they are.

    Raises:
        ValueError: When it is not JSON.
    """
    try:
        return cast("JsonValue", from_json(data))
    except ValueError:
        return cast("JsonValue", json.loads(data))


def fields(value: object) -> dict[str, Any]:
    """`value` when it is an object, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def count(value: object) -> int:
    """`value` when it is a whole number above 0, else 0."""
    return value if isinstance(value, int) and value > 0 else 0
