"""Files of a conversation: taken in, kept in the blob store, read for the model."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TypeAlias, cast

from bread_nb.base.media import drawn, held_in, mime_type_of
from bread_nb.base.wire import whole_characters
from bread_nb.errors import BreadError
from bread_nb.messages import File, Message, ToolResult
from bread_nb.stores.blobs import BlobStore

__all__ = ["Attachments", "FileSource", "keep_bytes", "keep_file", "take_in"]

FileSource: TypeAlias = "str | bytes | PathLike[str] | File"

_LARGEST = 20_000_000
_MOST_AT_ONCE = 24_000_000
_ADDRESSES = ("blob:", "data:")


async def take_in(
    sources: Sequence[FileSource], store: BlobStore | None
) -> tuple[File, ...]:
    """What the user shows, as files of the blob store.

    Args:
        sources: Paths, bytes, pictures that draw themselves, or files by their address.
        store: Where their bytes go.

    Raises:
        BreadError: `INVALID_FILE`, `FILE_NOT_FOUND`, `FILE_UNREADABLE`,
            `FILE_TOO_LARGE`, or `BLOB_STORE_NOT_CONFIGURED`.
    """
    if isinstance(sources, str | bytes | PathLike | File):
        sources = (sources,)
    return tuple([await _taken(source, store) for source in sources])


async def _taken(source: object, store: BlobStore | None) -> File:
    if isinstance(source, str) and source.startswith(_ADDRESSES):
        source = File(source, "")
    if isinstance(source, File):
        return await _known(source, store)
    if isinstance(source, str | PathLike):
        path = Path(cast("str | PathLike[str]", source))
        name, data = await asyncio.to_thread(_read, path)
    else:
        name, data = None, source if isinstance(source, bytes) else drawn(source)
        if data is None:
            raise _no_file(source)
        _check_size("the file", len(data))
    kind = mime_type_of(name, data)
    return File(await keep_bytes(data, kind, store), kind, name)


async def _known(file: File, store: BlobStore | None) -> File:
    """A file that has an address already."""
    name = file.name or "the file"
    if held := held_in(file.uri):
        _check_size(name, len(held[0]))
        return await keep_file(file, store)
    found = await store.get(file.uri) if store is not None else None
    if found is None:
        raise BreadError(
            f"There is no file at {file.uri[:80]}.",
            code="FILE_NOT_FOUND",
            why="the blob store holds nothing at this address.",
            do="give the path of the file, or its bytes",
        )
    _check_size(name, len(found[0]))
    return File(file.uri, file.mime_type or found[1], file.name)


def _no_file(source: object) -> BreadError:
    kind = type(source).__name__
    return BreadError(
        f"files takes no {kind}.",
        code="INVALID_FILE",
        why="a file is a path, bytes, a File, or an image or figure.",
        do='files=["loaf.png"]',
    )


def _read(path: Path) -> tuple[str, bytes]:
    """The name and the bytes of a file."""
    path = path.expanduser()
    try:
        _check_size(path.name, path.stat().st_size)
        return whole_characters(path.name), path.read_bytes()
    except FileNotFoundError:
        raise BreadError(
            f"There is no file {str(path)!r}.",
            code="FILE_NOT_FOUND",
            why=f"it was looked for in {Path.cwd().name or 'the root folder'}.",
            do="check its path, or give the bytes",
        ) from None
    except OSError as error:
        raise BreadError(
            f"The file {str(path)!r} cannot be read.",
            code="FILE_UNREADABLE",
            why=f"{error.strerror or type(error).__name__}.",
            do="give a file that this program may read",
        ) from None


def _check_size(name: str, size: int) -> None:
    if size <= _LARGEST:
        return
    raise BreadError(
        f"{name} is too large to show to a model.",
        code="FILE_TOO_LARGE",
        why=f"it has {size / 1e6:,.1f} MB; {_LARGEST / 1e6:.0f} MB is the most.",
        do="make it smaller, or let a tool read what matters in it",
        context={"size": size, "most": _LARGEST},
    )


async def keep_file(file: File, store: BlobStore | None) -> File:
    """A file with its bytes in the blob store, where its address held them so far.

    Raises:
        BreadError: `BLOB_STORE_NOT_CONFIGURED`.
    """
    held = held_in(file.uri)
    if held is None:
        return file
    data, kind = held
    kind = file.mime_type or kind
    return File(await keep_bytes(data, kind, store), kind, file.name)


async def keep_bytes(data: bytes, mime_type: str, store: BlobStore | None) -> str:
    """The address of bytes that were put into the blob store.

    Raises:
        BreadError: `BLOB_STORE_NOT_CONFIGURED`.
    """
    if store is None:
        raise BreadError(
            "There is a file and no place for it.",
            code="BLOB_STORE_NOT_CONFIGURED",
            why=f"it is {mime_type}, {len(data)} bytes.",
            do="give Bread a blob_store",
            context={"mime_type": mime_type},
        )
    return await store.put(data, mime_type=mime_type)


@dataclass(slots=True)
class Attachments:
    """The bytes of the files in a run's messages, each read once in a run.

    A file that is gone or too large is not among them and is sent as its name. When
    all are too many for one request, those of the latest messages are sent.
    """

    _read: dict[str, bytes | None] = field(default_factory=dict[str, "bytes | None"])
    _files: list[File] = field(default_factory=list[File])
    _seen: int = 0
    _last: Message | None = None

    async def of(
        self, messages: Sequence[Message], store: BlobStore | None
    ) -> Mapping[str, bytes]:
        """The bytes of the files in these messages, by address."""
        self._look(messages)
        found: dict[str, bytes] = {}
        left = _MOST_AT_ONCE
        for file in reversed(self._files):
            data = await self._bytes(file.uri, store)
            if data is not None and file.uri not in found and len(data) <= left:
                found[file.uri] = data
                left -= len(data)
        return found

    def _look(self, messages: Sequence[Message]) -> None:
        """Take the files of the messages that came since the last request."""
        seen = self._seen
        if seen and not (seen <= len(messages) and messages[seen - 1] is self._last):
            seen = 0
            self._files.clear()
        for message in messages[seen:]:
            for part in message.parts:
                if isinstance(part, File):
                    self._files.append(part)
                elif isinstance(part, ToolResult) and part.files:
                    self._files += part.files
        self._seen, self._last = len(messages), messages[-1] if messages else None

    async def _bytes(self, uri: str, store: BlobStore | None) -> bytes | None:
        if uri not in self._read:
            held = held_in(uri)
            found = held or (await store.get(uri) if store is not None else None)
            fits = found is not None and len(found[0]) <= _LARGEST
            self._read[uri] = found[0] if found is not None and fits else None
        return self._read[uri]
