"""The blob contract, for every blob store, and what only a folder can get wrong."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from contracts.blob_contract import BLOBS, BlobContract

from bread_nb.errors import BreadError
from bread_nb.stores.blobs import BlobStore, FolderBlobs


@pytest.fixture(params=BLOBS)
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> BlobStore:
    return BLOBS[request.param](tmp_path)


class TestEveryBlobStore(BlobContract):
    """The tests are those of the contract."""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_the_folder_is_made_with_the_first_blob_and_git_leaves_it_alone(
    tmp_path: Path,
):
    blobs = FolderBlobs(tmp_path / ".bread" / "blobs", root=tmp_path)
    assert await blobs.get("blob:" + "0" * 64) is None
    assert names(tmp_path) == []
    uri = await blobs.put(b"bread", mime_type="text/plain")
    hashed = uri.removeprefix("blob:")
    assert names(tmp_path / ".bread") == [".gitignore", "blobs"]
    assert names(tmp_path / ".bread" / "blobs") == [hashed, f"{hashed}.type"]


async def test_a_blob_whose_bytes_have_changed_is_an_error(tmp_path: Path):
    blobs = FolderBlobs(tmp_path / ".bread" / "blobs", root=tmp_path)
    uri = await blobs.put(b"bread", mime_type="text/plain")
    file = blobs.folder / uri.removeprefix("blob:")
    await asyncio.to_thread(file.write_bytes, b"stone")
    with pytest.raises(BreadError) as caught:
        await blobs.get(uri)
    assert caught.value.code == "STORE_CORRUPT"
    assert str(tmp_path) not in str(caught.value)


async def test_a_place_that_cannot_be_written_is_one_error(tmp_path: Path):
    await asyncio.to_thread((tmp_path / ".bread").write_text, "a file")
    blobs = FolderBlobs(tmp_path / ".bread" / "blobs", root=tmp_path)
    with pytest.raises(BreadError) as caught:
        await blobs.put(b"bread", mime_type="text/plain")
    assert caught.value.code == "STORE_UNWRITABLE"
    assert str(tmp_path) not in str(caught.value)
    assert await blobs.get("blob:" + "0" * 64) is None
