"""Pictures and speech in the answers of Chat Completions, as files.

A host streams speech as bare samples; they get the head that makes a sound file.
"""

from __future__ import annotations

import struct
from base64 import b64decode
from typing import Any

from bread_nb.base.media import PLAIN, held_in, mime_type_of
from bread_nb.providers.lines import fields
from bread_nb.providers.model import FileChunk

__all__ = ["Speech", "picture"]

_RATE = 24_000


class Speech:
    """The speech of one answer, as far as it has come."""

    def __init__(self) -> None:
        self._data: list[bytes] = []

    def hear(self, piece: dict[str, Any]) -> str:
        """Take a piece; the words that are spoken in it."""
        if data := piece.get("data"):
            self._data.append(b64decode(data, validate=True))
        return piece.get("transcript") or ""

    def file(self) -> FileChunk | None:
        """The speech as a file, None when there was none."""
        data = b"".join(self._data)
        if not data:
            return None
        kind = mime_type_of(None, data)
        if kind.startswith("audio/"):
            return FileChunk(data, kind)
        return FileChunk(_head(len(data)) + data, "audio/wav")


def _head(size: int) -> bytes:
    """The head of a WAV file of 16-bit samples on one channel."""
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, _RATE, 2 * _RATE, 2, 16)
    riff = struct.pack("<4sI4s", b"RIFF", 36 + size, b"WAVE")
    return riff + form + struct.pack("<4sI", b"data", size)


def picture(block: dict[str, Any]) -> FileChunk | None:
    """A picture that an answer shows; None when it only names an address."""
    found = held_in(str(fields(block.get("image_url")).get("url")))
    if found is None or not found[0]:
        return None
    data, kind = found
    return FileChunk(data, mime_type_of(None, data) if kind == PLAIN else kind)
