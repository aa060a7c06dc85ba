"""Hooks of agents and projects: their order, their results, their faults."""

import pytest
from fixtures.journey import (
    call,
    calls,
    fault,
    finished,
    only,
    stopped,
    texts,
    types,
    waiting,
    within,
)
from journeys.conftest import MakeBread

from bread_nb import (
    Agent,
    BreadError,
    Continue,
    Hooks,
    Recover,
    Replace,
    Scripted,
    ShortCircuit,
    human_tool,
    tool,
)
from bread_nb.errors import Halt
from bread_nb.tools.lifecycle import HookContext


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Witness:
    """Hooks that note what they were told, and answer as they are asked to."""

    def __init__(self, name: str, log: list[str], **answers: object) -> None:
        self.seen: list[HookContext] = []
        self._name, self._log, self._answers = name, log, answers

    def hooks(self) -> Hooks:
        return Hooks(
            before_run=self._hook("before"),
            after_run=self._hook("after"),
            on_error=self._hook("error"),
            on_suspend=self._hook("suspend"),
        )

    def _hook(self, place: str):
        def hook(context: HookContext) -> object:
            self.seen.append(context)
            self._log.append(f"{self._name} {context.scope} {place}")
            answer = self._answers.get(place)
            return answer(context) if callable(answer) else answer

        return hook


def baker(*turns: object, **more: object) -> Agent:
    return Agent(model=Scripted(list(turns)), tools=[add], **more)


async def test_the_scoped_hook_comes_before_the_projects(make_bread: MakeBread):
    log: list[str] = []
    own, project = Witness("own", log), Witness("project", log)
    agent = baker(calls(call("tool_add", a=1, b=2)), "3", hooks=own.hooks())
    bread = make_bread({"baker": agent}, hooks=project.hooks())
    await finished(bread, bread.run("baker", "1+2?"))
    assert log == [
        "own agent before",
        "project agent before",
        "project tool before",
        "project tool after",
        "own agent after",
        "project agent after",
    ]


async def test_hooks_are_told_who_and_what(make_bread: MakeBread):
    log: list[str] = []
    project = Witness("project", log)
    agent = baker(calls(call("tool_add", a=1, b=2)), "3")
    bread = make_bread({"baker": agent}, hooks=project.hooks())
    run = bread.run("baker", "1+2?", session="s1", ctx={"df": 1})
    outcome = await finished(bread, run)
    before, tool_before, tool_after, after = project.seen
    for seen in project.seen:
        assert (seen.agent_id, seen.run_id) == ("baker", outcome.run_id)
        assert (seen.session_id, seen.ctx) == ("s1", {"df": 1})
        assert seen.store is bread.store
    assert (before.input, before.output, before.tool_name) == ("1+2?", None, None)
    assert (tool_before.tool_name, tool_before.input) == ("tool_add", {"a": 1, "b": 2})
    assert (tool_after.output, tool_after.call_id) == (3, "call_1_1")
    assert isinstance(tool_after.duration_ms, int)
    assert (after.output, after.input) == ("3", "1+2?")


async def test_what_one_before_hook_leaves_the_next_one_gets(make_bread: MakeBread):
    def louder(context: HookContext) -> Continue:
        return Continue(f"{context.input}!")

    agent = baker("done", hooks=Hooks(before_run=louder))
    bread = make_bread({"baker": agent}, hooks=Hooks(before_run=louder))
    run = bread.run("baker", "go")
    outcome = await finished(bread, run)
    assert only(run.crumbs, "agent:run:start")[0]["input"] == "go!!"
    assert texts(outcome.messages)[0] == ("user", "go!!")


async def test_hooks_may_be_async(make_bread: MakeBread):
    async def louder(context: HookContext) -> Continue:
        return Continue(f"{context.input}!")

    async def quieter(context: HookContext) -> Replace:
        return Replace(str(context.output).lower())

    hooks = Hooks(before_run=louder, after_run=quieter)
    bread = make_bread({"baker": baker("DONE", hooks=hooks)})
    outcome = await finished(bread, bread.run("baker", "go"))
    assert texts(outcome.messages) == [("user", "go!"), ("assistant", "done")]


async def test_input_a_hook_leaves_is_checked_too(make_bread: MakeBread):
    hooks = Hooks(before_run=lambda _: Continue(""))
    bread = make_bread({"baker": baker("never", hooks=hooks)})
    with pytest.raises(BreadError) as caught:
        await within(bread.run("baker", "go"))
    assert caught.value.code == "INVALID_INPUT"
    assert await bread.runs() == []


async def test_a_short_circuit_is_a_normal_completion(make_bread: MakeBread):
    log: list[str] = []
    own = Witness("own", log, before=ShortCircuit("cached"), after=None)
    project = Witness("project", log)
    agent = baker(hooks=own.hooks())
    bread = make_bread({"baker": agent}, hooks=project.hooks())
    run = bread.run("baker", "go", session="s1")
    outcome = await finished(bread, run)
    assert (outcome.output, outcome.text) == ("cached", "cached")
    assert types(run.crumbs) == ["agent:run:start", "agent:run:end"]
    assert texts(outcome.messages) == [("user", "go"), ("assistant", "cached")]
    assert log == ["own agent before", "own agent after", "project agent after"]
    assert outcome.metrics.turns == 0


async def test_what_after_hooks_leave_is_stored_and_returned(make_bread: MakeBread):
    own = Hooks(after_run=lambda context: Replace(f"{context.output} own"))
    project = Hooks(after_run=lambda context: Replace(f"{context.output} project"))
    bread = make_bread({"baker": baker("model", hooks=own)}, hooks=project)
    run = bread.run("baker", "go", session="s1")
    outcome = await finished(bread, run)
    assert outcome.output == "model own project"
    assert outcome.text == "model own project"
    assert only(run.crumbs, "agent:run:end")[0]["output"] == "model own project"
    kept = await bread.sessions.messages("s1")
    assert kept[-1].text == "model own project"


async def test_an_output_a_hook_leaves_must_fit_the_schema(make_bread: MakeBread):
    hooks = Hooks(after_run=lambda _: Replace("many"))
    agent = Agent(model=Scripted(["3"]), output_schema=int, hooks=hooks)
    bread = make_bread({"baker": agent})
    error = await fault(bread, bread.run("baker", "go"))
    assert error.code == "INVALID_OUTPUT"


async def test_a_fitting_output_of_a_hook_becomes_the_type(make_bread: MakeBread):
    hooks = Hooks(before_run=lambda _: ShortCircuit("12"))
    agent = Agent(model=Scripted([]), output_schema=int, hooks=hooks)
    bread = make_bread({"baker": agent})
    assert (await finished(bread, bread.run("baker", "go"))).output == 12


@pytest.mark.parametrize("place", ["before", "after", "error", "suspend"])
async def test_a_hook_that_raises_ends_its_chain_and_the_run(
    make_bread: MakeBread, place: str
):
    def burn(_: HookContext) -> None:
        raise BreadError("The oven burns.", code="BURNT")

    log: list[str] = []
    own = Witness("own", log, **{place: burn})
    project = Witness("project", log)
    turns = {
        "error": {"error": 401},
        "suspend": calls(call("human_approve", question="?")),
    }
    agent = Agent(
        model=Scripted([turns.get(place, "done"), "again"]),
        tools=[human_tool("approve")],
        hooks=own.hooks(),
    )
    bread = make_bread({"baker": agent}, hooks=project.hooks())
    error = await fault(bread, bread.run("baker", "go", session="s1"))
    assert error.code == "BURNT"
    assert log[-1] == f"own agent {place}"
    assert log.count("own agent error") == (place == "error")
    assert await bread.pending() == []
    own._answers.clear()
    await finished(bread, bread.run("baker", "again", session="s1"))


async def test_an_after_hook_that_raises_on_a_short_circuit_frees_the_session(
    make_bread: MakeBread,
):
    def burn(_: HookContext) -> None:
        raise ValueError("burnt")

    log: list[str] = []
    own = Witness("own", log, before=ShortCircuit("cached"), after=burn)
    bread = make_bread({"baker": baker("fine", hooks=own.hooks())})
    run = bread.run("baker", "go", session="s1")
    error = await fault(bread, run)
    assert (error.code, error.what) == ("AGENT_ERROR", "ValueError: burnt")
    assert isinstance(error.__cause__, ValueError)
    assert run.crumbs[-1].type == "agent:error"
    own._answers.clear()
    await finished(bread, bread.run("baker", "again", session="s1"))


@pytest.mark.parametrize(
    ("place", "answer"),
    [
        ("before", Replace("x")),
        ("after", ShortCircuit("x")),
        ("after", "x"),
        ("error", Continue("x")),
    ],
)
async def test_a_result_that_means_nothing_there_is_said(
    make_bread: MakeBread, place: str, answer: object
):
    own = Witness("own", [], **{place: answer})
    turn = {"error": 401} if place == "error" else "done"
    bread = make_bread({"baker": baker(turn, hooks=own.hooks())})
    error = await fault(bread, bread.run("baker", "go"))
    assert error.code == "INVALID_HOOK_RESULT"
    assert "may return" in error.why


@pytest.mark.parametrize("place", ["before", "after"])
async def test_a_halt_of_a_hook_ends_the_run_as_a_value(
    make_bread: MakeBread, place: str
):
    def halting(context: HookContext) -> None:
        raise Halt("oven_cold")

    own = Witness("own", [], **{place: halting})
    bread = make_bread({"baker": baker("done", hooks=own.hooks())})
    outcome = await stopped(bread, bread.run("baker", "go", session="s"))
    assert outcome.reason == "halt:oven_cold"
    session = await bread.sessions.get("s")
    assert session is not None
    assert session.run_id is None


@pytest.mark.parametrize("scope", ["agent", "tool"])
@pytest.mark.parametrize("place", ["before", "after"])
@pytest.mark.parametrize("ends", [SystemExit, GeneratorExit, BaseException])
async def test_a_hook_that_exits_ends_its_run_alone(
    make_bread: MakeBread, scope: str, place: str, ends: type[BaseException]
):
    def exiting(context: HookContext) -> None:
        if context.scope == scope:
            raise ends(3)

    project = Witness("project", [], **{place: exiting})
    script = [calls(call("tool_add", a=1, b=2), call("tool_add", a=3, b=4)), "done"]
    bread = make_bread({"baker": baker(*script)}, hooks=project.hooks())
    error = await fault(bread, bread.run("baker", "go"))
    assert error.code == "INVALID_HOOK_RESULT"
    assert ends.__name__ in error.why
    assert {row.status for row in await bread.runs()} <= {"failed"}


@pytest.mark.parametrize("left", [{"a": object()}, {"a": float("nan")}, object()])
async def test_arguments_a_hook_leaves_must_be_json(
    make_bread: MakeBread, left: object
):
    def rewriting(context: HookContext) -> object:
        return Continue(left) if context.scope == "tool" else None

    project = Witness("project", [], before=rewriting)
    script = [calls(call("tool_add", a=1, b=2)), "done"]
    bread = make_bread({"baker": baker(*script)}, hooks=project.hooks())
    error = await fault(bread, bread.run("baker", "go"))
    assert error.code == "INVALID_HOOK_RESULT"


async def test_on_suspend_is_told_of_each_question(make_bread: MakeBread):
    log: list[str] = []
    own, project = Witness("own", log), Witness("project", log)
    asks = calls(call("human_approve", question="?"), call("tool_add", a=1, b=1))
    agent = Agent(
        model=Scripted([asks]),
        tools=[human_tool("approve"), add],
        hooks=own.hooks(),
    )
    bread = make_bread({"baker": agent}, hooks=project.hooks())
    outcome = await waiting(bread, bread.run("baker", "go"))
    assert log[-2:] == ["own agent suspend", "project agent suspend"]
    told = own.seen[-1]
    assert (told.tool_name, told.checkpoint_id) == ("human_approve", outcome.only)


async def test_recover_takes_the_place_of_the_answer(make_bread: MakeBread):
    log: list[str] = []
    recover = Recover("from the freezer")
    own, project = Witness("own", log, error=recover), Witness("project", log)
    agent = baker({"deltas": ["half"], "error": 401}, hooks=own.hooks())
    bread = make_bread({"baker": agent}, hooks=project.hooks())
    run = bread.run("baker", "go", session="s1")
    outcome = await finished(bread, run)
    assert outcome.output == "from the freezer"
    assert log == [
        "own agent before",
        "project agent before",
        "own agent error",
        "own agent after",
        "project agent after",
    ]
    assert own.seen[1].error.code == "MODEL_AUTH"
    kept = texts(await bread.sessions.messages("s1"))
    assert kept == [("user", "go"), ("assistant", "from the freezer")]


async def test_a_resumed_run_runs_no_before_hook_again(make_bread: MakeBread):
    log: list[str] = []
    own = Witness("own", log)
    asks = calls(call("human_approve", question="?"))
    agent = Agent(
        model=Scripted([asks, "done"]),
        tools=[human_tool("approve")],
        hooks=own.hooks(),
    )
    bread = make_bread({"baker": agent})
    question = (await waiting(bread, bread.run("baker", "go"))).only
    await within(bread.resume(question, {"answer": "yes"}))
    assert log == ["own agent before", "own agent suspend", "own agent after"]
    assert own.seen[-1].input == "go"
