"""Tools for a program that has none: the manifest, the envelope, the probe."""

import json
from pathlib import Path
from typing import Any

import pytest
from fixtures.commands import FakeCommand, Make, Step, gone, there
from fixtures.journey import fault, finished, stopped
from pydantic import BaseModel

from bread_nb import Agent, Bread, Model, Permissions, tool

PROBED = {"name": "read_register", "arguments": {"entry": "oven-4711"}}


@pytest.fixture
def fake(tmp_path: Path) -> Make:
    return lambda *plays: FakeCommand(tmp_path, *plays)


def says(reply: object, cost: float | None = 0.1, **more: Any) -> list[Step]:  # noqa: ANN401
    text = reply if isinstance(reply, str) else json.dumps(reply)
    usage = {"input_tokens": 10, "output_tokens": 3}
    told = {"result": text, "total_cost_usd": cost, "usage": usage}
    return [{"envelope": told | more}]


def calls(*asked: tuple[str, dict[str, Any]]) -> list[Step]:
    return says([{"name": n, "arguments": a} for n, a in asked])


def answers(text: str) -> list[Step]:
    return says({"name": "answer", "arguments": {"text": text}})


PROBE = says(PROBED)


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def baker(command: FakeCommand, **options: Any) -> Bread:  # noqa: ANN401
    model = command.model("-p", "--model", "sonnet", tool_protocol="claude")
    return Bread({"baker": Agent(model=model, tools=[add], **options)})


async def test_calls_are_carried_out_and_each_round_is_one_start(fake: Make):
    command = fake(
        PROBE,
        calls(("tool_add", {"a": 1, "b": 2}), ("tool_add", {"a": 3, "b": 4})),
        answers("3 and 7."),
    )
    async with baker(command, prompt="Be exact.") as bread:
        run = bread.run("baker", "Add them")
        outcome = await finished(bread, run)
    assert outcome.text == "3 and 7."
    assert outcome.metrics.tool_calls == {"tool_add": 2}
    assert outcome.metrics.turns == 2
    assert len(command.starts) == 3
    assert command.starts[2]["stdin"].splitlines() == [
        "User: Add them",
        'Assistant: [{"name":"tool_add","arguments":{"a":1,"b":2}},'
        '{"name":"tool_add","arguments":{"a":3,"b":4}}]',
        "User: Result of tool_add: 3",
        "Result of tool_add: 7",
    ]


async def test_the_cli_is_stripped_of_its_own_tools_and_settings(fake: Make):
    command = fake(PROBE, answers("Hi."))
    async with baker(command, prompt="Be exact.") as bread:
        await finished(bread, bread.run("baker", "Hello"))
    for start in command.starts:
        args = start["args"]
        assert args[:3] == ["-p", "--model", "sonnet"]
        assert args[args.index("--tools") + 1] == ""
        assert args[args.index("--setting-sources") + 1] == ""
        assert "--strict-mcp-config" in args
        assert args[args.index("--output-format") + 1] == "json"
    system = command.starts[1]["args"][-1]
    assert system.startswith("Be exact.")
    assert '"name":"tool_add"' in system
    assert "Add two numbers." in system


async def test_the_probe_is_made_once_and_paid_for(fake: Make):
    command = fake(PROBE, answers("One."), answers("Two."))
    async with baker(command) as bread:
        first = await finished(bread, bread.run("baker", "Hello"))
        second = await finished(bread, bread.run("baker", "Hello"))
    assert [first.text, second.text] == ["One.", "Two."]
    assert (first.cost, first.usage.input) == (pytest.approx(0.2), 20)
    assert (second.cost, second.usage.input) == (pytest.approx(0.1), 10)


@pytest.mark.parametrize(
    "reply",
    [
        "It says: flour.",
        {"name": "answer", "arguments": {"text": "flour"}},
        {"name": "lookup", "arguments": {"entry": "oven-4711"}},
        {"name": "read_register", "arguments": {}},
        [PROBED, PROBED],
        '{"name": "read_register", "arguments": {"entry": "oven',
    ],
)
async def test_a_model_that_guesses_what_only_a_tool_knows_is_refused(
    fake: Make, reply: object
):
    command = fake(says(reply))
    async with baker(command) as bread:
        error = await fault(bread, bread.run("baker", "Add them"))
    assert error.code == "TOOLS_NOT_SUPPORTED"
    assert len(command.starts) == 1


async def test_plain_words_are_an_answer_and_a_fence_is_taken_off(fake: Make):
    fenced = '```json\n{"name": "tool_add", "arguments": {"a": 1, "b": 1}}\n```'
    command = fake(PROBE, says(fenced), says("That makes two."))
    async with baker(command) as bread:
        outcome = await finished(bread, bread.run("baker", "Add them"))
    assert outcome.text == "That makes two."
    assert outcome.metrics.tool_calls == {"tool_add": 1}


async def test_no_tool_runs_on_a_call_that_is_cut(fake: Make):
    cut = '{"name": "tool_add", "arguments": {"a": 1'
    command = fake(PROBE, says(cut), answers("I could not."))
    ran: list[object] = []

    @tool
    def add(a: int = 0, b: int = 0) -> int:
        ran.append((a, b))
        return a + b

    model = command.model(tool_protocol="claude")
    async with Bread({"baker": Agent(model=model, tools=[add])}) as bread:
        outcome = await finished(bread, bread.run("baker", "Add them"))
    assert (outcome.text, ran) == ("I could not.", [])
    assert "not a JSON object" in command.starts[2]["stdin"]


async def test_an_unknown_tool_and_odd_arguments_are_results(fake: Make):
    command = fake(
        PROBE,
        calls(("tool_bake", {}), ("tool_add", {"a": "x"})),
        says({"name": "tool_add", "arguments": "not json"}),
        answers("I give up."),
    )
    async with baker(command) as bread:
        outcome = await finished(bread, bread.run("baker", "Add them"))
    assert outcome.text == "I give up."
    last = command.starts[-1]["stdin"]
    assert "Result of tool_bake: Error: There" in last
    assert "The arguments do not fit add" in last
    assert "not a JSON object" in last


async def test_refusals_end_the_run_as_for_any_model(fake: Make):
    command = fake(PROBE, calls(("tool_add", {"a": 1, "b": 2})))

    def decide(name: str, _: object) -> bool:
        raise PermissionError(f"never {name}")

    async with baker(command, permissions=Permissions(ask=[decide])) as bread:
        outcome = await stopped(bread, bread.run("baker", "Add them"))
    assert outcome.reason == "denied:tool_add"


async def test_an_answer_of_a_schema_comes_in_the_envelope(fake: Make):
    class Sum(BaseModel):
        total: int

    command = fake(
        PROBE,
        calls(("tool_add", {"a": 1, "b": 2})),
        says({"name": "answer", "arguments": {"value": {"total": 3}}}),
    )
    async with baker(command, output_schema=Sum) as bread:
        outcome = await finished(bread, bread.run("baker", "Add them"))
    assert outcome.output == Sum(total=3)


async def test_without_tools_no_probe_is_made(fake: Make):
    command = fake(says("Hello."))
    model = command.model(tool_protocol="claude")
    async with Bread({"baker": Agent(model=model)}) as bread:
        outcome = await finished(bread, bread.run("baker", "Hello"))
    assert outcome.text == "Hello."
    [start] = command.starts
    assert "--strict-mcp-config" in start["args"]
    assert "json" in start["args"]


async def test_a_program_of_any_kind_calls_in_json_without_a_probe(fake: Make):
    call = {"name": "tool_add", "arguments": {"a": 1, "b": 2}}
    command = fake([{"out": json.dumps(call)}], [{"out": "It is 3."}])
    program, args = command.argv
    name = f"clipipe:{program} {' '.join(args)}"
    model = Model(name, settings={"tools": "json"})
    async with Bread({"baker": Agent(model=model, tools=[add])}) as bread:
        outcome = await finished(bread, bread.run("baker", "Add them"))
    assert outcome.text == "It is 3."
    assert outcome.metrics.tool_calls == {"tool_add": 1}


async def test_a_run_that_is_cancelled_in_the_probe_ends_the_program(fake: Make):
    command = fake([])
    file = command.file("pid")
    command = fake([{"hang": str(file)}])
    async with baker(command) as bread:
        run = bread.run("baker", "Add them")
        pid = int(await there(file))
        run.cancel()
        error = await fault(bread, run)
    assert error.code == "RUN_CANCELLED"
    await gone(pid)
