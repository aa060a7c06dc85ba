"""What kind of file some bytes are, and bytes as an address that holds them."""

from __future__ import annotations

import mimetypes
from base64 import b64decode, b64encode
from collections.abc import Callable
from io import BytesIO
from typing import cast
from urllib.parse import unquote_to_bytes

__all__ = ["PLAIN", "data_uri", "drawn", "held_in", "mime_type_of"]

PLAIN = "application/octet-stream"

_BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"\x1aE\xdf\xa3", "video/webm"),
)
_IN_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}
# Names that this table and not the machine's own decides.
_NAMES = {
    ".csv": "text/csv",
    ".ipynb": "application/json",
    ".json": "application/json",
    ".md": "text/markdown",
    ".mp3": "audio/mpeg",
    ".py": "text/x-python",
    ".toml": "application/toml",
    ".ts": "text/plain",
    ".wav": "audio/wav",
    ".webp": "image/webp",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
}


def mime_type_of(name: str | None, data: bytes) -> str:
    """The mime type of a file: by its first bytes, then its name, then its text."""
    for beginning, kind in _BEGINNINGS:
        if data.startswith(beginning):
            return kind
    if data[:4] == b"RIFF" and data[8:12] in _IN_RIFF:
        return _IN_RIFF[data[8:12]]
    if data[4:8] == b"ftyp":
        return "audio/mp4" if data[8:11] == b"M4A" else "video/mp4"
    if name is not None:
        ending = f".{name.rpartition('.')[2].lower()}" if "." in name else ""
        guessed = _NAMES.get(ending) or mimetypes.guess_type(f"x{ending}")[0]
        if guessed is not None:
            return guessed
    return "text/plain" if _is_text(data) else PLAIN


def _is_text(data: bytes) -> bool:
    if b"\0" in data:
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def drawn(value: object) -> bytes | None:
    """The PNG of an object that draws itself, such as an image or a figure.

    None for any other, and for one that fails to.
    """
    try:
        return _drawn(value)
    except Exception:  # noqa: BLE001 - whatever the drawing raises, it is no picture
        return None


def _drawn(value: object) -> bytes | None:
    draw: object = getattr(value, "_repr_png_", None)
    found = cast("Callable[[], object]", draw)() if callable(draw) else None
    if isinstance(found, bytes) and found:
        return found
    save: object = getattr(value, "savefig", None)
    if not callable(save):
        return None
    page = BytesIO()
    save(page, format="png", bbox_inches="tight")
    return page.getvalue() or None


def data_uri(data: bytes, mime_type: str) -> str:
    """An address that holds the bytes themselves."""
    return f"data:{mime_type};base64,{b64encode(data).decode()}"


def held_in(uri: str) -> tuple[bytes, str] | None:
    """The bytes and the mime type in a `data:` address; None for any other."""
    if not uri.startswith("data:"):
        return None
    head, comma, body = uri[5:].partition(",")
    if not comma:
        return None
    kind, _, coding = head.rpartition(";")
    if coding.lower() != "base64":
        return unquote_to_bytes(body), head or "text/plain"
    try:
        return b64decode(body, validate=True), kind or "text/plain"
    except ValueError:
        return None
