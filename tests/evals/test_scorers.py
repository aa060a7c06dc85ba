"""Scorers: what passes, what fails, and what is broken rather than either."""

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
from pydantic import BaseModel

from bread_nb import BreadError
from bread_nb.compose.judge import Judgement
from bread_nb.crumbs import GateDecided, ToolCalled
from bread_nb.evals import (
    Attempt,
    Scorer,
    Verdict,
    contains,
    crumbs,
    custom,
    exact,
    judge,
    regex,
    schema,
    similar,
)

WHERE = {"agent_id": "baker", "run_id": "r", "timestamp": 0}
RYE = Attempt(name="rye", input="What bread?", output="Rye bread", expected="Rye bread")


async def said(scorer: Scorer, attempt: Attempt = RYE) -> str:
    """`pass`, `fail` or `broken`, and why."""
    verdict = await scorer.score(attempt)
    assert not (verdict.broken and verdict.passed)
    word = "broken" if verdict.broken else "pass" if verdict.passed else "fail"
    return f"{word}: {verdict.why}".removesuffix(": ")


@pytest.mark.parametrize(
    ("scorer", "expected"),
    [
        (exact(), "pass"),
        (exact("Rye bread"), "pass"),
        (exact("rye bread"), "fail: it is not 'rye bread'"),
        (exact("rye bread ", ignore_case=True, strip=True), "pass"),
        (contains("Rye"), "pass"),
        (contains(["Rye", "bread"]), "pass"),
        (contains(["Rye", "wheat"]), "fail: it lacks 'wheat'"),
        (contains("RYE", ignore_case=True), "pass"),
        (contains("wheat", absent=True), "pass"),
        (contains(["bread", "oats"], absent=True), "fail: it has 'bread'"),
        (regex(r"\bbread$"), "pass"),
        (regex("^bread"), "fail: '^bread' is not found in it"),
        (schema(str), "pass"),
        (
            schema(int),
            "fail: it is not JSON: Expecting value: line 1 column 1 (char 0)",
        ),
        (custom(lambda output: "Rye" in output, name="names rye"), "pass"),
        (custom(lambda _: False), "fail"),
        (custom(lambda _: 0.6, least=0.5), "pass"),
        (custom(lambda attempt: attempt.input == "What bread?"), "pass"),
        (judge(lambda output: output == "Rye bread"), "pass"),
    ],
)
async def test_an_answer_is_held_against_it(scorer: Scorer, expected: str):
    assert await said(scorer) == expected


@pytest.mark.parametrize(
    ("scorer", "why"),
    [
        (custom(lambda _: 1 / 0), "the check raised ZeroDivisionError"),
        (custom(lambda _: None), "the check gave a value of type NoneType"),
        (custom(lambda _: "yes"), "the check gave a value of type str"),
        (custom(lambda _: 7), "the check gave a number that is not"),
        (judge("It names a flour."), "The judge has no model."),
    ],
)
async def test_a_scorer_that_fails_is_broken_and_never_passes(scorer: Scorer, why: str):
    assert (await said(scorer)).startswith(f"broken: {why}") or why in await said(
        scorer
    )
    assert (await said(scorer)).startswith("broken")


@pytest.mark.parametrize("scorer", [exact(), contains()])
async def test_a_case_that_says_nothing_of_what_is_right_breaks_its_row(scorer: Scorer):
    silent = Attempt(name="rye", input="?", output="Rye")
    assert "rye says nothing of what is right" in await said(scorer, silent)
    assert (await said(scorer, silent)).startswith("broken")


async def test_other_values_than_text_are_compared_as_values():
    class Loaf(BaseModel):
        grams: int

    answer = replace(RYE, output={"grams": 500}, expected={"grams": 500})
    assert await said(exact(), answer) == "pass"
    assert await said(exact('{"grams":500}'), answer) == "pass"
    assert await said(schema(Loaf), answer) == "pass"
    assert await said(schema(Loaf), replace(RYE, output='{"grams": 500}')) == "pass"
    twice = await said(schema(Loaf), replace(RYE, output='{"grams": 9, "grams": 1}'))
    assert twice == "fail: it is not JSON: the key 'grams' stands there twice"
    assert await said(schema(Loaf), replace(RYE, output='{"grams": "much"}')) == (
        "fail: grams: 'much' is not a whole number"
    )


def test_a_pattern_that_is_none_is_refused_when_it_is_written():
    with pytest.raises(BreadError) as caught:
        regex("(")
    assert caught.value.code == "INVALID_SUITE"


async def test_a_score_of_its_own_is_kept():
    nearly = custom(lambda _: 0.25)
    assert await nearly.score(RYE) == Verdict(scorer="lambda", passed=False, score=0.25)
    graded = custom(
        lambda _: Judgement(status="needs_revision", score=0.9, critique="too short")
    )
    verdict = await graded.score(RYE)
    assert (verdict.passed, verdict.score, verdict.why) == (False, 0.9, "too short")


def called(name: str, **args: object) -> ToolCalled:
    return ToolCalled(tool_call_id="c", tool_name=f"tool_{name}", args=args, **WHERE)


WAY = replace(
    RYE,
    crumbs=(called("search", query="rye", limit=3), called("publish", title="Rye")),
    turns=3,
    cost=0.02,
    duration_ms=4000,
)


@pytest.mark.parametrize(
    ("scorer", "expected"),
    [
        (crumbs(called=["search", "publish"]), "pass"),
        (crumbs(called=["tool_search"]), "pass"),
        (crumbs(called=[{"search": {"query": "rye"}}]), "pass"),
        (
            crumbs(called=[{"search": {"query": "oats"}}]),
            'fail: search with {"query":"oats"} was not called, '
            'only with {"query":"rye","limit":3}',
        ),
        (crumbs(called=["bake"]), "fail: bake was not called"),
        (crumbs(called=["publish", "search"], ordered=False), "pass"),
        (
            crumbs(called=["publish", "search"]),
            'fail: search was not called, only with {"query":"rye","limit":3}',
        ),
        (crumbs(called=["search"], only=True), "fail: publish was called too"),
        (
            crumbs(called=["publish"], only=True),
            "fail: search was called before publish",
        ),
        (crumbs(only=True), "fail: search, publish was called too"),
        (crumbs(never=["publish"]), "fail: publish was called"),
        (crumbs(never=["delete"]), "pass"),
        (crumbs(turns=3), "pass"),
        (crumbs(turns=2), "fail: 3 turns, not 2"),
        (crumbs(cost=0.05), "pass"),
        (crumbs(cost=0.01), "fail: it cost $0.0200, over $0.0100"),
        (crumbs(seconds=5), "pass"),
        (crumbs(seconds=3), "fail: it took 4.0 s, over 3 s"),
        (crumbs(check=lambda made: len(made) == 2), "pass"),
    ],
)
async def test_the_way_is_held_against_it(scorer: Scorer, expected: str):
    assert await said(scorer, WAY) == expected


async def test_an_unknown_cost_under_a_bound_is_broken_and_not_cheap():
    unknown = replace(WAY, cost=None)
    assert await said(crumbs(cost=1.0), unknown) == (
        "broken: what the run cost is not known"
    )


async def test_a_denied_call_is_seen():
    denied = GateDecided(tool_name="tool_delete", decision="deny", rule="r", **WHERE)
    way = replace(WAY, crumbs=(*WAY.crumbs, denied))
    assert await said(crumbs(denied=False), WAY) == "pass"
    assert await said(crumbs(denied=False), way) == "fail: delete was denied"
    assert await said(crumbs(denied=True, turns=3), way) == "pass"


@pytest.mark.parametrize(
    "make",
    [
        crumbs,
        lambda: crumbs(denied=True),
        lambda: crumbs(cost=math.nan),
        lambda: crumbs(seconds=math.nan),
        lambda: crumbs(turns=-1),
        lambda: regex(""),
        lambda: custom(len, least=math.nan),
        lambda: custom(len, least=-1),
        lambda: judge("Good?", least=2),
        lambda: judge("Good?", model="a:b", least=math.nan),
        lambda: similar("Rye", least=-1),
    ],
)
def test_a_scorer_that_could_hold_nothing_is_refused_where_it_is_made(
    make: Callable[[], Scorer],
):
    with pytest.raises(BreadError) as caught:
        make()
    assert caught.value.code == "INVALID_SUITE"
