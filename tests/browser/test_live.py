"""What a person sees while runs work, and after they have ended."""

import pytest
from browser.notebooks import LOAD, OpenNotebook
from browser.projects import Kitchen
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
    tops = [(box or {})["height"] for box in boxes(cell.outputs.all())]
    assert len([height for height in tops if height > 0]) == 1
    saved = notebook.save().cells[1].outputs
    assert [set(output.data) for output in saved] == [
        set(),
        {"text/plain", "text/markdown", "text/html"},
    ]


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
    assert "flour" not in publisher.text


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
    assert "flour" not in publisher.text


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
    expect(cell.card.node).to_contain_text("The saved copy below is older")
    assert kitchen.ledger() == ["Wheat x1"]


def boxes(nodes):
    return [node.bounding_box() for node in nodes]
