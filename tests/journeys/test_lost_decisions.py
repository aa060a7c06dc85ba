"""Recorded calls whose decision is lost or edited: no tool runs, and it is said why."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fixtures.journey import call, calls, fault, finished, waiting

from bread_nb import (
    Agent,
    Bread,
    BreadError,
    Cassette,
    Permissions,
    Run,
    Scripted,
    tool,
)
from bread_nb.providers.model import ChatModel
from bread_nb.stores.in_memory import InMemoryStore

Mode = Callable[[str], None]
Line = dict[str, Any]

CASSETTE = Path("story.cassette.jsonl")
YES = {"approved": True}
ran: list[str] = []


class Model(Scripted):
    """A model that is recorded, although a script tells it what to say."""

    is_script = False


@tool
def publish(title: str) -> str:
    """Publish a post."""
    ran.append(title)
    return f"published {title}"


@pytest.fixture
def mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mode:
    ran.clear()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BREAD_CASSETTE", "story")
    return lambda name: monkeypatch.setenv("BREAD_MODE", name)


def publisher(
    model: ChatModel | None = None,
    name: str = "publisher",
    store: InMemoryStore | None = None,
) -> Bread:
    if model is None:
        turns = [calls(call("tool_publish", title="Rye")), "It is out."]
        model = Model(turns, by="history")
    rules = Permissions(ask=["tool:publish"])
    made = Agent(model=model, prompt="Publish.", permissions=rules, tools=[publish])
    return Bread({name: made}, store=store or InMemoryStore())


async def recorded(mode: Mode) -> None:
    """A story in which the publisher asked, was let, and published."""
    mode("record")
    async with publisher() as bread:
        outcome = await waiting(bread, bread.run("publisher", "Go."))
        await finished(bread, bread.resume(outcome.only, YES))
    assert ran == ["Rye"]
    mode("replay")


def lines() -> list[Line]:
    return [json.loads(line) for line in CASSETTE.read_text("utf-8").splitlines()]


def write(kept: list[Line]) -> None:
    CASSETTE.write_text("".join(f"{json.dumps(line)}\n" for line in kept), "utf-8")


def lose_decisions() -> None:
    write([line for line in lines() if line["kind"] != "decision"])


async def refused(run: Run) -> BreadError:
    with pytest.raises(BreadError) as caught:
        await run
    return caught.value


async def approved(bread: Bread, name: str = "publisher") -> BreadError:
    """The error of approving the call of a replayed run; it still waits."""
    outcome = await waiting(bread, bread.run(name, "Go."))
    error = await refused(bread.resume(outcome.only, YES))
    assert [call.checkpoint_id for call in await bread.pending()] == [outcome.only]
    return error


async def test_a_replay_whose_decision_is_lost_does_not_run_the_tool(mode: Mode):
    await recorded(mode)
    lose_decisions()
    async with publisher() as bread:
        error = await approved(bread)
    assert ran == ["Rye"]
    assert error.code == "REPLAY_MISS"
    assert error.what == "The recording has no decision about publisher-1.a."
    assert "no decision about tool_publish is recorded" in error.why


async def test_of_a_renamed_agent_it_says_whose_the_decision_is(mode: Mode):
    await recorded(mode)
    async with publisher(name="baker") as bread:
        error = await approved(bread, "baker")
    assert ran == ["Rye"]
    assert error.code == "REPLAY_MISS"
    nearest = "story.cassette.jsonl:2; the agent says 'baker', recorded 'publisher'."
    assert error.why.endswith(nearest)
    assert error.context["nearest"] == "story.cassette.jsonl:2"


async def test_a_call_with_other_arguments_than_it_was_decided_for_does_not_run(
    mode: Mode,
):
    await recorded(mode)
    kept = lines()
    kept[0]["answer"] = json.loads(json.dumps(kept[0]["answer"]).replace("Rye", "All"))
    write(kept)
    async with publisher() as bread:
        error = await approved(bread)
    assert ran == ["Rye"]
    assert "the arguments, title says 'All', recorded 'Rye'" in error.why


async def test_a_refusal_needs_no_recorded_decision(mode: Mode):
    await recorded(mode)
    lose_decisions()
    async with publisher() as bread:
        outcome = await waiting(bread, bread.run("publisher", "Go."))
        error = await fault(bread, bread.resume(outcome.only, {"approved": False}))
        assert await bread.pending() == []
    assert (error.code, error.what) == ("REPLAY_MISS", "Not in the recording.")
    assert ran == ["Rye"]


async def test_a_process_that_did_not_ask_plays_the_recorded_outcome(mode: Mode):
    await recorded(mode)
    write([{**line, "by": "cell"} if "by" in line else line for line in lines()])
    store = InMemoryStore()
    first = publisher(store=store)
    outcome = await waiting(first, first.run("publisher", "Go."))
    second = publisher(store=store)
    run = second.resume(outcome.only, YES)
    assert (await finished(second, run)).text == "It is out."
    assert ran == ["Rye"]


async def test_a_cassette_of_its_own_is_a_recording_too(mode: Mode):
    await recorded(mode)
    lose_decisions()
    model = Cassette(Model([]), CASSETTE, mode="replay")
    async with publisher(model) as bread:
        error = await approved(bread)
    assert (error.code, ran) == ("REPLAY_MISS", ["Rye"])


async def test_what_a_script_or_a_live_model_asks_for_runs_when_it_is_approved(
    mode: Mode,
):
    await recorded(mode)
    lose_decisions()
    script = Scripted([calls(call("tool_publish", title="Spelt")), "It is out."])
    async with publisher(script) as bread:
        outcome = await waiting(bread, bread.run("publisher", "Go."))
        await finished(bread, bread.resume(outcome.only, YES))
    store = InMemoryStore()
    mode("live")
    before = publisher(store=store)
    outcome = await waiting(before, before.run("publisher", "Go."))
    mode("replay")
    after = publisher(store=store)
    await finished(after, after.resume(outcome.only, YES))
    assert ran == ["Rye", "Spelt", "Rye"]


FILE = {"uri": "blob:1", "mime_type": "text/plain", "base64": "AA=="}
BROKEN: list[tuple[Line, str]] = [
    ({"question": 5}, "its question is 5, and no object."),
    ({"number": "x"}, "its number is 'x', and no number of a question."),
    ({"by": "robot"}, "it was answered by 'robot', neither cell nor person."),
    ({"outcome": "boo"}, "its outcome is 'boo', and no object."),
    ({"outcome": {"zork": 1}}, "its outcome has neither a result nor an error."),
    ({"outcome": {"error": "boo"}}, "its error is 'boo', and no object."),
    (
        {"outcome": {"error": {"code": "X", "zork": 1}}},
        "its error has a field 'zork', which there is not.",
    ),
    (
        {"outcome": {"error": {"code": 5}}},
        "code of its error is 5, and no text.",
    ),
    (
        {"outcome": {"error": {"retryable": "no"}}},
        "retryable of its error is neither true nor false.",
    ),
    (
        {"outcome": {"error": {"context": "x"}}},
        "context of its error is 'x', and no object.",
    ),
    ({"outcome": {"halt": 5}}, "halt of its outcome is 5, and no text."),
    (
        {"outcome": {"result": 1, "partial": "x"}},
        "partial of its outcome is 'x', and no list.",
    ),
    ({"outcome": {"result": 1, "files": ["x"]}}, "'x' is no file."),
    (
        {"outcome": {"result": 1, "files": [{"base64": "AA=="}]}},
        "a file of its outcome has no uri.",
    ),
    (
        {"outcome": {"result": 1, "files": [{**FILE, "name": 5}]}},
        "the name of a file is 5, and no text.",
    ),
    (
        {"outcome": {"result": 1, "files": [{**FILE, "base64": "!!!"}]}},
        "Only base64 data is allowed.",
    ),
    (
        {"outcome": {"result": 1, "files": [{**FILE, "sha256": "x"}]}},
        "the bytes of blob:1 are not those of its sha256.",
    ),
]


@pytest.mark.parametrize(("edit", "why"), BROKEN, ids=[why for _, why in BROKEN])
@pytest.mark.parametrize("by", ["person", "cell"])
async def test_a_decision_edited_into_nonsense_settles_nothing(
    mode: Mode, edit: Line, why: str, by: str
):
    await recorded(mode)
    kept = lines()
    kept[1] = {**kept[1], "by": by, **edit}
    write(kept)
    async with publisher() as bread:
        error = await refused(bread.run("publisher", "Go."))
        [question] = await bread.pending()
        again = await refused(bread.resume(question.checkpoint_id, YES))
        assert len(await bread.pending()) == 1
    for each in (error, again):
        assert each.code == "CASSETTE_BROKEN"
        assert each.what == "story.cassette.jsonl:2 cannot be played."
        assert each.why == why
    assert ran == ["Rye"]
