"""Faults of the model: how often it is asked again, and what is kept."""

import asyncio

import pytest
from fixtures.journey import (
    call,
    calls,
    check_pairs,
    fault,
    finished,
    only,
    texts,
    told,
    types,
    within,
)
from journeys.conftest import MakeBread

from bread_nb import (
    Agent,
    BreadError,
    ErrorHandling,
    Fail,
    Hooks,
    Recover,
    Retry,
    RetryPolicy,
    Scripted,
    tool,
)
from bread_nb.errors import ProviderError
from bread_nb.tools.lifecycle import HookContext

OVERLOADED = {"status": 529, "retry_after": 0}


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits between tries, noted and not waited for."""
    noted: list[float] = []
    sleep = asyncio.sleep

    async def note(seconds: float) -> None:
        noted.append(seconds)
        await sleep(0)

    monkeypatch.setattr("bread_nb.base.retry.asyncio.sleep", note)
    return noted


def trying(attempts: int, **more: object) -> ErrorHandling:
    return ErrorHandling(retry=RetryPolicy(attempts=attempts, **more))


def failing(error: object, **more: object) -> Agent:
    return Agent(model=Scripted([{"error": error}], repeat_last=True), **more)


RETRY, NOTHING = Hooks(on_error=lambda _: Retry()), Hooks(on_error=lambda _: None)
FAIL = Hooks(on_error=lambda _: Fail(BreadError("Enough.", code="ENOUGH")))


@pytest.mark.parametrize(
    ("error", "handling", "hooks", "asked"),
    [
        (529, None, None, 3),
        (429, None, None, 3),
        (500, None, None, 3),
        ({"code": "STREAM_INCOMPLETE"}, None, None, 3),
        ({"code": "ETIMEDOUT"}, None, None, 3),
        ({"status": 429, "retry_after": 600}, None, None, 3),
        ({"status": 429, "retry_after": 99999999}, None, None, 1),
        ({"status": 429, "retry_after": 99999999}, trying(3), None, 1),
        ({"status": 429, "retry_after": 99999999}, trying(3), RETRY, 1),
        ({"status": 429, "retry_after": 900}, trying(3, max_delay=900), None, 3),
        (401, None, None, 1),
        (400, None, None, 1),
        (RuntimeError("odd"), None, None, 1),
        (401, None, RETRY, 2),
        (529, None, RETRY, 4),
        (529, None, NOTHING, 3),
        (529, None, FAIL, 1),
        (529, trying(1), None, 1),
        (529, trying(5), None, 5),
        (529, trying(5), RETRY, 5),
        (529, trying(5), NOTHING, 5),
        (529, trying(5), FAIL, 1),
        (401, trying(3), None, 1),
        (401, trying(3), RETRY, 3),
        (RuntimeError("odd"), trying(3), None, 3),
        (RuntimeError("odd"), trying(3, retry_on="transient"), None, 1),
        (401, trying(3, retry_on=lambda error: error.status == 401), None, 3),
        (529, trying(3, retry_on=lambda error: error.status == 401), None, 1),
    ],
)
async def test_the_model_is_asked_as_often_as_hooks_and_policy_say(
    make_bread: MakeBread,
    error: object,
    handling: ErrorHandling | None,
    hooks: Hooks | None,
    asked: int,
):
    agent = failing(error, error_handling=handling, hooks=hooks)
    bread = make_bread({"baker": agent})
    run = bread.run("baker", "go")
    raised = await fault(bread, run)
    assert len(agent.model.requests) == asked
    assert [r.attempt for r in agent.model.requests] == list(range(1, asked + 1))
    assert len(only(run.crumbs, "model:retry")) == asked - 1
    assert (raised.code == "ENOUGH") == (hooks is FAIL)


async def test_the_projects_policy_holds_where_an_agent_has_none(
    make_bread: MakeBread,
):
    plain, own = failing(529), failing(529, error_handling=trying(2))
    agents = {"plain": plain, "own": own}
    bread = make_bread(agents, error_handling=trying(4))
    await fault(bread, bread.run("plain", "go"))
    await fault(bread, bread.run("own", "go"))
    assert (len(plain.model.requests), len(own.model.requests)) == (4, 2)


async def test_hooks_are_asked_at_each_failure_and_the_last_pass_counts(
    make_bread: MakeBread,
):
    seen: list[BreadError | None] = []

    def third_time(context: HookContext) -> object:
        seen.append(context.error)
        return Recover("from the freezer") if len(seen) == 3 else None

    agent = failing(529, hooks=Hooks(on_error=third_time))
    bread = make_bread({"baker": agent})
    outcome = await finished(bread, bread.run("baker", "go"))
    assert (outcome.output, len(seen)) == ("from the freezer", 3)


async def test_waits_grow_and_retry_after_is_obeyed(
    make_bread: MakeBread, waits: list[float]
):
    policy = trying(4, backoff=1, multiplier=3, max_delay=5)
    slow = failing({"status": 429, "retry_after": 40}, error_handling=trying(2))
    bread = make_bread({"baker": failing(500, error_handling=policy), "slow": slow})
    await fault(bread, bread.run("baker", "go"))
    assert waits == [1, 3, 5]
    waits.clear()
    await fault(bread, bread.run("slow", "go"))
    assert waits == [40]


async def test_text_of_a_failed_try_is_withdrawn_by_the_retry(make_bread: MakeBread):
    script = Scripted([{"deltas": ["half "], "error": OVERLOADED}, "whole"])
    bread = make_bread({"baker": Agent(model=script)})
    run = bread.run("baker", "go", session="s1")
    outcome = await finished(bread, run)
    assert (outcome.output, outcome.text) == ("whole", "whole")
    assert types(run.crumbs) == [
        "agent:run:start",
        "text:delta",
        "model:retry",
        "text:delta",
        "model:usage",
        "agent:run:end",
    ]
    [again] = only(run.crumbs, "model:retry")
    assert (again["attempt"], again["attempts"]) == (1, 3)
    assert again["error"]["code"] == "MODEL_OVERLOADED"
    said = texts(await bread.sessions.messages("s1"))
    assert said == [("user", "go"), ("assistant", "whole")]


async def test_an_error_in_mid_stream_is_no_success_and_keeps_the_text(
    make_bread: MakeBread,
):
    turn = {"deltas": ["Rye ", "bread"], "error": OVERLOADED}
    agent = Agent(model=Scripted([turn]), error_handling=trying(1))
    bread = make_bread({"baker": agent})
    run = bread.run("baker", "go")
    error = await fault(bread, run)
    assert isinstance(error, ProviderError)
    assert (error.code, error.status, error.retryable) == (
        "MODEL_OVERLOADED",
        529,
        True,
    )
    assert error.context["text"] == "Rye bread"
    assert run.status == "failed"
    last = told(run.crumbs)[-1]
    assert (last["type"], last["error"]["code"]) == ("agent:error", "MODEL_OVERLOADED")
    assert (last["error"]["retryable"], last["error"]["context"]["text"]) == (
        True,
        "Rye bread",
    )
    row = await bread.find_run("last")
    assert (row.status, row.text) == ("failed", "Rye bread")
    assert [entry.delta for entry in (await bread.crumbs("last"))[1:2]] == ["Rye bread"]


async def test_a_stream_that_breaks_inside_a_call_leaves_nothing_open(
    make_bread: MakeBread,
):
    turn = {
        **calls(call("tool_add", a=1), text="Adding."),
        "reasoning": "Hm",
        "error": OVERLOADED,
    }
    script = Scripted([turn, "fine"])
    bread = make_bread({"baker": Agent(model=script)})
    run = bread.run("baker", "go")
    await finished(bread, run)
    check_pairs(run.crumbs)
    assert only(run.crumbs, "tool:call") == []


async def test_finished_turns_are_never_repeated(make_bread: MakeBread):
    ran: list[int] = []

    @tool
    def add() -> int:
        """Add."""
        ran.append(1)
        return 3

    turns = [calls(call("tool_add")), {"error": OVERLOADED}, {"error": OVERLOADED}, "3"]
    script = Scripted(turns)
    bread = make_bread({"baker": Agent(model=script, tools=[add])})
    outcome = await finished(bread, bread.run("baker", "go"))
    assert (outcome.text, ran, outcome.metrics.turns) == ("3", [1], 2)
    assert [request.attempt for request in script.requests] == [1, 1, 2, 3]


async def test_cancelling_between_two_tries_ends_the_run(
    make_bread: MakeBread, monkeypatch: pytest.MonkeyPatch
):
    waiting = asyncio.Event()

    async def wait(_: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    monkeypatch.setattr("bread_nb.base.retry.asyncio.sleep", wait)
    bread = make_bread({"baker": failing(529)})
    run = bread.run("baker", "go")
    await within(waiting.wait())
    run.cancel()
    assert (await fault(bread, run)).code == "RUN_CANCELLED"


async def test_a_run_that_failed_leaves_a_session_to_go_on_with(make_bread: MakeBread):
    script = Scripted([{"deltas": ["half"], "error": 401}, "fine"])
    bread = make_bread({"baker": Agent(model=script)})
    await fault(bread, bread.run("baker", "go", session="s1"))
    outcome = await finished(bread, bread.run("baker", "again", session="s1"))
    assert outcome.text == "fine"
    assert [m.role for m in script.requests[-1].messages][-1] == "user"
