"""Evaluations in a page: the bar, Stop and going on, a reload, a dead kernel."""

import pytest
from browser.cards import CardView
from browser.lab import BOTH_LABS
from browser.notebooks import LOAD, CellView, Notebook, OpenNotebook
from browser.projects import Kitchen
from browser.sent import busiest_second, read_frame
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, BOTH_LABS]
STOP_SECONDS = 5
MANY_SECONDS = 90
MOST_IN_A_SECOND = 20
MOST_BYTES = 150_000
ANSWER_MILLISECONDS = 1000
LOAVES = "agents/baker/evals/loaves.py"
EVAL = f"%bread eval {LOAVES} --concurrency 2"
AWAIT = (
    f"from bread_nb import Bread\nawait Bread.load().eval('{LOAVES}', concurrency=2)"
)


def at_work(
    open_notebook: OpenNotebook, kitchen: Kitchen, line: str = EVAL
) -> tuple[Notebook, CellView]:
    """A notebook whose second cell evaluates, three of its six rows done."""
    kitchen.let("loaf-1", "loaf-2", "loaf-3")
    notebook = open_notebook(LOAD, line, "")
    cell = notebook.after_loading().start()
    wait_for_done(cell.card, 3)
    return notebook, cell


def wait_for_done(card: CardView, number: int) -> None:
    expect(card.node.get_by_role("progressbar")).to_have_attribute("value", str(number))


def let_all(kitchen: Kitchen) -> None:
    kitchen.let(*(f"loaf-{n}" for n in range(1, 7)))


def test_the_bar_moves_failures_appear_and_the_report_takes_their_place(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    notebook, cell = at_work(open_notebook, kitchen)
    card = cell.card
    card.wait_for_state("Evaluating")
    expect(card.node).to_contain_text("3 of 6")
    expect(card.node).to_contain_text("✓ 2 passed")
    expect(card.node).to_contain_text("✗ 1 failed")
    expect(card.node.get_by_role("listitem")).to_have_text(
        "✗loaf 2contains: it lacks 'bread'"
    )
    expect(card.node).to_contain_text("no charge")
    kitchen.let("loaf-4")
    wait_for_done(card, 4)
    let_all(kitchen)
    cell.wait()
    expect(cell.node.locator(".bread")).to_have_count(0)
    cell.wait_for_text("loaves: 5 of 6 passed")
    cell.wait_for_text("✗ failed")
    saved = notebook.save().cells[1].outputs
    kinds = {"text/plain", "text/markdown", "text/html"}
    assert [set(output.data) for output in saved] == [set(), kinds]


@pytest.mark.parametrize("line", [EVAL, AWAIT])
def test_stop_keeps_what_is_done_and_the_cell_run_again_goes_on(
    open_notebook: OpenNotebook, kitchen: Kitchen, line: str
):
    _, cell = at_work(open_notebook, kitchen, line)
    cell.card.press("Stop")
    cell.wait(STOP_SECONDS)
    cell.wait_for_text("Stopped by you.")
    cell.wait_for_text("3 of 6 rows are kept.")
    expect(cell.node.locator(".bread")).to_have_count(0)
    let_all(kitchen)
    cell.run()
    cell.wait_for_text("loaves: 5 of 6 passed")
    assert sorted(kitchen.ledger()) == [f"prove loaf-{n}" for n in range(1, 7)]


def test_a_page_that_is_loaded_meanwhile_sees_it_to_its_end(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    notebook, cell = at_work(open_notebook, kitchen)
    notebook.save()
    notebook.page.reload()
    notebook.wait_until_there()
    let_all(kitchen)
    cell.card.wait_for_state("Finished")
    expect(cell.card.node).to_contain_text("6 of 6")
    expect(cell.card.node).to_contain_text("Run _ in a new cell")
    assert "loaves: 5 of 6 passed" in notebook.add("_").run().text


def test_a_dead_kernel_is_told_and_the_rows_are_kept(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    notebook, cell = at_work(open_notebook, kitchen)
    notebook.restart_kernel()
    card = cell.card
    expect(card.node).to_contain_text("No kernel behind this card")
    expect(card.node).to_contain_text("Run the cell again to go on")
    let_all(kitchen)
    notebook.after_loading().run()
    cell.wait_for_text("loaves: 5 of 6 passed")
    proved = kitchen.ledger()
    assert [proved.count(f"prove loaf-{n}") for n in (1, 2, 3)] == [1, 1, 1]


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
@pytest.mark.parametrize("width", [360, 700])
def test_it_reads_well_in_little_room_in_both_themes_and_without_motion(
    open_notebook: OpenNotebook, kitchen: Kitchen, width: int, theme: str
):
    notebook, cell = at_work(open_notebook, kitchen)
    notebook.command("apputils:change-theme", theme=theme)
    notebook.page.set_viewport_size({"width": width, "height": 900})
    notebook.command("application:toggle-left-area")
    notebook.page.emulate_media(reduced_motion="reduce")
    card = cell.card
    scheme = "dark" if "Dark" in theme else "light"
    expect(card.node).to_have_attribute("data-theme", scheme)
    expect(card.button("Stop")).to_be_visible()
    expect(card.node.get_by_role("progressbar")).to_be_visible()
    assert card.node.evaluate("(node) => node.scrollWidth <= node.clientWidth")
    assert card.moving() == 0
    notebook.command("apputils:change-theme", theme="JupyterLab Light")
    card.press("Stop")
    cell.wait(STOP_SECONDS)


def test_the_keyboard_alone_stops_it(open_notebook: OpenNotebook, kitchen: Kitchen):
    _, cell = at_work(open_notebook, kitchen)
    stop = cell.card.button("Stop")
    stop.focus()
    stop.press("Shift+Enter")
    assert cell.running
    stop.press("Enter")
    cell.wait(STOP_SECONDS)
    cell.wait_for_text("3 of 6 rows are kept.")


def test_a_thousand_rows_leave_the_page_quick_and_the_notebook_small(
    open_notebook: OpenNotebook,
):
    line = "%bread eval agents/baker/evals/many.py --concurrency 50"
    notebook = open_notebook(LOAD, line, "")
    cell = notebook.after_loading()
    frames = len(notebook.told.frames)
    cell.start()
    stop, slowest = cell.card.button("Stop"), 0.0
    stop.wait_for()
    for _ in range(3):
        slowest = max(slowest, notebook.milliseconds_to_answer(stop))
    cell.wait(MANY_SECONDS)
    assert slowest < ANSWER_MILLISECONDS
    cell.wait_for_text("rolls: 999 of 1000 passed")
    sent = [read_frame(frame) for frame in notebook.told.frames[frames:]]
    to_widgets = [one for one in sent if one.kind == "comm_msg"]
    assert busiest_second(to_widgets) <= MOST_IN_A_SECOND
    expect(cell.node.locator(".bread")).to_have_count(0)
    notebook.save()
    assert notebook.path.stat().st_size < MOST_BYTES
