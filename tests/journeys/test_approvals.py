"""A person's answer to a waiting call: what approves, what refuses, what is told."""

import asyncio
import threading

import pytest
from fixtures.journey import (
    call,
    calls,
    finished,
    only,
    results,
    told,
    types,
    waiting,
    within,
)
from journeys.conftest import MakeBread

from bread_nb import (
    Agent,
    Bread,
    BreadError,
    Continue,
    Finished,
    Hooks,
    Permissions,
    Scripted,
    Suspended,
    tool,
)
from bread_nb.base.ids import pinned
from bread_nb.runtime.outcome import PendingCall
from bread_nb.stores.records import Call, Checkpoint, Grant

ID = "call_1_1"


class Shop:
    """A till that asks before each payment."""

    def __init__(self, make_bread: MakeBread, *turns: object, **more: object) -> None:
        self.paid: list[dict[str, object]] = []

        def pay(euros: int, to: str = "mill") -> str:
            """Pay."""
            self.paid.append({"euros": euros, "to": to})
            return f"paid {euros}"

        self.script = Scripted(
            list(turns) or [calls(call("tool_pay", euros=5)), "done"]
        )
        options = {"permissions": Permissions(ask=["tool:pay"]), **more}
        self.agent = Agent(model=self.script, tools=[tool(pay)], **options)
        self.bread: Bread = make_bread({"till": self.agent})

    async def asks(self, session: str | None = None) -> PendingCall:
        outcome = await waiting(
            self.bread, self.bread.run("till", "go", session=session)
        )
        return outcome.pending[0]

    async def answer(self, question: PendingCall, answer: object) -> Finished:
        return await finished(
            self.bread, self.bread.resume(question.checkpoint_id, answer)
        )


async def test_a_gated_call_waits_and_an_approval_runs_it(make_bread: MakeBread):
    shop = Shop(make_bread)
    with pinned():
        run = shop.bread.run("till", "go", session="s1")
        question = (await waiting(shop.bread, run)).pending[0]
        assert shop.paid == []
        assert types(run.crumbs)[-2:] == ["gate:decision", "human:required"]
        resumed = shop.bread.resume(question.checkpoint_id, {"approved": True})
        outcome = await finished(shop.bread, resumed)
    assert (shop.paid, outcome.text) == ([{"euros": 5, "to": "mill"}], "done")
    assert only(run.crumbs, "human:required") == [
        {
            "type": "human:required",
            "seq": 7,
            "checkpointId": question.checkpoint_id,
            "toolName": "tool_pay",
            "schema": shop.agent.tools[0].arguments.json,
            "kind": "approval",
            "args": {"euros": 5},
            "toolCallId": ID,
            "rule": "ask tool:pay",
            "effect": "Nobody declared what it touches.",
            "handle": "till-1.a",
        }
    ]
    assert [c["type"] for c in told(resumed.crumbs)] == [
        "human:resumed",
        "tool:call",
        "tool:result",
        "text:delta",
        "model:usage",
        "agent:run:end",
    ]
    assert resumed.crumbs[0].seq == 8
    assert resumed.id == run.id
    numbers = [crumb.seq for crumb in await shop.bread.crumbs(run.id)]
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize(
    "answer",
    [
        {"approved": True},
        "yes",
        " Y ",
        "APPROVE\n",
        "approved",
        {"approved": True, "x": 1},
    ],
)
async def test_what_approves(make_bread: MakeBread, answer: object):
    shop = Shop(make_bread)
    outcome = await shop.answer(await shop.asks(), answer)
    assert results(outcome) == {ID: "paid 5"}


@pytest.mark.parametrize(
    "answer",
    [
        {"approved": False},
        {"approved": "true"},
        {"approved": 1},
        {"approved": [True]},
        {"approve": True},
        {},
        None,
        True,
        1,
        "no",
        "yes please",
        "true",
        "ok",
        "",
        ["yes"],
    ],
)
async def test_everything_else_refuses(make_bread: MakeBread, answer: object):
    shop = Shop(make_bread)
    outcome = await shop.answer(await shop.asks(), answer)
    assert shop.paid == []
    assert results(outcome) == {ID: "rejected by human"}


async def test_the_reason_of_a_refusal_reaches_the_model(make_bread: MakeBread):
    shop = Shop(make_bread)
    question = await shop.asks()
    resumed = shop.bread.resume(
        question.checkpoint_id, {"approved": False, "reason": "too much salt"}
    )
    await finished(shop.bread, resumed)
    assert results(shop.script.requests[-1]) == {ID: "rejected by human: too much salt"}
    assert only(resumed.crumbs, "human:resumed")[0]["response"] == {
        "approved": False,
        "reason": "too much salt",
    }


async def test_refusals_by_a_person_are_no_streak(make_bread: MakeBread):
    pays = calls(call("tool_pay", euros=5))
    shop = Shop(make_bread, *[pays] * 4, "done")
    outcome: object = await within(shop.bread.run("till", "go"))
    for _ in range(4):
        assert isinstance(outcome, Suspended)
        outcome = await within(shop.bread.resume(outcome.only, "no"))
    assert isinstance(outcome, Finished)


async def test_edited_arguments_are_what_runs_and_the_model_is_told(
    make_bread: MakeBread,
):
    shop = Shop(make_bread)
    question = await shop.asks()
    args = {"euros": 4, "to": "baker"}
    outcome = await shop.answer(question, {"approved": True, "args": args})
    assert shop.paid == [args]
    shown = results(outcome)[ID]
    assert shown.endswith("paid 4")
    assert 'A person changed the arguments before approving: {"euros":4,' in shown
    kept = await shop.bread.store.get(Checkpoint, question.checkpoint_id)
    assert kept is not None
    assert (kept.args, kept.edited) == ({"euros": 5}, args)
    assert kept.ended == "Approved with changes"


async def test_edited_arguments_are_checked_while_the_call_still_waits(
    make_bread: MakeBread,
):
    shop = Shop(make_bread)
    question = await shop.asks()
    for args in ({"euros": "many"}, {"cents": 3}, "all of it"):
        with pytest.raises(BreadError) as caught:
            await within(
                shop.bread.resume(
                    question.checkpoint_id, {"approved": True, "args": args}
                )
            )
        assert caught.value.code == "INVALID_ANSWER"
    assert await shop.bread.pending() == [question]
    await shop.answer(question, "yes")


async def test_edited_arguments_are_gated_again(make_bread: MakeBread):
    def decide(name: str, args: dict[str, int]) -> bool:
        if args["euros"] > 100:
            raise PermissionError("not above 100")
        return True

    shop = Shop(make_bread, permissions=Permissions(ask=[decide]))
    question = await shop.asks()
    too_much = {"approved": True, "args": {"euros": 500}}
    with pytest.raises(BreadError) as caught:
        await within(shop.bread.resume(question.checkpoint_id, too_much))
    assert caught.value.code == "EDIT_REFUSED"
    assert "not above 100" in caught.value.why
    assert await shop.bread.pending() == [question]
    await shop.answer(question, {"approved": True, "args": {"euros": 50}})
    assert shop.paid == [{"euros": 50, "to": "mill"}]


async def test_the_first_answer_wins_and_later_ones_hear_what_happened(
    make_bread: MakeBread,
):
    shop = Shop(make_bread)
    question = await shop.asks()
    both = [shop.bread.resume(question.checkpoint_id, "yes") for _ in range(2)]
    first, second = await within(asyncio.gather(*both, return_exceptions=True))
    assert isinstance(first, Finished)
    assert isinstance(second, BreadError)
    assert second.code == "CHECKPOINT_NOT_FOUND"
    assert "till-1.a is not open any more: Approved." in second.why
    assert len(shop.paid) == 1
    for late in (question.checkpoint_id, question.handle):
        with pytest.raises(BreadError) as caught:
            await within(shop.bread.resume(late, "no"))
        assert "Approved" in caught.value.why


async def test_an_unknown_question_is_said_to_be_unknown(make_bread: MakeBread):
    bread = make_bread({"till": Agent(model=Scripted(["x"]))})
    with pytest.raises(BreadError) as caught:
        await within(bread.resume("nothing", "yes"))
    assert caught.value.code == "CHECKPOINT_NOT_FOUND"
    assert "no question" in caught.value.why


@pytest.mark.parametrize("name", ["handle", "run", "last", "prefix"])
async def test_a_question_is_found_by_what_a_person_types(
    make_bread: MakeBread, name: str
):
    shop = Shop(make_bread)
    question = await shop.asks()
    typed = {
        "handle": question.handle,
        "run": "till-1",
        "last": "last",
        "prefix": question.checkpoint_id[:13],
    }[name]
    assert isinstance(await within(shop.bread.resume(typed, "yes")), Finished)


async def test_an_answer_to_another_form_is_refused_and_the_call_waits(
    make_bread: MakeBread,
):
    shop = Shop(make_bread, *[calls(call("tool_pay", euros=n)) for n in (5, 6)], "done")
    first = await shop.asks("a")
    other = await shop.asks("b")
    with pytest.raises(BreadError) as caught:
        await within(
            shop.bread.resume(
                first.checkpoint_id, {"approved": True, "shown": other.shown}
            )
        )
    assert (caught.value.code, shop.paid) == ("FORM_CHANGED", [])
    await shop.answer(first, {"approved": True, "shown": first.shown})
    assert shop.paid == [{"euros": 5, "to": "mill"}]


@pytest.mark.parametrize("changed", [(Call,), (Checkpoint,), (Call, Checkpoint)])
async def test_consent_is_for_the_arguments_that_were_asked_for(
    make_bread: MakeBread, changed: tuple[type[Call | Checkpoint], ...]
):
    shop = Shop(make_bread)
    question = await shop.asks()
    for kind in changed:
        [kept] = await shop.bread.store.query(kind, {"run_id": question.run_id})
        await shop.bread.store.put(kept.model_copy(update={"args": {"euros": 5000}}))
    consent = {"approved": True, "shown": question.shown}
    with pytest.raises(BreadError) as caught:
        await within(shop.bread.resume(question.checkpoint_id, consent))
    assert (caught.value.code, shop.paid) == ("FORM_CHANGED", [])
    [waits] = await shop.bread.pending()
    assert waits.checkpoint_id == question.checkpoint_id


async def test_a_question_holds_what_the_hooks_left_and_they_run_no_more(
    make_bread: MakeBread,
):
    asked: list[object] = []

    def halve(context: object) -> Continue | None:
        if context.scope != "tool":
            return None
        asked.append(context.input)
        return Continue({"euros": context.input["euros"] // 2})

    shop = Shop(make_bread, hooks=None)
    bread = make_bread({"till": shop.agent}, hooks=Hooks(before_run=halve))
    question = (await waiting(bread, bread.run("till", "go"))).pending[0]
    assert question.args == {"euros": 2}
    await within(bread.resume(question.checkpoint_id, "yes"))
    assert shop.paid == [{"euros": 2, "to": "mill"}]
    assert asked == [{"euros": 5}]


async def test_a_failure_after_approval_is_an_answer_to_the_model(
    make_bread: MakeBread,
):
    def pay() -> str:
        """Pay."""
        raise ValueError("no money")

    script = Scripted([calls(call("tool_pay")), "done"])
    agent = Agent(
        model=script, tools=[tool(pay)], permissions=Permissions(ask=["tool:pay"])
    )
    bread = make_bread({"till": agent})
    question = (await waiting(bread, bread.run("till", "go"))).only
    outcome = await finished(bread, bread.resume(question, "yes"))
    assert "pay raised ValueError: no money" in results(outcome)[ID]


@pytest.mark.parametrize(
    ("scope", "spared"),
    [
        ("run", [True, False, False]),
        ("session", [True, True, False]),
        ("agent", [True, True, True]),
    ],
)
async def test_remember_spares_the_question_in_its_scope(
    make_bread: MakeBread, scope: str, spared: list[bool]
):
    pays = calls(call("tool_pay", euros=5))
    shop = Shop(make_bread, pays, pays, "done", pays, "done", pays, "done")
    question = await shop.asks("a")
    answer = {"approved": True, "remember": scope}
    outcome = await within(shop.bread.resume(question.checkpoint_id, answer))
    found = [isinstance(outcome, Finished)]
    for session in ("a", "b"):
        later = await within(shop.bread.run("till", "go", session=session))
        found.append(isinstance(later, Finished))
        if isinstance(later, Suspended):
            await within(shop.bread.resume(later.only, "yes"))
    assert found == spared
    [grant] = await shop.bread.store.query(Grant)
    assert (grant.scope, grant.selector) == (scope, "tool:pay")


async def test_remember_takes_no_other_scope(make_bread: MakeBread):
    shop = Shop(make_bread)
    question = await shop.asks()
    with pytest.raises(BreadError) as caught:
        await within(
            shop.bread.resume(
                question.checkpoint_id, {"approved": True, "remember": "for ever"}
            )
        )
    assert caught.value.code == "INVALID_ANSWER"
    assert await shop.bread.pending() == [question]


async def test_the_time_of_an_approved_call_is_worked_time(make_bread: MakeBread):
    def bake(loaf: str) -> str:
        """Bake a loaf, which takes its time."""
        threading.Event().wait(0.05)
        return loaf

    asked = calls(call("tool_bake", loaf="rye"), call("tool_bake", loaf="oat"))
    agent = Agent(
        model=Scripted([asked, "done"]),
        tools=[tool(bake)],
        permissions=Permissions(ask=["tool:bake"]),
    )
    bread = make_bread({"baker": agent})
    outcome = await waiting(bread, bread.run("baker", "go"))
    first, second = outcome.pending
    between = await waiting(bread, bread.resume(first.checkpoint_id, "yes"))
    assert between.metrics.duration_ms >= 50
    done = await finished(bread, bread.resume(second.checkpoint_id, "yes"))
    assert done.metrics.duration_ms >= 100
    *_, end = await bread.crumbs(done.run_id)
    assert end.duration_ms >= 100


async def test_the_time_of_the_last_answer_is_in_the_last_crumb(make_bread: MakeBread):
    def slow(request: object) -> str:
        threading.Event().wait(0.05)
        return "done"

    bread = make_bread({"baker": Agent(model=Scripted([slow]))})
    done = await finished(bread, bread.run("baker", "go"))
    *_, end = await bread.crumbs(done.run_id)
    assert end.duration_ms >= 50
