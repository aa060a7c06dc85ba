"""Several calls of one turn wait at once and are settled in any order."""

import asyncio
import random
from itertools import permutations

import pytest
from fixtures.journey import (
    call,
    calls,
    check_crumbs,
    check_sendable,
    fault,
    finished,
    only,
    results,
    stopped,
    waiting,
    within,
)
from journeys.conftest import MakeBread

from bread_nb import (
    Agent,
    Bread,
    BreadError,
    Finished,
    Permissions,
    Scripted,
    Stopped,
    Suspended,
    human_tool,
    tool,
)
from bread_nb.errors import Halt
from bread_nb.runtime.outcome import Outcome, PendingCall
from bread_nb.stores.records import RunRow


class Kitchen:
    """`bake` asks first, `chop` does not; each may be held in mid-flight."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.started: dict[str, asyncio.Event] = {}
        self.may_end: dict[str, asyncio.Event] = {}
        self.raises: dict[str, BaseException] = {}

    def hold(self, *names: str) -> None:
        for name in names:
            self.started[name] = asyncio.Event()
            self.may_end[name] = asyncio.Event()

    async def _work(self, name: str) -> str:
        if name in self.started:
            self.started[name].set()
            await within(self.may_end[name].wait())
        if name in self.raises:
            raise self.raises[name]
        self.done.append(name)
        return f"{name} done"

    def agent(self, *turns: object) -> Agent:
        @tool
        async def bake(name: str) -> str:
            """Bake."""
            return await self._work(name)

        @tool
        async def chop(name: str) -> str:
            """Chop."""
            return await self._work(name)

        return Agent(
            model=Scripted(list(turns), by="history"),
            tools=[bake, chop, human_tool("approve")],
            permissions=Permissions(ask=["tool:bake"]),
        )


def bakes(*names: str) -> list[dict[str, object]]:
    return [call("tool_bake", id=name, name=name) for name in names]


def chops(*names: str) -> list[dict[str, object]]:
    return [call("tool_chop", id=name, name=name) for name in names]


def asks(*names: str) -> list[dict[str, object]]:
    return [call("human_approve", id=name, question=name) for name in names]


async def row_of(bread: Bread) -> RunRow:
    [row] = await bread.runs()
    return row


@pytest.mark.parametrize("order", list(permutations(range(3))))
async def test_any_order_gives_the_same_end(
    make_bread: MakeBread, order: tuple[int, ...]
):
    kitchen = Kitchen()
    bread = make_bread({"cook": kitchen.agent(calls(*bakes("a", "b", "c")), "done")})
    outcome: Outcome = await waiting(bread, bread.run("cook", "go"))
    assert [pending.handle for pending in outcome.pending] == [
        "cook-1.a",
        "cook-1.b",
        "cook-1.c",
    ]
    questions, left = outcome.pending, 3
    for place in order:
        outcome = await within(bread.resume(questions[place].checkpoint_id, "yes"))
        left -= 1
        if left:
            assert isinstance(outcome, Suspended)
            assert len(outcome.pending) == left
    assert isinstance(outcome, Finished)
    assert results(outcome) == {name: f"{name} done" for name in "abc"}
    assert list(results(outcome)) == ["a", "b", "c"]
    assert kitchen.done == ["abc"[place] for place in order]


@pytest.mark.parametrize("seed", range(20))
async def test_any_mix_in_any_order_and_in_batches_gives_the_same_end(
    make_bread: MakeBread, seed: int
):
    chance, kitchen = random.Random(seed), Kitchen()
    turn = [*bakes("a", "b"), *asks("q"), *chops("c"), *bakes("d"), *asks("r")]
    chance.shuffle(turn)
    second = calls(*bakes("e", "f"))
    bread = make_bread({"cook": kitchen.agent(calls(*turn), second, "done")})
    outcome = await waiting(bread, bread.run("cook", "go"))
    ended: list[Outcome] = []
    while open_ := await bread.pending():
        batch = chance.sample(open_, chance.randint(1, len(open_)))
        runs = [bread.resume(p.checkpoint_id, answer_to(p)) for p in batch]
        ended += await within(asyncio.gather(*runs))
    last = [outcome for outcome in ended if isinstance(outcome, Finished)]
    assert len(last) == 1
    expected = {str(c["id"]): f"{c['id']} done" for c in turn}
    expected |= {"b": "rejected by human", "q": "q!", "r": "r!"}
    expected |= {"e": "e done", "f": "f done"}
    assert results(last[0]) == expected
    check_sendable(last[0].messages)
    assert sorted(kitchen.done) == ["a", "c", "d", "e", "f"]
    numbers = [crumb.seq for crumb in await bread.crumbs(outcome.run_id)]
    assert numbers == list(range(1, len(numbers) + 1))


def answer_to(pending: PendingCall) -> object:
    if pending.kind == "input":
        return {"answer": f"{pending.args['question']}!"}
    return {"approved": pending.args["name"] != "b"}


async def test_an_answer_while_a_sibling_still_runs(make_bread: MakeBread):
    kitchen = Kitchen()
    kitchen.hold("c")
    turn = calls(*bakes("a"), *chops("c"))
    bread = make_bread({"cook": kitchen.agent(turn, "done")})
    run = bread.run("cook", "go")
    await within(kitchen.started["c"].wait())
    [question] = await bread.pending()
    early = await within(bread.resume(question.checkpoint_id, "yes"))
    assert isinstance(early, Suspended)
    assert (early.pending, kitchen.done) == ((), ["a"])
    kitchen.may_end["c"].set()
    outcome = await finished(bread, run)
    assert results(outcome) == {"a": "a done", "c": "c done"}


async def test_a_sibling_that_ends_while_an_approved_call_runs(make_bread: MakeBread):
    kitchen = Kitchen()
    kitchen.hold("a", "c")
    turn = calls(*bakes("a"), *chops("c"))
    bread = make_bread({"cook": kitchen.agent(turn, "done")})
    run = bread.run("cook", "go")
    await within(kitchen.started["c"].wait())
    [question] = await bread.pending()
    resumed = bread.resume(question.checkpoint_id, "yes")
    await within(kitchen.started["a"].wait())
    kitchen.may_end["c"].set()
    first = await within(run)
    assert isinstance(first, Suspended)
    assert first.pending == ()
    kitchen.may_end["a"].set()
    outcome = await within(resumed)
    assert isinstance(outcome, Finished)
    assert results(outcome) == {"a": "a done", "c": "c done"}
    assert kitchen.done == ["c", "a"]
    check_crumbs(resumed.crumbs)


@pytest.mark.parametrize("first", ["a", "b"])
async def test_two_approved_calls_at_once(make_bread: MakeBread, first: str):
    kitchen = Kitchen()
    kitchen.hold("a", "b")
    bread = make_bread({"cook": kitchen.agent(calls(*bakes("a", "b")), "done")})
    outcome = await waiting(bread, bread.run("cook", "go"))
    runs = [bread.resume(p.checkpoint_id, "yes") for p in outcome.pending]
    await within(kitchen.started["a"].wait())
    await within(kitchen.started["b"].wait())
    second = {"a": "b", "b": "a"}[first]
    by_name = dict(zip("ab", runs, strict=True))
    kitchen.may_end[first].set()
    assert isinstance(await within(by_name[first]), Suspended)
    kitchen.may_end[second].set()
    last = await within(by_name[second])
    assert isinstance(last, Finished)
    assert results(last) == {"a": "a done", "b": "b done"}
    assert kitchen.done == [first, second]


async def test_a_mixed_turn_runs_what_it_may_before_the_pause(make_bread: MakeBread):
    kitchen = Kitchen()
    bad = call("tool_chop", id="bad", nme="x")
    turn = calls(*chops("log"), *bakes("ask"), bad)
    bread = make_bread({"cook": kitchen.agent(turn, "done")})
    outcome = await waiting(bread, bread.run("cook", "go"))
    assert kitchen.done == ["log"]
    last = await finished(bread, bread.resume(outcome.only, "yes"))
    assert kitchen.done == ["log", "ask"]
    answered = results(last)
    assert list(answered) == ["log", "ask", "bad"]
    assert "name: is missing" in answered["bad"]


async def test_the_same_call_id_in_two_turns_asks_twice(make_bread: MakeBread):
    kitchen = Kitchen()
    turns = [
        calls(call("tool_bake", id="call_0", name="a")),
        calls(call("tool_bake", id="call_0", name="b")),
    ]
    agent = kitchen.agent(*turns, "done")
    bread = make_bread({"cook": agent})
    first = await waiting(bread, bread.run("cook", "go"))
    second = await within(bread.resume(first.only, "yes"))
    assert isinstance(second, Suspended)
    assert second.only != first.only
    last = await finished(bread, bread.resume(second.only, "yes"))
    assert kitchen.done == ["a", "b"]
    assert list(results(last).values()) == ["a done", "b done"]
    for request in agent.model.requests:
        check_sendable(request.messages)


async def test_several_questions_have_no_only_one(make_bread: MakeBread):
    bread = make_bread({"cook": Kitchen().agent(calls(*bakes("a", "b")))})
    outcome = await waiting(bread, bread.run("cook", "go"))
    with pytest.raises(BreadError) as caught:
        _ = outcome.only
    assert caught.value.code == "SEVERAL_PENDING"
    with pytest.raises(BreadError) as named:
        await within(bread.resume("cook-1", "yes"))
    assert named.value.code == "SEVERAL_PENDING"
    assert "cook-1.a, cook-1.b" in named.value.why
    assert len(await bread.pending()) == 2


async def test_a_halt_in_an_approved_call_withdraws_the_others(make_bread: MakeBread):
    kitchen = Kitchen()
    kitchen.raises["a"] = Halt("oven")
    bread = make_bread({"cook": kitchen.agent(calls(*bakes("a", "b")), "on")})
    outcome = await waiting(bread, bread.run("cook", "go", session="s1"))
    last = await stopped(bread, bread.resume(outcome.pending[0].checkpoint_id, "yes"))
    assert last.reason == "halt:oven"
    assert results(last) == {"a": "[halted:oven]", "b": "[halted:oven]"}
    assert await bread.pending() == []
    await finished(bread, bread.run("cook", "more", session="s1"))


async def test_a_halt_beside_running_siblings_cuts_them_short(make_bread: MakeBread):
    kitchen = Kitchen()
    kitchen.hold("c")
    kitchen.raises["h"] = Halt("oven")
    kitchen.hold("h")
    bread = make_bread({"cook": kitchen.agent(calls(*chops("c", "h")), "on")})
    run = bread.run("cook", "go")
    await within(kitchen.started["c"].wait())
    kitchen.may_end["h"].set()
    outcome = await stopped(bread, run)
    assert outcome.reason == "halt:oven"
    assert kitchen.done == []
    assert results(outcome) == {"c": "[halted:oven]", "h": "[halted:oven]"}


async def test_a_halt_of_an_approved_call_ends_the_run_its_sibling_works_on(
    make_bread: MakeBread,
):
    kitchen = Kitchen()
    kitchen.hold("c")
    kitchen.raises["a"] = Halt("oven")
    turn = calls(*bakes("a"), *chops("c"))
    bread = make_bread({"cook": kitchen.agent(turn, "on")})
    run = bread.run("cook", "go", session="s1")
    await within(kitchen.started["c"].wait())
    [question] = await bread.pending()
    halted = await within(bread.resume(question.checkpoint_id, "yes"))
    assert isinstance(halted, Stopped)
    kitchen.may_end["c"].set()
    outcome = await within(run)
    assert isinstance(outcome, Stopped)
    assert outcome.reason == halted.reason == "halt:oven"
    check_sendable(await bread.sessions.messages("s1"))


async def test_cancelling_an_approved_call_ends_the_run(make_bread: MakeBread):
    kitchen = Kitchen()
    kitchen.hold("a")
    bread = make_bread({"cook": kitchen.agent(calls(*bakes("a", "b")), "on")})
    outcome = await waiting(bread, bread.run("cook", "go", session="s1"))
    resumed = bread.resume(outcome.pending[0].checkpoint_id, "yes")
    await within(kitchen.started["a"].wait())
    resumed.cancel()
    assert (await fault(bread, resumed)).code == "RUN_CANCELLED"
    assert (await row_of(bread)).status == "cancelled"
    assert await bread.pending() == []
    assert [c["response"] for c in only(resumed.crumbs, "human:resumed")][1:] == [
        {"withdrawn": "the run was ended"}
    ]
    await finished(bread, bread.run("cook", "more", session="s1"))


async def test_cancelling_the_run_ends_the_approved_call_beside_it(
    make_bread: MakeBread,
):
    kitchen = Kitchen()
    kitchen.hold("a", "c")
    turn = calls(*bakes("a"), *chops("c"))
    bread = make_bread({"cook": kitchen.agent(turn, "on")})
    run = bread.run("cook", "go", session="s1")
    await within(kitchen.started["c"].wait())
    [question] = await bread.pending()
    resumed = bread.resume(question.checkpoint_id, "yes")
    await within(kitchen.started["a"].wait())
    await bread.cancel("cook-1")
    for work in (run, resumed):
        with pytest.raises(BreadError) as caught:
            await within(work)
        assert caught.value.code == "RUN_CANCELLED"
    assert kitchen.done == []
    check_sendable(await bread.sessions.messages("s1"))
    await finished(bread, bread.run("cook", "more", session="s1"))


async def test_an_approved_call_that_ends_after_its_run_hears_how_it_ended(
    make_bread: MakeBread,
):
    kitchen = Kitchen()
    kitchen.hold("a", "c")
    turn = calls(*bakes("a"), *chops("c"))
    bread = make_bread({"cook": kitchen.agent(turn, "on")})
    run = bread.run("cook", "go", session="s1")
    await within(kitchen.started["c"].wait())
    [question] = await bread.pending()
    resumed = bread.resume(question.checkpoint_id, "yes")
    await within(kitchen.started["a"].wait())
    run.cancel()
    with pytest.raises(BreadError):
        await within(run)
    kitchen.may_end["a"].set()
    with pytest.raises(BreadError) as caught:
        await within(resumed)
    assert caught.value.code == "RUN_CANCELLED"
    kept = await bread.sessions.messages("s1")
    assert [part.text for part in kept[2].parts] == ["cancelled by user"] * 2
