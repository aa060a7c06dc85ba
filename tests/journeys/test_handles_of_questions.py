"""The names of a run's questions: each is given once and stays that question's."""

from dataclasses import dataclass, field

import pytest
from fixtures.journey import call, calls, finished, waiting, within
from journeys.conftest import MakeBread

from bread_nb import Agent, Bread, BreadError, Permissions, Scripted, Suspended, tool

YES = {"approved": True}


@dataclass
class Till:
    """Asks before it pays, never before it looks."""

    paid: list[int] = field(default_factory=list[int])

    def agent(self, *turns: object, edited: bool = False) -> Agent:
        def pay(euros: int) -> str:
            """Pay."""
            self.paid.append(euros)
            return f"paid {euros}"

        def pay_now(euros: int) -> str:
            """Pay at once."""
            self.paid.append(euros)
            return f"paid {euros} at once"

        @tool
        def look() -> str:
            """Look into the till."""
            return "empty"

        return Agent(
            model=Scripted([*turns, "done"], by="history"),
            tools=[tool(pay_now if edited else pay, name="pay"), look],
            permissions=Permissions(ask=["tool:pay"]),
        )


async def handles(bread: Bread) -> list[str]:
    return [question.handle for question in await bread.pending()]


async def test_an_answer_given_again_does_not_reach_the_next_question(
    make_bread: MakeBread,
):
    till = Till()
    turns = [calls(call("tool_pay", euros=euros)) for euros in (1, 2, 3)]
    bread = make_bread({"till": till.agent(*turns)})
    await waiting(bread, bread.run("till", "go"))
    for paid, name in enumerate(("till-1.a", "till-1.b", "till-1.c")):
        assert await handles(bread) == [name]
        await within(bread.resume(name, YES))
        with pytest.raises(BreadError) as refused:
            await within(bread.resume(name, YES))
        assert refused.value.code == "CHECKPOINT_NOT_FOUND"
        assert "is not open any more: Approved" in refused.value.why
        assert till.paid == [1, 2, 3][: paid + 1]


async def test_only_calls_that_ask_are_named(make_bread: MakeBread):
    till = Till()
    turn = calls(call("tool_look"), call("tool_pay", euros=1))
    bread = make_bread({"till": till.agent(turn)})
    await waiting(bread, bread.run("till", "go"))
    assert await handles(bread) == ["till-1.a"]


async def test_a_question_that_is_asked_anew_has_a_new_name(make_bread: MakeBread):
    till, turn = Till(), calls(call("tool_pay", euros=1), call("tool_pay", euros=2))
    bread = make_bread({"till": till.agent(turn)})
    await waiting(bread, bread.run("till", "go"))
    edited = make_bread({"till": till.agent(turn, edited=True)}, store=bread.store)

    again = await within(edited.resume("till-1.a", YES))
    assert isinstance(again, Suspended)
    assert await handles(edited) == ["till-1.b", "till-1.c"]
    with pytest.raises(BreadError) as refused:
        await within(edited.resume("till-1.a", YES))
    assert "Asked again" in refused.value.why
    assert till.paid == []
    await within(edited.resume("till-1.c", YES))
    await within(edited.resume("till-1.b", YES))
    await finished(edited, edited.resume("till-1.d", YES))
    assert till.paid == [1, 2]


async def test_many_questions_of_a_turn_stand_in_call_order(make_bread: MakeBread):
    till = Till()
    turn = calls(*(call("tool_pay", euros=euros) for euros in range(12)))
    bread = make_bread({"till": till.agent(turn)})
    await waiting(bread, bread.run("till", "go"))
    left = await within(bread.resume("till-1.a", {"approved": False}))
    assert isinstance(left, Suspended)
    assert [q.args["euros"] for q in left.pending] == list(range(1, 12))
