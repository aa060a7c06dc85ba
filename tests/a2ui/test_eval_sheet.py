"""An evaluation at work as messages: figures told once, and whole on request."""

import json
from dataclasses import replace

from a2ui.official import OURS, faults
from a2ui.page import Page
from jsonschema import Draft202012Validator

from bread_nb.a2ui.eval_sheet import EvalFigures, EvalSheet, Missed

SHAPES = json.loads(OURS.read_text())
OATS = Missed(mark="✗", case="oats", why="contains:\nit lacks 'bread'")
FIGURES = EvalFigures(
    name="bakery",
    total=1000,
    done=412,
    passed=409,
    failed=3,
    cost=0.0121,
    rest_ms=61_400,
    case="rye\u202e",
    missed=(OATS,),
)


def sheet(**changes: object) -> EvalSheet:
    made = EvalSheet("eval_1")
    made.figures = replace(FIGURES, **changes)
    return made


def shown(made: EvalSheet) -> Page:
    page = Page()
    page.take(made.snapshot())
    return page


def valid(message: dict) -> list[str]:
    return [f for one in message["messages"] for f in faults(one, "v0.9", "ours")]


def test_the_whole_and_every_frame_are_messages_of_our_catalogue():
    made, page = sheet(), Page()
    whole = made.snapshot()
    page.take(whole)
    made.figures = replace(FIGURES, done=1000, passed=997, rest_ms=None)
    made.end, made.note = "finished", "Look below."
    frame = made.frame()
    assert frame is not None
    page.take(frame)
    assert valid(whole) + valid(frame) == []
    data = page.data
    places = {"Head": data["head"], "Note": data["note"], "Trail": data["trail"]}
    for shape, value in {**places, "EvaluationValue": data["b"]["eval"]}.items():
        schema = {"$ref": f"#/$defs/{shape}", "$defs": SHAPES["$defs"]}
        assert list(Draft202012Validator(schema).iter_errors(value)) == []


def test_frames_add_up_to_the_whole_and_nothing_new_sends_nothing():
    made = sheet()
    page = shown(made)
    assert made.frame() is None
    made.figures = replace(FIGURES, done=413, passed=410)
    page.take(made.frame())
    made.stopping = True
    page.take(made.frame())
    again = shown(made)
    assert (again.data, again.components) == (page.data, page.components)
    assert (page.data["head"]["word"], page.data["head"]["button"]) == (
        "Stopping",
        None,
    )


def test_figures_are_sentences_and_what_cannot_be_seen_is_shown():
    told = shown(sheet()).data["b"]["eval"]
    assert (told["words"], told["passed"], told["failed"], told["broken"]) == (
        "412 of 1,000",
        "409 passed",
        "3 failed",
        "",
    )
    assert told["case"] == "rye⟦U+202E⟧"
    assert told["missed"][0]["why"] == "contains: it lacks 'bread'"
    assert told["more"] == "2 more did not pass"


def test_the_cost_says_what_is_not_known():
    said = {
        "": {"done": 0},
        "no charge": {"cost": 0.0},
        "cost unknown": {"cost": 0.0, "unpriced": 1},
        "at least $0.0121": {"unpriced": 1, "budget": 1.0},
        "$0.0121 of $1.00": {"budget": 1.0},
        "$0.0121": {},
    }
    assert [sheet(**more).figures.cost_words() for more in said.values()] == [*said]


def test_the_line_for_front_ends_without_cards_says_the_same():
    assert FIGURES.line() == (
        "bakery: 412 of 1,000 · 409 passed · 3 failed · $0.0121 · about 1:01 to go"
    )
    assert FIGURES.kept_words() == "412 of 1,000 rows are kept"


def test_each_end_has_a_word_a_role_and_a_mark():
    made, ends = sheet(), []
    for end in ("finished", "stopped", "failed"):
        made.end = end
        head = shown(made).data["head"]
        ends.append((head["word"], head["role"], head["mark"], head["button"]))
    assert ends == [
        ("Finished", "ok", "tick", None),
        ("Stopped by you", "still", "square", None),
        ("Failed", "bad", "cross", None),
    ]
