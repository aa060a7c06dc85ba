"""A call that waits for a person: its form, each answer, and a kernel that is gone."""

import ast

import pytest
from browser.cards import FormView
from browser.lab import BOTH_LABS
from browser.notebooks import LOAD, Notebook, OpenNotebook
from browser.projects import Kitchen
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, BOTH_LABS]
ASK = "%bread publisher Wheat"
DEAD = "No kernel behind this card"
# Two seconds, and five times that on a machine that does other things as well.
DEAD_SECONDS = 10


def asking(open_notebook: OpenNotebook, kitchen: Kitchen) -> tuple[Notebook, FormView]:
    """A notebook whose second cell has ended with a form."""
    kitchen.let("ask")
    notebook = open_notebook(LOAD, ASK)
    cell = notebook.after_loading().run()
    cell.card.wait_for_state("Waiting for you")
    return notebook, cell.card.form()


def test_an_asking_call_ends_the_cell_and_a_double_click_runs_it_once(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    notebook, form = asking(open_notebook, kitchen)
    cell = notebook.cell(1)
    assert kitchen.ledger() == []
    expect(form.node).to_contain_text("Let publisher run publish?")
    expect(form.node).to_contain_text("ask tool:publish")
    form.button("Approve").dblclick()
    kitchen.wait_for_ledger("Wheat x1")
    cell.card.wait_for_state("Running publish")
    kitchen.let("publish")
    cell.card.wait_for_state("Finished")
    expect(cell.card.node).to_have_count(1)
    cell.wait_for_text("The blog said: published Wheat x1")
    assert kitchen.ledger() == ["Wheat x1"]


def test_edited_arguments_are_what_runs(open_notebook: OpenNotebook, kitchen: Kitchen):
    notebook, form = asking(open_notebook, kitchen)
    card = notebook.cell(1).card
    kitchen.let("publish")
    form.press("Edit arguments")
    form.field("title").fill("Spelt")
    form.field("copies").fill("3")
    expect(form.node).to_contain_text("Changed from what the agent asked for (2)")
    form = card.form()
    form.press("Approve with changes")
    card.wait_for_state("Finished")
    assert kitchen.ledger() == ["Spelt x3"]
    expect(card.prose).to_contain_text("published Spelt x3")


def test_a_refusal_reaches_the_agent_with_its_reason(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    notebook, form = asking(open_notebook, kitchen)
    card = notebook.cell(1).card
    form.press("Deny…")
    form = card.form()
    form.field("Why? publisher will read this.").fill("not today")
    form.press("Deny")
    card.wait_for_state("Finished")
    expect(card.prose).to_contain_text("not today")
    assert kitchen.ledger() == []


def test_a_form_takes_no_focus_when_it_appears(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    notebook = open_notebook(LOAD, ASK, "")
    cell = notebook.after_loading().start()
    cell.card.wait_for_state("Asking the model")
    notebook.cell(2).node.locator(".cm-content").click()
    notebook.page.keyboard.type("before ")
    kitchen.let("ask")
    cell.card.form()
    notebook.page.keyboard.type("after")
    assert notebook.sources()[2] == "before after"


def test_after_a_kernel_restart_the_card_says_so_and_pending_has_the_form(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    notebook, form = asking(open_notebook, kitchen)
    kitchen.let("publish")
    card = notebook.cell(1).card
    notebook.restart_kernel()
    card.wait_for_state(DEAD, DEAD_SECONDS)
    expect(card.node).to_contain_text("Run %bread pending in a new cell to answer")
    expect(form.button("Approve")).to_have_attribute("aria-disabled", "true")
    card.press("Try again")
    card.wait_for_state(DEAD, DEAD_SECONDS)
    notebook.add(LOAD).run()
    pending = notebook.add("%bread pending").run()
    pending.card.form().press("Approve")
    pending.card.wait_for_state("Finished")
    expect(pending.card.prose).to_contain_text("published Wheat x1")
    assert kitchen.ledger() == ["Wheat x1"]


def test_a_kernel_that_was_restarted_from_elsewhere_shows_at_a_click(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    notebook, form = asking(open_notebook, kitchen)
    card = notebook.cell(1).card
    notebook.server.restart_kernels()
    if not card.button("Try again").is_visible():
        form.press("Approve")
    card.wait_for_state(DEAD, DEAD_SECONDS)
    assert kitchen.ledger() == []


def test_a_page_reloaded_after_a_restart_offers_no_dead_form(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    notebook, _ = asking(open_notebook, kitchen)
    cell = notebook.cell(1)
    notebook.save()
    notebook.restart_kernel()
    notebook.reload()
    expect(cell.outputs.first).to_have_text("Error displaying widget: model not found")
    cell.wait_for_text("publisher waits for a person")
    cell.wait_for_text("Answer with %bread pending")
    expect(cell.card.node).to_have_count(0)
    notebook.told.errors.clear()  # JupyterLab says on the console too what it misses


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


def runs(notebook: Notebook) -> list[str]:
    """The handles of all runs, the newest first."""
    lines = "from bread_nb import Bread\n[r.handle for r in await Bread.load().runs()]"
    return ast.literal_eval(notebook.add(lines).run().text)
