"""The fold: turns, calls and ends, from crumbs of ours and of others."""

from __future__ import annotations

import pytest
from a2ui.told import Told, every_type

from bread_nb import crumbs as c
from bread_nb.a2ui.blocks import Call, Prose, Row, tool_name
from bread_nb.a2ui.story import Story
from bread_nb.a2ui.views import Facts, head_view


def told(story: Story) -> list[list[str]]:
    """The turns, each block by its kind or its tool."""
    return [[named(block) for block in turn.blocks] for turn in story.turns]


def named(block: object) -> str:
    match block:
        case Call():
            return block.name
        case Prose():
            return block.text
        case Row():
            return f"{block.what} {block.name}"
        case _:
            return type(block).__name__


def test_a_model_call_that_ends_begins_the_next_turn():
    crumbs = Told().start().used(1).call("1", "a").done("1", "a")
    crumbs.call("2", "b").done("2", "b").used(1).call("3", "c").done("3", "c")
    crumbs.text("end").used(1)
    assert told(Story.of(crumbs.crumbs)) == [["a", "b"], ["c"], ["end"]]


def test_without_usage_a_new_text_after_all_calls_begins_the_next_turn():
    crumbs = Told().start().text("x").call("1", "a").call("2", "b")
    crumbs.done("1", "a").done("2", "b").thought("y").text("z").end("z")
    assert told(Story.of(crumbs.crumbs)) == [["x", "a", "b"], ["y", "z"]]


def test_a_second_answer_without_calls_is_a_turn_of_its_own():
    crumbs = Told().start().text("no json").used(1).text("{}").used(1)
    assert told(Story.of(crumbs.crumbs)) == [["no json"], ["{}"]]


def test_the_same_call_id_in_a_later_turn_is_another_call():
    crumbs = Told().start().used(1).call("call_0", "shell", a=1).done("call_0", "shell")
    crumbs.used(1).ask("call_0", "shell", a=2)
    first, second = Story.of(crumbs.crumbs).every_call()
    assert (first.state, first.args) == ("done", {"a": 1})
    assert (second.state, second.args) == ("waiting", {"a": 2})


@pytest.mark.parametrize("end", ["done", "fail", "cancel"])
def test_text_ends_before_a_tool_starts_and_nothing_stays_open(end):
    crumbs = Told().start().text("a").call("1", "plot")
    story = Story.of(crumbs.crumbs)
    assert [b.done for b in story.turns[0].blocks if isinstance(b, Prose)] == [True]
    if end == "done":
        crumbs.done("1", "plot").thought("hm").text("b").end("b")
    elif end == "fail":
        crumbs.done("1", "plot").text("b").fail("MODEL_UNREACHABLE", "No answer.")
    else:
        crumbs.fail("RUN_CANCELLED", "Stopped by you.")
    story = Story.of(crumbs.crumbs)
    blocks = [block for turn in story.turns for block in turn.blocks]
    assert all(b.done for b in blocks if isinstance(b, Prose))
    assert all(b.settled for b in blocks if isinstance(b, Call))
    assert (story.ended, story.tail, story.running) == (True, None, {})


def test_reasoning_and_text_do_not_run_into_each_other():
    crumbs = Told().start().thought("a").text("b").thought("c").text("d").text("e")
    assert told(Story.of(crumbs.crumbs)) == [["a", "b", "c", "de"]]


def test_a_run_goes_on_in_the_same_story_after_a_person_answered():
    crumbs = Told().start().used(1).ask("1", "publish")
    story = Story.of(crumbs.crumbs)
    assert story.state == "waiting"
    before = len(crumbs.crumbs)
    crumbs.answer("1", {"approved": True}).call("1", "publish").done("1", "publish")
    crumbs.text("Sent.").used(1).end("Sent.")
    for crumb in crumbs.crumbs[before:]:
        story.accept(crumb)
    assert story.state == "finished"
    assert told(story) == [["publish", "Form"], ["Sent."]]


def test_a_stopped_run_that_goes_on_is_not_ended_any_more():
    crumbs = Told().start().used(1).end("", stop_reason="halt:budget")
    story = Story.of(crumbs.used(1).text("More.").crumbs)
    assert (story.state, story.end) == ("writing", None)


def test_a_call_that_ran_again_after_a_crash_is_one_call():
    crumbs = Told().start().used(1).call("1", "read").crumbs
    story = Story.of(crumbs)
    story.interrupted()
    more = Told().call("1", "read").done("1", "read").crumbs
    for crumb in more:
        story.accept(crumb)
    assert [call.state for call in story.every_call()] == ["done"]


@pytest.mark.parametrize(
    ("answer", "state", "decision"),
    [
        ({"happened": True, "result": 3}, "done", "it happened, says a person"),
        ({"run": True}, "running", "run again, says a person"),
        ({"failed": True}, "failed", None),
        ({"withdrawn": "the run was ended"}, "cut", None),
    ],
)
def test_the_outcome_of_a_call_is_what_a_person_said(answer, state, decision):
    crumbs = Told().start().used(1).call("1", "order").ask("1", "order", "outcome")
    waiting = Story.of(crumbs.crumbs).every_call()[0]
    assert (waiting.state, waiting.outcome_unknown) == ("waiting", True)
    call = Story.of(crumbs.answer("1", answer, "outcome").crumbs).every_call()[0]
    assert (call.state, call.decision, call.outcome_unknown) == (state, decision, False)


@pytest.mark.parametrize(
    ("response", "line"),
    [
        ({"approved": True}, "Approved"),
        ({"approved": True, "args": {"a": 1}}, "Approved"),
        ({"approved": True, "args": {"a": 2}}, "Approved with changes"),
        ({"approved": False, "reason": "too long"}, "Denied: too long"),
        ({"approved": "true"}, "Denied"),
        ("yes", "Approved"),
        ("no", "Denied"),
        (None, "Denied"),
        ({"expired": True}, "No answer in time: counted as denied"),
        ({"withdrawn": "the run was ended"}, "Withdrawn: the run was ended"),
    ],
)
def test_the_line_that_stays_of_a_form(response, line):
    crumbs = Told().start().ask("1", "publish", a=1).answer("1", response)
    (form,) = Story.of(crumbs.crumbs).forms.values()
    assert form.ended == line


def test_a_question_asked_anew_opens_another_form_on_the_same_call():
    crumbs = Told().start().ask("1", "publish", a=1)
    crumbs.answer("1", {"withdrawn": "the tool was edited since it asked"})
    again = {**c.to_wire(crumbs.crumbs[1]), "checkpointId": "check-2"}
    crumbs.crumbs.append(c.from_wire(again))
    story = Story.of(crumbs.crumbs)
    assert [form.open for form in story.forms.values()] == [False, True]
    assert [call.state for call in story.every_call()] == ["waiting"]
    assert story.state == "waiting"


def test_a_sub_agent_of_a_sub_agent_is_in_its_story():
    crumbs = Told("lead").start()
    middle = {"run_id": "m", "agent_id": "middle"}
    low = {"run_id": "l", "agent_id": "low"}
    crumbs.say(c.SubagentStart, **middle, parent_agent_id="lead", subagent_id="middle")
    crumbs.say(c.SubagentStart, **low, parent_agent_id="middle", subagent_id="low")
    crumbs.say(c.TextDelta, **low, delta="deep")
    crumbs.say(
        c.SubagentEnd, **low, parent_agent_id="middle", subagent_id="low", output=1
    )
    story = Story.of(crumbs.crumbs)
    assert told(story) == [["agent middle"]]
    assert told(story.stories["m"]) == [["agent low"]]
    assert told(story.stories["m"].stories["l"]) == [["deep"]]


def test_crumbs_of_another_run_without_a_start_are_a_row_too():
    crumbs = (
        Told("lead").start().say(c.TextDelta, run_id="x", agent_id="other", delta="hi")
    )
    assert told(Story.of(crumbs.crumbs)) == [["agent other"]]


def test_every_kind_of_part_is_a_named_row():
    rows = [
        f"{block.what} {block.name}"
        for turn in Story.of(every_type()).turns
        for block in turn.blocks
        if isinstance(block, Row)
    ]
    assert rows == [
        "step step 1: maker",
        "loop loop a → b",
        "round round 1 of 2",
        "task task title",
        "node split it",
        "agent clerk",
    ]


def test_people_read_a_tool_without_its_scope():
    names = ["tool_plot", "human_approve", "core_delegate", "plugin_p_x", "tool_"]
    assert [tool_name(name) for name in names] == [
        "plot",
        "approve",
        "core_delegate",
        "plugin_p_x",
        "tool_",
    ]


def test_a_crumb_with_extra_fields_is_read_as_usual():
    crumb = c.from_wire({**c.to_wire(Told().start().crumbs[0]), "novel": [1, {"a": 2}]})
    assert Story.of([crumb]).state == "asking"


def test_an_interrupted_run_that_is_taken_up_counts_its_time_from_then():
    crumbs = Told().start().text("I knead.").call("1", "knead").crumbs
    story = Story.of(crumbs)
    story.interrupted()
    worked = story.elapsed(story.at)
    story.taken_up(story.at + 3_600_000)
    assert story.state == "resuming"
    assert story.elapsed(story.at + 3_601_000) == worked + 1000
    story.taken_up(story.at)
    assert story.state == "resuming"


def test_a_question_answered_elsewhere_is_one_line_and_nobody_waits_any_more():
    story = Story.of(Told().start().ask("1", "publish").crumbs)
    [checkpoint_id] = story.open_forms
    story.settled_elsewhere(checkpoint_id, "Approved 2 min ago.", story.at + 1000)
    assert (story.state, story.open_forms) == ("resuming", {})
    assert story.forms[checkpoint_id].ended == "Approved 2 min ago."
    story.settled_elsewhere(checkpoint_id, "Denied.", story.at + 2000)
    assert story.forms[checkpoint_id].ended == "Approved 2 min ago."


def test_a_refused_approval_is_denied_in_whatever_words_it_was_refused():
    told = Told().start().ask("1", "publish")
    response = {"approved": False, "declined": True, "reason": "not now"}
    told.say(
        c.HumanResumed, checkpoint_id="check-1", response=response, kind="approval"
    )
    story = Story.of(told.crumbs)
    assert story.forms["check-1"].ended == "Denied: not now"
    assert story.every_call()[0].decision == "denied by you: not now"


def test_a_file_that_a_tool_returned_is_shown_once_and_only_from_our_store():
    file = {"kind": "file", "mimeType": "image/png", "name": "a.png", "uri": "blob:1"}
    foreign = {**file, "uri": "http://leak.example/a.png"}
    result = {"plots": [file, foreign], "again": file, "uri": "blob:2"}
    story = Story.of(Told().start().call("1", "plot").done("1", "plot", result).crumbs)
    assert [(f.uri, f.name) for f in story.files.values()] == [("blob:1", "a.png")]


def test_a_run_that_is_stopping_says_which_tool_it_waits_for():
    story = Story.of(Told().start().call("1", "plot").call("2", "draw").crumbs)
    story.stopping()
    assert head_view(story, Facts(), story.at)["detail"] == "still stopping: plot, draw"
