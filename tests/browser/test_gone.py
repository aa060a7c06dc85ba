"""A page or a kernel that goes: what stays in the cell is true, and says what works."""

import pytest
from browser.lab import BOTH_LABS
from browser.notebooks import LOAD, OpenNotebook, asking
from browser.projects import Kitchen
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, BOTH_LABS]
WHOLE = "Rye flour drinks more water than wheat, so the dough is soft."
STAYS = "talker is still at work. If this line stays, run %load_ext bread_nb"


def test_a_page_that_is_reloaded_while_a_run_works_keeps_a_line(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    notebook = open_notebook(LOAD, "%bread talker Rye")
    cell = notebook.after_loading().start()
    cell.wait_for_text(STAYS)
    notebook.save()
    notebook.page.reload()
    notebook.wait_until_there()
    cell = notebook.cell(1)
    cell.wait_for_text(STAYS)
    kitchen.let("more")
    cell.card.wait_for_state("Finished", 60)
    expect(cell.card.node).to_contain_text("is older than this card")
    expect(cell.card.node).to_contain_text("%bread show talker-1 in a new cell")
    notebook.add("%bread show talker-1").run().wait_for_text(WHOLE)


def test_an_answer_after_a_reload_names_what_keeps_it(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    notebook, _ = asking(open_notebook, kitchen)
    notebook.save()
    notebook.reload()
    card = notebook.cell(1).card
    kitchen.let("publish")
    card.form().press("Approve")
    card.wait_for_state("Finished")
    expect(card.node).to_contain_text("%bread show publisher-1 in a new cell")
    shown = notebook.add("%bread show publisher-1").run()
    shown.wait_for_text("publisher finished")


def test_a_run_that_has_ended_misses_no_kernel(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    kitchen.let("more")
    notebook = open_notebook(LOAD, "%bread talker Rye")
    cell = notebook.after_loading().run()
    cell.card.wait_for_state("Finished")
    notebook.restart_kernel()
    notebook.add("'there'").run()
    expect(cell.node).to_contain_text(WHOLE)
    card = cell.card
    card.wait_for_state("Finished")
    expect(card.button("Try again")).to_be_hidden()
    expect(card.node).to_have_attribute("data-role", "ok")


def test_try_again_after_a_restart_is_answered(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    notebook, _ = asking(open_notebook, kitchen)
    card = notebook.cell(1).card
    notebook.restart_kernel()
    card.wait_for_state("No kernel behind this card")
    card.press("Try again")
    expect(card.node).to_contain_text("No kernel has answered")
    expect(card.node).to_contain_text("%load_ext bread_nb, then %bread pending")
    notebook.add(LOAD).run()
    notebook.add("%bread pending").run().card.wait_for_row("publisher-1")
