"""Ten thousand pieces of text in one run."""

import pytest
from browser.notebooks import LOAD, OpenNotebook
from browser.projects import Kitchen
from browser.sent import busiest_second, read_frame
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]
PIECES = 10_000
MOST_IN_A_SECOND = 20
MOST_BYTES = 200_000
RUN_SECONDS = 60
# A page that answers a press so late would be felt as stuck.
ANSWER_MILLISECONDS = 1000
CHECK = "print(_.text.split() == [str(n) for n in range(10_000)], len(_.text))"


def test_ten_thousand_pieces_arrive_whole_in_few_messages_on_a_page_that_answers(
    open_notebook: OpenNotebook, kitchen: Kitchen
):
    notebook = open_notebook(LOAD, "%bread flood Count", CHECK, "")
    cell = notebook.after_loading()
    frames = len(notebook.told.frames)
    cell.start()
    expect(cell.card.prose).to_contain_text(" 120 ", timeout=RUN_SECONDS * 1000)
    notebook.cell(3).node.locator(".cm-content").click()
    notebook.page.keyboard.type("typed meanwhile")
    expect(notebook.cell(3).node.locator(".cm-content")).to_have_text("typed meanwhile")
    assert not kitchen.ledger()
    place, slowest = notebook.scroll_position(), 0.0
    while not kitchen.ledger():
        slowest = max(
            slowest, notebook.milliseconds_to_answer(cell.card.button("Stop"))
        )
    assert notebook.scroll_position() == place
    cell.wait(RUN_SECONDS)
    assert slowest < ANSWER_MILLISECONDS
    cell.card.wait_for_state("Finished")
    paragraphs = cell.card.prose.locator("p").all_text_contents()
    assert " ".join(paragraphs).split() == [str(n) for n in range(PIECES)]

    sent = [read_frame(frame) for frame in notebook.told.frames[frames:]]
    to_widgets = [one for one in sent if one.kind == "comm_msg"]
    assert len(to_widgets) > MOST_IN_A_SECOND
    assert busiest_second(to_widgets) <= MOST_IN_A_SECOND

    whole, length = notebook.cell(2).run().text.split()
    assert whole == "True"
    notebook.save()
    assert notebook.path.stat().st_size < MOST_BYTES + int(length)
