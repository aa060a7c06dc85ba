"""Who may call what: allow, ask and deny, seen from a run."""

from collections.abc import Callable

import pytest
from fixtures.journey import call, calls, finished, only, results, waiting, within
from journeys.conftest import MakeBread

from bread_nb import Agent, BreadError, Permissions, Scripted, human_tool, tool
from bread_nb.a2ui.picture import picture
from bread_nb.base.effects import Shell

NAMES = ("read_file", "read_page", "write_file", "delete")


def made(name: str):
    def work() -> str:
        return f"{name} done"

    return tool(work, name=name, description=name)


def agent(script: Scripted, **lists: object) -> Agent:
    return Agent(
        model=script,
        tools=[*map(made, NAMES), human_tool("approve")],
        permissions=Permissions(**lists),
    )


async def becomes(make_bread: MakeBread, **lists: object) -> dict[str, str]:
    """What becomes of a call of each tool: hidden, runs, asks or is denied."""
    found: dict[str, str] = {}
    for name in NAMES:
        script = Scripted([calls(call(f"tool_{name}")), "done"])
        bread = make_bread({"baker": agent(script, **lists)})
        run = bread.run("baker", "go")
        await within(run)
        offered = [spec.name for spec in script.requests[0].tools]
        assert "human_approve" in offered
        if f"tool_{name}" not in offered:
            found[name] = "hidden"
            assert "There is no tool" in results(script.requests[1])["call_1_1"]
        elif run.status == "waiting":
            found[name] = "asks"
        else:
            found[name] = "runs" if only(run.crumbs, "tool:result") else "denied"
    return found


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        ({}, ["runs", "runs", "runs", "runs"]),
        ({"allow": [], "ask": [], "deny": []}, ["runs", "runs", "runs", "runs"]),
        ({"allow": ["tool:read_*"]}, ["runs", "runs", "hidden", "hidden"]),
        ({"deny": ["tool:delete"]}, ["runs", "runs", "runs", "hidden"]),
        ({"ask": ["tool:*_file"]}, ["asks", "runs", "asks", "runs"]),
        (
            {"allow": ["tool:*"], "ask": ["tool:*"], "deny": ["tool:*"]},
            ["hidden"] * 4,
        ),
        (
            {"allow": ["tool:read_page"], "ask": ["tool:delete"]},
            ["hidden", "runs", "hidden", "asks"],
        ),
        (
            {"allow": ["tool:delete"], "ask": ["tool:delete"]},
            ["hidden", "hidden", "hidden", "asks"],
        ),
        (
            {"allow": ["tool:delete"], "deny": ["tool:delete"]},
            ["hidden", "hidden", "hidden", "hidden"],
        ),
        (
            {"ask": ["tool:read_*"], "deny": ["tool:read_page"]},
            ["asks", "hidden", "runs", "runs"],
        ),
        (
            {"ask": [lambda name, args: name == "tool:delete"]},
            ["runs", "runs", "runs", "asks"],
        ),
        (
            {
                "allow": ["tool:read_file"],
                "ask": [lambda name, args: name == "tool:delete"],
            },
            ["runs", "denied", "denied", "asks"],
        ),
    ],
)
async def test_deny_beats_ask_beats_allow(
    make_bread: MakeBread, lists: dict[str, object], expected: list[str]
):
    found = await becomes(make_bread, **lists)
    assert found == dict(zip(NAMES, expected, strict=True))


async def test_a_human_tool_is_never_gated(make_bread: MakeBread):
    script = Scripted([calls(call("human_approve", question="?"))])
    lists = {"allow": ["tool:nothing"], "ask": ["tool:*"]}
    bread = make_bread({"baker": agent(script, **lists)})
    outcome = await waiting(bread, bread.run("baker", "go"))
    assert outcome.pending[0].kind == "input"


async def test_a_function_may_ask_for_some_arguments_only(make_bread: MakeBread):
    paid: list[int] = []

    @tool
    def pay(euros: int) -> str:
        """Pay."""
        paid.append(euros)
        return "paid"

    def dear(name: str, args: dict[str, int]) -> bool:
        return args["euros"] > 10

    script = Scripted([calls(call("tool_pay", euros=5), call("tool_pay", euros=50))])
    agent = Agent(model=script, tools=[pay], permissions=Permissions(ask=[dear]))
    bread = make_bread({"baker": agent})
    run = bread.run("baker", "go")
    outcome = await waiting(bread, run)
    assert paid == [5]
    assert [pending.args for pending in outcome.pending] == [{"euros": 50}]
    assert only(run.crumbs, "gate:decision") == [
        {
            "type": "gate:decision",
            "seq": only(run.crumbs, "gate:decision")[0]["seq"],
            "toolName": "tool_pay",
            "decision": "ask",
            "rule": "ask tool:pay (by a function)",
            "toolCallId": "call_1_2",
        }
    ]


async def test_a_rule_that_matches_no_tool_is_logged_once_at_the_first_run(
    make_bread: MakeBread, caplog: pytest.LogCaptureFixture
):
    script = Scripted(["done"], repeat_last=True)
    lists = {"ask": ["tool:delte", "tool:read_*"], "deny": ["tool:drop_*"]}
    bread = make_bread({"baker": agent(script, **lists)})
    assert caplog.messages == []
    for _ in range(2):
        await finished(bread, bread.run("baker", "go"))
    assert caplog.messages == [
        "baker: the rule ask tool:delte matches no tool: "
        "did you mean tool:delete? Else take the rule out"
    ]


async def test_a_denied_call_says_which_rule_it_was(make_bread: MakeBread):
    script = Scripted([calls(call("tool_delete")), "done"])
    lists = {"allow": ["tool:read_*"], "ask": [lambda name, args: False]}
    bread = make_bread({"baker": agent(script, **lists)})
    run = bread.run("baker", "go")
    outcome = await finished(bread, run)
    [decision] = only(run.crumbs, "gate:decision")
    assert (decision["decision"], decision["rule"]) == ("deny", "allow list")
    assert decision["reason"] == results(outcome)["call_1_1"]
    assert only(run.crumbs, "tool:error")[0]["error"]["code"] == "DENIED"
    assert only(run.crumbs, "tool:call") == []


async def test_a_function_that_fails_denies_and_the_picture_says_how(
    make_bread: MakeBread, monkeypatch: pytest.MonkeyPatch
):
    secret = "sk-" + "Ab3" * 12
    monkeypatch.setenv("OVEN_API_KEY", secret)

    def asks(name: str, args: object) -> bool:
        raise KeyError(f"nokey {secret}")

    class Mute(Exception):
        def __str__(self) -> str:
            raise ValueError

    def mute(name: str, args: object) -> bool:
        raise Mute

    for decides, how in ((asks, "KeyError: 'nokey"), (mute, "Mute: its message")):
        script = Scripted([calls(call("tool_delete")), "done"])
        bread = make_bread({"baker": agent(script, ask=[decides])})
        run = bread.run("baker", "go")
        outcome = await finished(bread, run)
        said = f"The function that decides failed: {how}"
        assert f"(by a function): {said}" in picture(run.crumbs).plain
        assert said in results(outcome)["call_1_1"]
        assert secret not in f"{run.crumbs} {outcome.messages}"


def forgets_to_return(name: str, args: object) -> None:
    bool(args)


@pytest.mark.parametrize(
    ("decides", "what"),
    [
        (forgets_to_return, "gave None"),
        (lambda name, args: args.get("force"), "gave None"),
        (lambda name, args: "", "gave a value of type str"),
        (lambda name, args: 0, "gave a value of type int"),
    ],
)
async def test_a_function_that_gives_no_answer_denies(
    make_bread: MakeBread, decides: Callable[..., object], what: str
):
    script = Scripted([calls(call("tool_delete")), "done"])
    bread = make_bread({"baker": agent(script, ask=[decides])})
    run = bread.run("baker", "go")
    outcome = await finished(bread, run)
    said = f"The function that decides {what}, where True asks and False does not."
    assert said in results(outcome)["call_1_1"]
    assert only(run.crumbs, "tool:call") == []


@pytest.mark.parametrize("kind", ["bool_", "array"])
async def test_false_of_numpy_does_not_ask(make_bread: MakeBread, kind: str):
    no = getattr(pytest.importorskip("numpy"), kind)(False)
    script = Scripted([calls(call("tool_delete")), "done"])
    bread = make_bread({"baker": agent(script, ask=[lambda name, args: no])})
    run = bread.run("baker", "go")
    await finished(bread, run)
    assert len(only(run.crumbs, "tool:call")) == 1


@pytest.mark.parametrize("field", ["allow", "ask", "deny"])
@pytest.mark.parametrize("selector", ["*", "human:approve", "tool:Bad", "mpc:x"])
def test_a_bad_selector_is_refused_where_it_is_written(field: str, selector: str):
    with pytest.raises(BreadError) as caught:
        Permissions(**{field: [selector]})
    assert caught.value.code == "INVALID_PERMISSION"
    assert caught.value.context == {"selector": selector}


def test_a_text_in_place_of_a_list_is_refused():
    with pytest.raises(BreadError) as caught:
        Permissions(deny="tool:delete")
    assert caught.value.code == "INVALID_PERMISSION"
    assert "deny=['tool:delete']" in caught.value.do


async def test_a_command_is_asked_every_time_and_takes_no_rule(make_bread: MakeBread):
    shell = tool(lambda command: "ran", name="shell", effect=Shell(command="command"))
    agent = Agent(
        model=Scripted([calls(call("tool_shell", command="ls")), "done"]),
        tools=[shell],
        permissions=Permissions(ask=["tool:shell"]),
    )
    bread = make_bread({"admin": agent})
    asked = await waiting(bread, bread.run("admin", "List."))
    [question] = asked.pending
    assert not question.lasting
    with pytest.raises(BreadError) as caught:
        await bread.resume(asked.only, {"approved": True, "remember": "agent"})
    assert caught.value.code == "INVALID_ANSWER"
    assert [call.handle for call in await bread.pending()] == [question.handle]


def test_a_function_that_decides_cannot_be_async():
    async def asks(tool: str, args: object) -> bool:
        return True

    with pytest.raises(BreadError) as caught:
        Permissions(ask=[asks])
    assert caught.value.code == "INVALID_PERMISSION"


@pytest.mark.parametrize(
    "lists", [{"deny": [5]}, {"deny": [print]}, {"ask": [None]}, {"allow": None}]
)
def test_a_list_holds_selectors_and_nothing_else(lists: dict[str, object]):
    with pytest.raises(BreadError) as caught:
        Permissions(**lists)
    assert caught.value.code == "INVALID_PERMISSION"
