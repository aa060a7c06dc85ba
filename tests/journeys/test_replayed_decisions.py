"""Calls that waited for a person: the decision is recorded, the tool not run again."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from fixtures.journey import (
    call,
    calls,
    fault,
    finished,
    only,
    stopped,
    told,
    types,
    waiting,
)

from bread_nb import (
    Agent,
    Bread,
    BreadConfig,
    BreadError,
    Finished,
    Permissions,
    Run,
    Scripted,
    human_tool,
    tool,
)
from bread_nb.errors import Halt
from bread_nb.messages import File
from bread_nb.providers.deck import Deck
from bread_nb.providers.model import ModelRequest
from bread_nb.stores.blobs import MemoryBlobs
from bread_nb.stores.in_memory import InMemoryStore

Replay = Callable[[], None]

ran: list[str] = []
CASSETTE = Path("story.cassette.jsonl")


class Model(Scripted):
    """A model that is recorded, although a script tells it what to say."""

    is_script = False


@tool
def publish(title: str) -> str:
    """Publish a post."""
    ran.append(title)
    return f"published {title}"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran.clear()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BREAD_CASSETTE", "story")
    monkeypatch.setenv("BREAD_MODE", "record")


@pytest.fixture
def replay(monkeypatch: pytest.MonkeyPatch) -> Replay:
    return lambda: monkeypatch.setenv("BREAD_MODE", "replay")


def publisher(*turns: object, tools: Sequence[object] = (publish,)) -> Bread:
    """Bread of an agent that asks before it publishes; its last turn is repeated."""
    made = Agent(
        model=Model(list(turns), repeat_last=True),
        prompt="You publish.",
        permissions=Permissions(ask=["tool:publish", "tool:risky"]),
        tools=tools,
    )
    config = BreadConfig(blob_store=MemoryBlobs())
    return Bread({"publisher": made}, config=config, store=InMemoryStore())


def wants(*titles: str) -> dict[str, object]:
    return calls(*(call("tool_publish", title=title) for title in titles))


def written() -> str:
    """The cassette as it is."""
    return CASSETTE.read_text("utf-8")


def rewritten(old: str, new: str) -> None:
    CASSETTE.write_text(written().replace(old, new), "utf-8")


def decisions() -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in written().splitlines()]
    return [line for line in lines if line["kind"] == "decision"]


async def answered(bread: Bread, run: Run, *answers: object) -> list[Run]:
    """The run and what went on with it, each waiting call answered in order."""
    runs = [run]
    for answer in answers:
        outcome = await waiting(bread, runs[-1])
        runs.append(bread.resume(outcome.pending[0].checkpoint_id, answer))
    return runs


def told_by(runs: list[Run]) -> list[dict[str, Any]]:
    """What the runs told together, without ids of checkpoints."""
    crumbs = [crumb for run in runs for crumb in told(run.crumbs)]
    return [{k: v for k, v in crumb.items() if k != "checkpointId"} for crumb in crumbs]


async def test_an_approved_call_is_replayed_and_its_tool_does_not_run(replay: Replay):
    async with publisher(wants("Rye"), "It is out.") as bread:
        runs = await answered(bread, bread.run("publisher", "Go."), {"approved": True})
        recorded = await finished(bread, runs[-1])
    assert ran == ["Rye"]
    replay()
    async with publisher() as bread:
        run = bread.run("publisher", "Go.")
        replayed = await finished(bread, run)
        assert await bread.pending() == []
    assert ran == ["Rye"]
    assert replayed.text == recorded.text == "It is out."
    assert [m.text for m in replayed.messages] == [m.text for m in recorded.messages]
    assert told_by([run]) == told_by(runs)


async def test_a_refusal_is_replayed_with_its_reason(replay: Replay):
    async with publisher(wants("Rye"), "I did not.") as bread:
        no = {"approved": False, "reason": "too early"}
        runs = await answered(bread, bread.run("publisher", "Go."), no)
        await finished(bread, runs[-1])
    replay()
    async with publisher() as bread:
        run = bread.run("publisher", "Go.")
        await finished(bread, run)
    assert ran == []
    assert told_by([run]) == told_by(runs)
    assert only(run.crumbs, "human:resumed")[0]["response"] == no


async def test_equal_questions_get_their_decisions_in_the_order_they_were_asked(
    replay: Replay,
):
    async with publisher(wants("Rye", "Rye"), "One is out.") as bread:
        outcome = await waiting(bread, bread.run("publisher", "Go."))
        first, second = (each.checkpoint_id for each in outcome.pending)
        await waiting(bread, bread.resume(second, {"approved": True}))
        last = bread.resume(first, {"approved": False})
        recorded = await finished(bread, last)
    replay()
    async with publisher() as bread:
        replayed = await finished(bread, bread.run("publisher", "Go."))
    assert ran == ["Rye"]
    assert replayed.messages == recorded.messages


async def test_edited_arguments_are_replayed_as_edited(replay: Replay):
    async with publisher(wants("Rye"), "It is out.") as bread:
        edited = {"approved": True, "args": {"title": "Spelt"}}
        runs = await answered(bread, bread.run("publisher", "Go."), edited)
        recorded = await finished(bread, runs[-1])
    replay()
    async with publisher() as bread:
        replayed = await finished(bread, bread.run("publisher", "Go."))
    assert ran == ["Spelt"]
    assert replayed.messages == recorded.messages


async def test_answers_to_questions_are_replayed(replay: Replay):
    approve = human_tool("approve")
    turns = (calls(call("human_approve", question="Well?")), "Thanks.")
    async with publisher(*turns, tools=[approve]) as bread:
        run = bread.run("publisher", "Go.")
        runs = await answered(bread, run, {"answer": "yes"})
        recorded = await finished(bread, runs[-1])
    replay()
    async with publisher(tools=[approve]) as bread:
        replayed = await finished(bread, bread.run("publisher", "Go."))
    assert replayed.messages == recorded.messages


async def test_failures_progress_and_files_come_back(replay: Replay):
    @tool
    def risky(step: int) -> Iterator[object]:
        """Do something."""
        ran.append(str(step))
        if step == 1:
            raise ValueError("no oven")
        yield "half"
        return {"picture": File.of(b"\x89PNG made up", name="a.png")}

    turns = (
        calls(call("tool_risky", step=1)),
        calls(call("tool_risky", step=2)),
        "Done.",
    )
    yes = {"approved": True}
    async with publisher(*turns, tools=[risky]) as bread:
        runs = await answered(bread, bread.run("publisher", "Go."), yes, yes)
        recorded = await finished(bread, runs[-1])
    replay()
    async with publisher(tools=[risky]) as bread:
        run = bread.run("publisher", "Go.")
        replayed = await finished(bread, run)
        uri = only(run.crumbs, "tool:result")[0]["result"]["picture"]["uri"]
        assert (await bread.blob_store.get(uri))[0] == b"\x89PNG made up"
    assert ran == ["1", "2"]
    assert replayed.messages == recorded.messages
    assert told_by([run]) == told_by(runs)


async def test_a_halt_of_an_approved_tool_halts_the_replay(replay: Replay):
    @tool
    def risky() -> None:
        """Do something."""
        ran.append("risky")
        raise Halt("oven", why="It burns.")

    turns = (calls(call("tool_risky")),)
    async with publisher(*turns, tools=[risky]) as bread:
        run = bread.run("publisher", "Go.")
        runs = await answered(bread, run, {"approved": True})
        await stopped(bread, runs[-1])
    replay()
    async with publisher(tools=[risky]) as bread:
        outcome = await stopped(bread, bread.run("publisher", "Go."))
    assert outcome.reason == "halt:oven"
    assert ran == ["risky"]


async def test_what_a_cell_answers_is_left_to_that_cell(replay: Replay):
    Bread.common_deck = deck = Deck()
    try:
        async with publisher(wants("Rye"), "It is out.") as bread:
            run = bread.run("publisher", "Go.")
            question = (await waiting(bread, run)).pending[0].checkpoint_id
            deck.leave_to_cell(question)
            await finished(bread, bread.resume(question, {"approved": True}))
    finally:
        Bread.common_deck = None
    assert decisions()[0]["by"] == "cell"
    replay()
    async with publisher() as bread:
        question = (await waiting(bread, bread.run("publisher", "Go."))).pending[0]
        no = {"approved": True, "args": {"title": "Other"}}
        error = await refused(bread.resume(question.checkpoint_id, no))
        assert error.code == "REPLAY_MISS"
        assert len(await bread.pending()) == 1
        run = bread.resume(question.checkpoint_id, {"approved": True})
        assert (await finished(bread, run)).text == "It is out."
        assert types(run.crumbs)[:3] == ["human:resumed", "tool:call", "tool:result"]
    assert ran == ["Rye"]


async def refused(run: Run) -> BreadError:
    with pytest.raises(BreadError) as caught:
        await run
    return caught.value


async def test_a_question_without_a_recorded_decision_waits(replay: Replay):
    async with publisher(wants("Rye"), "It is out.") as bread:
        await waiting(bread, bread.run("publisher", "Go."))
    replay()
    async with publisher() as bread:
        await waiting(bread, bread.run("publisher", "Go."))


async def test_no_secret_of_a_decision_reaches_the_cassette(
    monkeypatch: pytest.MonkeyPatch,
):
    key = "sk-made-up-0f1e2d3c4b5a69788796"
    monkeypatch.setenv("OVEN_API_KEY", key)
    async with publisher(wants(f"Rye {key}"), f"It is {key[:15]}{key[15:]}.") as bread:
        answer = {"approved": True, "args": {"title": f"Spelt {key}"}}
        run = bread.run("publisher", f"Publish with {key}.")
        runs = await answered(bread, run, answer)
        await finished(bread, runs[-1])
    assert key[:12] not in written()
    assert ran == [f"Spelt {key}"]


async def test_runs_that_wait_at_once_are_replayed_each_with_its_own(replay: Replay):
    def turn(request: ModelRequest) -> object:
        asked = request.messages[0].text
        return wants(asked) if len(request.messages) == 1 else f"{asked} is out."

    topics = [f"topic {n}" for n in range(8)]
    async with publisher(turn) as bread:
        for topic in topics:
            outcome = await waiting(bread, bread.run("publisher", topic))
            yes = {"approved": topic != "topic 3"}
            await finished(bread, bread.resume(outcome.pending[0].checkpoint_id, yes))
    before = list(ran)
    replay()
    async with publisher() as bread:
        runs = [bread.run("publisher", topic) for topic in topics]
        texts = [(await finished(bread, run)).text for run in runs]
    assert texts == [f"{topic} is out." for topic in topics]
    assert ran == before


async def test_a_miss_after_an_answer_names_the_message(replay: Replay):
    async with publisher(wants("Rye"), "It is out.") as bread:
        runs = await answered(bread, bread.run("publisher", "Go."), {"approved": True})
        await finished(bread, runs[-1])
    rewritten("published Rye", "printed Rye")
    replay()
    async with publisher() as bread:
        error = await fault(bread, bread.run("publisher", "Go."))
    assert error.code == "REPLAY_MISS"


async def test_code_that_answers_again_is_given_the_end_of_the_run(replay: Replay):
    async def story(bread: Bread) -> Finished:
        outcome = await bread.run("publisher", "Go.")
        return await finished(bread, bread.resume(outcome.only, {"approved": True}))

    async with publisher(wants("Rye"), "It is out.") as bread:
        recorded = await story(bread)
    replay()
    async with publisher() as bread:
        replayed = await story(bread)
        assert [call.tool for call in (await bread.run("publisher", "Go.")).answered]
    assert ran == ["Rye"]
    assert replayed.messages == recorded.messages
