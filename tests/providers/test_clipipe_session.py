"""A program that owns its cycle: its calls come over MCP and go our one way."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from fixtures.commands import (
    END,
    START,
    USAGE,
    FakeCommand,
    Make,
    Step,
    add,
    baker,
    gone,
    refusing,
    sums,
    turn,
)
from fixtures.journey import check_sendable, finished, only
from fixtures.model_play import calls_of, end_of, play, text_of

from bread_nb import (
    Agent,
    Bread,
    Cassette,
    CircuitBreaker,
    Fallback,
    Hooks,
    Retrying,
    Scripted,
    tool,
)
from bread_nb.messages import (
    Message,
    ToolCall,
    ToolResult,
    ToolSpec,
    assistant,
    user,
)
from bread_nb.providers.model import ModelRequest


@pytest.fixture
def fake(tmp_path: Path) -> Make:
    return lambda *plays: FakeCommand(tmp_path, *plays)


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


async def test_runs_at_once_have_sessions_of_their_own(fake: Make):
    command = fake([START, turn("", *sums((1, 2))), turn("It is 3."), END])
    async with baker(command) as bread:
        runs = [bread.run("baker", "Go") for _ in range(3)]
        outcomes = [await finished(bread, run) for run in runs]
    assert [outcome.text for outcome in outcomes] == ["It is 3."] * 3
    assert len({start["pid"] for start in command.starts}) == 3


async def test_several_messages_without_a_tool_of_ours_are_one_turn(fake: Make):
    usage = {"input_tokens": 3, "output_tokens": 2}
    own = {
        "type": "tool_use",
        "id": "toolu_own",
        "name": "WebSearch",
        "input": {"query": "bread"},
    }
    message = {"id": "msg_own", "model": "claude-fake-5", "usage": usage}
    foreign: Step = {
        "event": {"type": "assistant", "message": {**message, "content": [own]}}
    }
    told = {"type": "tool_result", "tool_use_id": "toolu_own", "content": "loaves"}
    answered: Step = {"event": {"type": "user", "message": {"content": [told]}}}
    command = fake(
        [
            START,
            turn("I look.", usage=usage),
            foreign,
            answered,
            {"event": {"type": "assistant", "message": {"model": "<synthetic>"}}},
            {"out": "noise that is no JSON\n"},
            {"event": {"type": "rate_limit_event", "fill": "x" * 300_000}},
            turn("Found.", usage=usage),
            {"envelope": {"result": "Found.", "usage": USAGE}},
        ]
    )
    async with baker(command) as bread:
        run = bread.run("baker", "Go")
        outcome = await finished(bread, run)
        used = only([crumb async for crumb in run], "model:usage")
    assert outcome.text == "I look.\n\nFound."
    assert outcome.metrics.tool_calls == {}
    assert [(c["kind"], c["usage"]["input"]) for c in used] == [
        ("turn", 9),
        ("session", 21),
    ]
    assert outcome.cost == 0.25


async def test_tools_that_change_between_turns_begin_a_new_session(fake: Make):
    @tool
    def more() -> str:
        offered.append(add)
        return "There is a new tool."

    offered: list[Any] = [more]
    command = fake(
        [START, turn("", ("tool_more", {})), turn("Never seen."), END],
        [START, turn("", *sums((1, 2))), turn("It is 3."), END],
    )
    async with baker(command, tools=[lambda: offered]) as bread:
        outcome = await finished(bread, bread.run("baker", "Go"))
    assert outcome.text == "It is 3."
    assert len(command.starts) == 2
    await gone(command.starts[0]["pid"])


async def test_asked_without_a_run_each_turn_is_a_session(fake: Make):
    command = fake([START, turn("Hm.", *sums((1, 2))), END], [turn("It is 3."), END])
    model = command.model("-p", tool_protocol="claude-mcp")
    tools = (ToolSpec("tool_add", "Add.", {"type": "object"}),)
    request = ModelRequest(model="", messages=(user("Go"),), tools=tools)
    deltas = await play(model, request)
    assert end_of(deltas).stop_reason == "tool_use"
    [(call_id, name, arguments)] = calls_of(deltas)
    assert (name, arguments) == ("tool_add", '{"a":1,"b":2}')
    await gone(command.starts[0]["pid"])
    call = ToolCall(call_id, name, {"a": 1, "b": 2})
    result = Message("tool", (ToolResult(call_id, name, 3),))
    said = (user("Go"), assistant(call), result)
    second = ModelRequest(model="", messages=said, tools=tools)
    assert text_of(await play(model, second)) == "It is 3."


async def test_a_session_is_recorded_and_played_again_turn_by_turn(
    fake: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    command = fake([START, turn("Hm.", *sums((1, 2))), turn("It is 3."), END])
    ends: list[Any] = []
    for mode in ("record", "replay"):
        monkeypatch.setenv("BREAD_MODE", mode)
        inner = command.model("-p", tool_protocol="claude-mcp")
        model = Cassette(inner, str(tmp_path / "oven.cassette.jsonl"))
        async with Bread({"baker": Agent(model=model, tools=[add])}) as bread:
            outcome = await finished(bread, bread.run("baker", "Go"))
        unpriced = outcome.metrics.unpriced_calls
        ends.append((outcome.text, outcome.cost, outcome.usage, unpriced))
    assert ends[0] == ends[1]
    assert ends[0][:2] == ("It is 3.", 0.25)
    assert len(command.starts) == 1


async def test_wrappers_leave_a_session_as_it_is(fake: Make):
    command = fake([START, turn("", *sums((1, 2))), turn("It is 3."), END])
    inner = command.model("-p", tool_protocol="claude-mcp")
    model = Fallback([CircuitBreaker(Retrying(inner)), Scripted(["never"])])
    async with Bread({"baker": Agent(model=model, tools=[add])}) as bread:
        outcome = await finished(bread, bread.run("baker", "Go"))
    assert (outcome.text, outcome.cost) == ("It is 3.", 0.25)
    assert len(command.starts) == 1


async def test_words_stream_where_the_program_tells_of_pieces(fake: Make):
    command = fake(
        [
            START,
            turn("Let me see.", *sums((1, 2)), pieces=40, thought="Hm."),
            turn("It is three.", pieces=60),
            END,
        ]
    )
    async with baker(command) as bread:
        run = bread.run("baker", "Go")
        outcome = await finished(bread, run)
        crumbs = [crumb async for crumb in run]
    assert outcome.text.strip() == "It is three."
    words = "".join(c["delta"] for c in only(crumbs, "text:delta"))
    assert words == "Let me see. It is three. "
    assert "".join(c["delta"] for c in only(crumbs, "reasoning:delta")) == "Hm.Hm."
    told = [c["usage"]["output"] for c in only(crumbs, "model:usage")]
    assert told == [40, 60, 800]
