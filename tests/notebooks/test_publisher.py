"""The publisher of the repository writes the file that its form names."""

from pathlib import Path

import pytest

from bread_nb import Bread, Finished, Scripted, Suspended

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("title", "file"),
    [("Baking with children", "posts/baking-with-children.md"), ("!", "posts/post.md")],
)
async def test_the_form_names_the_file_that_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, title: str, file: str
):
    monkeypatch.setenv("BREAD_STORE", "memory:")
    monkeypatch.chdir(tmp_path)
    call = {"name": "tool_publish", "args": {"title": title, "body": "Flour."}}
    async with Bread.load(ROOT) as bread:
        model = Scripted([{"calls": [call]}, "It is out."])
        waiting = await bread.run("publisher", "Go.", model=model)
        assert isinstance(waiting, Suspended)
        [question] = waiting.pending
        assert question.effect == f"Writes a file ({file})."
        done = await bread.resume(question.checkpoint_id, {"approved": True})
        assert isinstance(done, Finished)
    assert (tmp_path / file).read_text() == f"# {title}\n\nFlour.\n"
