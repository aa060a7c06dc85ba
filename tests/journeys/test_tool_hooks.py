"""Hooks of tools: before the gate, round the call, and at its failures."""

import pytest
from fixtures.journey import call, calls, fault, finished, only, results, stopped
from journeys.conftest import MakeBread

from bread_nb import (
    Agent,
    BreadError,
    Continue,
    ErrorHandling,
    Fail,
    Hooks,
    Permissions,
    Recover,
    Replace,
    Retry,
    RetryPolicy,
    Scripted,
    ShortCircuit,
    tool,
)
from bread_nb.errors import Halt, ToolError
from bread_nb.tools.lifecycle import HookContext

ID = "call_1_1"


class Oven:
    """A tool that fails so many times before it works."""

    def __init__(self, fails: int = 0, error: Exception | None = None) -> None:
        self.asked: list[str] = []
        self._fails, self._error = fails, error or ValueError("too hot")

    def agent(self, hooks: Hooks | None = None, **more: object) -> Agent:
        def bake(name: str) -> str:
            """Bake a loaf."""
            self.asked.append(name)
            if len(self.asked) <= self._fails:
                raise self._error
            return f"{name} baked"

        baked = tool(bake, hooks=hooks, **more)
        script = Scripted([calls(call("tool_bake", name="rye")), "done"])
        return Agent(model=script, tools=[baked])


async def test_a_before_hook_may_rewrite_the_arguments(make_bread: MakeBread):
    oven = Oven()
    hooks = Hooks(before_run=lambda c: Continue({**c.input, "name": "spelt"}))
    bread = make_bread({"baker": oven.agent(hooks)})
    run = bread.run("baker", "go")
    outcome = await finished(bread, run)
    assert oven.asked == ["spelt"]
    assert only(run.crumbs, "tool:call")[0]["args"] == {"name": "spelt"}
    assert results(outcome) == {ID: "spelt baked"}


@pytest.mark.parametrize("left", [{"nme": "rye"}, "rye", {"name": 3}])
async def test_arguments_a_hook_leaves_must_fit_the_tool(
    make_bread: MakeBread, left: object
):
    oven = Oven()
    bread = make_bread(
        {"baker": oven.agent(Hooks(before_run=lambda _: Continue(left)))}
    )
    error = await fault(bread, bread.run("baker", "go"))
    assert (error.code, oven.asked) == ("INVALID_HOOK_RESULT", [])


async def test_a_short_circuit_gives_the_result_without_the_call(
    make_bread: MakeBread,
):
    oven = Oven()
    hooks = Hooks(
        before_run=lambda _: ShortCircuit({"from": "freezer"}),
        after_run=lambda c: Replace({**c.output, "warm": True}),
    )
    bread = make_bread({"baker": oven.agent(hooks)})
    run = bread.run("baker", "go")
    outcome = await finished(bread, run)
    value = {"from": "freezer", "warm": True}
    assert oven.asked == []
    assert results(outcome) == {ID: value}
    [asked] = only(run.crumbs, "tool:call")
    [returned] = only(run.crumbs, "tool:result")
    assert (asked["args"], returned["result"]) == ({"name": "rye"}, value)


async def test_a_short_circuit_that_is_not_json_is_a_failure_the_model_reads(
    make_bread: MakeBread,
):
    hooks = Hooks(before_run=lambda _: ShortCircuit(object()))
    bread = make_bread({"baker": Oven().agent(hooks)})
    outcome = await finished(bread, bread.run("baker", "go"))
    assert "something that is not JSON" in results(outcome)[ID]


async def test_what_the_after_hook_leaves_is_what_everybody_sees(
    make_bread: MakeBread,
):
    hooks = Hooks(after_run=lambda c: Replace(c.output.upper()))
    bread = make_bread({"baker": Oven().agent(hooks)})
    run = bread.run("baker", "go")
    outcome = await finished(bread, run)
    assert results(outcome) == {ID: "RYE BAKED"}
    assert only(run.crumbs, "tool:result")[0]["result"] == "RYE BAKED"


@pytest.mark.parametrize("place", ["before_run", "after_run", "on_error"])
async def test_a_tool_hook_that_raises_ends_the_run(make_bread: MakeBread, place: str):
    def burn(_: HookContext) -> None:
        raise BreadError("The oven burns.", code="BURNT")

    own = Hooks(**{"on_error": lambda _: Recover("no"), place: burn})
    oven = Oven(fails=place == "on_error")
    bread = make_bread({"baker": oven.agent(own, error_handling=trying(3))})
    error = await fault(bread, bread.run("baker", "go", session="s1"))
    assert error.code == "BURNT"
    kept = await bread.sessions.messages("s1")
    assert kept[-1].role == "tool"


async def test_a_failure_reaches_the_model_and_the_hooks(make_bread: MakeBread):
    seen: list[BreadError | None] = []
    hooks = Hooks(on_error=lambda context: seen.append(context.error))
    oven = Oven(fails=1)
    bread = make_bread({"baker": oven.agent(hooks)})
    run = bread.run("baker", "go")
    outcome = await finished(bread, run)
    assert "bake raised ValueError: too hot" in results(outcome)[ID]
    assert isinstance(seen[0], ToolError)
    assert (len(seen), len(oven.asked)) == (1, 1)
    assert only(run.crumbs, "tool:error")[0]["error"]["code"] == "TOOL_ERROR"


async def test_recover_is_the_result(make_bread: MakeBread):
    hooks = Hooks(
        on_error=lambda _: Recover("from the freezer"),
        after_run=lambda c: Replace(f"{c.output}, warm"),
    )
    bread = make_bread({"baker": Oven(fails=1).agent(hooks)})
    run = bread.run("baker", "go")
    outcome = await finished(bread, run)
    assert results(outcome) == {ID: "from the freezer, warm"}
    assert only(run.crumbs, "tool:error") == []


async def test_fail_puts_another_error_in_place(make_bread: MakeBread):
    other = BreadError("Out of gas.", code="NO_GAS", why="it is Sunday.")
    bread = make_bread(
        {"baker": Oven(fails=1).agent(Hooks(on_error=lambda _: Fail(other)))}
    )
    run = bread.run("baker", "go")
    outcome = await finished(bread, run)
    assert results(outcome) == {ID: "Out of gas. it is Sunday."}
    assert only(run.crumbs, "tool:error")[0]["error"]["code"] == "NO_GAS"


async def test_a_hooks_retry_without_a_policy_is_one_more_try(make_bread: MakeBread):
    oven = Oven(fails=9)
    bread = make_bread({"baker": oven.agent(Hooks(on_error=lambda _: Retry()))})
    outcome = await finished(bread, bread.run("baker", "go"))
    assert len(oven.asked) == 2
    assert "too hot" in results(outcome)[ID]


def trying(attempts: int, **more: object) -> ErrorHandling:
    return ErrorHandling(retry=RetryPolicy(attempts=attempts, backoff=0, **more))


@pytest.mark.parametrize(
    ("hooks", "policy", "tries"),
    [
        (None, None, 1),
        (None, trying(3), 3),
        (Hooks(on_error=lambda _: Retry()), trying(3), 3),
        (Hooks(on_error=lambda _: None), trying(3), 3),
        (Hooks(on_error=lambda c: Fail(c.error)), trying(3), 1),
        (Hooks(on_error=lambda _: Recover("x")), trying(3), 1),
        (None, trying(3, retry_on="transient"), 1),
        (None, trying(3, retry_on=lambda error: "hot" in error.what), 3),
    ],
)
async def test_a_tool_is_tried_as_often_as_it_says_itself(
    make_bread: MakeBread, hooks: Hooks | None, policy: ErrorHandling | None, tries: int
):
    oven = Oven(fails=9)
    agent = oven.agent(hooks, error_handling=policy)
    bread = make_bread({"baker": agent}, error_handling=trying(5))
    await finished(bread, bread.run("baker", "go"))
    assert len(oven.asked) == tries


async def test_a_tool_that_works_at_last_gives_its_result(make_bread: MakeBread):
    oven = Oven(fails=2)
    bread = make_bread({"baker": oven.agent(error_handling=trying(3))})
    run = bread.run("baker", "go")
    outcome = await finished(bread, run)
    assert results(outcome) == {ID: "rye baked"}
    assert (len(oven.asked), only(run.crumbs, "tool:error")) == (3, [])


async def test_a_halt_is_neither_retried_nor_recovered(make_bread: MakeBread):
    oven = Oven(fails=9, error=Halt("oven"))
    agent = oven.agent(
        Hooks(on_error=lambda _: Recover("no")), error_handling=trying(3)
    )
    bread = make_bread({"baker": agent})
    outcome = await stopped(bread, bread.run("baker", "go"))
    assert (outcome.reason, len(oven.asked)) == ("halt:oven", 1)


async def test_the_gate_judges_what_the_hooks_left(make_bread: MakeBread):
    oven, judged = Oven(), list[object]()

    def ask(name: str, args: dict[str, object]) -> bool:
        judged.append((name, dict(args)))
        return False

    hooks = Hooks(before_run=lambda _: Continue({"name": "spelt"}))
    agent = oven.agent(hooks)
    asking = Agent(
        model=agent.model, tools=agent.tools, permissions=Permissions(ask=[ask])
    )
    bread = make_bread({"baker": asking})
    await finished(bread, bread.run("baker", "go"))
    assert judged == [("tool:bake", {"name": "spelt"})]
