"""A run that waits: seen twice, asked for again, ended."""

import ast

import pytest
from browser.notebooks import LOAD, Notebook, OpenNotebook, asking
from browser.projects import Kitchen
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def test_two_pages_show_one_form_and_the_first_answer_counts(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    notebook, form = asking(open_notebook, kitchen)
    notebook.save()
    other = open_notebook()
    twin = other.cell(1).card.form()
    form.press("Approve")
    kitchen.wait_for_ledger("Wheat x1")
    expect(twin.node).to_have_count(0)
    expect(other.cell(1).card.node).to_contain_text("Approved")
    kitchen.let("publish")
    for page in (notebook, other):
        page.cell(1).card.wait_for_state("Finished")
    assert kitchen.ledger() == ["Wheat x1"]


def test_a_cell_run_again_while_it_waits_starts_nothing_until_it_is_discarded(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    notebook, _ = asking(open_notebook, kitchen)
    cell = notebook.cell(1)
    kitchen.let("publish")
    cell.run()
    card = cell.card
    expect(card.node).to_contain_text("This cell's run is still waiting.")
    assert runs(notebook) == ["publisher-1"]
    card.form()
    card.press("Discard and run again")
    expect(card.node).not_to_contain_text("This cell's run is still waiting.")
    card.form().press("Approve")
    card.wait_for_state("Finished")
    assert kitchen.ledger() == ["Wheat x1"]
    assert runs(notebook) == ["publisher-2", "publisher-1"]


def test_ending_a_run_that_waits_asks_once_and_withdraws_the_question(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    notebook, form = asking(open_notebook, kitchen)
    card = notebook.cell(1).card
    card.press("End run")
    card.press("Keep waiting")
    expect(form.node).to_be_visible()
    card.press("End run")
    card.press("End")
    card.wait_for_state("Stopped by you")
    expect(form.node).to_have_count(0)
    notebook.cell(1).wait_for_text("publisher stopped by you")
    assert kitchen.ledger() == []


def test_after_a_crash_a_person_says_what_became_of_a_call(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    notebook = open_notebook(LOAD, "import gates; gates.crash_at('crash')")
    notebook.after_loading().run()
    cell = notebook.add("%bread holder Rye").start()
    cell.card.wait_for_state("Running hold")
    kitchen.wait_for_ledger("hold dough")
    kitchen.let("crash")
    notebook.accept_crash()
    cell.card.wait_for_state("No kernel behind this card")
    notebook.add(LOAD).run()
    pending = notebook.add("%bread pending").run()
    pending.card.wait_for_row("holder-1", "interrupted")
    card = notebook.add("%bread show last").run().card
    card.wait_for_state("Interrupted")
    card.button("Go on").dblclick()
    card.wait_for_state("Waiting for you")
    expect(card.node).not_to_contain_text("The kernel ended while this run worked")
    pending.card.wait_for_row("did it happen? hold")
    form = card.form()
    expect(form.button("Go on")).to_have_attribute("aria-disabled", "true")
    assert kitchen.ledger() == ["hold dough"]
    form.node.get_by_text("It did not happen. Run it now.").click()
    kitchen.let("hold")
    form.press("Go on")
    card.wait_for_state("Finished")
    assert kitchen.ledger() == ["hold dough", "hold dough", "let go dough"]


def runs(notebook: Notebook) -> list[str]:
    """The handles of all runs, the newest first."""
    lines = "from bread_nb import Bread\n[r.handle for r in await Bread.load().runs()]"
    return ast.literal_eval(notebook.add(lines).run().text)
