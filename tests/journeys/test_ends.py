"""How a run ends is a value, whose history can always be sent again."""

import pytest
from fixtures.journey import (
    call,
    calls,
    ended,
    fault,
    finished,
    only,
    results,
    stopped,
    texts,
    told,
    waiting,
)
from journeys.conftest import MakeBread

from bread_nb import (
    Agent,
    BreadError,
    Finished,
    Guards,
    Permissions,
    Scripted,
    Suspended,
    human_tool,
    tool,
)
from bread_nb.base.ids import pinned
from bread_nb.errors import Halt
from bread_nb.messages import Usage


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def fail(why: str = "no flour") -> str:
    """Always fails."""
    raise ValueError(why)


@tool
def halt(rule: str = "") -> str:
    """End the run."""
    raise Halt(rule, why="enough") if rule else Halt()


def agent(model: Scripted, **more: object) -> Agent:
    return Agent(model=model, tools=[add, fail, halt], **more)


async def test_a_run_tells_its_whole_story_in_crumbs(make_bread: MakeBread):
    turn = {
        "reasoning": ["Sum", " it."],
        "deltas": ["Let me", " add."],
        "calls": [call("tool_add", a=1, b=2)],
        "usage": {"input": 10, "output": 5},
    }
    script = Scripted([turn, {"text": "3", "usage": {"input": 20, "output": 1}}])
    bread = make_bread({"baker": agent(script)})
    with pinned():
        run = bread.run("baker", "1+2?", session="s1")
        outcome = await finished(bread, run)
    id = "call_1_1"
    assert told(run.crumbs) == [
        {
            "type": "agent:run:start",
            "seq": 1,
            "input": "1+2?",
            "model": "scripted",
            "steps": 20,
        },
        {"type": "reasoning:delta", "seq": 1, "delta": "Sum"},
        {"type": "reasoning:delta", "seq": 1, "delta": " it."},
        {"type": "text:delta", "seq": 1, "delta": "Let me"},
        {"type": "text:delta", "seq": 1, "delta": " add."},
        {
            "type": "tool:input:start",
            "seq": 4,
            "toolCallId": id,
            "toolName": "tool_add",
        },
        {
            "type": "tool:input:delta",
            "seq": 5,
            "toolCallId": id,
            "delta": '{"a":1,"b":2}',
        },
        {"type": "tool:input:end", "seq": 6, "toolCallId": id},
        {
            "type": "model:usage",
            "seq": 7,
            "model": "scripted",
            "turn": 1,
            "usage": {
                "input": 10,
                "output": 5,
                "cacheRead": 0,
                "cacheWrite": 0,
                "reasoning": 0,
            },
            "stopReason": "tool_use",
            "cost": 0.0,
            "costSource": "free",
            "kind": "turn",
        },
        {
            "type": "tool:call",
            "seq": 8,
            "toolCallId": id,
            "toolName": "tool_add",
            "args": {"a": 1, "b": 2},
        },
        {
            "type": "tool:result",
            "seq": 9,
            "toolCallId": id,
            "toolName": "tool_add",
            "result": 3,
        },
        {"type": "text:delta", "seq": 9, "delta": "3"},
        {
            "type": "model:usage",
            "seq": 11,
            "model": "scripted",
            "turn": 2,
            "usage": {
                "input": 20,
                "output": 1,
                "cacheRead": 0,
                "cacheWrite": 0,
                "reasoning": 0,
            },
            "stopReason": "end_turn",
            "cost": 0.0,
            "costSource": "free",
            "kind": "turn",
        },
        {"type": "agent:run:end", "seq": 12, "output": "3"},
    ]
    assert outcome.usage == Usage(input=30, output=6) == outcome.metrics.tokens
    assert (outcome.metrics.turns, outcome.metrics.tool_calls) == (2, {"tool_add": 1})
    assert (outcome.output, outcome.text, outcome.model) == ("3", "3", "scripted")
    assert (outcome.session_id, outcome.handle) == ("s1", "baker-1")


async def test_the_log_keeps_deltas_joined_and_numbers_them(make_bread: MakeBread):
    script = Scripted([{"reasoning": ["a", "b"], "deltas": ["c", "d"]}])
    bread = make_bread({"baker": agent(script)})
    run = bread.run("baker", "go")
    await finished(bread, run)
    kept = told(await bread.crumbs("last"))
    assert [crumb["seq"] for crumb in kept] == [1, 2, 3, 4, 5]
    assert [crumb.get("delta") for crumb in kept] == [None, "ab", "cd", None, None]


async def test_text_of_the_last_turn_that_spoke_is_kept(make_bread: MakeBread):
    adding = calls(call("tool_add", a=1, b=1), text="Adding.")
    script = Scripted([adding, calls(call("tool_halt"))])
    bread = make_bread({"baker": agent(script)})
    outcome = await stopped(bread, bread.run("baker", "go"))
    assert (outcome.reason, outcome.text) == ("halt:unknown", "Adding.")


@pytest.mark.parametrize("reason", ["refusal", "context_exceeded"])
async def test_a_turn_that_did_not_end_cleanly_stops_the_run(
    make_bread: MakeBread, reason: str
):
    turn = {**calls(call("tool_add", a=1, b=1), text="half"), "stop": reason}
    script = Scripted([turn, "never mind"])
    bread = make_bread({"baker": agent(script)})
    run = bread.run("baker", "go", session="s1")
    outcome = await stopped(bread, run)
    assert (outcome.reason, outcome.stop_reason, outcome.text) == (
        reason,
        reason,
        "half",
    )
    assert texts(outcome.messages) == [("user", "go"), ("assistant", "half")]
    assert only(run.crumbs, "tool:call") == []
    assert only(run.crumbs, "agent:run:end")[0]["stopReason"] == reason
    await finished(bread, bread.run("baker", "again", session="s1"))


async def test_a_call_cut_off_by_the_token_limit_never_runs(make_bread: MakeBread):
    half = '{"path":"loaf.md","content":"half'
    turn = {"calls": [{"name": "tool_add", "args": half}], "stop": "max_tokens"}
    script = Scripted([turn], repeat_last=True)
    bread = make_bread({"baker": agent(script)})
    run = bread.run("baker", "go")
    outcome = await stopped(bread, run)
    assert outcome.reason == "truncated:max_tokens"
    assert only(run.crumbs, "tool:call") == []
    assert len(script.requests) == 1


async def test_a_run_stops_after_its_steps(make_bread: MakeBread):
    turn = calls(call("tool_add", a=1, b=1), text="more")
    script = Scripted([turn], repeat_last=True)
    bread = make_bread({"baker": agent(script, steps=3)})
    outcome = await stopped(bread, bread.run("baker", "go"))
    assert (outcome.reason, outcome.text) == ("max_steps", "more")
    assert (len(script.requests), outcome.metrics.tool_calls) == (3, {"tool_add": 3})
    assert set(results(outcome).values()) == {2}


@pytest.mark.parametrize("rule", ["unknown", "till"])
async def test_a_halt_ends_the_run_as_a_value_and_seals_the_open_calls(
    make_bread: MakeBread, rule: str
):
    args = {} if rule == "unknown" else {"rule": rule}
    script = Scripted([calls(call("tool_halt", **args)), "after"])
    bread = make_bread({"baker": agent(script)})
    run = bread.run("baker", "go", session="s1")
    outcome = await stopped(bread, run)
    assert outcome.reason == f"halt:{rule}"
    assert results(outcome) == {"call_1_1": f"[halted:{rule}]"}
    assert [crumb["rule"] for crumb in only(run.crumbs, "gate:halt")] == [rule]
    carried_on = await finished(bread, bread.run("baker", "on", session="s1"))
    assert results(script.requests[-1]) == {"call_1_1": f"[halted:{rule}]"}
    assert carried_on.text == "after"


def refuse(name: str, _: object) -> bool:
    raise PermissionError(f"never {name}")


def guarded(script: Scripted, **guards: int) -> Agent:
    """`fail` is refused at each call, since the function that decides raises."""

    def decide(name: str, args: object) -> bool:
        return refuse(name, args) if name == "tool:fail" else False

    permissions = Permissions(ask=[decide])
    return agent(script, permissions=permissions, guards=Guards(**guards))


async def test_three_refused_calls_in_a_row_stop_the_run(make_bread: MakeBread):
    script = Scripted([calls(call("tool_fail"))], repeat_last=True)
    bread = make_bread({"baker": guarded(script)})
    outcome = await stopped(bread, bread.run("baker", "go"))
    assert outcome.reason == "denied:tool_fail"
    assert len(script.requests) == 3


async def test_refusals_inside_one_turn_count_and_seal_the_rest(make_bread: MakeBread):
    many = [call("tool_fail", id=name) for name in "abcd"]
    script = Scripted([calls(*many), "after"])
    bread = make_bread({"baker": guarded(script, denials=2)})
    outcome = await stopped(bread, bread.run("baker", "go"))
    assert outcome.reason == "denied:tool_fail"
    told = results(outcome)
    assert [told["c"], told["d"]] == ["[halted:denied:tool_fail]"] * 2
    assert "never tool:fail" in told["a"]


async def test_an_allowed_call_resets_the_refusals(make_bread: MakeBread):
    refused, fine = calls(call("tool_fail")), calls(call("tool_add", a=1, b=1))
    turns = [refused, refused, fine, refused, refused, "done"]
    bread = make_bread({"baker": guarded(Scripted(turns))})
    assert isinstance(await ended(bread, bread.run("baker", "go")), Finished)


async def test_the_same_failure_three_times_is_stuck(make_bread: MakeBread):
    script = Scripted([calls(call("tool_fail"))], repeat_last=True)
    bread = make_bread({"baker": agent(script)})
    outcome = await stopped(bread, bread.run("baker", "go"))
    assert outcome.reason == "stuck:tool_fail"
    assert len(script.requests) == 3


async def test_unknown_tools_count_as_failures(make_bread: MakeBread):
    script = Scripted([calls(call("tool_kneed"))], repeat_last=True)
    bread = make_bread({"baker": agent(script)})
    outcome = await stopped(bread, bread.run("baker", "go"))
    assert outcome.reason == "stuck:tool_kneed"


async def test_another_failure_or_a_success_starts_the_streak_anew(
    make_bread: MakeBread,
):
    one, two = calls(call("tool_fail", why="x")), calls(call("tool_fail", why="y"))
    fine = calls(call("tool_add", a=1, b=1))
    turns = [one, one, two, two, fine, two, two, "done"]
    bread = make_bread({"baker": agent(Scripted(turns))})
    assert isinstance(await ended(bread, bread.run("baker", "go")), Finished)


async def test_guards_may_be_off(make_bread: MakeBread):
    turns = [*[calls(call("tool_fail"))] * 5, "done"]
    guards = Guards(denials=0, identical_failures=0)
    bread = make_bread({"baker": agent(Scripted(turns), guards=guards)})
    outcome = await finished(bread, bread.run("baker", "go"))
    assert outcome.metrics.tool_calls == {"tool_fail": 5}


@pytest.mark.parametrize("count", [-1, 1.5, float("nan"), float("inf"), True])
def test_a_guard_that_could_never_hold_is_refused(count: float):
    for name in ("denials", "identical_failures"):
        with pytest.raises(BreadError) as caught:
            Guards(**{name: count})
        assert caught.value.code == "INVALID_AGENT"


async def test_a_waiting_run_says_what_it_waits_for(make_bread: MakeBread):
    approve = human_tool("approve")
    asks = calls(call("human_approve", question="Bake?"), text="I ask.")
    bread = make_bread({"baker": Agent(model=Scripted([asks]), tools=[approve])})
    outcome = await waiting(bread, bread.run("baker", "go"))
    [question] = outcome.pending
    assert question == (await bread.pending())[0]
    assert (question.handle, question.kind) == ("baker-1.a", "input")
    assert (question.tool, question.prompt) == ("approve", "Bake?")
    assert (outcome.text, outcome.only) == ("I ask.", question.checkpoint_id)
    assert repr(outcome) == "Suspended(1 open: approve)"
    assert isinstance(outcome, Suspended)


async def test_a_model_that_says_nothing_is_asked_once_again(make_bread: MakeBread):
    empty = {"text": "", "usage": {"input": 5, "output": 0}}
    spoken = {"text": "Here.", "usage": {"input": 5, "output": 2}}
    script = Scripted([empty, spoken])
    bread = make_bread({"baker": agent(script)})
    run = bread.run("baker", "go")
    outcome = await finished(bread, run)
    assert (outcome.text, outcome.metrics.turns) == ("Here.", 1)
    assert outcome.usage == Usage(input=10, output=2)
    assert len(only(run.crumbs, "model:usage")) == 2


async def test_a_model_that_says_nothing_twice_is_a_fault(make_bread: MakeBread):
    script = Scripted([{"text": ""}], repeat_last=True)
    bread = make_bread({"baker": agent(script)})
    error = await fault(bread, bread.run("baker", "go"))
    assert error.code == "EMPTY_RESPONSE"
    assert len(script.requests) == 2
