"""The inbox in a page: rows, filters, answers here and elsewhere, and what moves."""

import pytest
from browser.cards import INERT_MILLISECONDS, CardView
from browser.lab import BOTH_LABS
from browser.notebooks import LOAD, CellView, Notebook, OpenNotebook
from browser.projects import Kitchen
from playwright.sync_api import Locator, expect

pytestmark = [pytest.mark.browser, BOTH_LABS]


def waiting(open_notebook: OpenNotebook, kitchen: Kitchen, *lines: str) -> Notebook:
    """A notebook whose cells have all ended with a form."""
    kitchen.let("ask")
    notebook = open_notebook(LOAD, *lines)
    notebook.cell(0).run()
    for index, _ in enumerate(lines, start=1):
        notebook.cell(index).run().card.form()
    return notebook


def inbox(notebook: Notebook) -> CellView:
    """The inbox, in a new cell."""
    cell = notebook.add("%bread pending").run()
    expect(cell.card.node).to_contain_text("wait")
    return cell


def rows(card: CardView) -> Locator:
    return card.node.locator(".b-inrow")


def row(card: CardView, handle: str) -> Locator:
    return rows(card).filter(has_text=handle)


def top(node: Locator) -> float:
    return node.evaluate("(node) => node.getBoundingClientRect().top")


def test_a_row_unfolds_into_the_form_and_its_run_goes_on_below(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    notebook = waiting(
        open_notebook, kitchen, "%bread publisher Rye", "%bread publisher Oat"
    )
    cell = inbox(notebook)
    card = cell.card
    expect(card.node).to_contain_text("2 calls wait")
    expect(rows(card)).to_have_count(2)
    expect(card.forms).to_have_count(1)
    second = row(card, "publisher-2")
    second.locator("summary").first.click()
    expect(second.locator(".b-form")).to_contain_text("Let publisher run publish?")
    expect(second).to_contain_text("Asked to: Oat")
    expect(second).to_contain_text("Said last: The post is ready.")
    notebook.page.wait_for_timeout(INERT_MILLISECONDS)
    second.get_by_role("button", name="Approve", exact=True).dblclick()
    kitchen.wait_for_ledger("Oat x1")
    card.wait_for_row("publisher-2", "Approved", "Running publish")
    cell.below.wait_for_state("Running publish")
    kitchen.let("publish")
    card.wait_for_row("publisher-2", "Approved", "Finished")
    expect(card.node).to_contain_text("1 call waits")
    cell.wait_for_text("The blog said: published Oat x1")
    assert kitchen.ledger() == ["Oat x1"]


def test_filters_leave_the_rows_that_are_looked_for(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    notebook = waiting(
        open_notebook,
        kitchen,
        "%bread publisher Rye",
        "%bread publisher --session blog Oat",
    )
    card = inbox(notebook).card
    card.node.get_by_label("session").select_option("blog")
    expect(row(card, "publisher-2")).to_be_visible()
    expect(row(card, "publisher-1")).to_be_hidden()
    expect(card.node).to_contain_text("1 of 2 shown")
    card.node.get_by_label("session").select_option("")
    expect(row(card, "publisher-1")).to_be_visible()


def test_a_row_answered_elsewhere_greys_out_and_nothing_moves_under_the_pointer(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    notebook = waiting(
        open_notebook, kitchen, "%bread publisher Rye", "%bread publisher Oat"
    )
    card = inbox(notebook).card
    second = row(card, "publisher-2")
    second.locator("summary").first.hover()
    before = top(second)
    kitchen.let("publish")
    said = kitchen.bread("resume", "publisher-1", "--deny", "not now")
    assert said.code == 0, said.err
    card.wait_for_row("publisher-1", "Denied: not now")
    expect(row(card, "publisher-1")).to_have_attribute("data-state", "gone")
    assert top(second) == pytest.approx(before, abs=1)
    notebook.page.mouse.move(0, 0)
    expect(row(card, "publisher-1")).to_be_hidden()
    expect(second).to_be_visible()
    assert kitchen.ledger() == []
