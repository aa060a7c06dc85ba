"""Blobs: bytes under an address made of their content."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import threading
from pathlib import Path
from typing import Protocol

from bread_nb.base.ids import new_id
from bread_nb.stores.folders import make_folder, shown_path
from bread_nb.stores.store_errors import corrupt_file, unwritable

__all__ = ["BlobStore", "FolderBlobs", "MemoryBlobs"]

Blob = tuple[bytes, str]

_ADDRESS = re.compile(r"blob:([0-9a-f]{64})")
_PLAIN = "application/octet-stream"


class BlobStore(Protocol):
    """Where files go that are too large for messages; equal bytes are kept once."""

    async def put(self, data: bytes, *, mime_type: str = _PLAIN) -> str:
        """Keep the bytes; the address to get them by."""
        ...

    async def get(self, uri: str) -> Blob | None:
        """The bytes and their mime type; None when there are none at this address."""
        ...


class MemoryBlobs:
    """Blobs that are gone with the process."""

    def __init__(self) -> None:
        self._gate = threading.Lock()
        self._blobs: dict[str, Blob] = {}

    async def put(self, data: bytes, *, mime_type: str = _PLAIN) -> str:
        """Keep the bytes; the address to get them by."""
        uri = _address(data)
        with self._gate:
            self._blobs[uri] = (bytes(data), mime_type)
        return uri

    async def get(self, uri: str) -> Blob | None:
        """The bytes and their mime type; None when there are none at this address."""
        with self._gate:
            return self._blobs.get(uri)


class FolderBlobs:
    """Blobs in a folder, a file each, beside it one with the mime type.

    Args:
        folder: The folder; it is made when the first blob is kept.
        root: The project's folder; errors name the folder as seen from there.
    """

    def __init__(self, folder: Path, *, root: Path | None = None) -> None:
        self.folder = folder
        self.place = shown_path(folder, root or folder.parent)

    async def put(self, data: bytes, *, mime_type: str = _PLAIN) -> str:
        """Keep the bytes; the address to get them by.

        Raises:
            BreadError: `STORE_UNWRITABLE`.
        """
        return await asyncio.to_thread(self._keep, bytes(data), mime_type)

    async def get(self, uri: str) -> Blob | None:
        """The bytes and their mime type; None when there are none at this address.

        Raises:
            BreadError: `STORE_CORRUPT` when the file holds other bytes by now.
        """
        return await asyncio.to_thread(self._find, uri)

    def _keep(self, data: bytes, mime_type: str) -> str:
        uri = _address(data)
        path = self._path(uri)
        assert path is not None
        try:
            make_folder(self.folder)
            _replace(_type_file(path), mime_type.encode())
            if not path.exists():
                _replace(path, data)
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise unwritable(f"{self.place}/{path.name}", why) from None
        return uri

    def _find(self, uri: str) -> Blob | None:
        path = self._path(uri)
        if path is None:
            return None
        try:
            data = path.read_bytes()
            mime_type = _type_file(path).read_text()
        except (FileNotFoundError, NotADirectoryError):
            return None
        if _address(data) != uri:
            raise corrupt_file(
                f"{self.place}/{path.name}", "its bytes are not those of its name"
            )
        return data, mime_type

    def _path(self, uri: str) -> Path | None:
        found = _ADDRESS.fullmatch(uri)
        return None if found is None else self.folder / found[1]


def _address(data: bytes) -> str:
    return f"blob:{hashlib.sha256(data).hexdigest()}"


def _type_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.type")


def _replace(path: Path, data: bytes) -> None:
    """Write a file that is there whole or not at all."""
    draft = path.with_name(f"{path.name}.{new_id()}")
    try:
        draft.write_bytes(data)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
