"""The retry policy: its bounds, its waits, what it covers."""

import math

import pytest

from bread_nb import BreadError, RetryPolicy
from bread_nb.base.retry import retrying
from bread_nb.errors import Halt, ProviderError, ToolError


@pytest.mark.parametrize(
    "fields",
    [
        {"attempts": 0},
        {"attempts": -1},
        {"attempts": 2.5},
        {"attempts": math.inf},
        {"attempts": math.nan},
        {"attempts": True},
        {"attempts": "3"},
        {"backoff": "1"},
        {"max_delay": math.nan},
        {"jitter": None},
        {"backoff": -1},
        {"backoff": math.inf},
        {"backoff": math.nan},
        {"multiplier": 0},
        {"multiplier": math.inf},
        {"max_delay": -1},
        {"jitter": 1.5},
        {"jitter": -0.1},
    ],
)
def test_a_policy_that_cannot_be_followed_is_refused(fields: dict[str, float]):
    with pytest.raises(BreadError) as caught:
        RetryPolicy(**fields)
    assert next(iter(fields)) in caught.value.what


def test_waits_grow_up_to_the_longest():
    policy = RetryPolicy(attempts=9, backoff=0.5, multiplier=2, max_delay=3)
    assert [policy.delay(attempt) for attempt in (1, 2, 3, 4, 5)] == [0.5, 1, 2, 3, 3]


def test_a_service_that_asks_for_more_time_gets_it():
    policy = RetryPolicy(backoff=2, max_delay=3)
    slow = ProviderError("Slow.", status=429, retry_after=40)
    soon = ProviderError("Slow.", status=429, retry_after=0.1)
    assert (policy.delay(1, slow), policy.delay(1, soon)) == (40, 2)


def test_a_service_that_asks_for_too_long_is_not_waited_for():
    ages = ProviderError("Slow.", status=429, retry_after=99999999, retryable=True)
    while_away = ProviderError("Slow.", status=429, retry_after=600, retryable=True)
    assert not RetryPolicy().covers(ages)
    assert RetryPolicy().covers(while_away)
    assert RetryPolicy(max_delay=1e9).covers(ages)


def test_a_wait_too_long_for_a_number_is_the_longest():
    assert RetryPolicy(attempts=5000, backoff=1).delay(4000) == 30
    assert RetryPolicy(attempts=5000, backoff=0).delay(4000) == 0


def test_jitter_shortens_a_wait_by_its_share_at_most():
    policy = RetryPolicy(backoff=10, jitter=0.5)
    waits = [policy.delay(1) for _ in range(200)]
    assert all(5 <= wait <= 10 for wait in waits)
    assert len(set(waits)) > 1


@pytest.mark.parametrize(
    ("retry_on", "error", "covered"),
    [
        ("any", ToolError("x"), True),
        ("any", Halt("x"), False),
        ("transient", ToolError("x"), False),
        ("transient", ToolError("x", retryable=True), True),
        (lambda error: error.code == "MINE", BreadError("x", code="MINE"), True),
        (lambda error: error.code == "MINE", BreadError("x"), False),
        (lambda error: True, Halt("x"), False),
    ],
)
def test_what_a_policy_covers(retry_on: object, error: BreadError, covered: bool):
    assert RetryPolicy(retry_on=retry_on).covers(error) is covered


async def test_an_operation_is_told_the_number_of_its_try():
    tries: list[int] = []

    async def operation(attempt: int) -> str:
        tries.append(attempt)
        if attempt < 3:
            raise ToolError("x")
        return "done"

    async def decide(error: BreadError, attempt: int) -> float:
        return 0

    assert await retrying(operation, decide) == "done"
    assert tries == [1, 2, 3]


async def test_a_halt_is_never_decided_about():
    async def operation(_: int) -> str:
        raise Halt("till")

    async def decide(error: BreadError, attempt: int) -> float:
        raise AssertionError("a halt is not a failure")

    with pytest.raises(Halt):
        await retrying(operation, decide)
