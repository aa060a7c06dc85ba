"""Every example of every page runs, in order, in a project of the page's own.

What becomes of each kind of block is said in `fixtures.doc_pages`.
"""

import json
import os
import subprocess
import sys
import tomllib
from contextlib import ExitStack
from pathlib import Path

import nbformat
import pytest
import yaml
from fixtures.doc_pages import PAGES, Block, blocks, commands, fits
from nbclient import NotebookClient

from bread_nb.notebook.parsing import COMMANDS, first_word, read_run

QUIET = ["--log-level=ERROR"]
PARSERS = {"yaml": yaml.safe_load_all, "json": json.loads, "toml": tomllib.loads}


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


class Reader:
    """Does what a page says, in the order in which it says it."""

    def __init__(self, page: Path, folder: Path) -> None:
        self._blocks = blocks(page)
        self._folder = folder
        cells = [b for b in self._blocks if b.is_cell]
        self._notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(block.text) for block in cells]
        )
        self._client = NotebookClient(
            self._notebook,
            timeout=60,
            kernel_name="python3",
            extra_arguments=QUIET,
            resources={"metadata": {"path": str(folder)}},
        )
        self._places = {id(block): index for index, block in enumerate(cells)}

    def read(self) -> None:
        with ExitStack() as stack:
            if self._places:
                stack.enter_context(self._client.setup_kernel())
            for block in self._blocks:
                if block.title is not None:
                    self._write(block)
                elif block.is_cell:
                    self._run(block)
                elif block.language == "console":
                    self._type(block)

    def _write(self, block: Block) -> None:
        path = self._folder / str(block.title)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{block.text}\n", encoding="utf-8")

    def _run(self, block: Block) -> None:
        index = self._places[id(block)]
        cell = self._notebook.cells[index]
        self._client.execute_cell(cell, index)
        if block.shows is not None:
            assert fits(shown(cell), block.shows), f"{block.text}\n\n{shown(cell)}"

    def _type(self, block: Block) -> None:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        for command, wanted in commands(block):
            ended = subprocess.run(
                ["bash", "-c", command],
                cwd=self._folder,
                env={**os.environ, "PATH": path, "COLUMNS": "88"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=100,
                check=False,
            )
            out, both = ended.stdout, ended.stdout + ended.stderr
            if wanted:
                assert fits(out, wanted) or fits(both, wanted), f"{command}\n{both}"
            else:
                assert ended.returncode == 0, f"{command}\n{both}"


def named(pages: list[Path]) -> list[object]:
    return [pytest.param(page, id=page.stem) for page in pages]


@pytest.mark.kernel
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "page", named([p for p in PAGES if any(b.is_run for b in blocks(p))])
)
def test_the_examples_of_a_page_run_and_show_what_it_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "a-made-up-token-for-the-docs")
    Reader(page, tmp_path).read()


@pytest.mark.parametrize(
    "page", named([p for p in PAGES if any(b.language in PARSERS for b in blocks(p))])
)
def test_what_a_page_gives_as_a_file_can_be_read(page: Path) -> None:
    for block in blocks(page):
        if block.language in PARSERS:
            read = PARSERS[block.language](block.text)
            assert read is not None
            if block.language == "yaml":
                assert list(read)


def magics() -> list[object]:
    """The lines with magics in blocks that are not run, usage with [brackets] aside."""
    return [
        pytest.param(line, id=f"{page.stem}: {line}")
        for page in PAGES
        for block in blocks(page)
        if block.language == "text"
        for line in block.text.splitlines()
        if line.startswith(("%bread ", "%%bread ")) and "[" not in line
    ]


@pytest.mark.parametrize("line", magics())
def test_a_magic_that_is_only_shown_could_be_typed(line: str) -> None:
    body = line.startswith("%%")
    word, rest = first_word(line.lstrip("%").removeprefix("bread"))
    if word in COMMANDS:
        assert not body
    else:
        assert read_run(word, rest, body=body).agent == word


def test_every_page_has_an_example_that_runs() -> None:
    told = [page for page in PAGES if page.parent.name != "reference"]
    assert [p.stem for p in told if not any(b.is_run for b in blocks(p))] == []
