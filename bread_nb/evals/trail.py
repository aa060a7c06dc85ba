"""The scorer of the way to the answer: tools, turns, cost and time, by the crumbs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pydantic import JsonValue

from bread_nb.a2ui.values import named
from bread_nb.base.bounds import fits
from bread_nb.base.wire import dumps
from bread_nb.compose.judge import Judgement, broken
from bread_nb.crumbs import Crumb, GateDecided, ToolCalled
from bread_nb.errors import BreadError
from bread_nb.evals.scoring import Attempt, Scorer
from bread_nb.evals.sources import source_of

__all__ = ["Wanted", "crumbs"]

Wanted: TypeAlias = str | Mapping[str, Mapping[str, JsonValue]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bounds:
    called: tuple[tuple[str, Mapping[str, JsonValue]], ...]
    only: bool
    ordered: bool
    never: tuple[str, ...]
    turns: int | None
    cost: float | None
    seconds: float | None
    denied: bool
    check: Callable[[tuple[Crumb, ...]], object] | None


def crumbs(
    *,
    called: Sequence[Wanted] = (),
    only: bool = False,
    ordered: bool = True,
    never: Sequence[str] = (),
    turns: int | None = None,
    cost: float | None = None,
    seconds: float | None = None,
    denied: bool = True,
    check: Callable[[tuple[Crumb, ...]], object] | None = None,
) -> Scorer:
    """The way to the answer was as it should be.

    Args:
        called: Tools that must have been called: a name, or a name and arguments that
            must be among those of the call, as in `{"publish": {"title": "Rye"}}`.
        only: Whether no other call may have been made.
        ordered: Whether they must come in this order.
        never: Tools that must not have been called.
        turns: The most model calls.
        cost: The most US dollars. An unknown cost makes the row broken.
        seconds: The most working time.
        denied: Whether a call may have been denied; with False none may.
        check: A function of the crumbs that gives a boolean or a score.

    Raises:
        BreadError: `INVALID_SUITE` for a bound that holds nothing, and for none.
    """
    for name, most in (("turns", turns), ("cost", cost), ("seconds", seconds)):
        if most is not None and not fits(most, 0):
            raise _unusable(f"{name}={most} bounds nothing", f"crumbs({name}=5)")
    bounded = (turns, cost, seconds, check) != (None, None, None, None)
    if not (called or only or never or bounded or not denied):
        raise _unusable("the way is held against nothing", "crumbs(turns=5)")
    bounds = _Bounds(
        called=tuple(_wanted(each) for each in called),
        only=only,
        ordered=ordered,
        never=tuple(never),
        turns=turns,
        cost=cost,
        seconds=seconds,
        denied=denied,
        check=check,
    )

    def checked(attempt: Attempt) -> object:
        if bounds.cost is not None and attempt.cost is None:
            return broken("what the run cost is not known")
        wrong = list(_wrong(attempt, bounds))
        if wrong:
            return Judgement(
                status="needs_revision", score=0.0, critique="; ".join(wrong)
            )
        return True if bounds.check is None else bounds.check(attempt.crumbs)

    key: JsonValue = [
        [[name, dict(args)] for name, args in bounds.called],
        [only, ordered, denied, turns, cost, seconds],
        list(never),
        source_of(check) if check is not None else None,
    ]
    return Scorer(name="crumbs", check=checked, key=key)


def _unusable(why: str, do: str) -> BreadError:
    return BreadError(
        "This suite cannot be used.",
        code="INVALID_SUITE",
        why=f"crumbs: {why}.",
        do=do,
    )


def _wanted(each: Wanted) -> tuple[str, Mapping[str, JsonValue]]:
    if isinstance(each, str):
        return each, {}
    return next(iter(each.items()))


def _wrong(attempt: Attempt, bounds: _Bounds) -> Iterator[str]:
    made = [c for c in attempt.crumbs if isinstance(c, ToolCalled)]
    yield from _calls_wrong(made, bounds)
    for name in bounds.never:
        if any(_is(call, name) for call in made):
            yield f"{name} was called"
    if bounds.turns is not None and attempt.turns > bounds.turns:
        yield f"{attempt.turns} turns, not {bounds.turns}"
    if bounds.cost is not None and (attempt.cost or 0.0) > bounds.cost:
        yield f"it cost ${attempt.cost:.4f}, over ${bounds.cost:.4f}"
    if bounds.seconds is not None and attempt.duration_ms > bounds.seconds * 1000:
        yield f"it took {attempt.duration_ms / 1000:.1f} s, over {bounds.seconds:g} s"
    if not bounds.denied:
        for crumb in attempt.crumbs:
            if isinstance(crumb, GateDecided) and crumb.decision == "deny":
                yield f"{named(_own_name(crumb.tool_name))} was denied"


def _calls_wrong(made: Sequence[ToolCalled], bounds: _Bounds) -> Iterator[str]:
    """What is wrong with the calls: one that is missing, or one too many."""
    left = list(made)
    for name, args in bounds.called:
        at = next((i for i, call in enumerate(left) if _fits(call, name, args)), None)
        if at is None:
            shown = f"{name} with {dumps(dict(args))}" if args else name
            yield f"{shown} was not called{_instead(made, name)}"
        elif bounds.ordered:
            if bounds.only and at > 0:
                yield f"{_named(left[0])} was called before {name}"
            del left[: at + 1]
        else:
            del left[at]
    if bounds.only and left:
        yield f"{', '.join(map(_named, left))} was called too"


def _instead(made: Sequence[ToolCalled], name: str) -> str:
    """What the call looked like that came nearest."""
    near = next((call for call in made if _is(call, name)), None)
    if near is None:
        return ""
    return f", only with {dumps(near.args)}"


def _fits(call: ToolCalled, name: str, args: Mapping[str, JsonValue]) -> bool:
    given = call.args if isinstance(call.args, dict) else {}
    same = (key in given and given[key] == value for key, value in args.items())
    return _is(call, name) and all(same)


def _is(call: ToolCalled, name: str) -> bool:
    return name in (call.tool_name, _own_name(call.tool_name))


def _named(call: ToolCalled) -> str:
    return named(_own_name(call.tool_name))


def _own_name(tool_name: str) -> str:
    """A tool's own name, without its scope."""
    return tool_name.partition("_")[2] or tool_name
