"""One notebook in one page: its cells, its kernel, and what the page does unasked."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import nbformat
from browser.cards import CardView, FormView
from browser.lab import Server
from browser.projects import Kitchen
from playwright.sync_api import (
    BrowserContext,
    ConsoleMessage,
    Error,
    Locator,
    Page,
    Request,
    ViewportSize,
    WebSocket,
    expect,
)
from playwright.sync_api import TimeoutError as TooLong

LOAD_SECONDS = 60
CELL_SECONDS = 60
UNREAD_SECONDS = 10
VIEWPORT: ViewportSize = {"width": 1280, "height": 900}
NEARBY = ("", "127.0.0.1")
LOAD = "%load_ext bread_nb"
ASK = "%bread publisher Wheat"
OURS = re.compile("bread|widget", re.IGNORECASE)

_HELPERS = """
window.breadTest = {
  runs: {},
  panel: () => window.jupyterapp.shell.currentWidget,
  there: () => Boolean(window.jupyterapp?.shell.currentWidget?.sessionContext),
  async ready() {
    await window.jupyterapp.restored;
    const panel = this.panel();
    await panel.context.ready;
    await panel.sessionContext.ready;
    await panel.sessionContext.session.kernel.info;
  },
  activate(index) {
    const notebook = this.panel().content;
    notebook.activeCellIndex = index;
    notebook.deselectAll();
  },
  start(index) {
    this.activate(index);
    const run = {done: false};
    this.runs[index] = run;
    const ended = () => { run.done = true; };
    window.jupyterapp.commands.execute('notebook:run-cell').then(ended, ended);
  },
  restart() {
    this.restarted = window.jupyterapp.commands.execute('kernelmenu:restart');
  },
  sources() {
    return [...this.panel().content.model.cells].map((cell) => cell.sharedModel.source);
  },
};
"""

_DONE = "(index) => window.breadTest.runs[index].done"


@dataclass
class Told:
    """What a page did that a person would not see."""

    errors: list[str] = field(default_factory=list[str])
    outside: list[str] = field(default_factory=list[str])
    frames: list[bytes] = field(default_factory=list[bytes])

    def watch(self, page: Page) -> None:
        page.on("request", self._request)
        page.on("console", self._console)
        page.on("pageerror", self._raised)
        page.on("websocket", self._websocket)

    def _request(self, request: Request) -> None:
        self._look(request.url)

    def _look(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("data", "blob") and parts.hostname not in NEARBY:
            self.outside.append(url)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self._blame(message.text, message.location["url"])

    def _raised(self, error: Error) -> None:
        self._blame(str(error), error.stack or "")

    def _blame(self, text: str, where: str) -> None:
        # The front ends have errors of their own. Widgets come from blob addresses.
        if "blob:" in where or OURS.search(text):
            self.errors.append(f"{text} ({where})")

    def _websocket(self, socket: WebSocket) -> None:
        self._look(socket.url)
        socket.on("framereceived", self._frame)

    def _frame(self, payload: bytes | str) -> None:
        if isinstance(payload, bytes):
            self.frames.append(payload)


class Notebook:
    """A notebook that is open in a page of its own.

    Args:
        server: The server it is on.
        context: What the page shares with others, its cache above all.
        path: The file, in the server's folder.
    """

    def __init__(self, server: Server, context: BrowserContext, path: Path) -> None:
        self.server = server
        self.path = path
        self.page: Page = context.new_page()
        self.page.set_default_timeout(CELL_SECONDS * 1000)
        self.page.add_init_script(_HELPERS)
        self.page.on("dialog", lambda dialog: dialog.accept())
        self.told = Told()
        self.told.watch(self.page)
        self.loaded = False

    def open(self) -> None:
        """Go to the page, and wait until the notebook and its kernel are there."""
        inside = self.path.relative_to(self.server.folder).as_posix()
        self.page.goto(self.server.address(inside))
        self.wait_until_ready()

    def wait_until_there(self) -> None:
        """Wait until the notebook is in the page."""
        there = "() => window.breadTest.there()"
        self.page.wait_for_function(there, timeout=LOAD_SECONDS * 1000)

    def wait_until_ready(self) -> None:
        """Wait until its kernel answers, too."""
        self.wait_until_there()
        self.page.evaluate("() => window.breadTest.ready()")

    def reload(self) -> None:
        """Reload the page; the kernel goes on."""
        self.page.reload()
        self.wait_until_ready()

    def after_loading(self) -> CellView:
        """Run the first cell; the second one."""
        self.cell(0).run()
        return self.cell(1)

    def cell(self, index: int) -> CellView:
        return CellView(self, index)

    def add(self, source: str) -> CellView:
        """Add a code cell at the end."""
        index = self.page.evaluate(
            """(source) => {
              const shared = window.breadTest.panel().content.model.sharedModel;
              const index = shared.cells.length;
              shared.insertCell(index, {cell_type: 'code', source});
              return index;
            }""",
            source,
        )
        return self.cell(index)

    def scroll_position(self) -> float:
        """How far the cells are scrolled."""
        outer = self.page.locator(".jp-WindowedPanel-outer").first
        return outer.evaluate("(node) => node.scrollTop")

    def milliseconds_to_answer(self, button: Locator) -> float:
        """How long the page takes from a key press to the next picture on screen."""
        return button.evaluate(
            """(button) => new Promise((done) => {
              const began = performance.now();
              button.addEventListener('keydown', () => {
                requestAnimationFrame(() => setTimeout(() => {
                  done(performance.now() - began);
                }));
              }, {once: true});
              button.dispatchEvent(new KeyboardEvent('keydown', {key: 'q'}));
            })"""
        )

    def sources(self) -> list[str]:
        """The sources of all cells, in their order."""
        return self.page.evaluate("() => window.breadTest.sources()")

    def command(self, name: str, **arguments: object) -> None:
        """Carry out a command of the front end and wait for its end."""
        self.page.evaluate(
            "([name, given]) => window.jupyterapp.commands.execute(name, given)"
            ".then(() => undefined)",
            [name, arguments],
        )

    def save(self) -> nbformat.NotebookNode:
        """Save, and read what is in the file."""
        self.command("docmanager:save")
        return self.read()

    def read(self) -> nbformat.NotebookNode:
        """What is in the file."""
        return nbformat.read(self.path, as_version=4)

    def wait_until_saved(self) -> None:
        """Wait until nothing is left to save."""
        saved = "() => !window.breadTest.panel().context.model.dirty"
        self.page.wait_for_function(saved)

    def restart_kernel(self) -> None:
        """Restart the kernel as the menu does, until the page is connected to it.

        What is asked of a kernel before that may get its answer or none.
        """
        self.loaded = False
        self.page.evaluate("() => window.breadTest.restart()")
        self.page.locator(".jp-Dialog .jp-mod-accept").click()
        self.page.evaluate("() => window.breadTest.restarted.then(() => undefined)")
        self.wait_until_ready()

    def restart_and_run_all(self) -> None:
        """Restart the kernel and run all cells, from the menu."""
        page, item = self.page, "Restart Kernel and Run All Cells…"
        page.get_by_role("menuitem", name="Kernel", exact=True).click()
        page.locator(".lm-Menu").get_by_text(item, exact=True).click()
        page.locator(".jp-Dialog .jp-mod-accept").click()

    def accept_crash(self) -> None:
        """Take note that the kernel died, and wait until it has started again."""
        self.loaded = False
        self.page.locator(".jp-Dialog .jp-mod-accept").click()
        self.wait_until_ready()

    def in_kernel(self, code: str) -> str:
        """What a cell with this code prints."""
        return self.add(code).run().text


class CellView:
    """A code cell, as a person sees it."""

    def __init__(self, notebook: Notebook, index: int) -> None:
        self._notebook = notebook
        self._index = index
        cells = notebook.page.locator(".jp-Notebook .jp-Cell")
        self.node: Locator = cells.nth(index)

    def start(self) -> CellView:
        """Run it, and do not wait."""
        script = "(index) => { window.breadTest.start(index); }"
        self._notebook.page.evaluate(script, self._index)
        return self

    def run(self, seconds: float = CELL_SECONDS) -> CellView:
        """Run it to its end."""
        return self.start().wait(seconds)

    def wait(self, seconds: float = CELL_SECONDS) -> CellView:
        """Wait until it has run.

        A kernel that may lose messages may do so until the extension is loaded.
        """
        notebook = self._notebook
        if notebook.server.front.may_lose and not notebook.loaded:
            try:
                self._wait(UNREAD_SECONDS)
            except TooLong:
                notebook.server.wake_kernels()
        self._wait(seconds)
        notebook.loaded = notebook.loaded or self._source == LOAD
        return self

    def _wait(self, seconds: float) -> None:
        self._notebook.page.wait_for_function(
            _DONE, arg=self._index, timeout=seconds * 1000
        )

    @property
    def _source(self) -> str:
        return self._notebook.sources()[self._index]

    @property
    def running(self) -> bool:
        return not self._notebook.page.evaluate(_DONE, self._index)

    def select(self) -> None:
        """Make it the active cell, in command mode."""
        script = "(index) => window.breadTest.activate(index)"
        self._notebook.page.evaluate(script, self._index)

    @property
    def outputs(self) -> Locator:
        return self.node.locator(".jp-OutputArea-output")

    @property
    def text(self) -> str:
        """The text of all its outputs; that of cards is not in it."""
        return "\n".join(node.inner_text().rstrip() for node in self.outputs.all())

    def wait_for_text(self, text: str) -> None:
        """Wait until one of its outputs, not the card, has this text."""
        found = self.outputs.filter(has_not=self.card.node, has_text=text)
        expect(found).not_to_have_count(0)

    @property
    def card(self) -> CardView:
        """The live card in it; of several the first."""
        return CardView(self.node.locator(".bread").first)

    @property
    def below(self) -> CardView:
        """The card of a run that goes on, below the inbox."""
        return CardView(self.node.locator(".bread").nth(1))

    @property
    def execution_count(self) -> int | None:
        script = (
            "(i) => window.breadTest.panel().content.widgets[i].model.executionCount"
        )
        return self._notebook.page.evaluate(script, self._index)


OpenNotebook = Callable[..., Notebook]


def asking(open_notebook: OpenNotebook, kitchen: Kitchen) -> tuple[Notebook, FormView]:
    """A notebook whose second cell has ended with a form."""
    kitchen.let("ask")
    notebook = open_notebook(LOAD, ASK)
    cell = notebook.after_loading().run()
    cell.card.wait_for_state("Waiting for you")
    return notebook, cell.card.form()
