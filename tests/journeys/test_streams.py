"""What a model streams becomes a message, and goes back as it came."""

from collections.abc import AsyncIterator, Sequence

import pytest
from fixtures.journey import (
    check_pairs,
    finished,
    only,
    results,
    stopped,
    waiting,
    within,
)
from journeys.conftest import MakeBread

from bread_nb import Agent, Finished, Permissions, tool
from bread_nb.messages import Native, Reasoning, Text, ToolCall, Usage
from bread_nb.providers.model import (
    CallEnd,
    CallFragment,
    CallStart,
    Delta,
    Finish,
    ModelRequest,
    NativeBlock,
    ReasoningChunk,
    ReasoningEnd,
    TextChunk,
    UsageReport,
)

SAYS = (TextChunk("done"), Finish("end_turn"))


class Deltas:
    """A model that streams these deltas, one list a turn."""

    name = "scripted:deltas"
    free = True

    def __init__(self, *turns: Sequence[Delta]) -> None:
        self._turns = list(turns)
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        self.requests.append(request)
        for delta in self._turns[len(self.requests) - 1]:
            yield delta

    async def aclose(self) -> None:
        return None


def weigher(seen: list[object], *turns: Sequence[Delta], **more: object) -> Agent:
    @tool
    def weigh(grams: int = 0) -> str:
        """Weigh."""
        seen.append(grams)
        return f"{grams} g"

    return Agent(model=Deltas(*turns), tools=[weigh], **more)


async def test_arguments_are_put_together_from_their_pieces(make_bread: MakeBread):
    turn = [
        CallStart(0, "a", "tool_weigh"),
        CallFragment(0, ""),
        CallFragment(0, '{"gra'),
        CallStart(1, "b", "tool_weigh"),
        CallFragment(0, 'ms": 500}'),
        CallEnd(0),
        CallEnd(1),
        Finish("tool_use"),
    ]
    seen: list[object] = []
    agent = weigher(seen, turn, SAYS)
    bread = make_bread({"baker": agent})
    run = bread.run("baker", "go")
    outcome = await finished(bread, run)
    assert sorted(seen) == [0, 500]
    assert outcome.messages[1].calls == (
        ToolCall("a", "tool_weigh", {"grams": 500}),
        ToolCall("b", "tool_weigh", {}),
    )
    assert results(outcome) == {"a": "500 g", "b": "0 g"}


@pytest.mark.parametrize("pieces", [["{}"], ["{}", "", '{"gra', 'ms": 0}'], ["", ""]])
async def test_an_object_that_only_holds_the_place_is_no_second_one(
    make_bread: MakeBread, pieces: list[str]
):
    turn = [
        CallStart(0, "a", "tool_weigh"),
        *(CallFragment(0, piece) for piece in pieces),
        CallEnd(0),
        CallStart(1, "b", "tool_weigh"),
        CallFragment(1, '{}{"grams": 500}'),
        CallEnd(1),
        Finish("tool_use"),
    ]
    bread = make_bread({"baker": weigher([], turn, SAYS)})
    outcome = await finished(bread, bread.run("baker", "go"))
    assert results(outcome) == {"a": "0 g", "b": "500 g"}


@pytest.mark.parametrize("asking", [False, True])
async def test_signed_thinking_goes_back_byte_for_byte_and_in_its_place(
    make_bread: MakeBread, asking: bool
):
    signed = Native("anthropic", "opus", {"thinking": "Hm, rye", "signature": "SIG1"})
    hidden = Native("anthropic", "opus", {"type": "redacted", "data": "x9==é"})
    turn = [
        ReasoningChunk("Hm, "),
        ReasoningChunk("rye"),
        ReasoningEnd(signed),
        NativeBlock(hidden),
        TextChunk("Weighing."),
        CallStart(0, "a", "tool_weigh"),
        CallFragment(0, '{"grams":1}'),
        CallEnd(0, signed),
        Finish("tool_use"),
    ]
    permissions = Permissions(ask=["tool:weigh"] if asking else [])
    agent = weigher([], turn, SAYS, permissions=permissions)
    bread = make_bread({"baker": agent})
    run = bread.run("baker", "go")
    if asking:
        outcome = await waiting(bread, run)
        later = make_bread({"baker": agent}, store=bread.store)
        assert isinstance(await within(later.resume(outcome.only, "yes")), Finished)
    else:
        await finished(bread, run)
    assert agent.model.requests[1].messages[1].parts == (
        Reasoning("Hm, rye", signed),
        hidden,
        Text("Weighing."),
        ToolCall("a", "tool_weigh", {"grams": 1}, None, signed),
    )


async def test_reports_of_tokens_replace_each_other(make_bread: MakeBread):
    turn = [
        UsageReport(Usage(input=40, output=2)),
        TextChunk("x"),
        UsageReport(Usage(input=40, output=9)),
        UsageReport(Usage(input=40, output=21)),
        Finish("end_turn"),
    ]
    bread = make_bread({"baker": weigher([], turn)})
    outcome = await finished(bread, bread.run("baker", "go"))
    assert outcome.usage == Usage(input=40, output=21)


async def test_a_pause_is_answered_with_what_was_said_so_far(make_bread: MakeBread):
    block = Native("anthropic", "opus", {"type": "server_tool_use"})
    pause = [TextChunk("Searching."), NativeBlock(block), Finish("pause_turn")]
    agent = weigher([], pause, SAYS)
    bread = make_bread({"baker": agent})
    outcome = await finished(bread, bread.run("baker", "go"))
    assert agent.model.requests[1].messages[-1].parts == (Text("Searching."), block)
    assert (outcome.text, outcome.metrics.turns) == ("done", 2)


async def test_calls_of_a_turn_that_pauses_get_their_results(make_bread: MakeBread):
    pause = [
        TextChunk("Weighing."),
        CallStart(0, "a", "tool_weigh"),
        CallFragment(0, '{"grams": 5}'),
        CallEnd(0),
        Finish("pause_turn"),
    ]
    bread = make_bread({"baker": weigher([], pause, SAYS)})
    outcome = await finished(bread, bread.run("baker", "go"))
    assert results(outcome) == {"a": "5 g"}


@pytest.mark.parametrize(
    "written",
    ['{"grams": NaN}', '{"grams": 1e999}', '{"grams": ' + "[" * 300 + "]" * 300 + "}"],
    ids=["not a number", "infinite", "too deep"],
)
async def test_arguments_that_cannot_be_kept_never_run(
    make_bread: MakeBread, written: str
):
    turn = [
        CallStart(0, "a", "tool_weigh"),
        CallFragment(0, written),
        CallEnd(0),
        Finish("tool_use"),
    ]
    seen: list[object] = []
    bread = make_bread({"baker": weigher(seen, turn, SAYS)})
    outcome = await finished(bread, bread.run("baker", "go"))
    assert seen == []
    assert "not a JSON object" in results(outcome)["a"]


async def test_pauses_without_end_stop_at_the_steps(make_bread: MakeBread):
    pause = [TextChunk("Wait."), Finish("pause_turn")]
    bread = make_bread({"baker": weigher([], *[pause] * 4, steps=4)})
    outcome = await stopped(bread, bread.run("baker", "go"))
    assert (outcome.reason, outcome.text) == ("max_steps", "Wait.")


async def test_empty_pieces_leave_no_empty_parts_and_no_crumbs(make_bread: MakeBread):
    turn = [
        TextChunk(""),
        ReasoningChunk(""),
        ReasoningEnd(),
        TextChunk(""),
        CallStart(0, "a", "tool_weigh"),
        CallEnd(0),
        Finish("tool_use"),
    ]
    bread = make_bread({"baker": weigher([], turn, SAYS)})
    run = bread.run("baker", "go")
    outcome = await finished(bread, run)
    assert outcome.messages[1].parts == (ToolCall("a", "tool_weigh"),)
    assert only(run.crumbs, "reasoning:delta") == []
    assert len(only(run.crumbs, "text:delta")) == 1


async def test_a_stream_that_says_no_stop_reason_ends_as_it_stands(
    make_bread: MakeBread,
):
    bread = make_bread({"baker": weigher([], [TextChunk("done")])})
    assert (await finished(bread, bread.run("baker", "go"))).text == "done"


async def test_a_call_that_is_never_ended_is_ended_for_it(make_bread: MakeBread):
    turn = [
        CallStart(0, "a", "tool_weigh"),
        CallFragment(0, '{"grams":2}'),
        Finish("tool_use"),
    ]
    seen: list[object] = []
    bread = make_bread({"baker": weigher(seen, turn, SAYS)})
    run = bread.run("baker", "go")
    await finished(bread, run)
    check_pairs(run.crumbs)
    assert seen == [2]


async def test_text_and_thinking_stay_in_the_order_they_came(make_bread: MakeBread):
    turn = [
        TextChunk("a"),
        ReasoningChunk("b"),
        TextChunk("c"),
        ReasoningChunk("d"),
        ReasoningEnd(),
        TextChunk("e"),
        Finish("end_turn"),
    ]
    bread = make_bread({"baker": weigher([], turn)})
    outcome = await finished(bread, bread.run("baker", "go"))
    assert outcome.messages[-1].parts == (
        Text("a"),
        Reasoning("b"),
        Text("c"),
        Reasoning("d"),
        Text("e"),
    )
    assert outcome.output == "ace"


async def test_sealed_thinking_without_a_word_keeps_its_place(make_bread: MakeBread):
    sealed = Native("responses", "oven-1", {"type": "reasoning", "id": "rs_2"})
    turn = [TextChunk("a"), ReasoningEnd(sealed), TextChunk("b"), Finish("end_turn")]
    bread = make_bread({"baker": weigher([], turn)})
    outcome = await finished(bread, bread.run("baker", "go"))
    assert outcome.messages[-1].parts == (Text("a"), Reasoning("", sealed), Text("b"))


async def test_many_deltas_lose_no_character(make_bread: MakeBread):
    pieces = [f"{number} 🍞 " for number in range(10_000)]
    turn = [*map(TextChunk, pieces), Finish("end_turn")]
    bread = make_bread({"baker": weigher([], turn)})
    outcome = await finished(bread, bread.run("baker", "go"))
    assert outcome.text == "".join(pieces)
    logged = only(await bread.crumbs("last"), "text:delta")
    assert "".join(crumb["delta"] for crumb in logged) == outcome.text
    assert len(logged) < 100
