"""Stop ends a cell that blocks."""

import pytest
from browser.lab import BOTH_LABS
from browser.notebooks import LOAD, OpenNotebook
from browser.projects import HOLD_BUTTON, Kitchen
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, BOTH_LABS]
# One second by the card, two by interrupting the kernel; five times that here.
STOP_SECONDS = 5
FALLBACK_SECONDS = 10


def test_stop_ends_a_cell_whose_model_is_at_work(open_notebook: OpenNotebook):
    notebook = open_notebook(LOAD, "%bread talker Rye", "'next'")
    cell = notebook.after_loading().start()
    expect(cell.card.prose).to_contain_text("Rye flour")
    cell.card.press("Stop")
    cell.wait(STOP_SECONDS)
    cell.wait_for_text("Stopped by you.")
    cell.wait_for_text("The history is whole; the next message in its session")
    cell.card.wait_for_state("Stopped by you")
    assert notebook.cell(2).run().text == "'next'"


def test_stop_ends_a_cell_whose_tool_holds_its_thread(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    notebook = open_notebook(LOAD, "%bread holder Rye")
    cell = notebook.after_loading().start()
    kitchen.wait_for_ledger("hold dough")
    cell.card.press("Stop")
    cell.wait(STOP_SECONDS)
    cell.wait_for_text("Stopped by you.")
    kitchen.let("hold")
    cell.card.wait_for_state("Stopped by you")


def test_stop_interrupts_the_kernel_when_nothing_answers(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    notebook = open_notebook(LOAD, HOLD_BUTTON, "%bread talker Rye")
    other = notebook.after_loading().run()
    cell = notebook.cell(2).start()
    expect(cell.card.prose).to_contain_text("Rye flour")
    kitchen.hold_widgets(other.node.get_by_role("button", name="Hold"))
    cell.card.press("Stop")
    cell.wait(FALLBACK_SECONDS)
    cell.wait_for_text("Stopped by you.")
    kitchen.let("button")


def test_the_interrupt_button_of_the_page_ends_it_as_well(open_notebook: OpenNotebook):
    notebook = open_notebook(LOAD, "%bread talker Rye")
    cell = notebook.after_loading().start()
    expect(cell.card.prose).to_contain_text("Rye flour")
    notebook.command("notebook:interrupt-kernel")
    cell.wait(STOP_SECONDS)
    cell.card.wait_for_state("Stopped by you")
