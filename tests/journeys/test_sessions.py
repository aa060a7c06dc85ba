"""Conversations: one run at a time, gone on with, listed and forgotten."""

import asyncio

import pytest
from fixtures.journey import (
    call,
    calls,
    finished,
    results,
    stopped,
    texts,
    waiting,
    within,
)
from journeys.conftest import MakeBread

from bread_nb import Agent, Bread, BreadError, Scripted, human_tool
from bread_nb.providers.model import ModelRequest


class Oven:
    """A script whose first turn waits until it may go on."""

    def __init__(self) -> None:
        self.hot, self.go_on = asyncio.Event(), asyncio.Event()

    async def turn(self, _: ModelRequest) -> str:
        self.hot.set()
        await within(self.go_on.wait())
        return "done"


ASKS = calls(call("human_approve", question="?"))


def asker(*turns: object) -> Agent:
    return Agent(model=Scripted(list(turns)), tools=[human_tool("approve")])


async def code_of(run: object) -> BreadError:
    with pytest.raises(BreadError) as caught:
        await within(run)
    return caught.value


async def test_each_run_is_a_new_session_unless_one_is_named(make_bread: MakeBread):
    bread = make_bread({"baker": asker("one", "two", "three", "four")})
    first = await finished(bread, bread.run("baker", "a"))
    second = await finished(bread, bread.run("baker", "b"))
    assert first.session_id != second.session_id
    await finished(bread, bread.run("baker", "c", session="s1"))
    outcome = await finished(bread, bread.run("baker", "d", session="s1"))
    assert texts(outcome.messages) == [
        ("user", "c"),
        ("assistant", "three"),
        ("user", "d"),
        ("assistant", "four"),
    ]


async def test_agents_may_share_a_session(make_bread: MakeBread):
    critic = asker("stale")
    bread = make_bread({"baker": asker("fresh"), "critic": critic})
    await finished(bread, bread.run("baker", "bake", session="s1"))
    await finished(bread, bread.run("critic", "taste", session="s1"))
    assert [m.text for m in critic.model.requests[0].messages] == [
        "bake",
        "fresh",
        "taste",
    ]


async def test_sessions_are_listed_by_their_tags(make_bread: MakeBread):
    bread = make_bread({"baker": asker(*"abcd")})
    for name, tags in (("s1", {"a": "1", "b": "2"}), ("s2", {"a": "1"}), ("s3", None)):
        await finished(bread, bread.run("baker", "go", session=name, tags=tags))
    await finished(bread, bread.run("baker", "go", session="s2", tags={"b": "2"}))

    async def found(**tags: str) -> list[str]:
        return [session.id for session in await bread.sessions.list(tags=tags)]

    assert await found() == ["s1", "s2", "s3"]
    assert await found(a="1") == ["s1", "s2"]
    assert await found(a="1", b="2") == ["s1"]
    assert await found(a="2") == []
    kept = await bread.sessions.get("s1")
    assert kept is not None
    assert (kept.tags, kept.run_id, kept.agent_id) == (
        {"a": "1", "b": "2"},
        None,
        "baker",
    )


async def test_a_forgotten_session_is_gone_with_its_runs_and_questions(
    make_bread: MakeBread,
):
    bread = make_bread({"baker": asker(ASKS, "fine")})
    await waiting(bread, bread.run("baker", "go", session="s1"))
    await bread.sessions.forget("s1")
    assert await bread.sessions.get("s1") is None
    assert (await bread.pending(), await bread.runs()) == ([], [])
    assert await bread.sessions.messages("s1") == []
    await finished(bread, bread.run("baker", "anew", session="s1"))


async def test_a_session_that_waits_takes_no_new_message(make_bread: MakeBread):
    bread = make_bread({"baker": asker(ASKS, "done")})
    outcome = await waiting(bread, bread.run("baker", "go", session="s1"))
    error = await code_of(bread.run("baker", "more", session="s1"))
    assert error.code == "SESSION_WAITING"
    assert "baker-1.a" in error.why
    assert error.context["checkpoints"] == [outcome.only]
    assert len(await bread.runs()) == 1
    assert len(await bread.sessions.messages("s1")) == 2
    await finished(bread, bread.resume(outcome.only, "yes"))


async def test_unless_it_is_told_to_discard_what_waits(make_bread: MakeBread):
    bread = make_bread({"baker": asker(ASKS, "fresh")})
    outcome = await waiting(bread, bread.run("baker", "go", session="s1"))
    run = bread.run("baker", "more", session="s1", discard=True)
    later = await finished(bread, run)
    assert results(later) == {"call_1_1": "[stopped]"}
    assert later.text == "fresh"
    assert await bread.pending() == []
    error = await code_of(bread.resume(outcome.only, "yes"))
    assert error.code == "CHECKPOINT_NOT_FOUND"
    assert "Withdrawn" in error.why
    assert (await bread.find_run("baker-1")).status == "stopped"


async def test_discarding_where_nothing_waits_changes_nothing(make_bread: MakeBread):
    bread = make_bread({"baker": asker("one", "two")})
    await finished(bread, bread.run("baker", "go", session="s1", discard=True))
    await finished(bread, bread.run("baker", "go", session="s1", discard=True))


@pytest.mark.parametrize("discard", [False, True])
async def test_a_session_at_work_is_busy(make_bread: MakeBread, discard: bool):
    oven = Oven()
    bread = make_bread({"baker": asker(oven.turn, "next")})
    run = bread.run("baker", "go", session="s1")
    await within(oven.hot.wait())
    error = await code_of(bread.run("baker", "more", session="s1", discard=discard))
    assert (error.code, "baker-1" in error.why) == ("SESSION_BUSY", True)
    oven.go_on.set()
    await finished(bread, run)
    await finished(bread, bread.run("baker", "more", session="s1"))


async def test_two_runs_that_begin_at_once_in_one_session(make_bread: MakeBread):
    bread = make_bread({"baker": asker("one", "two", "three")})
    await finished(bread, bread.run("baker", "go", session="s1"))
    runs = [bread.run("baker", "go", session="s1") for _ in range(2)]
    ends = await within(asyncio.gather(*runs, return_exceptions=True))
    refused = [end for end in ends if isinstance(end, BreadError)]
    assert [error.code for error in refused] in ([], ["SESSION_BUSY"])
    assert len(await bread.sessions.messages("s1")) == 6 - 2 * len(refused)


async def test_more_runs_than_may_be_under_way_are_refused_at_once(
    make_bread: MakeBread,
):
    oven = Oven()
    agents = {"baker": asker(oven.turn), "asker": asker(ASKS, "done", "done")}
    bread = make_bread(agents, concurrency=1)
    question = (await waiting(bread, bread.run("asker", "go"))).only
    run = bread.run("baker", "go")
    await within(oven.hot.wait())
    for start in (lambda: bread.run("baker", "x"), lambda: bread.resume(question, "y")):
        with pytest.raises(BreadError) as caught:
            start()
        assert caught.value.code == "CONCURRENCY_LIMIT"
        assert caught.value.context == {"in_flight": 1, "max": 1}
    oven.go_on.set()
    await finished(bread, run)
    await finished(bread, bread.resume(question, "yes"))


async def free(bread: Bread) -> bool:
    try:
        await within(bread.run("baker", "go"))
    except BreadError as error:
        return error.code != "CONCURRENCY_LIMIT"
    return True


async def test_every_kind_of_end_frees_its_place(make_bread: MakeBread):
    bread = make_bread({"baker": asker({"error": 401}, ASKS, "x", "y")}, concurrency=1)
    assert await free(bread)
    assert await free(bread)
    cancelled = bread.run("baker", "go")
    cancelled.cancel()
    assert (await code_of(cancelled)).code == "RUN_CANCELLED"
    assert await free(bread)


async def test_a_run_can_be_stopped_by_its_handle(make_bread: MakeBread):
    oven = Oven()
    bread = make_bread({"baker": asker(oven.turn, "again")})
    run = bread.run("baker", "go", session="s1")
    await within(oven.hot.wait())
    row = await bread.cancel("baker-1")
    assert row.id == run.id
    assert (await code_of(run)).code == "RUN_CANCELLED"
    await finished(bread, bread.run("baker", "again", session="s1"))


async def test_stopping_before_the_first_turn_is_a_clean_end(make_bread: MakeBread):
    script = Scripted(["never"])
    bread = make_bread({"baker": Agent(model=script)})
    run = bread.run("baker", "go")
    run.stop()
    outcome = await stopped(bread, run)
    assert (outcome.reason, script.requests) == ("stopped", [])
