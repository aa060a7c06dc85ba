"""What a notebook shows without its kernel, and what nothing in it may do."""

import pytest
from browser.notebooks import ASK, LOAD, OpenNotebook
from browser.projects import Kitchen
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
WHOLE = "Rye flour drinks more water than wheat, so the dough is soft."
CANARY = "() => window.canary"


def test_an_untrusted_notebook_shows_the_pictures(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    kitchen.let("more", "ask")
    first = open_notebook(LOAD, "%bread talker Rye", ASK)
    first.after_loading().run()
    first.cell(2).run().card.form()
    first.save()
    kitchen.forget_trust()
    notebook = open_notebook()
    notebook.cell(1).wait_for_text(WHOLE)
    notebook.cell(2).wait_for_text("publisher waits for a person")
    expect(notebook.page.locator(".bread")).to_have_count(0)
    expect(notebook.page.locator(".jp-OutputArea strong").first).to_have_text("talker")
    assert "not found" not in notebook.page.locator(".jp-Notebook").inner_text()


def test_nothing_that_a_model_says_runs_or_loads(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    notebook = open_notebook(
        LOAD, "%bread rogue <script>window.canary='fired'</script>"
    )
    page, cell = notebook.page, notebook.after_loading().run()
    card = cell.card
    card.form()
    for fold in card.node.locator("details").all():
        fold.evaluate("(node) => { node.open = true; }")
    assert page.evaluate(CANARY) is None
    expect(card.node.locator("img, script, iframe, svg, object, embed")).to_have_count(
        0
    )
    for link in card.node.locator("a").all():
        assert (link.get_attribute("href") or "").startswith(("http", "mailto:"))
        assert link.get_attribute("target") == "_blank"
        assert "noopener" in (link.get_attribute("rel") or "")
    card.form().press("Approve")
    card.wait_for_state("Finished")
    cell.wait_for_text("rogue finished")
    assert page.evaluate(CANARY) is None
    notebook.save()
    kitchen.forget_trust()
    untrusted = open_notebook()
    untrusted.cell(1).wait_for_text("rogue finished")
    assert untrusted.page.evaluate(CANARY) is None
