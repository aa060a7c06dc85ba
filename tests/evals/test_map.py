"""`bread.map`: one agent on many inputs, each with its own end."""

from evals.conftest import answering

from bread_nb import (
    Agent,
    Bread,
    BreadError,
    Finished,
    Permissions,
    Scripted,
    Suspended,
)
from bread_nb.tools.tool import tool


async def test_each_input_has_its_outcome_in_order(bread: Bread):
    def answer(question: str) -> str:
        if question == "b":
            raise ValueError("no b")
        return question.upper()

    found = await bread.map(answering(answer), ["a", "b", "c"])
    assert isinstance(found[1], BreadError)
    assert "no b" in str(found[1])
    assert [o.output for o in (found[0], found[2])] == ["A", "C"]
    assert isinstance(found[0], Finished)


async def test_nothing_is_mapped_to_nothing(bread: Bread):
    assert await bread.map(answering(str), []) == []


async def test_a_run_that_waits_is_left_to_wait(bread: Bread):
    @tool
    def publish(title: str) -> str:
        """Publish."""
        return f"published {title}"

    call = {"calls": [{"name": "tool_publish", "args": {"title": "Rye"}}]}
    agent = Agent(
        name="publisher",
        model=Scripted([call, "It is out."]),
        tools=[publish],
        permissions=Permissions(ask=["tool:publish"]),
    )
    (waiting,) = await bread.map(agent, ["Rye"])
    assert isinstance(waiting, Suspended)
    done = await bread.resume(waiting.only, {"approved": True})
    assert done.text == "It is out."
