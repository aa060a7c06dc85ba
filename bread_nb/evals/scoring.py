"""What a scorer is: it looks at one attempt and says pass, fail or how much.

A scorer that fails itself makes its row broken: never passed, and never the end of the
whole suite.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Final, cast

from pydantic import JsonValue

from bread_nb.base.bounds import fits
from bread_nb.base.wire import dumps, json_safe
from bread_nb.compose.judge import Ask, Judgement, Predicate, judge
from bread_nb.crumbs import Crumb
from bread_nb.errors import BreadError
from bread_nb.messages import Usage

__all__ = [
    "MISSING",
    "Attempt",
    "Missing",
    "Scorer",
    "Verdict",
    "as_text",
    "check_least",
]


class Missing:
    """Nothing was given; None is a value like any other."""

    def __repr__(self) -> str:
        return "nothing"

    def __reduce__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One run of one case, as scorers see it.

    Args:
        name: The case.
        input: What the agent was given.
        expected: What the case says is right; `MISSING` when it says nothing.
        status: `finished`, `stopped`, `waiting`, `failed` or `cancelled`.
        output: The agent's output.
        text: The last text of the model.
        error: The code and the words of the fault, if there was one.
        reason: Why the run stopped, if it did.
        crumbs: What the run told, in order.
        turns: Model calls.
        calls: Tool calls by tool.
        usage: Tokens by tier.
        cost: US dollars; None when it is not known.
        duration_ms: Working time.
        ask: Runs an agent that judges.
    """

    name: str
    input: object
    expected: object = MISSING
    status: str = "finished"
    output: object = None
    text: str = ""
    error: str | None = None
    reason: str | None = None
    crumbs: tuple[Crumb, ...] = ()
    turns: int = 0
    calls: Mapping[str, int] = field(default_factory=dict[str, int])
    usage: Usage = Usage()
    cost: float | None = None
    duration_ms: int = 0
    ask: Ask | None = field(default=None, repr=False)

    @cached_property
    def answer(self) -> str:
        """The output as text: itself, or compact JSON."""
        return as_text(self.output)

    def asking(self, ask: Ask) -> Attempt:
        """The same attempt with another way to ask judges."""
        return replace(self, ask=ask)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What one scorer said of one attempt."""

    scorer: str
    passed: bool
    score: float | None = None
    why: str = ""
    broken: bool = False

    def to_json(self) -> dict[str, JsonValue]:
        """The verdict as plain JSON."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Scorer:
    """Looks at an attempt and says what it is worth.

    Args:
        name: What the report calls it.
        check: A function of the attempt, sync or async, that gives a boolean, a score
            from 0 to 1 or a `Judgement`.
        least: The score from which on an attempt passes.
        key: What tells two scorers of one name apart, for resuming and comparing.

    Raises:
        BreadError: `INVALID_SUITE` for a `least` that is not from 0 to 1.
    """

    name: str
    check: Callable[[Attempt], object]
    least: float = 1.0
    key: JsonValue = None

    def __post_init__(self) -> None:
        check_least(self.least, self.name)

    async def score(self, attempt: Attempt) -> Verdict:
        """The verdict on an attempt; a scorer that fails is told as broken."""
        check = cast("Callable[[object], object]", self.check)
        criteria = Predicate(check, self.least)
        said: Judgement = await judge(None, attempt, criteria)
        return Verdict(
            scorer=self.name,
            passed=said.passed,
            score=None if said.broken else _worth(said),
            why=said.critique,
            broken=said.broken,
        )


def check_least(least: float, scorer: str) -> None:
    """Refuse a score to be reached that is not from 0 to 1.

    Raises:
        BreadError: `INVALID_SUITE`.
    """
    if not fits(least, 0, 1):
        raise BreadError(
            "This suite cannot be used.",
            code="INVALID_SUITE",
            why=f"{scorer} has least={least}, and scores are from 0 to 1.",
            do="least=0.5",
        )


def _worth(said: Judgement) -> float:
    if said.score is not None:
        return said.score
    return 1.0 if said.passed else 0.0


def as_text(value: object) -> str:
    """A value as text: itself, or compact JSON."""
    if isinstance(value, str):
        return value
    try:
        return dumps(json_safe(value))
    except (TypeError, ValueError):
        return str(value)
