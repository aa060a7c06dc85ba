"""How a card looks: in both themes, in little room, and to who wants no motion."""

import pytest
from browser.notebooks import ASK, LOAD, OpenNotebook
from browser.projects import Kitchen
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def test_the_card_follows_the_theme_of_the_page(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    kitchen.let("ask")
    notebook = open_notebook(LOAD, ASK)
    card = notebook.after_loading().run().card
    card.form()
    light = card.colours()
    notebook.command("apputils:change-theme", theme="JupyterLab Dark")
    expect(card.node).to_have_attribute("data-theme", "dark")
    dark = card.colours()
    assert light["scheme"] == "light"
    assert dark["scheme"] == "dark"
    assert sum(light["paper"]) > sum(light["ink"])
    assert sum(dark["paper"]) < sum(dark["ink"])


def test_nothing_moves_for_a_person_who_wants_no_motion(open_notebook: OpenNotebook):
    notebook = open_notebook(LOAD, "%bread talker Rye")
    card = notebook.after_loading().start().card
    card.wait_for_state("Writing")
    assert card.moving() > 0
    notebook.page.emulate_media(reduced_motion="reduce")
    assert card.moving() == 0
    card.press("Stop")


@pytest.mark.parametrize("width", [360, 700])
def test_a_narrow_card_scrolls_nothing_sideways(
    open_notebook: OpenNotebook, kitchen: Kitchen, width: int
):
    kitchen.let("ask")
    notebook = open_notebook(LOAD, ASK)
    notebook.page.set_viewport_size({"width": width, "height": 900})
    notebook.command("application:toggle-left-area")
    card = notebook.after_loading().run().card
    card.form()
    for fact in ("agent", "word", "btn"):
        expect(card.node.locator(f".b-head .b-{fact}").first).to_be_visible()
    assert card.node.evaluate("(node) => node.scrollWidth <= node.clientWidth")
