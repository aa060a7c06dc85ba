"""Answers given beforehand, by tool, used up in order."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from bread_nb import BreadError
from bread_nb.project.decisions import Decisions, as_answer
from bread_nb.runtime.outcome import PendingCall


def call(tool: str, kind: str = "approval") -> PendingCall:
    return PendingCall(
        checkpoint_id="c",
        handle="a-1.a",
        kind=kind,
        agent_id="a",
        run_id="r",
        session_id="s",
        tool_name=f"{'human' if kind == 'input' else 'tool'}_{tool}",
        args={},
    )


def decided(tmp_path: Path, text: str) -> Decisions:
    path = tmp_path / "decisions.yaml"
    path.write_text(text)
    return Decisions.read(path)


def test_a_file_answers_by_tool_and_in_order(tmp_path: Path):
    answers = decided(
        tmp_path,
        "publish: [deny, approve]\n"
        "order: {approved: false, reason: too dear}\n"
        "ask_name: Ada\n"
        "pick: {city: Rome}\n"
        "bake: run\n",
    )
    assert answers.answer(call("publish")) == {"approved": False}
    assert answers.answer(call("publish")) == {"approved": True}
    assert answers.answer(call("publish")) is None
    assert answers.answer(call("order")) == {"approved": False, "reason": "too dear"}
    assert answers.answer(call("ask_name", "input")) == {"answer": "Ada"}
    assert answers.answer(call("pick", "input")) == {"answer": {"city": "Rome"}}
    assert answers.answer(call("bake", "outcome")) == {"run": True}
    assert answers.answer(call("other")) is None


def test_a_star_stands_for_every_other_tool(tmp_path: Path):
    answers = decided(tmp_path, "'*': approve\npublish: deny\n")
    assert answers.answer(call("publish")) == {"approved": False}
    assert answers.answer(call("anything")) == {"approved": True}


def test_approving_all_answers_no_question_of_another_kind():
    answers = Decisions(approve=True)
    assert answers.answer(call("publish")) == {"approved": True}
    assert answers.answer(call("name", "input")) is None
    assert answers.answer(call("order", "outcome")) is None


def test_refusing_all_declines_questions_too():
    answers = Decisions(deny="not today")
    assert answers.answer(call("publish")) == {"approved": False, "reason": "not today"}
    assert answers.answer(call("name", "input")) == {
        "declined": True,
        "reason": "not today",
    }


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        ({"approved": True}, {"approved": True}),
        ({"declined": True, "reason": "x"}, {"declined": True, "reason": "x"}),
        ({"city": "Rome"}, {"answer": {"city": "Rome"}}),
        (3, {"answer": 3}),
    ],
)
def test_a_value_is_an_answer_or_what_was_asked_for(
    value: JsonValue, answer: JsonValue
):
    assert as_answer(value) == answer


@pytest.mark.parametrize(
    "text", ["- publish", "publish: [", "publish: yes", "publish:"]
)
def test_a_file_that_says_nothing_clear_is_refused(tmp_path: Path, text: str):
    with pytest.raises(BreadError) as caught:
        decided(tmp_path, text)
    assert caught.value.code == "INVALID_DECISIONS"


def test_a_file_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(BreadError) as caught:
        Decisions.read(tmp_path / "none.yaml")
    assert caught.value.code == "INVALID_DECISIONS"
