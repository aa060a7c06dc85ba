"""An answer as a person filled it in, made ready for the run."""

from __future__ import annotations

from pydantic import JsonValue

from bread_nb.a2ui.replies import Problem, read_answer
from bread_nb.base.redact import Redactor, environment_secrets
from bread_nb.notebook.nonces import Armed

__all__ = ["filled_in"]

Json = dict[str, JsonValue]


def filled_in(armed: Armed, answer: JsonValue) -> tuple[JsonValue, list[Problem]]:
    """An answer with its secrets put back, its numbers read, and what is wrong."""
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
    return {**given, field: _unmasked(value, before)}, problems


def _unmasked(value: JsonValue, kept: JsonValue) -> JsonValue:
    """What the page only saw masked, and sent back so, as it was."""
    if not isinstance(value, dict) or not isinstance(kept, dict):
        return value
    seen = Redactor(environment_secrets()).value(kept)
    assert isinstance(seen, dict)
    return {
        key: kept[key] if key in kept and item == seen[key] else item
        for key, item in value.items()
    }
