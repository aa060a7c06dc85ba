"""The picture of the README: a real JupyterLab with a call that waits for consent.

With `BREAD_PICTURE=1` it is taken anew and kept as docs/images/card.png.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from browser.lab import FRONTS, Server, served
from browser.notebooks import LOAD, OpenNotebook
from browser.projects import Kitchen
from playwright.sync_api import Browser, BrowserContext, ViewportSize, expect

pytestmark = pytest.mark.browser
ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "images" / "card.png"
LARGEST = 300_000
VIEWPORT: ViewportSize = {"width": 1000, "height": 930}
SHARPNESS = 1.4
TITLE = "## The blog of the bakery"
SCRIPT = """
- reasoning: The editor decides about the topic first.
  text: I ask the editor about the topic first.
  calls:
  - name: human_approve
    args: {topic: Rye bread for beginners}
- text: "The topic is approved, so I wrote the post. May I **publish** it?"
  calls:
  - name: tool_publish
    args:
      title: Rye bread for beginners
      body: |-
        Rye flour drinks more water than wheat, so the dough stays soft.
        Do not knead it: stir, wait, and bake it dark.
- Published.
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("picture")
    with served(FRONTS["lab"], folder, BREAD_MODEL="scripted:blog.yaml") as server:
        yield server


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    with browser.new_context(
        viewport=VIEWPORT, device_scale_factor=SHARPNESS
    ) as context:
        yield context


@pytest.fixture
def kitchen(server: Server) -> Kitchen:
    root = server.folder / "bakery"
    ignored = shutil.ignore_patterns("__pycache__")
    agent = "agents/publisher"
    shutil.copytree(ROOT / agent, root / agent, ignore=ignored)
    (root / "blog.yaml").write_text(SCRIPT)
    return Kitchen(root)


def test_the_shipped_publisher_waits_for_consent(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    notebook = open_notebook(
        LOAD,
        "%%bread publisher\nWrite a post about rye bread, then publish it.",
        title=TITLE,
    )
    for command in ("toggle-left-area", "toggle-header"):
        notebook.command(f"application:{command}")
    notebook.command("statusbar:toggle")
    notebook.cell(1).run()
    card = notebook.cell(2).run().card
    form = card.form()
    form.node.get_by_text("write it").click()
    form.press("Send answer")
    expect(card.node).to_contain_text("Let publisher run publish?")
    card.wait_for_state("Waiting for you")
    notebook.save()
    notebook.page.mouse.move(0, 0)
    picture = kitchen.root / "card.png"
    notebook.page.screenshot(path=picture)
    assert picture.stat().st_size < LARGEST
    if os.environ.get("BREAD_PICTURE") == "1":
        PICTURE.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(picture, PICTURE)
    card.form().press("Approve")
    card.wait_for_state("Finished")
    assert (kitchen.root / "posts" / "rye-bread-for-beginners.md").exists()
    assert nbformat.validate(notebook.save()) is None
