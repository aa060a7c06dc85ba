"""What every blob store must do; a new one joins with one line in `BLOBS`."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from bread_nb.stores.blobs import BlobStore, FolderBlobs, MemoryBlobs

BLOBS: dict[str, Callable[[Path], BlobStore]] = {
    "memory": lambda folder: MemoryBlobs(),
    "folder": lambda folder: FolderBlobs(folder / ".bread/blobs", root=folder),
}


class BlobContract:
    """The tests; `blobs` is a fixture that gives an empty store."""

    @pytest.mark.parametrize("data", [b"", b"bread", bytes(range(256)) * 4000])
    async def test_bytes_come_back_with_their_type(self, blobs: BlobStore, data: bytes):
        uri = await blobs.put(data, mime_type="image/png")
        assert uri == f"blob:{hashlib.sha256(data).hexdigest()}"
        assert await blobs.get(uri) == (data, "image/png")

    async def test_the_same_bytes_have_the_same_address_and_the_last_type(
        self, blobs: BlobStore
    ):
        one = await blobs.put(b"bread", mime_type="text/plain")
        two = await blobs.put(b"bread", mime_type="text/markdown")
        assert one == two
        assert await blobs.get(one) == (b"bread", "text/markdown")

    async def test_a_type_that_is_not_told_is_plain_bytes(self, blobs: BlobStore):
        uri = await blobs.put(b"bread")
        assert await blobs.get(uri) == (b"bread", "application/octet-stream")

    async def test_what_is_put_can_be_changed_by_nobody(self, blobs: BlobStore):
        data = bytearray(b"bread")
        uri = await blobs.put(data, mime_type="text/plain")
        data[0] = 0
        assert await blobs.get(uri) == (b"bread", "text/plain")

    @pytest.mark.parametrize(
        "uri",
        [
            "blob:" + "0" * 64,
            "blob:../bread.db",
            "blob:" + "A" * 64,
            "file:///etc/passwd",
            "https://example.com/",
            "",
        ],
    )
    async def test_an_unknown_address_is_none(self, blobs: BlobStore, uri: str):
        await blobs.put(b"bread")
        assert await blobs.get(uri) is None

    async def test_many_puts_at_once_are_all_kept(self, blobs: BlobStore):
        uris = await asyncio.gather(
            *(blobs.put(b"%d" % (number % 5)) for number in range(50))
        )
        assert len(set(uris)) == 5
        for number in range(5):
            found = await blobs.get(uris[number])
            assert found is not None
            assert found[0] == b"%d" % number
