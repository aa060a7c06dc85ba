"""The scorers: what an answer, or the way to it, is held against.

Each is a function that gives a `Scorer`. Those that compare take the case's own
`expected` when they are given nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import cast

from pydantic import JsonValue

from bread_nb.base.schema import Schema
from bread_nb.base.wire import read_json
from bread_nb.compose.judge import Critic, Judgement, Predicate, Rubric
from bread_nb.compose.judge import judge as judge_work
from bread_nb.errors import BreadError, ValidationError
from bread_nb.evals.extras import needed
from bread_nb.evals.scoring import MISSING, Attempt, Scorer, as_text, check_least
from bread_nb.evals.sources import source_of
from bread_nb.runtime.agent import ModelSource, ToolSource

__all__ = ["contains", "custom", "exact", "judge", "regex", "schema", "similar"]

_SHOWN = 120


def exact(
    expected: object = MISSING, *, ignore_case: bool = False, strip: bool = False
) -> Scorer:
    """The answer is just this: equal text, or an equal value for other types.

    An answer in text is equal to a number that it writes, and to a list when it is one
    of its texts.

    Args:
        expected: What is right; the case's `expected` by default.
        ignore_case: Whether upper and lower case are the same.
        strip: Whether blanks around the text are left out.
    """

    def fold(text: str) -> str:
        text = text.strip() if strip else text
        return text.casefold() if ignore_case else text

    def check(attempt: Attempt) -> Judgement:
        right = _wanted(expected, attempt)
        why = f"it is not {_short(as_text(right))}"
        if not isinstance(right, str) and not isinstance(attempt.output, str):
            same = attempt.output == right or attempt.answer == as_text(right)
            return _told(bool(same), why)
        answer = fold(attempt.answer)
        return _told(any(fold(text) == answer for text in _written(right)), why)

    return Scorer(name="exact", check=check, key=_key(expected, ignore_case, strip))


def contains(
    expected: object = MISSING, *, ignore_case: bool = False, absent: bool = False
) -> Scorer:
    """The answer has this text in it, or all of these.

    Args:
        expected: A text or a list of them; the case's `expected` by default.
        ignore_case: Whether upper and lower case are the same.
        absent: Whether none of them may be there instead.
    """

    def check(attempt: Attempt) -> Judgement:
        right = _wanted(expected, attempt)
        listed = cast("Sequence[object]", right if _listed(right) else [right])
        answer = attempt.answer.casefold() if ignore_case else attempt.answer
        wanted = [as_text(each) for each in listed]
        if not wanted or "" in wanted:
            raise _silent(attempt, "an empty text is in every answer")
        there = [w for w in wanted if (w.casefold() if ignore_case else w) in answer]
        wrong = there if absent else [w for w in wanted if w not in there]
        word = "has" if absent else "lacks"
        return _told(not wrong, f"it {word} {', '.join(map(_short, wrong))}")

    name = "lacks" if absent else "contains"
    return Scorer(name=name, check=check, key=_key(expected, ignore_case, absent))


def regex(pattern: str, *, flags: int = 0) -> Scorer:
    """The pattern is found in the answer.

    Raises:
        BreadError: `INVALID_SUITE` for a pattern that is none.
    """
    try:
        if not pattern:
            raise re.error("an empty one is in every answer")
        compiled = re.compile(pattern, flags)
    except re.error as error:
        raise BreadError(
            f"{pattern!r} is no pattern.",
            code="INVALID_SUITE",
            why=f"{error}.",
            do=r'regex(r"\d+ g")',
        ) from None

    def check(attempt: Attempt) -> Judgement:
        found = compiled.search(attempt.answer) is not None
        return _told(found, f"{_short(pattern)} is not found in it")

    return Scorer(name="regex", check=check, key=[pattern, flags])


def schema(expected: object) -> Scorer:
    """The output fits a type or a JSON Schema; text is read as JSON first.

    Raises:
        BreadError: `INVALID_SCHEMA`.
    """
    wanted = Schema(expected)

    def check(attempt: Attempt) -> Judgement:
        value = attempt.output
        try:
            if isinstance(value, str) and not wanted.is_text:
                value = read_json(value, unique=True)
            wanted.validate(value)
        except ValidationError as error:
            return _told(False, "; ".join(error.problems))
        except ValueError as error:
            return _told(False, f"it is not JSON: {error}")
        return _told(True, "")

    return Scorer(name="schema", check=check, key=cast("JsonValue", wanted.json))


def custom(
    check: Callable[..., object], *, name: str | None = None, least: float = 1.0
) -> Scorer:
    """A function of the output that gives a boolean or a score from 0 to 1.

    A function with a parameter called `attempt` gets the whole `Attempt`.

    Args:
        check: The function, sync or async. Anything else that it gives, and whatever
            it raises, makes the row broken.
        name: What the report calls it; the function's name by default.
        least: The score from which on an answer passes.
    """
    code = getattr(check, "__code__", None)
    names = code.co_varnames[: code.co_argcount] if code is not None else ()
    whole = "attempt" in names

    def checked(attempt: Attempt) -> object:
        return check(attempt if whole else attempt.output)

    called = name or getattr(check, "__name__", "custom").strip("<>")
    key: JsonValue = [called, source_of(check), least]
    return Scorer(name=called, check=checked, least=least, key=key)


def judge(
    criteria: str | Callable[[object], object],
    *,
    model: ModelSource | None = None,
    tools: Sequence[ToolSource] = (),
    contract: str | None = None,
    least: float = 0.5,
    name: str = "judge",
) -> Scorer:
    """A judge's word on the answer: a rubric, a critic with tools, or a check in code.

    A rubric is graded by a model in a conversation of its own, to which the answer is
    data. With tools the model tries the answer out. The model is the one that
    `BREAD_EVAL_MODEL` names, else `model`.

    Args:
        criteria: The rubric in words, or a function of the output.
        model: The model that grades.
        tools: What a critic may use.
        contract: What the answer had to be, in place of the case's input.
        least: The score from which on an answer passes when only that is given.
        name: What the report calls it.
    """
    check_least(least, name)
    if not isinstance(criteria, str):
        return Scorer(
            name=name,
            check=lambda a: judge_work(a.input, a.output, Predicate(criteria)),
            key=source_of(criteria),
        )

    async def check(attempt: Attempt) -> Judgement:
        grader = os.environ.get("BREAD_EVAL_MODEL") or model
        if grader is None:
            raise BreadError(
                "The judge has no model.",
                code="NO_JUDGE_MODEL",
                why="neither BREAD_EVAL_MODEL nor judge(model=...) names one.",
                do='judge("…", model="anthropic:claude-opus-4-8")',
            )
        held = (
            Critic(
                text=criteria, model=grader, tools=tools, contract=contract, least=least
            )
            if tools
            else Rubric(text=criteria, model=grader, contract=contract, least=least)
        )
        return await judge_work(attempt.input, attempt.output, held, attempt.ask)

    named = model if isinstance(model, str) or model is None else model.name
    key: list[JsonValue] = [criteria, named, contract, least]
    key += [getattr(each, "name", type(each).__name__) for each in tools]
    return Scorer(name=name, check=check, key=key)


def similar(expected: object = MISSING, *, least: float = 0.7) -> Scorer:
    """The answer means about the same, by the nearness of embeddings made offline.

    Args:
        expected: A text; the case's `expected` by default.
        least: The nearness, 0 to 1, from which on an answer passes.

    Needs the extra `embed`.
    """
    check_least(least, "similar")

    def check(attempt: Attempt) -> Judgement:
        right = as_text(_wanted(expected, attempt))
        near = _nearness(attempt.answer, right)
        status = "satisfied" if near >= least else "needs_revision"
        why = f"{near:.2f} near {_short(right)}"
        return Judgement(status=status, score=round(near, 4), critique=why)

    return Scorer(name="similar", check=check, key=_key(expected, least))


def _nearness(first: str, second: str) -> float:
    missing = BreadError(
        "similar() needs an embedding.",
        code="MISSING_EXTRA",
        why="wordllama is not installed.",
        do='pip install "bread-nb[embed]"',
    )
    embedding = needed("bread_nb.evals.embedding", missing)
    return cast("float", embedding.nearness(first, second))


def _wanted(expected: object, attempt: Attempt) -> object:
    if expected is not MISSING:
        return expected
    if attempt.expected is MISSING:
        why = "neither the scorer nor the case has an expected answer"
        raise _silent(attempt, why)
    return attempt.expected


def _silent(attempt: Attempt, why: str) -> BreadError:
    return BreadError(
        f"{attempt.name} says nothing of what is right.",
        code="INVALID_SUITE",
        why=f"{why}.",
        do="Case(expected=…), or give it to the scorer",
    )


def _written(right: object) -> list[str]:
    """The texts that say what is right."""
    if _listed(right):
        listed = cast("Sequence[object]", right)
        return [as_text(right), *(as_text(each) for each in listed)]
    if isinstance(right, float) and right.is_integer():
        return [as_text(right), str(int(right))]
    return [as_text(right)]


def _listed(value: object) -> bool:
    return isinstance(value, list | tuple | set | frozenset)


def _told(passed: bool, why: str) -> Judgement:
    if passed:
        return Judgement(status="satisfied", score=1.0)
    return Judgement(status="needs_revision", score=0.0, critique=why)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…")


def _key(expected: object, *options: JsonValue) -> JsonValue:
    return [None if expected is MISSING else as_text(expected), *options]
