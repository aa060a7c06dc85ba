"""An answer as a person filled it in, made ready for the run."""

from __future__ import annotations

from pydantic import JsonValue

from bread_nb.a2ui.replies import Problem, read_answer
from bread_nb.notebook.nonces import Armed
from bread_nb.notebook.unmasking import unmasked

__all__ = ["Filled", "filled_in"]

Json = dict[str, JsonValue]
Filled = tuple[JsonValue, list[Problem]]


def filled_in(armed: Armed, answer: JsonValue, seen: JsonValue) -> Filled:
    """An answer with its secrets put back, its numbers read, and what is wrong.

    Args:
        armed: The form it belongs to.
        answer: What the page sent.
        seen: The arguments as the form showed them.
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
    value, problems = read_answer(checkpoint.answer_schema, given[field], before)
    if before is not None:
        value, unclear = unmasked(value, seen, before)
        problems = [*unclear, *problems]
    return {**given, field: value}, problems
