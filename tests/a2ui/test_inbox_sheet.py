"""The inbox as messages: rows and forms, told once, and whole on request."""

import json

from a2ui.official import OURS, faults
from a2ui.page import Page
from a2ui.told import Told
from jsonschema import Draft202012Validator

from bread_nb.a2ui.card import Card
from bread_nb.a2ui.inbox_sheet import InboxRow, InboxSheet, inbox_title
from bread_nb.a2ui.questions import Extras

SHAPES = json.loads(OURS.read_text())
NOW = 700_000


def asking(key: str, tool: str, **more: object) -> InboxRow:
    """A row of a run that waits with one call."""
    card = Card("run_1", clock=lambda: NOW)
    told = Told().start().text("It is ready.").ask("1", tool, title="Rye", **more)
    for crumb in told.crumbs:
        card.accept(crumb)
    card.add_extras("check-1", Extras(nonce="once"))
    return InboxRow(
        id=key,
        card=card,
        run=f"{tool}er-1",
        checkpoint="check-1",
        asked_at=NOW - 60_000,
        input="Publish the rye post.",
    )


def sheet(*rows: InboxRow) -> InboxSheet:
    made = InboxSheet("inbox_1")
    made.rows = {row.id: row for row in rows}
    for row in rows:
        row.draw(NOW)
    return made


def valid(message: dict) -> list[str]:
    return [f for one in message["messages"] for f in faults(one, "v0.9", "ours")]


def test_the_whole_and_every_frame_are_messages_of_our_catalogue():
    row = asking("q_1", "publish")
    made, page = sheet(row, asking("q_2", "draft")), Page()
    whole = made.snapshot()
    page.take(whole)
    row.unfolded = True
    row.draw(NOW)
    frame = made.frame()
    assert frame is not None
    page.take(frame)
    assert valid(whole) + valid(frame) == []
    places = [("InboxHead", page.data["head"]), ("FormValue", page.data["b"]["f_q_1"])]
    places += [("InboxRowValue", value) for value in page.data["rows"].values()]
    for shape, value in places:
        schema = {"$ref": f"#/$defs/{shape}", "$defs": SHAPES["$defs"]}
        assert list(Draft202012Validator(schema).iter_errors(value)) == []


def test_frames_add_up_to_the_whole_and_time_alone_sends_nothing():
    row = asking("q_1", "publish")
    made, page = sheet(row), Page()
    page.take(made.snapshot())
    row.draw(NOW + 60_000)
    assert made.frame() is None
    row.unfolded = True
    row.draw(NOW)
    page.take(made.frame())
    row.state, row.end = "settled", "Approved"
    row.draw(NOW)
    page.take(made.frame())
    again = Page()
    again.take(made.snapshot())
    assert (again.data, again.components) == (page.data, page.components)
    assert page.data["head"]["title"] == "No run waits for you."


def test_a_row_says_what_is_asked_and_how_it_came_to_that():
    row = asking("q_1", "publish")
    row.draw(NOW)
    value = row.value
    assert value["ask"] == "publish"
    assert value["preview"] == 'title="Rye"'
    assert (value["asked"], value["said"]) == ("Publish the rye post.", "It is ready.")
    assert (value["agent"], value["did"]) == ("analyst", "model, publish")
    assert value["age_ms"] == 60_000


def test_a_form_in_a_row_is_the_run_s_own_but_for_what_is_about_several():
    row = asking("q_1", "publish")
    row.unfolded = True
    row.draw(NOW)
    assert row.form is not None
    kind, value = row.form
    assert (kind, value["nonce"], value["title"]) == (
        "Approval",
        "once",
        "Let analyst run publish?",
    )
    assert (value["of"], value["bulk"]) == (1, False)


def test_an_interrupted_run_is_a_row_without_a_form():
    card = Card("run_1", clock=lambda: NOW)
    for crumb in Told().start().text("I knead.").call("1", "knead").crumbs:
        card.accept(crumb)
    card.story.interrupted()
    row = InboxRow(id="r_1", card=card, run="baker-1", checkpoint=None, asked_at=0)
    row.unfolded = True
    row.draw(NOW)
    assert (row.form, row.value["kind"]) == (None, "interrupted")
    assert str(row.value["note"]).startswith("The kernel ended while this run worked.")


def test_long_input_and_what_is_invisible_in_it_are_cut_and_shown():
    row = asking("q_1", "publish")
    row.input = {"topic": "rye\u202e" + "x" * 300, "api_key": "k-123456"}
    row.draw(NOW)
    asked = str(row.value["asked"])
    assert "⟦U+202E⟧" in asked
    assert "k-123456" not in json.dumps(row.value)
    assert len(asked) <= 110


def test_the_title_counts_calls_and_runs():
    assert [inbox_title(*n) for n in ((0, 0), (1, 0), (3, 1), (0, 2))] == [
        "No run waits for you.",
        "1 call waits",
        "3 calls wait, 1 run was interrupted",
        "2 runs were interrupted",
    ]


def test_more_rows_than_are_shown_are_counted():
    made = sheet(asking("q_1", "publish"))
    made.more = 4
    page = Page()
    page.take(made.snapshot())
    assert page.data["head"]["more"].startswith("4 more wait; answer some of these")
