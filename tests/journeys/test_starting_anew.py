"""A model that starts its answer anew: what came before is void, and told so."""

from fixtures.journey import check_pairs, finished, only, texts, types
from journeys.conftest import MakeBread
from journeys.test_streams import Deltas

from bread_nb import Agent, tool
from bread_nb.errors import ProviderError
from bread_nb.messages import Usage
from bread_nb.providers.model import (
    CallEnd,
    CallFragment,
    CallStart,
    Finish,
    ReasoningChunk,
    Restart,
    TextChunk,
    UsageReport,
)

LOST = ProviderError("Lost.", code="STREAM_INCOMPLETE", retryable=True)


async def test_a_restart_drops_all_that_came_before_it(make_bread: MakeBread):
    ran: list[int] = []

    @tool
    def weigh(grams: int = 0) -> str:
        """Weigh."""
        ran.append(grams)
        return f"{grams} g"

    turn = [
        ReasoningChunk("Hm."),
        TextChunk("half "),
        UsageReport(Usage(input=9, output=9)),
        CallStart(0, "a", "tool_weigh"),
        CallFragment(0, '{"grams": 1}'),
        CallEnd(0),
        CallStart(1, "b", "tool_weigh"),
        CallFragment(1, '{"gra'),
        Restart(LOST, 1, 3, 0.25),
        TextChunk("whole"),
        UsageReport(Usage(input=2, output=1)),
        Finish("end_turn"),
    ]
    model = Deltas(turn)
    bread = make_bread({"baker": Agent(model=model, tools=[weigh])})
    run = bread.run("baker", "go", session="s1")
    outcome = await finished(bread, run)
    check_pairs(run.crumbs)
    assert (outcome.text, ran, len(model.requests)) == ("whole", [], 1)
    assert (outcome.usage.input, outcome.usage.output) == (11, 10)
    said = texts(await bread.sessions.messages("s1"))
    assert said == [("user", "go"), ("assistant", "whole")]
    [again] = only(run.crumbs, "model:retry")
    assert (again["attempt"], again["attempts"], again["delayMs"]) == (1, 3, 250)
    assert (again["error"]["code"], "model" in again) == ("STREAM_INCOMPLETE", False)
    kinds = types(run.crumbs)
    assert kinds.index("tool:input:end") < kinds.index("model:retry")


async def test_ids_of_dropped_calls_are_free_again(make_bread: MakeBread):
    @tool
    def bell() -> str:
        """Ring."""
        return "ding"

    call = [CallStart(0, "a", "tool_bell"), CallEnd(0)]
    turn = [*call, Restart(LOST, 1, 2, model="ollama:b"), *call, Finish("tool_use")]
    model = Deltas(turn, [TextChunk("done"), Finish("end_turn", name="ollama:b")])
    bread = make_bread({"baker": Agent(model=model, tools=[bell])})
    run = bread.run("baker", "go")
    outcome = await finished(bread, run)
    [called] = only(run.crumbs, "tool:call")
    assert (called["toolCallId"], outcome.model) == ("a", "ollama:b")
    assert only(run.crumbs, "model:retry")[0]["model"] == "ollama:b"
    assert [u["model"] for u in only(run.crumbs, "model:usage")] == [
        "scripted:deltas",
        "ollama:b",
    ]
