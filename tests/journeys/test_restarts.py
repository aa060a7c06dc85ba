"""A process that ends and another that goes on, with nothing shared but the file."""

from collections.abc import Callable
from pathlib import Path

import pytest
from fixtures.journey import call, calls, finished, results, waiting, within
from journeys.conftest import MakeBread

from bread_nb import (
    Agent,
    Bread,
    Permissions,
    Scripted,
    Suspended,
    human_tool,
    tool,
)
from bread_nb.messages import ToolResult
from bread_nb.runtime.outcome import PendingCall
from bread_nb.stores.sqlite import SqliteStore

Restart = Callable[..., Bread]


@pytest.fixture
def restart(make_bread: MakeBread, tmp_path: Path) -> Restart:
    """Bread as a new process has it: another object for the same file."""

    def start(**agents: Agent) -> Bread:
        store = SqliteStore(tmp_path / ".bread" / "bread.db", root=tmp_path)
        return make_bread(agents, store=store)

    return start


class Counter:
    """A side effect that needs no consent, and one that does."""

    def __init__(self) -> None:
        self.count = 0
        self.served: list[str] = []

    def agent(self, *turns: object) -> Agent:
        """The agent as the files describe it; a script knows its place by history."""

        @tool
        def add() -> int:
            """Add one."""
            self.count += 1
            return self.count

        @tool
        def serve(name: str) -> str:
            """Serve."""
            self.served.append(name)
            return f"served {name}"

        return Agent(
            model=Scripted(list(turns), by="history"),
            tools=[add, serve, human_tool("approve")],
            permissions=Permissions(ask=["tool:serve"]),
        )


async def only_question(bread: Bread) -> PendingCall:
    [question] = await bread.pending()
    return question


async def test_the_reason_of_a_refusal_outlives_the_process(restart: Restart):
    counter = Counter()
    turn = calls(*(call("tool_serve", id=name, name=name) for name in "ab"))
    bread = restart(cook=counter.agent(turn, "Less salt."))
    asked = await waiting(bread, bread.run("cook", "go"))
    refusal = {"approved": False, "reason": "too much salt"}
    refused = await within(bread.resume(asked.pending[0].checkpoint_id, refusal))
    assert isinstance(refused, Suspended)
    await bread.close()

    agent = counter.agent(turn, "Less salt.")
    later = restart(cook=agent)
    question = await only_question(later)
    outcome = await finished(later, later.resume(question.checkpoint_id, "yes"))
    told = [
        (part.content, part.failed)
        for part in agent.model.requests[0].messages[-1].parts
        if isinstance(part, ToolResult)
    ]
    assert told == [("rejected by human: too much salt", True), ("served b", False)]
    assert (outcome.text, counter.served) == ("Less salt.", ["b"])


@pytest.mark.parametrize("way", ["one turn", "two turns"])
async def test_work_before_a_pause_is_done_once_whatever_is_restarted(
    restart: Restart, way: str
):
    counter = Counter()
    add, ask = call("tool_add"), call("human_approve", question="On?")
    a_round = [calls(add, ask)] if way == "one turn" else [calls(add), calls(ask)]
    turns = [*a_round * 3, "baked"]
    bread = restart(cook=counter.agent(*turns))
    outcome: object = await waiting(bread, bread.run("cook", "go"))
    for done in (1, 2, 3):
        assert isinstance(outcome, Suspended)
        assert counter.count == done
        await bread.close()
        bread = restart(cook=counter.agent(*turns))
        question = await only_question(bread)
        outcome = await within(bread.resume(question.checkpoint_id, {"answer": "yes"}))
    assert (outcome.text, counter.count) == ("baked", 3)
    added = [text for text in results(outcome).values() if isinstance(text, int)]
    assert added == [1, 2, 3]


async def test_a_call_id_of_an_earlier_run_asks_again_in_the_same_session(
    restart: Restart,
):
    counter = Counter()
    turns = [
        calls(call("tool_serve", id="call_0", name="rye")),
        "one",
        calls(call("tool_serve", id="call_0", name="oat")),
        "two",
    ]
    seen: list[str] = []
    for text in ("one", "two"):
        agent = counter.agent(*turns)
        bread = restart(cook=agent)
        asked = await waiting(bread, bread.run("cook", "go", session="s1"))
        seen.append(asked.only)
        outcome = await finished(bread, bread.resume(asked.only, "yes"))
        assert outcome.text == text
        await bread.close()
    assert len(set(seen)) == 2
    assert counter.served == ["rye", "oat"]
    assert list(results(agent.model.requests[-1]).values()) == [
        "served rye",
        "served oat",
    ]
