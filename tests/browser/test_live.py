"""What a person sees while runs work, and after they have ended."""

import pytest
from browser.notebooks import LOAD, OpenNotebook
from browser.projects import HOLD_BUTTON, Kitchen
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
FIRST = "Rye flour drinks more water"
WHOLE = "Rye flour drinks more water than wheat, so the dough is soft."


def test_text_appears_while_the_cell_runs(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    notebook = open_notebook(LOAD, "%%bread talker\nAbout rye")
    cell = notebook.after_loading().start()
    expect(cell.card.prose).to_contain_text(FIRST)
    cell.card.wait_for_state("Writing")
    assert cell.running
    kitchen.let("more")
    cell.wait()
    cell.card.wait_for_state("Finished")
    assert WHOLE in cell.text


def test_the_first_cell_after_restart_and_run_all_is_live_too(
    open_notebook: OpenNotebook,
):
    notebook = open_notebook(LOAD, "%%bread talker\nAbout rye")
    notebook.restart_and_run_all()
    card = notebook.cell(1).card
    expect(card.prose).to_contain_text(FIRST)
    card.press("Stop")
    notebook.cell(1).wait_for_text("Stopped by you.")


def test_an_ended_card_settles_when_the_next_cell_runs_and_the_picture_stays(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    kitchen.let("more")
    notebook = open_notebook(LOAD, "%%bread talker\nAbout rye", "'next'")
    cell = notebook.after_loading().run()
    cell.card.wait_for_state("Finished")
    expect(cell.outputs).to_have_count(2)
    notebook.cell(2).run()
    expect(cell.card.node).to_have_count(0)
    assert WHOLE in cell.text
    expect(cell.outputs).to_have_count(1)
    saved = notebook.save().cells[1].outputs
    assert [set(output.data) for output in saved] == [
        set(),
        {"text/plain", "text/markdown", "text/html"},
    ]


def test_cells_that_run_after_one_another_hold_nothing_but_their_own(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    kitchen.let("more")
    notebook = open_notebook(LOAD, "%bread talker Rye", "'next'")
    cell = notebook.after_loading()
    for _ in range(3):
        cell.run().card.wait_for_state("Finished")
        cell.run().card.wait_for_state("Finished")
        assert notebook.cell(2).run().text == "'next'"
        assert [output.data.keys() for output in notebook.save().cells[1].outputs] == [
            {}.keys(),
            {"text/plain": "", "text/markdown": "", "text/html": ""}.keys(),
        ]


def test_a_card_that_is_late_stands_in_its_place_again(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    notebook = open_notebook(LOAD, HOLD_BUTTON, "%bread talker Rye")
    other = notebook.after_loading().run()
    kitchen.hold_widgets(other.node.get_by_role("button", name="Hold"))
    cell = notebook.cell(2).start()
    cell.wait_for_text("Interrupt the kernel to stop.")
    kitchen.let("button")
    expect(cell.card.prose).to_contain_text(FIRST)
    assert "Interrupt the kernel" not in cell.text
    kitchen.let("more")
    cell.wait().card.wait_for_state("Finished")


def test_a_run_that_cannot_begin_says_why_and_leaves_no_card(
    open_notebook: OpenNotebook,
):
    start = "from bread_nb import Bread\nBread.load().run('talker')"
    notebook = open_notebook(LOAD, start)
    cell = notebook.after_loading().run()
    cell.wait_for_text("The input does not fit talker. [INVALID_INPUT]")
    expect(cell.card.node).to_have_count(0)


def test_two_runs_at_once_stay_in_their_own_cells(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    start = "from bread_nb import Bread\nbread = Bread.load()"
    one, two = (
        "one = bread.run('talker', 'Rye'); one",
        "bread.run('publisher', 'Wheat')",
    )
    notebook = open_notebook(LOAD, start, one, two)
    notebook.after_loading().run()
    talker, publisher = notebook.cell(2).run(), notebook.cell(3).run()
    expect(talker.card.prose).to_contain_text(FIRST)
    publisher.card.wait_for_state("Asking the model")
    kitchen.let("ask")
    form = publisher.card.form()
    kitchen.let("more", "publish")
    form.press("Approve")
    publisher.card.wait_for_state("Finished")
    talker.card.wait_for_state("Finished")
    publisher.wait_for_text("The blog said: published Wheat x1")
    talker.wait_for_text(WHOLE)
    assert "blog" not in talker.text
    assert "the dough is soft" not in publisher.text


def test_a_resumed_run_stays_in_its_cell_while_another_cell_works(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    kitchen.let("ask")
    notebook = open_notebook(LOAD, "%bread publisher Wheat", "%bread talker Rye")
    publisher = notebook.after_loading().run()
    publisher.card.form().press("Approve")
    kitchen.wait_for_ledger("Wheat x1")
    talker = notebook.cell(2).start()
    expect(talker.card.prose).to_contain_text(FIRST)
    kitchen.let("publish")
    publisher.wait_for_text("The blog said: published Wheat x1")
    assert talker.running
    kitchen.let("more")
    talker.wait()
    assert "blog" not in talker.text
    assert "the dough is soft" not in publisher.text


def test_a_reloaded_page_redraws_what_works(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    start = "from bread_nb import Bread\nbread = Bread.load()"
    notebook = open_notebook(LOAD, start, "bread.run('talker', 'Rye')")
    notebook.after_loading().run()
    cell = notebook.cell(2).run()
    expect(cell.card.prose).to_contain_text(FIRST)
    notebook.save()
    notebook.reload()
    expect(cell.card.prose).to_contain_text(FIRST)
    cell.card.wait_for_state("Writing")
    kitchen.let("more")
    cell.card.wait_for_state("Finished")
    expect(cell.card.prose).to_contain_text(WHOLE)


def test_a_reloaded_page_redraws_what_waits_and_the_answer_counts(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    kitchen.let("ask", "publish")
    notebook = open_notebook(LOAD, "%bread publisher Wheat")
    cell = notebook.after_loading().run()
    cell.card.form()
    notebook.save()
    notebook.reload()
    cell.card.wait_for_state("Waiting for you")
    cell.card.form().press("Approve")
    cell.card.wait_for_state("Finished")
    expect(cell.card.prose).to_contain_text("The blog said: published Wheat x1")
    expect(cell.card.node).to_contain_text("is older than this card")
    assert kitchen.ledger() == ["Wheat x1"]


def test_a_page_reloaded_while_its_cell_works_keeps_the_card_and_says_what_to_do(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    notebook = open_notebook(LOAD, "%bread talker Rye", "'next'")
    cell = notebook.after_loading().start()
    expect(cell.card.prose).to_contain_text(FIRST)
    notebook.save()
    notebook.page.reload()
    notebook.wait_until_there()
    kitchen.let("more")
    notebook.wait_until_ready()
    cell.card.wait_for_state("Finished")
    expect(cell.card.node).to_contain_text("is older than this card")
    notebook.cell(2).run()
    expect(cell.card.prose).to_contain_text(WHOLE)
    notebook.add("%bread show last").run()
    notebook.cell(3).wait_for_text(WHOLE)
