"""A program that owns its cycle: its calls come over MCP and go our one way."""

import asyncio
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fixtures.commands import FakeCommand, Step, gone, there
from fixtures.journey import check_sendable, fault, finished, only, stopped, waiting

from bread_nb import Agent, Bread, Guards, Hooks, Permissions, tool
from bread_nb.errors import Halt
from bread_nb.stores.in_memory import InMemoryStore

Make = Callable[..., FakeCommand]
START: Step = {"start": None}
USAGE = {
    "input_tokens": 30,
    "output_tokens": 900,
    "cache_read_input_tokens": 5,
    "cache_creation_input_tokens": 50,
}
END: Step = {"envelope": {"result": "done", "usage": USAGE}}


@pytest.fixture
def fake(tmp_path: Path) -> Make:
    return lambda *plays: FakeCommand(tmp_path, *plays)


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def refusing(name: str) -> Permissions:
    """Permissions that refuse each call of a tool, since who decides them raises."""

    def decide(selector: str, _: object) -> bool:
        if selector == f"tool:{name}":
            raise PermissionError(f"never {name}")
        return False

    return Permissions(ask=[decide])


def turn(text: str = "", *calls: tuple[str, dict[str, Any]], **more: Any) -> Step:  # noqa: ANN401
    return {"turn": {"text": text, "calls": calls, **more}}


def sums(*pairs: tuple[int, int]) -> list[tuple[str, dict[str, Any]]]:
    return [("tool_add", {"a": a, "b": b}) for a, b in pairs]


def baker(
    command: FakeCommand,
    options: dict[str, Any] | None = None,
    **agent: Any,  # noqa: ANN401
) -> Bread:
    model = command.model("-p", tool_protocol="claude-mcp", **options or {})
    agent = {"tools": [add], **agent}
    return Bread({"baker": Agent(model=model, **agent)}, store=InMemoryStore())


async def test_a_session_of_several_turns_is_one_start(fake: Make):
    command = fake(
        [
            START,
            turn("Let me see.", *sums((1, 2), (3, 4)), thought="Hm."),
            turn("And once more.", *sums((3, 7))),
            turn("It is 10."),
            END,
        ]
    )
    async with baker(command, prompt="Be exact.") as bread:
        run = bread.run("baker", "Add them")
        outcome = await finished(bread, run)
        crumbs = [crumb async for crumb in run]
    assert outcome.text == "It is 10."
    assert outcome.metrics.tool_calls == {"tool_add": 3}
    assert outcome.metrics.turns == 3
    assert command.results == [("tool_add", "3"), ("tool_add", "7"), ("tool_add", "10")]
    assert [c["result"] for c in only(crumbs, "tool:result")] == [3, 7, 10]
    check_sendable(outcome.messages)
    [start] = command.starts
    assert start["stdin"] == "User: Add them"
    args = start["args"]
    assert args[args.index("--system-prompt") + 1].startswith("Be exact.")
    assert args[args.index("--output-format") + 1] == "stream-json"
    assert args[args.index("--tools") + 1] == ""
    assert args[args.index("--setting-sources") + 1] == ""
    assert args[args.index("--allowedTools") + 1] == "mcp__bread__tool_add"
    assert {"--verbose", "--strict-mcp-config"} <= set(args)
    assert not Path(args[args.index("--mcp-config") + 1]).parent.exists()
    [offered] = next(e["tools"] for e in command.log if "tools" in e)
    assert offered["description"] == "Add two numbers."
    assert offered["inputSchema"]["required"] == ["a", "b"]
    await gone(start["pid"])


async def test_a_message_is_counted_once_and_the_session_closes_the_sum(fake: Make):
    usage = {"input_tokens": 10, "output_tokens": 2, "cache_read_input_tokens": 9}
    command = fake(
        [
            START,
            turn("One.", *sums((1, 2), (3, 4)), thought="Hm.", usage=usage),
            turn("Two.", usage=usage),
            {"envelope": {"result": "Two.", "usage": USAGE, "total_cost_usd": 0.03}},
        ]
    )
    async with baker(command) as bread:
        run = bread.run("baker", "Add them")
        outcome = await finished(bread, run)
        used = only([crumb async for crumb in run], "model:usage")
    told = [(c["kind"], c["turn"], c["usage"]["output"], c.get("cost")) for c in used]
    assert told == [
        ("turn", 1, 2, None),
        ("turn", 2, 2, None),
        ("session", 2, 896, 0.03),
    ]
    closing = used[-1]
    assert closing["costSource"] == "provider"
    # A tier that the turns told more of than the session is floored at nothing.
    assert closing["usage"]["cacheRead"] == 0
    assert (outcome.usage.input, outcome.usage.output) == (30, 900)
    assert outcome.usage.cache_write == 50
    assert outcome.cost == 0.03
    assert outcome.metrics.unpriced_calls == 0


async def test_a_session_without_a_figure_has_an_unknown_cost(fake: Make):
    end: Step = {"envelope": {"result": "Two.", "total_cost_usd": None}}
    command = fake([START, turn("One.", *sums((1, 2))), turn("Two."), end])
    async with baker(command) as bread:
        outcome = await finished(bread, bread.run("baker", "Add them"))
    assert outcome.cost is None
    assert outcome.metrics.unpriced_calls == 2


async def test_a_session_without_tools_needs_no_bridge(fake: Make):
    command = fake([turn("Hello."), END])
    async with baker(command, tools=[]) as bread:
        outcome = await finished(bread, bread.run("baker", "Hi"))
    assert outcome.text == "Hello."
    assert "--mcp-config" not in command.starts[0]["args"]


async def test_words_that_only_the_result_has_are_the_answer(fake: Make):
    command = fake([{"envelope": {"result": "Hello."}}])
    async with baker(command) as bread:
        outcome = await finished(bread, bread.run("baker", "Hi"))
    assert outcome.text == "Hello."


async def test_the_bridge_is_a_private_socket(fake: Make):
    command = fake([])
    gate, seen = command.file("gate"), list[int]()

    @tool
    def look() -> str:
        args = command.starts[0]["args"]
        folder = Path(args[args.index("--mcp-config") + 1]).parent
        seen.extend(
            stat.S_IMODE(os.stat(path).st_mode)
            for path in (folder, folder / "tools", folder / "mcp.json")
        )
        gate.touch()
        return "seen"

    command = fake([START, turn("", ("tool_look", {})), turn("Done."), END])
    async with baker(command, tools=[look]) as bread:
        await finished(bread, bread.run("baker", "Look"))
    assert [oct(mode) for mode in seen] == ["0o700", "0o600", "0o600"]


async def test_hooks_permissions_and_failures_are_those_of_any_model(fake: Make):
    hooked: list[object] = []

    @tool
    def fails() -> str:
        raise ValueError("No flour")

    @tool
    def secret() -> str:
        return "open"

    command = fake(
        [
            START,
            turn(
                "",
                ("tool_add", {"a": 1, "b": 2}),
                ("tool_fails", {}),
                ("tool_secret", {}),
                ("tool_add", {"a": "x"}),
            ),
            turn("Done."),
            END,
        ]
    )
    hooks = Hooks(before_run=lambda c: hooked.append(c.tool_name))

    @tool(name="add", hooks=hooks)
    def hooked_add(a: int, b: int) -> int:
        return a + b

    tools = [hooked_add, fails, secret]
    async with baker(command, tools=tools, permissions=refusing("secret")) as bread:
        outcome = await finished(bread, bread.run("baker", "Go"))
    assert outcome.text == "Done."
    assert hooked == ["tool_add"]
    told = command.results
    assert told[0] == ("tool_add", "3")
    assert "No flour" in told[1][1]
    assert told[2][0] == "tool_secret"
    assert "never secret" in told[2][1]
    assert "do not fit add" in told[3][1]


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


@pytest.mark.parametrize("marked", [False, True])
async def test_a_call_asked_for_twice_runs_once(fake: Make, marked: bool):
    ran: list[int] = []

    @tool
    def ring(times: int) -> int:
        ran.append(times)
        return len(ran)

    calls = [("tool_ring", {"times": 1}), ("tool_ring", {"times": 1})]
    command = fake(
        [START, turn("", *calls, again=True, marked=marked), turn("Done."), END]
    )
    async with baker(command, tools=[ring]) as bread:
        outcome = await finished(bread, bread.run("baker", "Go"))
    assert outcome.metrics.tool_calls == {"tool_ring": 2}
    assert ran == [1, 1]


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


async def test_a_session_that_takes_too_long_is_ended(fake: Make):
    command = fake([])
    file = command.file("pid")
    command = fake([turn("Wait"), {"hang": str(file)}])
    async with baker(command, {"session_timeout": 3}, tools=[]) as bread:
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


async def test_runs_at_once_have_sessions_of_their_own(fake: Make):
    command = fake([START, turn("", *sums((1, 2))), turn("It is 3."), END])
    async with baker(command) as bread:
        runs = [bread.run("baker", "Go") for _ in range(3)]
        outcomes = [await finished(bread, run) for run in runs]
    assert [outcome.text for outcome in outcomes] == ["It is 3."] * 3
    assert len({start["pid"] for start in command.starts}) == 3
