"""Questions to a person: their form, their answers, their end without one."""

import pytest
from fixtures.journey import (
    call,
    calls,
    fault,
    finished,
    only,
    results,
    waiting,
    within,
)
from journeys.conftest import MakeBread
from pydantic import BaseModel

from bread_nb import (
    Agent,
    BreadError,
    Finished,
    Permissions,
    Scripted,
    Suspended,
    human_tool,
    tool,
)
from bread_nb.base.ids import pinned

ID = "call_1_1"


class Topic(BaseModel):
    title: str


class Verdict(BaseModel):
    good: bool
    notes: list[str] = []


def asker(*turns: object, args: object = None, answer: object = None) -> Agent:
    asked = human_tool("approve", args=args, answer=answer)
    return Agent(model=Scripted(list(turns)), tools=[asked])


ASKS = calls(call("human_approve", question="Bake?"))


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ({"answer": "yes"}, "yes"),
        ("gladly", "gladly"),
        ({"answer": ""}, ""),
        ({"answer": "yes", "other": 1}, "yes"),
        ({"declined": True}, "declined by human"),
        ({"declined": True, "reason": "no time"}, "declined by human: no time"),
    ],
)
async def test_the_answer_is_the_result_of_the_call(
    make_bread: MakeBread, answer: object, kept: object
):
    bread = make_bread({"baker": asker(ASKS, "done")})
    question = (await waiting(bread, bread.run("baker", "go"))).pending[0]
    assert (question.prompt, question.schema) == ("Bake?", {"type": "string"})
    resumed = bread.resume(question.checkpoint_id, answer)
    outcome = await finished(bread, resumed)
    assert results(outcome) == {ID: kept}
    assert only(resumed.crumbs, "human:resumed")[0]["kind"] == "input"


@pytest.mark.parametrize(
    "answer", [{}, None, True, {"approved": True}, {"answer": 3}, {"answer": None}]
)
async def test_what_is_no_answer_leaves_the_question_open(
    make_bread: MakeBread, answer: object
):
    bread = make_bread({"baker": asker(ASKS, "done")})
    question = (await waiting(bread, bread.run("baker", "go"))).pending[0]
    with pytest.raises(BreadError) as caught:
        await within(bread.resume(question.checkpoint_id, answer))
    assert caught.value.code == "INVALID_ANSWER"
    assert "still waits" in caught.value.do
    assert await bread.pending() == [question]


async def test_the_form_comes_from_the_answer_and_the_model_fills_the_arguments(
    make_bread: MakeBread,
):
    turns = [calls(call("human_approve", title="Rye")), "done"]
    bread = make_bread({"baker": asker(*turns, args=Topic, answer=Verdict)})
    question = (await waiting(bread, bread.run("baker", "go"))).pending[0]
    assert question.args == {"title": "Rye"}
    assert question.schema == Verdict.model_json_schema()
    with pytest.raises(BreadError) as caught:
        await within(
            bread.resume(question.checkpoint_id, {"answer": {"good": "perhaps"}})
        )
    assert "good: 'perhaps' is not true or false" in caught.value.why
    given = {"answer": {"good": "yes", "notes": ["crisp"]}}
    outcome = await finished(bread, bread.resume(question.checkpoint_id, given))
    assert results(outcome) == {ID: {"good": True, "notes": ["crisp"]}}


async def test_a_question_with_arguments_that_do_not_fit_is_not_asked(
    make_bread: MakeBread,
):
    turns = [calls(call("human_approve", titel="Rye")), "done"]
    bread = make_bread({"baker": asker(*turns, args=Topic)})
    outcome = await finished(bread, bread.run("baker", "go"))
    assert "title: is missing" in results(outcome)[ID]


async def test_whoever_started_the_run_is_called_at_each_question(
    make_bread: MakeBread,
):
    heard: list[str] = []
    faults: list[str] = []

    def listen(crumb: object) -> None:
        heard.append(crumb.handle)
        raise ValueError("deaf")

    bread = make_bread({"baker": asker(ASKS, "done")})
    bread.on("fault", lambda error, source: faults.append(source))
    run = bread.run("baker", "go", on_human_required=listen)
    await waiting(bread, run)
    assert (heard, faults) == (["baker-1.a"], ["on_human_required"])


@tool
def pay() -> str:
    """Pay."""
    raise AssertionError("nobody agreed")


def till(*turns: object) -> Agent:
    model = Scripted(list(turns) or [calls(call("tool_pay")), "done"])
    return Agent(model=model, tools=[pay], permissions=Permissions(ask=["tool:pay"]))


async def test_a_question_whose_time_is_over_is_refused(make_bread: MakeBread):
    bread = make_bread({"till": till()}, ask_timeout=1)
    with pinned(step_ms=600):
        run = bread.run("till", "go")
        await waiting(bread, run)
        assert await bread.pending() == []
    row = await bread.find_run(run.id)
    assert (row.status, row.text) == ("finished", "done")
    messages = await bread.sessions.messages(row.session_id)
    assert messages[2].parts[0].text == "rejected by human: no answer in time"


async def test_an_answer_after_the_time_is_too_late(make_bread: MakeBread):
    bread = make_bread({"till": till()}, ask_timeout=1)
    with pinned(step_ms=600):
        question = (await waiting(bread, bread.run("till", "go"))).only
        with pytest.raises(BreadError) as caught:
            await within(bread.resume(question, {"approved": True}))
    assert caught.value.code == "CHECKPOINT_NOT_FOUND"
    assert "no answer in time" in caught.value.why
    assert (await bread.find_run("last")).status == "finished"


async def test_a_run_that_fails_after_its_time_was_over_hides_no_question(
    make_bread: MakeBread,
):
    faults: list[str] = []
    agents = {"till": till(calls(call("tool_pay")), {"error": 401})}
    bread = make_bread({**agents, "baker": asker(ASKS)}, ask_timeout=1)
    bread.on("fault", lambda error, source: faults.append(source))
    with pinned(step_ms=600):
        await waiting(bread, bread.run("till", "go"))
    await waiting(bread, bread.run("baker", "go"))
    assert [question.handle for question in await bread.pending()] == ["baker-1.a"]
    assert faults == ["ask_timeout"]


async def test_without_a_timeout_a_question_waits_for_ever(make_bread: MakeBread):
    bread = make_bread({"till": till()}, ask_timeout=0)
    with pinned(step_ms=10**12):
        outcome = await waiting(bread, bread.run("till", "go"))
        assert await bread.pending() == list(outcome.pending)


async def test_a_waiting_run_may_be_ended(make_bread: MakeBread):
    bread = make_bread({"till": till(calls(call("tool_pay")), "again")})
    run = bread.run("till", "go", session="s1")
    question = (await waiting(bread, run)).only
    row = await bread.cancel("till-1")
    assert (row.status, row.stop_reason) == ("stopped", "stopped")
    assert await bread.pending() == []
    with pytest.raises(BreadError) as caught:
        await within(bread.resume(question, "yes"))
    assert "Withdrawn: the run was ended" in caught.value.why
    outcome = await finished(bread, bread.run("till", "more", session="s1"))
    assert results(outcome) == {ID: "[stopped]"}
    with pytest.raises(BreadError) as ended:
        await bread.cancel("till-1")
    assert ended.value.code == "RUN_ENDED"


async def test_a_resumed_run_may_fail_and_wait_again(make_bread: MakeBread):
    turns = [ASKS, ASKS, {"error": 401}]
    bread = make_bread({"baker": asker(*turns)})
    first = (await waiting(bread, bread.run("baker", "go"))).only
    second = await within(bread.resume(first, "one"))
    assert isinstance(second, Suspended)
    assert second.only != first
    error = await fault(bread, bread.resume(second.only, "two"))
    assert error.code == "MODEL_AUTH"


async def test_resuming_needs_the_agent_and_leaves_the_question_open_without_it(
    make_bread: MakeBread,
):
    bread = make_bread({"baker": asker(ASKS, "done")})
    question = (await waiting(bread, bread.run("baker", "go"))).only
    other = make_bread({"till": till()}, store=bread.store)
    with pytest.raises(BreadError) as caught:
        await within(other.resume(question, "yes"))
    assert caught.value.code == "AGENT_NOT_FOUND"
    assert len(await bread.pending()) == 1


async def test_another_process_on_the_same_store_answers_as_well(
    make_bread: MakeBread,
):
    agent = asker(ASKS, "done")
    bread = make_bread({"baker": agent})
    await waiting(bread, bread.run("baker", "go"))
    later = make_bread({"baker": agent}, store=bread.store)
    [question] = await later.pending()
    assert len(agent.model.requests) == 1
    outcome = await finished(later, later.resume(question.checkpoint_id, "yes"))
    assert (outcome.text, len(agent.model.requests)) == ("done", 2)


async def test_an_agent_handed_over_itself_and_its_model_can_be_resumed(
    make_bread: MakeBread,
):
    model = Scripted([ASKS, "done"])
    guest = Agent(model="scripted:nowhere.yaml", tools=[human_tool("approve")])
    bread = make_bread()
    outcome = await within(bread.run(guest, "go", model=model))
    assert isinstance(outcome, Suspended)
    resumed = await within(bread.resume(outcome.only, "yes"))
    assert isinstance(resumed, Finished)
    assert resumed.text == "done"


async def test_a_question_is_asked_anew_when_its_tool_was_edited(
    make_bread: MakeBread,
):
    ran: list[str] = []

    def old() -> str:
        """Pay."""
        ran.append("old")
        return "paid"

    def new() -> str:
        """Pay."""
        ran.append("new")
        return "paid more"

    model = Scripted([calls(call("tool_pay")), "done"])

    def with_tool(fn: object) -> Agent:
        asking = Permissions(ask=["tool:pay"])
        return Agent(model=model, tools=[tool(fn, name="pay")], permissions=asking)

    bread = make_bread({"till": with_tool(old)})
    question = (await waiting(bread, bread.run("till", "go"))).only
    edited = make_bread({"till": with_tool(new)}, store=bread.store)
    again = await within(edited.resume(question, "yes"))
    assert isinstance(again, Suspended)
    assert (again.only != question, ran) == (True, [])
    with pytest.raises(BreadError) as caught:
        await within(edited.resume(question, "yes"))
    assert "Asked again: the tool was edited" in caught.value.why
    outcome = await finished(edited, edited.resume(again.only, "yes"))
    assert (ran, results(outcome)) == (["new"], {ID: "paid more"})


async def test_a_tool_that_takes_other_arguments_by_now_is_a_failure(
    make_bread: MakeBread,
):
    def old(loaf: str) -> str:
        """Pay."""
        return loaf

    def new(grams: int) -> int:
        """Pay."""
        return grams

    model = Scripted([calls(call("tool_pay", loaf="rye")), "done"])

    def with_tool(fn: object) -> Agent:
        asking = Permissions(ask=["tool:pay"])
        return Agent(model=model, tools=[tool(fn, name="pay")], permissions=asking)

    bread = make_bread({"till": with_tool(old)})
    question = (await waiting(bread, bread.run("till", "go"))).only
    edited = make_bread({"till": with_tool(new)}, store=bread.store)
    again = await within(edited.resume(question, "yes"))
    assert isinstance(again, Suspended)
    outcome = await finished(edited, edited.resume(again.only, "yes"))
    assert "grams: is missing" in results(outcome)[ID]


async def test_a_tool_that_is_gone_after_approval_is_a_failure(make_bread: MakeBread):
    bread = make_bread({"till": till()})
    question = (await waiting(bread, bread.run("till", "go"))).only
    agent = Agent(model=Scripted(["done"]))
    later = make_bread({"till": agent}, store=bread.store)
    outcome = await finished(later, later.resume(question, "yes"))
    assert results(outcome) == {ID: "The tool tool_pay is not there any more."}
