"""A call that asks: its form, each answer, and a kernel that is gone."""

import pytest
from browser.lab import BOTH_LABS
from browser.notebooks import ASK, LOAD, OpenNotebook, asking
from browser.projects import Kitchen
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, BOTH_LABS]
DEAD = "No kernel behind this card"
# Two seconds, and five times that on a machine that does other things as well.
DEAD_SECONDS = 10


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
    expect(card.node).to_contain_text("%load_ext bread_nb, then %bread pending")
    expect(form.button("Approve")).to_have_attribute("aria-disabled", "true")
    card.press("Try again")
    card.wait_for_state(DEAD, DEAD_SECONDS)
    notebook.add(LOAD).run()
    pending = notebook.add("%bread pending").run()
    pending.card.form().press("Approve")
    pending.card.wait_for_row("publisher-1", "Approved")
    pending.wait_for_text("The blog said: published Wheat x1")
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
    cell.wait_for_text("Answer with %load_ext bread_nb, then %bread pending")
    expect(cell.card.node).to_have_count(0)
    notebook.told.errors.clear()  # JupyterLab says on the console too what it misses
