"""What every peer is given: the same words, the same tool, the same history."""

from __future__ import annotations

from itertools import count

FIRST = "What is the answer?"
SYSTEM = "Be brief."
MODEL = "fake-1"
KEY = "none-is-needed"
QUESTION = "Question {n}: what comes after the number before it, and why?"
ANSWER = "Answer {n}: one more, since each is the next of them."


_NUMBERS = count(1)


def fresh_id() -> str:
    """A name that no run of this process has had."""
    return f"run-{next(_NUMBERS)}"


def history(messages: int) -> list[tuple[str, str]]:
    """Roles and words of a conversation so long, the user's first."""
    pairs = [("user", QUESTION), ("assistant", ANSWER)]
    return [
        (role, words.format(n=n))
        for n in range(messages)
        for role, words in [pairs[n % 2]]
    ]


async def tool_add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b
