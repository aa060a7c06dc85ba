"""A command-line program as a model: plain text, and answers in an envelope."""

import asyncio
import json
import logging
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from fixtures.commands import FakeCommand, Make, gone, there
from fixtures.journey import fault, finished
from fixtures.model_play import ask, end_of, play, play_to_fault, text_of, usage_of

from bread_nb import Agent, Bread
from bread_nb.errors import BreadError, TimeoutError
from bread_nb.messages import (
    Message,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    assistant,
    user,
)
from bread_nb.providers.catalog import resolve
from bread_nb.providers.clipipe import CliPipe
from bread_nb.providers.model import Model, ModelRequest, TextChunk


@pytest.fixture
def fake(tmp_path: Path) -> Make:
    return lambda *plays: FakeCommand(tmp_path, *plays)


async def fault_of(model: CliPipe) -> tuple[str, Any]:
    deltas, error = await play_to_fault(model)
    assert isinstance(error, BreadError)
    return text_of(deltas), error


async def test_the_conversation_goes_in_as_lines_and_the_answer_comes_out(fake: Make):
    command = fake([{"out": "  Hello there.\n\n"}])
    call, result = ToolCall("c1", "look", {"at": 1}), ToolResult("c1", "look", "a pan")
    said = (
        user("Hi"),
        assistant(Text("Well."), call),
        Message("tool", (result,)),
        user("And?\nTell me."),
    )
    request = ModelRequest(model="", system="Be brief.", messages=said)
    deltas = await play(command.model(), request)
    assert text_of(deltas) == "Hello there."
    assert end_of(deltas).stop_reason is None
    assert usage_of(deltas) is None
    [start] = command.starts
    assert start["stdin"].splitlines() == [
        "System: Be brief.",
        "User: Hi",
        'Assistant: Well.[calls look with {"at":1}]',
        "Result of look: a pan",
        "User: And?",
        "Tell me.",
    ]


async def test_a_flag_takes_the_system_prompt(fake: Make):
    command = fake([{"out": "ok"}])
    model = command.model("--quiet", system_prompt_flag="--system")
    request = ModelRequest(model="", system="Be; brief $HOME", messages=(user("Hi"),))
    await play(model, request)
    [start] = command.starts
    assert start["args"] == ["--quiet", "--system", "Be; brief $HOME"]
    assert start["stdin"] == "User: Hi"


async def test_a_system_prompt_too_long_for_an_argument_goes_in_first(fake: Make):
    command = fake([{"out": "ok"}])
    long = "bread " * 40_000
    request = ModelRequest(model="", system=long, messages=(user("Hi"),))
    await play(command.model(system_prompt_flag="--system"), request)
    [start] = command.starts
    assert start["args"] == []
    assert start["stdin"] == f"System: {long.strip()}\nUser: Hi"


async def test_the_answer_streams_as_it_is_written(fake: Make):
    command = fake([])
    gate = command.file("gate")
    command = fake([{"out": "one "}, {"wait_for": str(gate)}, {"out": "two"}])
    pieces: list[str] = []
    async with asyncio.timeout(20):
        async for delta in command.model().stream(ask()):
            if isinstance(delta, TextChunk):
                pieces.append(delta.text)
                gate.touch()
    assert pieces == ["one", " two"]


async def test_a_character_cut_in_two_is_one_character(fake: Make):
    command = fake([{"out": "Brötchen " * 20_000}])
    assert text_of(await play(command.model())) == ("Brötchen " * 20_000).strip()


async def test_a_very_long_line_and_a_last_line_without_an_end_are_read(fake: Make):
    line = json.dumps({"crumbs": "x" * 300_000})
    command = fake([{"out": line + "\n"}, {"out": "the end"}])
    assert text_of(await play(command.model())) == f"{line}\nthe end"


async def test_a_program_that_does_not_read_its_input_is_no_fault(tmp_path: Path):
    model = CliPipe("echo", ["ready"])
    request = ModelRequest(model="", messages=(user("x" * 500_000),))
    assert text_of(await play(model, request)) == "ready"


async def test_a_missing_program_says_so(tmp_path: Path):
    _, error = await fault_of(CliPipe("no-such-oven"))
    assert (error.code, error.retryable) == ("COMMAND_NOT_FOUND", False)
    assert "no-such-oven" in error.why
    _, error = await fault_of(CliPipe("echo", cwd=tmp_path / "nowhere"))
    assert error.code == "COMMAND_NOT_FOUND"
    assert "nowhere" in error.why


async def test_an_exit_code_is_a_fault_with_the_end_of_stderr(fake: Make):
    noise = "".join(f"line {n}\n" for n in range(5000))
    steps = [{"out": "half a"}, {"err": noise}, {"err": "\x1b[31mNo flour\n"}]
    command = fake([*steps, {"exit": 3}])
    text, error = await fault_of(command.model())
    assert (text, error.code, error.retryable) == ("half a", "COMMAND_FAILED", False)
    assert error.why.startswith("exit code 3: ")
    assert error.why.endswith("| No flour")
    assert "line 4999" in error.why
    assert "line 100 " not in error.why


async def test_without_stderr_the_end_of_stdout_is_the_evidence(fake: Make):
    command = fake([{"out": "The oven is cold.\n"}, {"exit": 1}])
    _, error = await fault_of(command.model())
    assert error.why == "exit code 1: The oven is cold."


async def test_no_output_is_asked_once_more_and_then_a_fault(fake: Make):
    empty = [{"out": " \n"}, {"err": "thinking"}]
    command = fake(empty, [{"out": "Here."}])
    assert text_of(await play(command.model())) == "Here."
    command = fake(empty)
    command._log.unlink()
    _, error = await fault_of(command.model())
    assert error.code == "EMPTY_RESPONSE"
    assert "thinking" in error.why
    assert len(command.starts) == 2


async def test_a_program_that_takes_too_long_is_ended(tmp_path: Path):
    file = tmp_path / "pid"
    script = f"echo half a; echo $$ > {file}; exec sleep 300"
    text, error = await fault_of(CliPipe("sh", ["-c", script], timeout=1.0))
    assert (type(error), error.code, error.retryable) == (
        TimeoutError,
        "ETIMEDOUT",
        True,
    )
    assert text == "half a"
    await gone(int(await there(file)))


async def test_what_a_program_leaves_behind_holds_up_nothing(fake: Make):
    command = fake([])
    file = command.file("pid")
    command = fake([{"grandchild": str(file)}, {"out": "done"}])
    async with asyncio.timeout(20):
        deltas = await play(command.model())
    assert text_of(deltas) == "done"
    await gone(int(await there(file)))


async def test_a_cancelled_call_ends_the_whole_group(fake: Make):
    command = fake([])
    child, own = command.file("child"), command.file("own")
    command = fake([{"grandchild": str(child)}, {"hang": str(own)}])
    model = command.model(timeout=0)
    asking = asyncio.create_task(play(model))
    pids = [int(await there(file)) for file in (child, own)]
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    for pid in pids:
        await gone(pid)


async def test_a_reader_that_goes_away_ends_the_program(fake: Make):
    command = fake([])
    file = command.file("pid")
    command = fake([{"out": "one"}, {"hang": str(file)}])
    async with asyncio.timeout(20):
        stream = command.model().stream(ask())
        async with aclosing(stream) as deltas:  # pyright: ignore[reportArgumentType]
            async for _ in deltas:
                break
    [start] = command.starts
    await gone(start["pid"])


async def test_a_program_gets_no_secrets_unless_asked(
    fake: Make, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OVEN_API_KEY", "bk-3f9A7Qz1Lw8Xc5Vn2Rt6Yp")
    monkeypatch.setenv("OVEN_TOKEN", "bt-3f9A7Qz1Lw8Xc5Vn2Rt6Yp")
    monkeypatch.setenv("OVEN_COLOUR", "blue")
    names = ["OVEN_API_KEY", "OVEN_TOKEN", "OVEN_COLOUR", "OVEN_SIZE"]
    command = fake([{"environment": names}])
    model = command.model(pass_env=["OVEN_TOKEN"], env={"OVEN_SIZE": "4"})
    seen = json.loads(text_of(await play(model)))
    assert seen == {
        "OVEN_API_KEY": None,
        "OVEN_TOKEN": "bt-3f9A7Qz1Lw8Xc5Vn2Rt6Yp",
        "OVEN_COLOUR": "blue",
        "OVEN_SIZE": "4",
    }


async def test_a_secret_on_stderr_is_masked(
    fake: Make, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OVEN_TOKEN", "bt-3f9A7Qz1Lw8Xc5Vn2Rt6Yp")
    told = "bad bt-3f9A7Qz1Lw8Xc5Vn2Rt6Yp and own-3f9A7Qz1Lw8Xc5Vn2"
    command = fake([{"err": told}, {"exit": 1}])
    model = command.model(env={"OVEN_API_KEY": "own-3f9A7Qz1Lw8Xc5Vn2"})
    _, error = await fault_of(model)
    assert error.why.startswith("exit code 1: bad ")
    assert "3f9A7Qz1" not in str(error)


async def test_tools_without_a_protocol_are_left_out_with_one_warning(
    fake: Make, caplog: pytest.LogCaptureFixture
):
    command = fake([{"out": "ok"}])
    model = command.model()
    tools = (ToolSpec("look", "Look.", {"type": "object"}),)
    request = ModelRequest(model="", messages=(user("Hi"),), tools=tools)
    with caplog.at_level(logging.WARNING, logger="bread_nb"):
        await play(model, request)
        await play(model, request)
    assert [record.message for record in caplog.records] == [
        f"{model.name} has no tool_protocol: tools are left out"
    ]


# -- in runs ---------------------------------------------------------------------------


async def test_a_run_of_a_program_that_tells_nothing_has_an_unknown_cost(fake: Make):
    command = fake([{"out": "Hello."}])
    async with Bread({"baker": Agent(model=command.model())}) as bread:
        outcome = await finished(bread, bread.run("baker", "Hi"))
    assert (outcome.text, outcome.cost) == ("Hello.", None)
    assert outcome.metrics.unpriced_calls == 1


async def test_a_failed_run_keeps_the_text_and_shows_no_secret(fake: Make):
    command = fake([{"out": "half a"}, {"err": "No flour"}, {"exit": 3}])
    async with Bread({"baker": Agent(model=command.model())}) as bread:
        error = await fault(bread, bread.run("baker", "Hi"))
    assert error.code == "COMMAND_FAILED"
    assert "No flour" in error.why
    assert error.context["text"] == "half a"


# -- names and options -----------------------------------------------------------------


async def test_a_name_is_a_command_line_without_a_shell(fake: Make):
    command = fake([{"echo": True}])
    program, args = command.argv
    model = resolve(Model(f"clipipe:{program} {' '.join(args)} '$HOME; ls'"))
    assert text_of(await play(model)) == "User: Hello"
    [start] = command.starts
    assert start["args"] == ["$HOME; ls"]


async def test_the_settings_of_a_name_are_the_options(fake: Make):
    command = fake([{"envelope": {"result": "Hello."}}])
    program, args = command.argv
    name = f"clipipe:{program} {' '.join(args)}"
    model = resolve(Model(name, settings={"parse": "claude-json"}))
    assert text_of(await play(model)) == "Hello."
    model = resolve(Model(name, settings={"temperature": 1}))
    _, error = await play_to_fault(model)
    assert isinstance(error, BreadError)
    assert error.code == "INVALID_SETTING"
    assert "tool_protocol" in error.why


@pytest.mark.parametrize(
    "options",
    [
        {"timeout": -1},
        {"timeout": float("nan")},
        {"session_timeout": "long"},
        {"parse": "xml"},
        {"tool_protocol": "native"},
        {"max_turns": 0},
        {"max_turns": True},
    ],
)
def test_an_option_that_makes_no_sense_is_refused(options: dict[str, Any]):
    with pytest.raises(BreadError) as caught:
        CliPipe("oven", **options)
    assert caught.value.code == "INVALID_SETTING"
