"""An answer as a person filled it in, made ready for the run."""

from __future__ import annotations

from math import inf

from pydantic import JsonValue

from bread_nb.a2ui.replies import Problem, read_answer
from bread_nb.notebook.nonces import Armed
from bread_nb.notebook.unmasking import unmasked

__all__ = ["Filled", "filled_in"]

Json = dict[str, JsonValue]
Filled = tuple[JsonValue, list[Problem]]


def filled_in(
    armed: Armed, answer: JsonValue, seen: JsonValue, *, exact: bool = False
) -> Filled:
    """An answer with its secrets put back, its numbers read, and what is wrong.

    Args:
        armed: The form it belongs to.
        answer: What the page sent.
        seen: The arguments as the form showed them.
        exact: Whether its numbers are to the last digit as the person left them.
    """
    checkpoint = armed.checkpoint
    if not isinstance(answer, dict):
        return {"shown": armed.shown}, []
    given: Json = {**answer, "shown": armed.shown}
    kept: JsonValue = {**checkpoint.args}
    field = {"approval": "args", "input": "answer", "outcome": "result"}.get(
        checkpoint.ask
    )
    if field is None or field not in given or checkpoint.answer_schema is None:
        return given, []
    before = kept if field == "args" else None
    sent = given[field]
    if before is not None and not exact:
        sent = _unrounded(sent, seen)
    value, problems = read_answer(checkpoint.answer_schema, sent, before)
    if before is not None:
        value, unclear = unmasked(value, seen, before)
        problems = [*unclear, *problems]
    return {**given, field: value}, problems


def _unrounded(sent: JsonValue, seen: JsonValue) -> JsonValue:
    """Numbers that came through a page as it has them, as they were shown."""
    match sent, seen:
        case dict() as new, dict() as old:
            return {k: _unrounded(v, old[k]) if k in old else v for k, v in new.items()}
        case list() as new, list() as old if len(new) == len(old):
            return [_unrounded(a, b) for a, b in zip(new, old, strict=True)]
        case (bool(), _) | (_, bool()):
            return sent
        case (int() | float()) as new, (int() | float()) as old:
            return old if _double(new) == _double(old) else new
        case _:
            return sent


def _double(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return inf if number > 0 else -inf
