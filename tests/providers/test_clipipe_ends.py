"""How a session of a program ends: bounds, guards, people, faults, broken bridges."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from fixtures.commands import (
    END,
    START,
    FakeCommand,
    Make,
    Step,
    baker,
    gone,
    refusing,
    sums,
    there,
    turn,
)
from fixtures.journey import check_sendable, fault, finished, stopped, waiting

from bread_nb import Agent, Bread, Guards, Permissions, tool
from bread_nb.errors import Halt
from bread_nb.providers.clipipe import CliPipe


@pytest.fixture
def fake(tmp_path: Path) -> Make:
    return lambda *plays: FakeCommand(tmp_path, *plays)


async def test_refusals_and_repeated_failures_end_the_session(fake: Make):
    again = [turn(f"Try {n}.", ("tool_add", {"a": 1, "b": 2})) for n in range(9)]
    command = fake([START, *again, END])
    async with baker(command, permissions=refusing("add")) as bread:
        outcome = await stopped(bread, bread.run("baker", "Go"))
    assert (outcome.reason, outcome.text) == ("denied:tool_add", "Try 2.")
    check_sendable(outcome.messages)
    await gone(command.starts[0]["pid"])

    @tool(name="add")
    def broken(a: int, b: int) -> int:
        raise ValueError("No flour")

    command._log.unlink()
    async with baker(
        command, tools=[broken], guards=Guards(identical_failures=2)
    ) as bread:
        outcome = await stopped(bread, bread.run("baker", "Go"))
    assert (outcome.reason, outcome.text) == ("stuck:tool_add", "Try 1.")
    assert outcome.metrics.unpriced_calls == 2
    await gone(command.starts[0]["pid"])


async def test_a_halt_in_a_tool_ends_the_program(fake: Make):
    @tool
    def halts() -> str:
        raise Halt("oven.fire")

    command = fake([START, turn("Hm.", ("tool_halts", {})), turn("On."), END])
    async with baker(command, tools=[halts]) as bread:
        outcome = await stopped(bread, bread.run("baker", "Go"))
    assert (outcome.reason, outcome.text) == ("halt:oven.fire", "Hm.")
    await gone(command.starts[0]["pid"])


async def test_the_bound_of_turns_counts_messages_and_keeps_the_text(fake: Make):
    three = [turn(f"Try {n}.", *sums((1, n), (2, n), (3, n))) for n in range(3)]
    command = fake([START, *three, END])
    async with baker(command, {"max_turns": 2}) as bread:
        outcome = await stopped(bread, bread.run("baker", "Go"))
    assert (outcome.reason, outcome.text) == ("max_turns", "Try 1.")
    assert outcome.metrics.turns == 2
    assert outcome.metrics.tool_calls == {"tool_add": 6}
    assert (outcome.cost, outcome.metrics.unpriced_calls) == (0.25, 0)
    args = command.starts[0]["args"]
    assert args[args.index("--max-turns") + 1] == "2"
    check_sendable(outcome.messages)


async def test_a_program_that_goes_past_the_bound_is_ended(fake: Make):
    many = [turn(f"Try {n}.", *sums((1, n)), stubborn=True) for n in range(5)]
    command = fake([START, *many, END])
    async with baker(command, {"max_turns": 2}) as bread:
        outcome = await stopped(bread, bread.run("baker", "Go"))
    assert (outcome.reason, outcome.text) == ("max_turns", "Try 1.")
    assert len(command.results) == 2
    # What it has cost nobody says.
    assert (outcome.cost, outcome.metrics.unpriced_calls) == (None, 2)
    await gone(command.starts[0]["pid"])


async def test_the_steps_of_the_agent_are_a_bound_of_the_session_too(fake: Make):
    many = [turn(f"Try {n}.", *sums((1, n))) for n in range(5)]
    command = fake([START, *many, END])
    async with baker(command, {"max_turns": 9}, steps=3) as bread:
        outcome = await stopped(bread, bread.run("baker", "Go"))
    assert (outcome.reason, outcome.text) == ("max_turns", "Try 2.")
    assert (outcome.metrics.turns, outcome.cost) == (3, 0.25)


async def test_a_broken_bridge_is_told_although_the_program_ends_well(fake: Make):
    command = fake(
        [START, turn("", *sums((1, 2)), broken=True), turn("I cannot add."), END]
    )
    async with baker(command) as bread:
        outcome = await stopped(bread, bread.run("baker", "Go"))
    assert (outcome.reason, outcome.text) == ("session:broken_bridge", "I cannot add.")
    assert outcome.cost == 0.25


async def test_a_bridge_that_never_came_up_ends_the_session_at_once(fake: Make):
    start: Step = {"start": [{"name": "bread", "status": "failed"}]}
    command = fake([])
    file = command.file("pid")
    command = fake([start, {"hang": str(file)}])
    async with baker(command) as bread:
        outcome = await stopped(bread, bread.run("baker", "Go"))
    assert outcome.reason == "session:broken_bridge"
    await gone(command.starts[0]["pid"])


async def test_a_session_without_a_result_is_incomplete(fake: Make):
    command = fake([START, turn("Half a", *sums((1, 2))), turn("loaf")])
    async with baker(command) as bread:
        outcome = await stopped(bread, bread.run("baker", "Go"))
    assert (outcome.reason, outcome.text) == ("session:incomplete", "loaf")
    assert outcome.cost is None


async def test_the_end_that_the_program_names_is_the_reason(fake: Make):
    end: Step = {"envelope": {"subtype": "error_during_execution", "is_error": True}}
    command = fake([START, turn("Half a loaf"), end])
    async with baker(command) as bread:
        outcome = await stopped(bread, bread.run("baker", "Go"))
    assert outcome.reason == "session:during_execution"
    assert outcome.text == "Half a loaf"


async def test_an_error_of_the_service_is_a_fault_and_retried_as_one(fake: Make):
    failing: Step = {"envelope": {"is_error": True, "result": "API Error: 529 full"}}
    command = fake(
        [START, turn("", *sums((1, 2))), failing, {"exit": 1}],
        [START, turn("It is 3."), END],
    )
    async with baker(command) as bread:
        outcome = await finished(bread, bread.run("baker", "Go"))
    assert outcome.text == "It is 3."
    # The second start is told what the first one found out.
    assert command.starts[1]["stdin"].splitlines() == [
        "User: Go",
        'Assistant: [calls tool_add with {"a":1,"b":2}]',
        "Result of tool_add: 3",
    ]
    assert command.results == [("tool_add", "3")]
    assert outcome.cost == 0.5


async def test_a_program_that_fails_at_its_start_says_why(fake: Make):
    command = fake([{"err": "unknown option --verbose"}, {"exit": 2}])
    async with baker(command) as bread:
        error = await fault(bread, bread.run("baker", "Go"))
    assert error.code == "COMMAND_FAILED"
    assert "unknown option" in error.why


async def test_a_session_that_takes_too_long_is_ended(tmp_path: Path):
    file = tmp_path / "pid"
    content = [{"type": "text", "text": "Wait"}]
    event = {"type": "assistant", "message": {"id": "msg_1", "content": content}}
    script = f"echo '{json.dumps(event)}'; echo $$ > {file}; exec sleep 300"
    options: dict[str, Any] = {"tool_protocol": "claude-mcp", "session_timeout": 1}
    model = CliPipe("sh", ["-c", script], **options)
    async with Bread({"baker": Agent(model=model)}) as bread:
        outcome = await stopped(bread, bread.run("baker", "Go"))
    assert (outcome.reason, outcome.text) == ("session:timeout", "Wait")
    await gone(int(await there(file)))


async def test_a_tool_that_takes_longer_than_the_bridge_waits_is_not_lost(fake: Make):
    released = asyncio.Event()

    @tool
    async def slow() -> str:
        await gone(command.starts[0]["pid"])
        released.set()
        return "risen"

    command = fake(
        [START, turn("Wait.", ("tool_slow", {})), END], [turn("It has risen."), END]
    )
    async with baker(command, {"bridge_timeout": 0.1}, tools=[slow]) as bread:
        outcome = await finished(bread, bread.run("baker", "Go"))
    assert released.is_set()
    assert outcome.text == "It has risen."
    assert command.starts[1]["stdin"].endswith("Result of tool_slow: risen")
    assert outcome.metrics.tool_calls == {"tool_slow": 1}


async def test_a_call_for_a_person_ends_the_program_and_the_run_goes_on(fake: Make):
    command = fake(
        [START, turn("May I?", *sums((1, 2))), turn("No one is here."), END],
        [START, turn("It is 3."), END],
    )
    async with baker(command, permissions=Permissions(ask=["tool:add"])) as bread:
        suspended = await waiting(bread, bread.run("baker", "Go"))
        [pending] = suspended.pending
        await gone(command.starts[0]["pid"])
        assert command.results == []
        answered = bread.resume(pending.checkpoint_id, {"approved": True})
        outcome = await finished(bread, answered)
    assert outcome.text == "It is 3."
    assert outcome.metrics.tool_calls == {"tool_add": 1}
    assert command.starts[1]["stdin"].endswith("Result of tool_add: 3")
    check_sendable(outcome.messages)


async def test_a_cancelled_run_ends_program_and_stub(fake: Make):
    begun = asyncio.Event()

    @tool
    async def slow() -> str:
        begun.set()
        await asyncio.Event().wait()
        return "never"

    command = fake([START, turn("Wait.", ("tool_slow", {})), END])
    async with baker(command, tools=[slow]) as bread:
        run = bread.run("baker", "Go")
        async with asyncio.timeout(20):
            await begun.wait()
        run.cancel()
        error = await fault(bread, run)
    assert error.code == "RUN_CANCELLED"
    await gone(command.starts[0]["pid"])
    args = command.starts[0]["args"]
    assert not Path(args[args.index("--mcp-config") + 1]).parent.exists()


async def test_an_answer_cut_by_the_limit_of_tokens_is_no_answer(fake: Make):
    end: Step = {"envelope": {"result": "Half a", "stop_reason": "max_tokens"}}
    command = fake([turn("Half a"), end])
    async with baker(command, tools=[]) as bread:
        outcome = await stopped(bread, bread.run("baker", "Go"))
    assert (outcome.reason, outcome.text) == ("truncated:max_tokens", "Half a")
