"""Files that the user shows and that tools give, on their way to the model."""

from pathlib import Path
from typing import Any, BinaryIO

import pytest
from fixtures.journey import call, calls, fault, finished, only, waiting, within
from journeys.conftest import MakeBread

from bread_nb import (
    Agent,
    Bread,
    BreadConfig,
    Hooks,
    Permissions,
    Replace,
    Scripted,
    tool,
)
from bread_nb.messages import File, Message, Text, ToolResult
from bread_nb.stores.blobs import Blob, MemoryBlobs
from bread_nb.stores.in_memory import InMemoryStore

PNG = b"\x89PNG\r\n\x1a\n loaf"
PDF = b"%PDF-1.7 menu"


class CountingBlobs(MemoryBlobs):
    """Blobs that count how often they are read."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[str] = []

    async def get(self, uri: str) -> Blob | None:
        self.reads.append(uri)
        return await super().get(uri)


@tool
def photo() -> File:
    """Take a photo of the loaf."""
    return File.of(PNG, name="loaf.png")


@tool
def shelf() -> dict[str, Any]:
    """Show the shelf."""
    return {"loaves": [File.of(PNG, name="a.png"), File.of(PDF)], "count": 2}


async def test_the_model_gets_the_bytes_of_what_the_user_shows(
    make_bread: MakeBread, tmp_path: Path
):
    (tmp_path / "loaf.png").write_bytes(PNG)
    (tmp_path / "notes.md").write_text("rye")
    script, blobs = Scripted(["nice"]), MemoryBlobs()
    bread = make_bread({"baker": Agent(model=script)}, blob_store=blobs)
    files = [tmp_path / "loaf.png", str(tmp_path / "notes.md"), PDF]
    await finished(bread, bread.run("baker", "look", session="s", files=files))
    (request,) = script.requests
    shown = request.messages[0].files
    assert [(f.mime_type, f.name) for f in shown] == [
        ("image/png", "loaf.png"),
        ("text/markdown", "notes.md"),
        ("application/pdf", None),
    ]
    assert [request.blobs[f.uri] for f in shown] == [PNG, b"rye", PDF]
    assert request.messages[0].parts[-1] == Text("look")
    assert (await bread.sessions.messages("s"))[0] == request.messages[0]


async def test_a_file_alone_is_input_enough(make_bread: MakeBread):
    script = Scripted(["a loaf"])
    bread = make_bread({"baker": Agent(model=script)}, blob_store=MemoryBlobs())
    await finished(bread, bread.run("baker", files=[PNG]))
    assert [type(part) for part in script.requests[0].messages[0].parts] == [File]
    error = await fault(bread, bread.run("baker"))
    assert error.code == "INVALID_INPUT"


async def test_each_file_is_read_once_in_a_run_and_sent_in_every_turn(
    make_bread: MakeBread,
):
    @tool
    def look() -> str:
        """Look."""
        return "seen"

    turn = calls(call("tool_look"))
    script, blobs = Scripted([turn, turn, "done", "again"]), CountingBlobs()
    agent = Agent(model=script, tools=[look])
    bread = make_bread({"baker": agent}, blob_store=blobs)
    await finished(bread, bread.run("baker", "go", session="s", files=[PNG, PDF]))
    assert len(blobs.reads) == 2
    await finished(bread, bread.run("baker", "more", session="s"))
    assert len(blobs.reads) == 4
    assert [sorted(r.blobs.values()) for r in script.requests] == [[PDF, PNG]] * 4


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("nowhere.png", "FILE_NOT_FOUND"),
        (".", "FILE_UNREADABLE"),
        (bytes(20_000_001), "FILE_TOO_LARGE"),
        (File("blob:" + "0" * 64, "image/png"), "FILE_NOT_FOUND"),
        (42, "INVALID_FILE"),
    ],
)
async def test_a_file_that_cannot_be_shown_is_one_clear_error(
    make_bread: MakeBread, given: object, code: str
):
    script = Scripted(["never"])
    bread = make_bread({"baker": Agent(model=script)}, blob_store=MemoryBlobs())
    error = await fault(bread, bread.run("baker", "go", files=[given]))  # type: ignore[list-item]
    assert error.code == code
    assert error.why
    assert error.do
    assert (script.requests, await bread.runs()) == ([], [])


class Image:
    """Draws itself, as images do in a notebook."""

    def _repr_png_(self) -> bytes:
        return PNG


class Figure:
    """Saves itself, as figures do."""

    def savefig(self, place: BinaryIO, **options: object) -> None:
        assert options["format"] == "png"
        place.write(PNG)


@pytest.mark.parametrize("kind", [Image, Figure])
async def test_images_and_figures_are_shown_as_pictures(
    make_bread: MakeBread, kind: type[object]
):
    @tool
    def draw() -> list[object]:
        """Draw the loaf."""
        return [kind(), "a loaf"]

    script = Scripted([calls(call("tool_draw")), "nice"])
    bread = make_bread({"baker": Agent(model=script, tools=[draw])})
    await finished(bread, bread.run("baker", "go", files=[kind()]))  # type: ignore[list-item]
    for message in (script.requests[0].messages[0], script.requests[1].messages[-1]):
        assert [file.mime_type for file in message.files] == ["image/png"]
    assert list(script.requests[1].blobs.values()) == [PNG]


async def test_an_image_that_cannot_be_drawn_is_a_failure_of_its_tool(
    make_bread: MakeBread,
):
    class Broken:
        def _repr_png_(self) -> bytes:
            raise ZeroDivisionError

    @tool
    def draw() -> object:
        """Draw."""
        return Broken()

    script = Scripted([calls(call("tool_draw")), "sorry"])
    bread = make_bread({"baker": Agent(model=script, tools=[draw])})
    await finished(bread, bread.run("baker", "go"))
    (result,) = script.requests[1].messages[-1].parts
    assert isinstance(result, ToolResult)
    assert result.failed
    assert "Broken is not JSON" in result.text


async def test_one_file_needs_no_list(make_bread: MakeBread, tmp_path: Path):
    path = tmp_path / "loaf.png"
    path.write_bytes(PNG)
    for given in (str(path), path, PNG):
        script = Scripted(["nice"])
        bread = make_bread({"baker": Agent(model=script)})
        await finished(bread, bread.run("baker", "go", files=given))  # type: ignore[arg-type]
        assert list(script.requests[0].blobs.values()) == [PNG]


async def test_a_large_path_is_refused_before_it_is_read(
    make_bread: MakeBread, tmp_path: Path
):
    with (tmp_path / "film.mp4").open("wb") as film:
        film.truncate(3_000_000_000)
    bread = make_bread({"baker": Agent(model=Scripted(["never"]))})
    path = tmp_path / "film.mp4"
    error = await fault(bread, bread.run("baker", "go", files=[path]))
    assert error.code == "FILE_TOO_LARGE"
    assert "film.mp4" in error.what
    assert "3,000.0 MB; 20 MB is the most" in error.why


async def test_a_file_that_a_tool_returns_is_shown_to_the_model(make_bread: MakeBread):
    script = Scripted([calls(call("tool_photo"), call("tool_shelf")), "nice"])
    agent, blobs = Agent(model=script, tools=[photo, shelf]), MemoryBlobs()
    bread = make_bread({"baker": agent}, blob_store=blobs)
    run = bread.run("baker", "go", session="s")
    await finished(bread, run)
    request = script.requests[1]
    first, second = (p for p in request.messages[-1].parts if isinstance(p, ToolResult))
    (uri,) = {file.uri for file in first.files}
    assert uri.startswith("blob:")
    told = {"kind": "file", "mimeType": "image/png", "name": "loaf.png", "uri": uri}
    assert first.content == told
    assert [file.mime_type for file in second.files] == ["image/png", "application/pdf"]
    assert sorted(request.blobs.values()) == [PDF, PNG]
    results = [crumb["result"] for crumb in only(run.crumbs, "tool:result")]
    assert told in results
    assert "base64" not in str(results)


async def test_a_tools_files_are_sent_again_after_a_restart(make_bread: MakeBread):
    store, blobs = InMemoryStore(), MemoryBlobs()
    config = BreadConfig(blob_store=blobs)
    first = Scripted([calls(call("tool_photo")), "nice"])
    second = Scripted(["still nice"])
    for script in (first, second):
        agents = {"baker": Agent(model=script, tools=[photo])}
        async with Bread(agents, config=config, store=store) as bread:
            await within(bread.run("baker", "go", session="s"))
    assert list(second.requests[0].blobs.values()) == [PNG]
    assert second.requests[0].messages[2] == first.requests[1].messages[2]


async def test_an_approved_call_may_give_a_file(make_bread: MakeBread):
    script = Scripted([calls(call("tool_photo")), "nice"])
    agent = Agent(
        model=script, tools=[photo], permissions=Permissions(ask=["tool:photo"])
    )
    bread = make_bread({"baker": agent}, blob_store=MemoryBlobs())
    asked = await waiting(bread, bread.run("baker", "go"))
    await within(bread.resume(asked.only, {"approved": True}))
    assert list(script.requests[1].blobs.values()) == [PNG]


async def test_a_hook_that_takes_the_file_away_keeps_it_from_the_model(
    make_bread: MakeBread,
):
    @tool(hooks=Hooks(after_run=lambda _: Replace("secret")))
    def photo() -> File:
        """Take a photo."""
        return File.of(PNG)

    script = Scripted([calls(call("tool_photo")), "nice"])
    agent = Agent(model=script, tools=[photo])
    bread = make_bread({"baker": agent}, blob_store=MemoryBlobs())
    await finished(bread, bread.run("baker", "go"))
    (result,) = script.requests[1].messages[-1].parts
    assert result == ToolResult(result.call_id, "tool_photo", "secret")  # type: ignore[union-attr]
    assert script.requests[1].blobs == {}


async def test_files_that_are_gone_or_too_large_are_sent_as_their_names(
    make_bread: MakeBread,
):
    @tool
    def film() -> File:
        """Film the oven."""
        return File.of(bytes(20_000_001), name="oven.bin")

    script = Scripted([calls(call("tool_film")), "nice"])
    bread = make_bread(
        {"baker": Agent(model=script, tools=[film])}, blob_store=MemoryBlobs()
    )
    await finished(bread, bread.run("baker", "go"))
    (file,) = script.requests[1].messages[-1].files
    assert (file.name, script.requests[1].blobs) == ("oven.bin", {})


async def test_of_too_many_files_those_of_the_latest_messages_are_sent(
    make_bread: MakeBread,
):
    script = Scripted(["one", "two"])
    bread = make_bread({"baker": Agent(model=script)}, blob_store=MemoryBlobs())
    old, new = bytes(19_000_000), b"\1" * 6_000_000
    for data in (old, new):
        run = bread.run("baker", "look", session="s", files=[data])
        await finished(bread, run)
    assert [len(r.blobs) for r in script.requests] == [1, 1]
    assert list(script.requests[1].blobs.values()) == [new]
    said: list[Message] = list(script.requests[1].messages)
    assert len([file for message in said for file in message.files]) == 2
