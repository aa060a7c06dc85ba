"""JSON Schema to the fields of a form.

A field says what a person is asked for and how; its value is left out when nobody gave
one, and always when it is a secret. What has no good field is a text of JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from json import dumps
from typing import cast

from pydantic import JsonValue

from bread_nb.a2ui.values import visible
from bread_nb.a2ui.words import say
from bread_nb.base.redact import secret_name

__all__ = ["fields_of", "is_secret", "resolved", "shown_hint"]

Json = dict[str, JsonValue]

DEEPEST = 2
_REFERENCES = 20
_ABSENT = object()
_SCALARS = frozenset({"text", "area", "number", "integer", "boolean", "enum", "secret"})
_LONG = 200
_SAFE = 2**53 - 1


@dataclass(frozen=True, slots=True)
class _Spot:
    """Where a field stands: the whole schema, its pointer, its name, how deep."""

    root: JsonValue
    path: str = ""
    key: str = ""
    depth: int = 0

    def inner(self, key: str) -> _Spot:
        """The spot of a named value in here, on the same level."""
        token = key.replace("~", "~0").replace("/", "~1")
        return _Spot(self.root, f"{self.path}/{token}", key, self.depth)

    def below(self, path: str = "") -> _Spot:
        """The spot of something nameless, one level down."""
        return _Spot(self.root, self.path + path, "", self.depth + 1)


def fields_of(schema: JsonValue, value: JsonValue = None) -> list[Json]:
    """The fields of a schema, with the values of `value` in them.

    A schema that is no object gives one field without a name: what it holds is the
    whole answer.
    """
    root = resolved(schema, schema)
    spot = _Spot(schema)
    if _kind(root) != "object" or not isinstance(root.get("properties"), dict):
        given = _ABSENT if value is None else value
        return [_field(root, spot, given, required=True)]
    return _properties(root, spot, value)


def resolved(schema: JsonValue, root: JsonValue) -> Json:
    """A schema with its references followed and a lone `allOf` merged in."""
    merged: Json = {}
    current = schema
    for _ in range(_REFERENCES):
        if not isinstance(current, dict):
            break
        own = {k: v for k, v in current.items() if k not in ("$ref", "allOf")}
        merged = {**own, **merged}
        parts = current.get("allOf")
        if isinstance(parts, list) and len(parts) == 1:
            current = parts[0]
        elif isinstance(current.get("$ref"), str):
            current = _pointed(cast("str", current["$ref"]), root)
        else:
            if isinstance(parts, list):
                merged["allOf"] = parts
            break
    return merged


def _pointed(reference: str, root: JsonValue) -> JsonValue:
    here = root
    for token in reference.removeprefix("#").split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if not isinstance(here, dict) or name not in here:
            return None
        here = here[name]
    return here


def is_secret(name: str, schema: Mapping[str, JsonValue]) -> bool:
    """Whether a field holds what must not be sent to a page."""
    if schema.get("writeOnly") is True or schema.get("format") == "password":
        return True
    return secret_name(name)


def _properties(schema: Json, spot: _Spot, value: JsonValue) -> list[Json]:
    properties = cast("Json", schema.get("properties") or {})
    required = schema.get("required")
    names = required if isinstance(required, list) else []
    held = value if isinstance(value, dict) else {}
    return [
        _field(
            resolved(part, spot.root),
            spot.inner(key),
            held.get(key, _ABSENT),
            required=key in names,
        )
        for key, part in properties.items()
    ]


def _field(
    schema: Json, spot: _Spot, given: object = _ABSENT, *, required: bool = False
) -> Json:
    if not required and given is not None:
        schema = _without_null(schema, spot.root)
    if given is _ABSENT and schema.get("default") is not None:
        given = schema["default"]
    value = cast("JsonValue", None if given is _ABSENT else given)
    kind = _form_kind(schema, spot, value)
    field: Json = {
        "path": spot.path,
        "key": spot.key,
        "label": visible(str(schema.get("title") or spot.key) or say("field_answer")),
        "kind": kind,
        "required": required,
        "options": _options(schema, kind),
        "min": _bound(schema, kind, "min"),
        "max": _bound(schema, kind, "max"),
        "item": None,
        "fields": [],
        "variants": [],
        "description": _description(schema),
    }
    _compose(field, schema, spot, value)
    field["hint"] = shown_hint(field)
    if given is not _ABSENT and kind != "secret":
        field |= _value(value)
    return field


def _value(value: JsonValue) -> Json:
    """A value for a page, as text too where the page's numbers would change it."""
    return {"value": value, **({"exact": dumps(value)} if _changes(value) else {})}


def _changes(value: JsonValue) -> bool:
    """Whether a page, whose numbers are all of 64 bits and a point, changes it."""
    match value:
        case bool():
            return False
        case int():
            return abs(value) > _SAFE
        case float():
            return value.is_integer()
        case list():
            return any(map(_changes, value))
        case dict():
            return any(map(_changes, value.values()))
        case _:
            return False


def _compose(field: Json, schema: Json, spot: _Spot, value: JsonValue) -> None:
    match field["kind"]:
        case "object":
            below = _Spot(spot.root, spot.path, spot.key, spot.depth + 1)
            inner = _properties(schema, below, value)
            field["fields"] = cast("list[JsonValue]", inner)
        case "list":
            item = resolved(schema.get("items"), spot.root)
            made = _field(item, spot.below("/-"))
            if made["kind"] in _SCALARS:
                field["item"] = made
            else:
                field["kind"] = "json"
        case "union":
            field["variants"] = _variants(schema, spot, value)
        case _:
            return


def _variants(schema: Json, spot: _Spot, value: JsonValue) -> list[JsonValue]:
    variants: list[JsonValue] = []
    for part in _choices(schema):
        inner = resolved(part, spot.root)
        given = value if _fits(inner, value) else _ABSENT
        made = _field(inner, spot.below(), given, required=True)
        label = inner.get("title") or made["hint"] or made["kind"]
        variants.append({"label": visible(str(label)), "field": made})
    return variants


def _choices(schema: Mapping[str, JsonValue]) -> list[JsonValue]:
    for word in ("anyOf", "oneOf"):
        parts = schema.get(word)
        if isinstance(parts, list) and parts:
            return parts
    kinds = schema.get("type")
    if isinstance(kinds, list):
        rest = {k: v for k, v in schema.items() if k not in ("type", "title")}
        return [{**rest, "type": kind} for kind in kinds]
    return []


def _without_null(schema: Json, root: JsonValue) -> Json:
    """An optional value that may also be null is simply one that may be left out."""
    parts = _choices(schema)
    some = [p for p in parts if resolved(p, root).get("type") != "null"]
    if len(some) != 1 or len(parts) != 2:
        return schema
    kept = {k: v for k, v in schema.items() if k not in ("anyOf", "oneOf", "type")}
    return {**resolved(some[0], root), **kept}


def _fits(schema: Mapping[str, JsonValue], value: JsonValue) -> bool:
    kind = _kind(schema)
    match value:
        case None:
            return kind == "null"
        case bool():
            return kind == "boolean"
        case int():
            return kind in ("integer", "number")
        case float():
            return kind == "number"
        case str():
            return kind == "string" or value in _listed(schema)
        case list():
            return kind == "array"
        case dict():
            known = schema.get("properties")
            same = not isinstance(known, dict) or set(value) <= set(known)
            return kind == "object" and same


def _listed(schema: Mapping[str, JsonValue]) -> list[JsonValue]:
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return values if isinstance(values, list) else []


def _kind(schema: Mapping[str, JsonValue]) -> str:
    kind = schema.get("type")
    if isinstance(kind, str):
        return kind
    if "properties" in schema:
        return "object"
    return "array" if "items" in schema else ""


def _form_kind(schema: Json, spot: _Spot, value: JsonValue) -> str:
    nests = spot.depth < DEEPEST
    if _listed(schema):
        return "enum"
    if _choices(schema):
        return "union" if nests else "json"
    match _kind(schema):
        case "string":
            return _text_kind(schema, spot.key, value)
        case "number" | "integer" | "boolean" | "null" as plain:
            return plain
        case "array" if isinstance(schema.get("items"), dict) and nests:
            return "list"
        case "object" if schema.get("properties") and nests:
            return "object"
        case _:
            return "json"


def _text_kind(schema: Json, key: str, value: JsonValue) -> str:
    if is_secret(key, schema):
        return "secret"
    longest = schema.get("maxLength")
    roomy = isinstance(longest, int) and longest > _LONG
    if roomy or schema.get("format") in ("textarea", "multiline", "markdown"):
        return "area"
    long = isinstance(value, str) and ("\n" in value or len(value) > _LONG)
    return "area" if long else "text"


def _options(schema: Json, kind: str) -> list[JsonValue]:
    if kind != "enum":
        return []
    return [
        {
            **_value(value),
            "label": visible(value)
            if isinstance(value, str)
            else dumps(value, ensure_ascii=False),
        }
        for value in _listed(schema)
    ]


_BOUNDS = {
    ("number", "min"): ("minimum", "exclusiveMinimum"),
    ("number", "max"): ("maximum", "exclusiveMaximum"),
    ("text", "min"): ("minLength",),
    ("text", "max"): ("maxLength",),
    ("list", "min"): ("minItems",),
    ("list", "max"): ("maxItems",),
}


def _bound(schema: Json, kind: str, end: str) -> JsonValue:
    family = {"integer": "number", "area": "text", "secret": "text"}.get(kind, kind)
    for word in _BOUNDS.get((family, end), ()):
        value = schema.get(word)
        if isinstance(value, int | float) and not isinstance(value, bool):
            if kind == "integer" and word.startswith("exclusive"):
                return int(value) + (1 if end == "min" else -1)
            return value
    return None


def _description(schema: Json) -> str | None:
    text = schema.get("description")
    return visible(text) if isinstance(text, str) and text.strip() else None


def shown_hint(field: Mapping[str, JsonValue]) -> str:
    """What belongs into a field, in a few words: `whole number, 0 to 5, required`."""
    kind = cast("str", field["kind"])
    options = cast("list[JsonValue]", field["options"])
    words = [say(f"hint_{kind}", {"n": len(options)})]
    low, high = field["min"], field["max"]
    if kind in ("number", "integer") and (low is not None or high is not None):
        places = {"low": f"{low}", "high": f"{high}"}
        if low is None:
            words.append(say("hint_to", places))
        else:
            words.append(say("hint_from" if high is None else "hint_range", places))
    if field["required"]:
        words.append(say("hint_required"))
    return ", ".join(words)
