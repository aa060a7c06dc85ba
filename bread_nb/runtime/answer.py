"""Output formats: the model's text as the output the agent promises."""

from __future__ import annotations

import re
from typing import cast

from pydantic import JsonValue

from bread_nb.base.wire import dumps, read_json
from bread_nb.errors import BreadError, ValidationError
from bread_nb.runtime.agent import Agent, CustomFormat

__all__ = ["instructions_for", "read_output", "repair_request", "wanted_schema"]

_FENCE = re.compile(r"^\s*```[a-zA-Z]*\s*\n(.*?)\n?\s*```\s*$", re.DOTALL)


def wanted_schema(agent: Agent) -> dict[str, JsonValue] | None:
    """The JSON Schema a model's answer must fit, for json output."""
    return agent.returns.json if agent.format == "json" else None


def instructions_for(agent: Agent) -> str:
    """What the system prompt says of the output; empty for text."""
    if agent.format != "json":
        return ""
    schema = dumps(cast("JsonValue", agent.returns.json))
    return f"Your final answer is one JSON value that fits this JSON Schema:\n{schema}"


def read_output(agent: Agent, text: str) -> object:
    """The output in the model's text, checked against the output schema.

    Raises:
        ValidationError: `INVALID_OUTPUT`; `context["text"]` keeps the text.
    """
    form = agent.format
    try:
        if isinstance(form, CustomFormat):
            return _reshaped(agent, form, text)
        if form == "json":
            return agent.returns.validate(_json(text))
        return text
    except ValidationError as error:
        raise ValidationError(
            "The answer does not fit the output schema.",
            code="INVALID_OUTPUT",
            problems=error.problems,
            do="look at error.context['text'], or loosen output_schema",
            context={"text": text},
        ) from None


def repair_request(error: ValidationError) -> str:
    """What the model is told when its answer did not fit."""
    lines = "\n".join(f"- {problem}" for problem in error.problems)
    return (
        f"Your answer does not fit the schema:\n{lines}\nSend the whole answer again."
    )


def _json(text: str) -> JsonValue:
    fence = _FENCE.match(text)
    try:
        return read_json(fence[1] if fence else text, unique=True)
    except ValueError as error:
        raise ValidationError(
            "The answer is not JSON.", problems=[f"the answer is not JSON: {error}"]
        ) from None


def _reshaped(agent: Agent, form: CustomFormat, text: str) -> object:
    try:
        value = form.parse(text)
    except BreadError:
        raise
    except Exception as error:
        raise ValidationError(
            f"The format {form.name} cannot read the answer.",
            problems=[f"{form.name}: {type(error).__name__}: {error}"],
        ) from error
    return agent.returns.validate(value)
