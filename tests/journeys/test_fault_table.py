"""Every fault a service can show, in every dialect that can show it, once and always.

Each is played by a real server on this machine to a whole run. What is counted: the
requests, what ran, what the reader was told and what is left of the text.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from fixtures.journey import ended, fault, only
from fixtures.model_server import ModelServer, Reply
from fixtures.ovens import OVENS, Oven
from journeys.conftest import MakeBread

from bread_nb import Agent, Bread, BreadError, Finished, Run, Stopped, tool
from bread_nb.errors import TimeoutError
from bread_nb.messages import Message
from bread_nb.runtime.outcome import Outcome

CALL = ("call_1", "tool_write", '{"text": "from a broken try"}')


@dataclass
class Ledger:
    """What the one tool of these runs was called with."""

    wrote: list[str]

    def tool(self) -> object:
        @tool
        def write(text: str = "by default") -> str:
            """Write."""
            self.wrote.append(text)
            return f"wrote {text}"

        return write


@dataclass
class Played:
    """A run against a server: how it ended, and what it took."""

    run: Run
    end: Outcome | BreadError
    requests: int
    wrote: list[str]
    waits: list[float]
    sent: list[dict]

    @property
    def retries(self) -> list[str]:
        return [r["error"]["code"] for r in only(self.run.crumbs, "model:retry")]

    @property
    def text(self) -> str:
        if isinstance(self.end, BreadError):
            return str(self.end.context.get("text", ""))
        return self.end.text

    @property
    def messages(self) -> tuple[Message, ...]:
        assert not isinstance(self.end, BreadError)
        return self.end.messages


Play = Callable[..., "asyncio.Future[Played]"]


@pytest.fixture
def play(make_bread: MakeBread, monkeypatch: pytest.MonkeyPatch) -> Callable:
    waits: list[float] = []
    sleep = asyncio.sleep

    async def note(seconds: float) -> None:
        waits.append(seconds)
        await sleep(0)

    monkeypatch.setattr("bread_nb.base.retry.asyncio.sleep", note)

    async def played(oven: Oven, *replies: Reply, **settings: object) -> Played:
        ledger = Ledger([])
        async with ModelServer(*replies) as server:
            model = oven.model(server.url, **settings)
            agent = Agent(model=model, tools=[ledger.tool()], steps=4)
            bread: Bread = make_bread({"baker": agent})
            run = bread.run("baker", "go")
            try:
                end: Outcome | BreadError = await ended(bread, run)
            except BreadError:
                end = await fault(bread, run)
            sent = [seen.body for seen in server.seen]
        return Played(run, end, len(sent), ledger.wrote, waits, sent)

    return played


ovens = pytest.mark.parametrize("oven", OVENS, ids=str)
cutting = pytest.mark.parametrize("oven", [o for o in OVENS if not o.whole], ids=str)


def refused(status: int, **headers: str) -> Callable[[Oven], Reply]:
    body = {"error": {"message": "No bread today"}}
    return lambda oven: Reply.json(body, status, **headers)


def broken(oven: Oven) -> Reply:
    return oven.reply("half a", CALL, end="none", after=oven.event(b"{oven"))


BEFORE = {
    "429": (refused(429), "MODEL_RATE_LIMIT"),
    "429 with Retry-After": (refused(429, retry_after="7"), "MODEL_RATE_LIMIT"),
    "500": (refused(500), "MODEL_ERROR"),
    "503": (refused(503), "MODEL_OVERLOADED"),
    "529": (refused(529), "MODEL_OVERLOADED"),
    "no answer": (lambda oven: Reply(drop=True), "MODEL_UNREACHABLE"),
}
DURING = {
    "reset": (
        lambda oven: oven.reply("half a", CALL, end="none", then="reset"),
        {"STREAM_INCOMPLETE"},
    ),
    "clean end": (
        lambda oven: oven.reply("half a", CALL, end="none"),
        {"STREAM_INCOMPLETE"},
    ),
    "error event": (
        lambda oven: oven.reply("half a", CALL, end="none", after=oven.error),
        {"MODEL_OVERLOADED", "MODEL_ERROR"},
    ),
    "stall": (
        lambda oven: oven.reply("half a", CALL, end="none", then="stall"),
        {"ETIMEDOUT"},
    ),
    "broken line": (broken, {"STREAM_BROKEN"}),
}


@ovens
@pytest.mark.parametrize("row", BEFORE)
async def test_a_refusal_before_the_stream_is_tried_again(
    play: Play, oven: Oven, row: str
):
    bad, code = BEFORE[row]
    once = await play(oven, bad(oven), oven.reply("whole"))
    assert isinstance(once.end, Finished)
    assert (once.requests, once.text, once.retries) == (2, "whole", [code])
    asked = 7 if row.endswith("After") else 0.5
    assert once.waits[0] == pytest.approx(asked, abs=0.11)
    always = await play(oven, bad(oven))
    assert isinstance(always.end, BreadError)
    assert (always.requests, always.end.code) == (3, code)
    assert always.retries == [code, code]


@ovens
@pytest.mark.parametrize("row", DURING)
async def test_a_stream_that_breaks_is_begun_anew_and_its_calls_never_run(
    play: Play, oven: Oven, row: str
):
    bad, codes = DURING[row]
    settings = {"idle_timeout": 0.1} if row == "stall" else {}
    once = await play(oven, bad(oven), oven.reply("whole"), **settings)
    assert isinstance(once.end, Finished)
    assert (once.requests, once.text, once.wrote) == (2, "whole", [])
    assert len(once.retries) == 1
    assert set(once.retries) <= codes
    always = await play(oven, bad(oven), **settings)
    assert isinstance(always.end, BreadError)
    assert (always.requests, always.wrote, len(always.retries)) == (3, [], 2)
    assert always.end.code in codes
    assert always.text == "half a" or (row == "reset" and always.text == "")
    assert isinstance(always.end, TimeoutError) == (row == "stall")


@cutting
async def test_arguments_that_are_cut_are_an_error_to_the_model(play: Play, oven: Oven):
    cut = oven.reply("", ("call_1", "tool_write", '{"text": "ha'), end="calls")
    once = await play(oven, cut, oven.reply("sorry"))
    assert isinstance(once.end, Finished)
    assert (once.requests, once.wrote, once.text) == (2, [], "sorry")
    [result] = once.messages[-2].parts
    assert result.failed
    always = await play(oven, cut)
    assert isinstance(always.end, Stopped)
    assert (always.requests, always.wrote) == (3, [])
    assert always.end.reason == "stuck:tool_write"


@cutting
async def test_arguments_that_are_cut_at_the_limit_end_the_run(play: Play, oven: Oven):
    call = ("call_1", "tool_write", '{"text": "ha')
    for replies in (1, 2):
        cut = oven.reply("Writing.", call, end="limit")
        played = await play(oven, cut, *[oven.reply("never")] * (replies - 1))
        assert isinstance(played.end, Stopped)
        assert played.end.reason == "truncated:max_tokens"
        assert (played.requests, played.wrote) == (1, [])
        assert played.text == "Writing."


@ovens
async def test_a_call_without_arguments_at_the_limit_never_runs_by_default(
    play: Play, oven: Oven
):
    cut = oven.reply("Writing.", ("call_1", "tool_write", ""), end="limit")
    played = await play(oven, cut, oven.reply("never"))
    assert isinstance(played.end, Stopped)
    assert played.end.reason == "truncated:max_tokens"
    assert (played.requests, played.wrote, played.text) == (1, [], "Writing.")


@ovens
async def test_a_text_that_is_cut_is_no_answer_and_is_kept(play: Play, oven: Oven):
    played = await play(oven, oven.reply("half a", end="limit"), oven.reply("never"))
    assert isinstance(played.end, Stopped)
    assert played.end.reason == "truncated:max_tokens"
    assert (played.requests, played.text) == (1, "half a")


@ovens
async def test_an_empty_reply_is_asked_for_once_more(play: Play, oven: Oven):
    once = await play(oven, oven.reply(""), oven.reply("whole"))
    assert isinstance(once.end, Finished)
    assert (once.requests, once.text) == (2, "whole")
    always = await play(oven, oven.reply(""))
    assert isinstance(always.end, BreadError)
    assert (always.requests, always.end.code) == (2, "EMPTY_RESPONSE")


@ovens
async def test_two_calls_of_one_id_both_run_and_keep_their_order(
    play: Play, oven: Oven
):
    calls = [("call_0", "tool_write", f'{{"text": "{word}"}}') for word in ("a", "b")]
    twice = oven.reply("", *calls, end="calls")
    once = await play(oven, twice, oven.reply("done"))
    assert isinstance(once.end, Finished)
    assert (once.requests, sorted(once.wrote)) == (2, ["a", "b"])
    results = once.messages[-2].parts
    assert [result.content for result in results] == ["wrote a", "wrote b"]
    assert len({result.call_id for result in results}) == 2
    always = await play(oven, twice)
    assert isinstance(always.end, Stopped)
    assert (always.end.reason, always.requests) == ("max_steps", 4)
    assert sorted(always.wrote) == ["a"] * 4 + ["b"] * 4
    ids = [call.id for message in always.messages for call in message.calls]
    assert len(set(ids)) == 8


@ovens
async def test_an_unknown_tool_is_answered_with_those_there_are(play: Play, oven: Oven):
    call = ("call_1", "tool_wrote", '{"text": "a"}')
    unknown = oven.reply("", call, end="calls")
    once = await play(oven, unknown, oven.reply("done"))
    assert isinstance(once.end, Finished)
    assert (once.requests, once.wrote) == (2, [])
    [result] = once.messages[-2].parts
    assert result.failed
    assert "tool_write" in str(result.content)
    always = await play(oven, unknown)
    assert isinstance(always.end, Stopped)
    assert (always.end.reason, always.requests) == ("stuck:tool_wrote", 3)
    assert always.wrote == []
