"""Schemas as a service's strict mode takes them.

Strict modes want closed objects and know only some keywords. A schema qualifies
when closing it changes nothing it was meant to accept; what it loses are bounds,
which are checked on the answer anyway.
"""

from __future__ import annotations

from typing import cast

from pydantic import JsonValue

from bread_nb.base.wire import dumps

__all__ = ["as_instruction", "object_schema", "strict"]

_KEPT = frozenset({"type", "description", "title", "enum", "const", "$ref", "required"})
_FORMATS = frozenset(
    {
        *("date-time", "time", "date", "duration"),
        *("email", "hostname", "ipv4", "ipv6", "uuid"),
    }
)
_MAPPED = frozenset({"properties", "$defs", "definitions"})
_LISTED = frozenset({"anyOf"})
_BOUNDS = frozenset(
    {
        *("minLength", "maxLength", "pattern", "minimum", "maximum", "multipleOf"),
        *("exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems"),
        *("uniqueItems", "examples", "deprecated", "readOnly"),
        *("$schema", "$id", "$comment"),
    }
)


class _Loose(ValueError):
    """The schema cannot be closed."""


def strict(
    schema: dict[str, JsonValue], *, all_required: bool
) -> dict[str, JsonValue] | None:
    """The schema closed for a strict mode, or None when it does not qualify.

    Args:
        schema: The schema of the whole answer, which strict modes want an object.
        all_required: Whether the mode has no optional properties.
    """
    if schema.get("type") != "object" or not schema.get("properties"):
        return None
    try:
        closed = _closed(schema, all_required)
    except _Loose:
        return None
    return cast("dict[str, JsonValue]", closed)


def _closed(schema: JsonValue, all_required: bool) -> JsonValue:
    if not isinstance(schema, dict):
        raise _Loose
    out: dict[str, JsonValue] = {}
    for key, value in schema.items():
        if key in _KEPT or (key == "format" and value in _FORMATS):
            out[key] = value
        elif key in _MAPPED and isinstance(value, dict):
            out[key] = {k: _closed(v, all_required) for k, v in value.items()}
        elif key in _LISTED and isinstance(value, list):
            out[key] = [_closed(v, all_required) for v in value]
        elif key == "items":
            out[key] = _closed(value, all_required)
        elif key not in _BOUNDS and not _harmless(key, value, all_required):
            raise _Loose
    if schema.get("type") == "object":
        _close_object(out, all_required)
    return out


def _harmless(key: str, value: JsonValue, all_required: bool) -> bool:
    """Whether a keyword may be dropped: closed already, or a default not needed."""
    if key == "additionalProperties":
        return value is False
    if key == "format":
        return True
    return key == "default" and not all_required


def _close_object(out: dict[str, JsonValue], all_required: bool) -> None:
    names = out.get("properties")
    required = out.get("required") or []
    if not isinstance(names, dict) or not isinstance(required, list):
        raise _Loose
    if all_required and set(names) != set(map(str, required)):
        raise _Loose
    out["additionalProperties"] = False


def object_schema(schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """A tool's parameters, as an object also when there are none."""
    if schema.get("type") == "object" and "properties" in schema:
        return schema
    return {"type": "object", "properties": {}, **schema}


def as_instruction(schema: dict[str, JsonValue]) -> str:
    """Words that ask for an answer of this schema, where no mode enforces it."""
    return (
        "Answer with one JSON value and nothing else: no words around it, no code "
        f"fence. It fits this JSON Schema:\n{dumps(schema)}"
    )
