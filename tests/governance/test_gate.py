"""The one gate: permissions first, then rules; the strictest answer wins."""

import pytest

from bread_nb import Permissions
from bread_nb.base.names import Origin
from bread_nb.errors import Halt
from bread_nb.governance.gate import Gate
from bread_nb.governance.verdict import Action, Allow, Ask, Deny, HaltRun


def action(name: str = "bake", **more: object) -> Action:
    ids = {"agent_id": "baker", "run_id": "r", "session_id": "s"}
    return Action(**ids, origin=Origin("tool", name), **more)


def rule(answer: object):
    def decides(_: Action) -> object:
        if isinstance(answer, BaseException):
            raise answer
        return answer

    return decides


@pytest.mark.parametrize(
    ("answers", "verdict"),
    [
        ([], Allow()),
        ([None], Allow()),
        ([True], Allow()),
        ([False], Deny("decides", "tool:bake is denied by the rule decides.")),
        (["not on Sunday"], Deny("decides", "not on Sunday")),
        ([3], Deny("decides", "tool:bake is denied by the rule decides.")),
        ([{}], Deny("decides", "tool:bake is denied by the rule decides.")),
        (
            [ValueError("odd")],
            Deny("decides", "The rule decides failed: ValueError: odd"),
        ),
        ([Halt("till", why="enough")], HaltRun("till", "enough")),
        ([Ask("mine")], Ask("mine")),
        ([Ask("one"), Ask("two")], Ask("one")),
        ([Ask("one"), "no"], Deny("decides", "no")),
        (["no", Ask("one")], Deny("decides", "no")),
        (["no", HaltRun("x"), True], HaltRun("x")),
        ([HaltRun("x"), HaltRun("y")], HaltRun("x")),
    ],
)
def test_what_rules_answer(answers: list[object], verdict: object):
    assert Gate([rule(a) for a in answers]).decide(action(), Permissions()) == verdict


def test_a_rule_cannot_allow_what_the_permissions_deny():
    gate = Gate([rule(True), rule(Allow("mine"))])
    denied = gate.decide(action(), Permissions(deny=["tool:bake"]))
    assert isinstance(denied, Deny)
    assert denied.rule == "deny tool:bake"


def test_what_a_person_approved_is_not_asked_again_but_may_be_denied():
    asking = Permissions(ask=["tool:bake"])
    approved = action(approved=True)
    assert Gate().decide(approved, asking) == Allow("approved (ask tool:bake)")
    assert Gate([rule("no")]).decide(approved, asking) == Deny("decides", "no")
    both = Permissions(ask=["tool:bake"], deny=["tool:*"])
    assert isinstance(Gate().decide(approved, both), Deny)


def test_every_rule_is_asked_with_the_whole_action():
    seen: list[Action] = []
    gate = Gate([rule("no"), seen.append])
    asked = action(args={"loaves": 3}, ctx={"user": "x"})
    gate.decide(asked, Permissions())
    assert seen == [asked]
    assert (asked.tool, asked.leaf) == ("tool:bake", "tool_bake")
    assert "user" not in repr(asked)


@pytest.mark.parametrize(
    ("lists", "verdict"),
    [
        ({}, Allow()),
        ({"allow": ["tool:b*"]}, Allow("allow tool:b*")),
        ({"ask": ["tool:b*"], "allow": ["tool:bake"]}, Ask("ask tool:b*")),
        (
            {"allow": ["tool:other"]},
            Deny("allow list", "tool:bake is not among the tools this agent may use."),
        ),
        (
            {"deny": ["tool:bake"], "ask": ["tool:bake"]},
            Deny("deny tool:bake", "tool:bake is denied by the rule deny tool:bake."),
        ),
    ],
)
def test_the_lists_name_the_rule_that_decided(
    lists: dict[str, list[str]], verdict: object
):
    assert Permissions(**lists).judge(action()) == verdict


def test_a_halt_of_a_function_that_asks_ends_the_run():
    halting = Permissions(ask=[rule_of_two(Halt("till"))])
    assert Gate().decide(action(), halting) == HaltRun("till")


def rule_of_two(error: BaseException):
    def asks(name: str, args: object) -> bool:
        raise error

    return asks


def test_permissions_compare_by_their_lists():
    assert Permissions(allow=["tool:a"]) == Permissions(allow=["tool:a"])
    assert Permissions(allow=["tool:a"]) != Permissions(deny=["tool:a"])


def test_permissions_show_the_lists_that_say_something():
    def dear(name: str, args: object) -> bool:
        return True

    assert repr(Permissions()) == "Permissions()"
    lists = Permissions(ask=["tool:a", dear], deny=("tool:rm_*",))
    assert repr(lists) == "Permissions(ask=['tool:a', dear], deny=['tool:rm_*'])"
