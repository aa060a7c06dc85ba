"""What a person typed, as an agent's input or as an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import yaml
from pydantic import JsonValue

from bread_nb.base.schema import Schema
from bread_nb.base.wire import read_json
from bread_nb.base.yaml_text import read_yaml
from bread_nb.errors import ValidationError
from bread_nb.runtime.agent import Agent

__all__ = ["read_input", "read_mapping"]


def read_input(agent_id: str, agent: Agent, text: str) -> object:
    """The input a text stands for.

    It is the text itself, or a YAML or JSON mapping when the agent takes a mapping.
    YAML scalars stay text, which the schema converts; so `no` and `1e3` mean what they
    say.

    Raises:
        ValidationError: `INVALID_INPUT` when a mapping is wanted and the text is none.
    """
    schema = agent.accepts
    if not schema.is_object:
        return text
    takes = schema.describe()
    example = f"{_example(schema)}      ({agent_id} takes: {takes})"
    try:
        found = read_mapping(text, schema)
    except yaml.YAMLError as error:
        why = _where(error)
        if "stands there twice" not in why:
            why = f"it is no YAML: {why}"
        raise _misfit(agent_id, why, example) from None
    if found is None:
        raise _misfit(agent_id, "it is text, and a mapping is wanted", example)
    return found


def read_mapping(
    text: str, schema: Schema | None = None
) -> dict[str, JsonValue] | None:
    """A JSON or YAML mapping, or None when the text is something else.

    Args:
        text: What was typed.
        schema: A schema that does not convert; scalars become what it names.

    Raises:
        yaml.YAMLError: When it is no YAML at all, or names a key twice.
    """
    found = _json(text)
    if found is None:
        found = read_yaml(text, plain=True)
    if not isinstance(found, dict):
        return None
    mapping = cast("dict[str, JsonValue]", found)
    if schema is not None and schema.foreign:
        return cast("dict[str, JsonValue]", _converted(mapping, schema.json))
    return mapping


def _json(text: str) -> object:
    try:
        return read_json(text, unique=True)
    except ValueError:
        return None


def _converted(value: JsonValue, schema: JsonValue) -> JsonValue:
    """Text as the number or truth value that a JSON Schema asks for."""
    if not isinstance(schema, Mapping):
        return value
    if isinstance(value, dict):
        fields = cast("dict[str, JsonValue]", schema.get("properties") or {})
        return {k: _converted(v, fields.get(k)) for k, v in value.items()}
    if isinstance(value, list):
        return [_converted(item, schema.get("items")) for item in value]
    if not isinstance(value, str):
        return value
    match schema.get("type"):
        case "integer" | "number" | "boolean" | "null" as kind:
            found = _json(value)
            fits = {"boolean": bool, "null": type(None)}.get(kind, int | float)
            return cast("JsonValue", found) if isinstance(found, fits) else value
        case _:
            return value


def _example(schema: Schema) -> str:
    properties = schema.json.get("properties")
    names = list(properties) if isinstance(properties, dict) else []
    return f"{names[0]}: …" if names else "name: value"


def _where(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error)
    line = f"line {mark.line + 1}: " if mark is not None else ""
    return f"{line}{' '.join(str(problem).split())}"


def _misfit(agent_id: str, why: str, do: str) -> ValidationError:
    return ValidationError(
        f"The input does not fit {agent_id}.",
        code="INVALID_INPUT",
        problems=[why],
        why=f"{why}.",
        do=do,
    )
