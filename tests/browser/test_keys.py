"""Keys pressed inside a card reach nobody but the card."""

import pytest
from browser.lab import ALL_FRONTS
from browser.notebooks import OpenNotebook, asking
from browser.projects import Kitchen
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, ALL_FRONTS]


def test_no_key_but_enter_and_space_answers_and_none_touches_the_cell(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    kitchen.let("publish")
    notebook, _ = asking(open_notebook, kitchen)
    cell, card, keys = notebook.cell(1), notebook.cell(1).card, notebook.page.keyboard
    before, count = notebook.sources(), cell.execution_count
    for name in ("Approve", "Deny…", "Edit arguments", "End run"):
        for stroke in ("Shift+Enter", "Control+Enter", "Alt+Enter", "d", "d", "x", "b"):
            card.button(name).focus()
            keys.press(stroke)
    expect(card.forms).to_have_count(1)
    expect(card.node).to_contain_text("Press Tab to reach Approve.")
    assert notebook.sources() == before
    assert cell.execution_count == count
    assert kitchen.ledger() == []
    card.button("Approve").focus()
    keys.press("Enter")
    card.wait_for_state("Finished")
    assert kitchen.ledger() == ["Wheat x1"]


def test_shift_enter_in_a_text_area_is_a_new_line_and_in_a_field_nothing(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    kitchen.let("publish")
    notebook, _ = asking(open_notebook, kitchen)
    cell, card, keys = notebook.cell(1), notebook.cell(1).card, notebook.page.keyboard
    count = cell.execution_count
    card.press("Edit arguments")
    form = card.form()
    form.field("body").fill("one")
    form.field("body").press("End")
    keys.press("Shift+Enter")
    keys.type("dd")
    expect(form.field("body")).to_have_value("one\ndd")
    form.field("title").focus()
    for stroke in ("Enter", "Shift+Enter", "Control+Enter"):
        keys.press(stroke)
    expect(form.node).to_be_visible()
    assert cell.execution_count == count
    assert kitchen.ledger() == []


def test_denying_needs_the_keyboard_alone(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    kitchen.let("publish")
    notebook, _ = asking(open_notebook, kitchen)
    card, keys = notebook.cell(1).card, notebook.page.keyboard
    card.button("Deny…").focus()
    keys.press("Enter")
    keys.type("too dry")
    card.form()
    keys.press("Tab")
    keys.press("Enter")
    card.wait_for_state("Finished")
    expect(card.prose).to_contain_text("too dry")
    assert kitchen.ledger() == []


def test_control_s_inside_a_card_still_saves(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    kitchen.let("publish")
    notebook, _ = asking(open_notebook, kitchen)
    notebook.cell(1).card.button("Approve").focus()
    notebook.page.keyboard.press("Control+s")
    notebook.wait_until_saved()
    assert notebook.read().cells[1].execution_count == 2


def test_escape_puts_focus_on_the_cell(open_notebook: OpenNotebook, kitchen: Kitchen):
    kitchen.let("publish")
    notebook, _ = asking(open_notebook, kitchen)
    card = notebook.cell(1).card
    card.button("Approve").focus()
    notebook.page.keyboard.press("Escape")
    inside = "() => document.activeElement?.closest('.jp-Notebook') !== null"
    assert notebook.page.evaluate(inside)
    expect(card.node.locator(":focus")).to_have_count(0)
