"""Servers and pages for the tests that click."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator

import nbformat
import pytest
from browser.cards import SECONDS
from browser.lab import FRONTS, FrontName, Server, served
from browser.notebooks import VIEWPORT, Notebook, OpenNotebook
from browser.projects import Kitchen
from fixtures.binder import missing_binder
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--no-proxy-server",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]

FAILED = pytest.StashKey[bool]()


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    expect.set_options(timeout=SECONDS * 1000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """What the pages of a module share, so that each loads quickly."""
    with browser.new_context(viewport=VIEWPORT) as context:
        yield context


@pytest.fixture(scope="module")
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    name: FrontName = getattr(request, "param", "lab")
    if name != "lab" and (lack := missing_binder()):
        pytest.skip(lack)
    with served(FRONTS[name], tmp_path_factory.mktemp(name)) as server:
        yield server


@pytest.fixture
def kitchen(server: Server, request: pytest.FixtureRequest) -> Kitchen:
    """A project of this test alone, on the server."""
    name = re.sub(r"\W+", "-", request.node.name).strip("-")
    return Kitchen.at(server.folder / name)


@pytest.fixture
def open_notebook(
    context: BrowserContext,
    server: Server,
    kitchen: Kitchen,
    request: pytest.FixtureRequest,
) -> Iterator[OpenNotebook]:
    """Opens notebooks of the project: `open_notebook("%load_ext bread_nb", …)`.

    At the end nothing may have left this machine, and the console is clean.
    """
    opened: list[Notebook] = []

    def open_one(*sources: str, title: str = "") -> Notebook:
        path = kitchen.root / "notebook.ipynb"
        if sources:
            nbformat.write(of_sources(sources, title), path)
        notebook = Notebook(server, context, path)
        opened.append(notebook)
        notebook.open()
        return notebook

    yield open_one
    failed = request.node.stash.get(FAILED, False)
    for notebook in opened:
        if failed:
            picture = kitchen.root.parent.parent / f"{kitchen.root.name}.png"
            notebook.page.screenshot(path=picture)
        notebook.page.close()
    server.shut_down_kernels()
    for notebook in opened:
        assert notebook.told.outside == []
        assert notebook.told.errors == []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        item.stash[FAILED] = True
    return report


def of_sources(sources: tuple[str, ...], title: str = "") -> nbformat.NotebookNode:
    """A notebook of code cells, below a title if there is one."""
    notebook = nbformat.v4.new_notebook()
    notebook.metadata.kernelspec = {
        "name": "python3",
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
    }
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    if title:
        cells.insert(0, nbformat.v4.new_markdown_cell(title))
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"
    notebook.cells = cells
    return notebook
