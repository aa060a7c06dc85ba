"""Every Python block of every page runs, in order, in a real kernel.

A `text` block right after a `python` block is what the cell must show.
"""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

DOCS = Path(__file__).parents[2] / "docs"
README = DOCS.parent / "README.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
QUIET = ["--log-level=ERROR"]


def blocks(page: Path) -> list[tuple[str, str, int]]:
    """The fenced blocks of a page: language, text, and where it begins."""
    text = page.read_text(encoding="utf-8")
    return [(m[1], m[2].rstrip("\n"), m.start()) for m in BLOCK.finditer(text)]


def expected(page: Path) -> list[tuple[str, str | None]]:
    """Each Python block, with the text block that stands right after it."""
    found, wanted = blocks(page), list[tuple[str, str | None]]()
    text = page.read_text(encoding="utf-8")
    for position, (language, body, start) in enumerate(found):
        if language != "python":
            continue
        after = found[position + 1] if position + 1 < len(found) else None
        end = text.index("\n```", start) + 4
        follows = after and after[0] == "text" and not text[end : after[2]].strip()
        wanted.append((body, after[1] if after and follows else None))
    return wanted


def shown(cell: nbformat.NotebookNode) -> str:
    """What a cell shows as text."""
    pieces = [
        output["text"]
        if output["output_type"] == "stream"
        else output["data"]["text/plain"]
        for output in cell["outputs"]
        if output["output_type"] != "error"
        and "text/plain" in output.get("data", {"text/plain": ""})
    ]
    return "".join(pieces).rstrip("\n")


PAGES = [*sorted(DOCS.glob("*.md")), README]


@pytest.mark.kernel
@pytest.mark.parametrize(
    "page", [p for p in PAGES if expected(p)], ids=lambda page: page.stem
)
def test_the_examples_of_a_page_run_and_show_what_it_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "a-made-up-token-for-the-docs")
    wanted = expected(page)
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(body) for body, _ in wanted]
    )
    client = NotebookClient(
        notebook,
        timeout=60,
        kernel_name="python3",
        extra_arguments=QUIET,
        resources={"metadata": {"path": str(tmp_path)}},
    )
    client.execute()
    for cell, (body, text) in zip(notebook.cells, wanted, strict=True):
        if text is not None:
            assert shown(cell) == text, body
