"""Schemas as services take them: closed for strict modes, objects for tools.

Strict modes want closed objects and know only some keywords. A schema qualifies
when closing it changes nothing it was meant to accept; what it loses are bounds,
which are checked on the answer anyway.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast
from urllib.parse import unquote

from pydantic import JsonValue

from bread_nb.base.wire import dumps
from bread_nb.providers.lines import fields

__all__ = ["as_instruction", "merged", "object_schema", "resolved", "strict"]

_KEPT = frozenset({"type", "description", "title", "enum", "const", "$ref", "required"})
_FORMATS = frozenset(
    {
        *("date-time", "time", "date", "duration"),
        *("email", "hostname", "ipv4", "ipv6", "uuid"),
    }
)
_MAPPED = frozenset({"properties", "$defs", "definitions"})
_UNIONS = ("anyOf", "oneOf")
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
    top = _at_root(schema)
    if top.get("type") != "object" or not top.get("properties"):
        return None
    try:
        closed = _closed(top, all_required)
    except _Loose:
        return None
    return cast("dict[str, JsonValue]", closed)


def _closed(schema: JsonValue, all_required: bool) -> JsonValue:
    if not isinstance(schema, dict):
        raise _Loose
    tagged = isinstance(schema.get("discriminator"), dict)
    out: dict[str, JsonValue] = {}
    for key, value in schema.items():
        if key in _KEPT or (key == "format" and value in _FORMATS):
            out[key] = value
        elif key in _MAPPED and isinstance(value, dict):
            out[key] = {k: _closed(v, all_required) for k, v in value.items()}
        elif isinstance(value, list) and (
            key == "anyOf" or (key == "oneOf" and tagged)
        ):
            out["anyOf"] = [_closed(v, all_required) for v in value]
        elif key == "items":
            out[key] = _closed(value, all_required)
        elif key not in _BOUNDS and not _harmless(key, value, all_required):
            raise _Loose
    if schema.get("type") == "object":
        _close_object(out, all_required)
    if "$ref" in out and len(out) > 1:
        # Strict modes want a reference to stand alone, but not a union beside words.
        out["anyOf"] = [{"$ref": out.pop("$ref")}]
    return out


def _harmless(key: str, value: JsonValue, all_required: bool) -> bool:
    """Whether a keyword may be dropped: closed already, or a default not needed."""
    if key == "additionalProperties":
        return value is False
    if key in ("format", "discriminator"):
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
    """A tool's parameters, as an object also when there are none.

    Services want an object at the top: a reference there is followed, and the objects
    of a union there become one that takes what any of them takes.
    """
    plain = not any(key in schema for key in (*_UNIONS, "allOf"))
    if plain and schema.get("type") == "object" and "properties" in schema:
        return schema
    top = _at_root(schema)
    if isinstance(top.get("allOf"), list):
        top = merged(top, schema)
    for key in _UNIONS:
        if isinstance(top.get(key), list):
            top = _one_object(top, key, schema)
    return {**top, "type": "object", "properties": top.get("properties") or {}}


def _at_root(schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """The schema with a reference at its top followed."""
    top, seen = schema, set[str]()
    while isinstance(reference := top.get("$ref"), str) and reference not in seen:
        seen.add(reference)
        found = resolved(reference, schema)
        if found is None:
            break
        rest = {key: value for key, value in top.items() if key != "$ref"}
        top = {**found, **rest}
    return top


def resolved(reference: str, root: dict[str, JsonValue]) -> dict[str, JsonValue] | None:
    """What a reference inside a schema leads to; None when it leads nowhere."""
    found: JsonValue = root
    path = reference.removeprefix("#").split("/")[1:]
    if not reference.startswith("#"):
        return None
    for step in path:
        name = unquote(step).replace("~1", "/").replace("~0", "~")
        if not isinstance(found, dict) or name not in found:
            return None
        found = found[name]
    return found if isinstance(found, dict) else None


def merged(
    schema: dict[str, JsonValue],
    root: dict[str, JsonValue],
    *,
    within: frozenset[str] = frozenset(),
) -> dict[str, JsonValue]:
    """A schema and all the schemas of its `allOf` as one.

    Args:
        schema: The schema.
        root: Where its references lead.
        within: The references that led here, which are not followed again.
    """
    own = {key: value for key, value in schema.items() if key != "allOf"}
    parts = schema.get("allOf")
    out: dict[str, JsonValue] = {}
    several = parts if isinstance(parts, list) else []
    for part in (*_objects(several, root, within), own):
        properties, required = out.get("properties"), out.get("required")
        more, wanted = part.get("properties"), part.get("required")
        out |= part
        if isinstance(properties, dict):
            added = more if isinstance(more, dict) else {}
            out["properties"] = {**properties, **added}
        if isinstance(required, list):
            added = wanted if isinstance(wanted, list) else []
            out["required"] = [*required, *(n for n in added if n not in required)]
    return out


def _objects(
    parts: list[JsonValue],
    root: dict[str, JsonValue],
    within: frozenset[str] = frozenset(),
) -> Iterator[dict[str, JsonValue]]:
    """The branches of a list of schemas, references followed."""
    for part in parts:
        if not isinstance(part, dict):
            continue
        found, led = part, within
        if isinstance(reference := part.get("$ref"), str):
            target = resolved(reference, root) if reference not in within else None
            rest = {key: value for key, value in part.items() if key != "$ref"}
            found, led = {**(target or {}), **rest}, within | {reference}
        yield merged(found, root, within=led) if "allOf" in found else found


def _one_object(
    schema: dict[str, JsonValue], key: str, root: dict[str, JsonValue]
) -> dict[str, JsonValue]:
    """A schema with the objects of its union in it, as one that takes each of them."""
    branches = cast("list[JsonValue]", schema[key])
    out = {name: value for name, value in schema.items() if name != key}
    properties = dict(fields(out.get("properties")))
    common: set[str] | None = None
    for branch in _objects(branches, root):
        for name, value in fields(branch.get("properties")).items():
            before = properties.setdefault(name, value)
            if before != value:
                properties[name] = {"anyOf": [before, value]}
        wanted = branch.get("required")
        names = set(map(str, wanted if isinstance(wanted, list) else []))
        common = names if common is None else common & names
    own = out.get("required")
    required = [*(own if isinstance(own, list) else []), *sorted(common or ())]
    out["properties"] = cast("JsonValue", properties)
    if required:
        out["required"] = cast("JsonValue", list(dict.fromkeys(required)))
    return out


def as_instruction(schema: dict[str, JsonValue]) -> str:
    """Words that ask for an answer of this schema, where no mode enforces it."""
    return (
        "Answer with one JSON value and nothing else: no words around it, no code "
        f"fence. It fits this JSON Schema:\n{dumps(schema)}"
    )
