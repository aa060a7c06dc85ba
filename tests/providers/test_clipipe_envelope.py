"""Answers in an envelope: text, tokens, model and cost, or an error."""

from pathlib import Path
from typing import Any

import pytest
from fixtures.commands import FakeCommand, Make
from fixtures.journey import finished
from fixtures.model_play import end_of, play, play_to_fault, text_of

from bread_nb import Agent, Bread
from bread_nb.errors import BreadError, ProviderError
from bread_nb.messages import Price, Usage
from bread_nb.providers.clipipe import CliAnswer, CliPipe
from bread_nb.providers.model import UsageReport

USAGE = {
    "input_tokens": 7,
    "output_tokens": 5,
    "cache_read_input_tokens": 100,
    "cache_creation_input_tokens": 40,
}


@pytest.fixture
def fake(tmp_path: Path) -> Make:
    return lambda *plays: FakeCommand(tmp_path, *plays)


async def fault_of(model: CliPipe) -> tuple[str, Any]:
    deltas, error = await play_to_fault(model)
    assert isinstance(error, BreadError)
    return text_of(deltas), error


async def test_an_envelope_tells_text_tokens_model_and_cost(fake: Make):
    envelope = {
        "result": "Hello.",
        "usage": USAGE,
        "total_cost_usd": 0.0127,
        "modelUsage": {
            "claude-small": {"outputTokens": 1},
            "claude-large": {"outputTokens": 4},
        },
        "stop_reason": "end_turn",
    }
    command = fake([{"out": "\x1b[?1004l"}, {"envelope": envelope}])
    deltas = await play(command.model(parse="claude-json"))
    assert text_of(deltas) == "Hello."
    [report] = [d for d in deltas if isinstance(d, UsageReport)]
    usage = Usage(input=7, output=5, cache_read=100, cache_write=40)
    assert report == UsageReport(usage, Price(0.0127, "provider"))
    end = end_of(deltas)
    assert (end.stop_reason, end.model) == ("end_turn", "claude-large")


async def test_a_cost_of_nothing_is_a_price_and_none_is_none(fake: Make):
    command = fake(
        [{"envelope": {"result": "a", "total_cost_usd": 0, "usage": USAGE}}],
        [{"envelope": {"result": "b", "total_cost_usd": None, "usage": USAGE}}],
    )
    model = command.model(parse="claude-json")
    prices = [
        [d.price for d in await play(model) if isinstance(d, UsageReport)]
        for _ in range(2)
    ]
    assert prices == [[Price(0.0, "provider")], [None]]


@pytest.mark.parametrize(
    "output",
    [
        "Hello.",
        '{"type": "result", "result": ',
        '{"type": "assistant"}',
        '{"type": "result", "subtype": "success"}',
        "[1, 2]",
    ],
)
async def test_an_output_without_an_envelope_is_a_fault(fake: Make, output: str):
    command = fake([{"out": output}])
    text, error = await fault_of(command.model(parse="claude-json"))
    assert (text, error.code) == ("", "COMMAND_UNREADABLE")
    assert len(command.starts) == 1


@pytest.mark.parametrize(
    ("told", "code", "retryable"),
    [
        ({"result": "API Error: 529 overloaded"}, "MODEL_OVERLOADED", True),
        ({"result": "no", "api_error_status": 429}, "MODEL_RATE_LIMIT", True),
        ({"result": "API Error: 401 key"}, "MODEL_AUTH", False),
        ({"result": "Please run /login"}, "MODEL_ERROR", False),
        ({"subtype": "error_during_execution", "errors": ["x"]}, "MODEL_ERROR", False),
    ],
)
async def test_an_error_in_the_envelope_is_that_error(
    fake: Make, told: dict[str, Any], code: str, retryable: bool
):
    command = fake([{"envelope": {"is_error": True, **told}}, {"exit": 1}])
    text, error = await fault_of(command.model(parse="claude-json"))
    assert (text, error.code, error.retryable) == ("", code, retryable)


async def test_a_function_reads_any_output_and_may_tell_only_a_part(fake: Make):
    command = fake([{"out": "ANSWER:42:7"}])

    def parse(output: str) -> dict[str, Any]:
        _, text, tokens = output.split(":")
        return {"text": text, "usage": Usage(output=int(tokens))}

    deltas = await play(command.model(parse=parse))
    assert text_of(deltas) == "42"
    [report] = [d for d in deltas if isinstance(d, UsageReport)]
    assert report == UsageReport(Usage(output=7))
    assert text_of(await play(command.model(parse=str.lower))) == "answer:42:7"
    answer = CliAnswer(text="x", cost_usd=0.5)
    deltas = await play(command.model(parse=lambda _: answer))
    [report] = [d for d in deltas if isinstance(d, UsageReport)]
    assert report.price == Price(0.5, "provider")


async def test_a_function_that_raises_is_a_fault(fake: Make):
    command = fake([{"out": "odd"}])
    _, error = await fault_of(command.model(parse=lambda text: {"text": text[99]}))
    assert (type(error), error.code) == (ProviderError, "COMMAND_UNREADABLE")
    assert "IndexError" in error.why


async def test_a_run_knows_what_the_program_charged(fake: Make):
    envelope = {"result": "Hello.", "usage": USAGE, "total_cost_usd": 0.0127}
    command = fake([{"envelope": envelope}])
    model = command.model(parse="claude-json")
    async with Bread({"baker": Agent(model=model)}) as bread:
        outcome = await finished(bread, bread.run("baker", "Hi"))
    assert (outcome.text, outcome.cost) == ("Hello.", 0.0127)
    assert outcome.usage.cache_read == 100
