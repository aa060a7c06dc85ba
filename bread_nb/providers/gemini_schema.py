"""Schemas in the words that Gemini knows: a part of OpenAPI 3.0.

There is no `const`, no `$ref` and no `null` in it, every node has a type, an `enum`
holds texts alone and `anyOf` stands by itself. What a schema loses here is checked on
the arguments and on the answer anyway; what it cannot say at all makes it `narrow`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

from bread_nb.base.wire import dumps
from bread_nb.providers.fitting import merged, resolved

__all__ = ["Fitted", "fit"]

Node = dict[str, JsonValue]

_KEPT: dict[str, tuple[str, ...]] = {
    "string": ("minLength", "maxLength", "pattern"),
    "number": ("minimum", "maximum"),
    "integer": ("minimum", "maximum"),
    "boolean": (),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}
_TOLD = ("title", "description")
_HINTS = {
    "object": ("properties", "required", "additionalProperties", "propertyNames"),
    "array": ("items", "prefixItems", "minItems", "maxItems", "uniqueItems"),
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "multipleOf"),
}
_PLAIN: tuple[JsonValue, ...] = tuple(
    {"type": name} for name in ("string", "number", "boolean")
)


@dataclass(frozen=True, slots=True)
class Fitted:
    """A schema as Gemini takes it; `narrow` when it can say less than the original."""

    schema: Node
    narrow: bool


def fit(schema: Node) -> Fitted:
    """The schema of a tool's arguments or of an answer, whatever it is made of."""
    fitter = _Fitter(schema)
    return Fitted(fitter.node(schema), fitter.narrow)


class _Fitter:
    """Fits one schema; `root` is where its references lead."""

    def __init__(self, root: Node) -> None:
        self.narrow = False
        self._root = root
        self._open: list[str] = []

    def node(self, schema: JsonValue) -> Node:
        """A schema anywhere in the tree."""
        if not isinstance(schema, dict):
            return self._anything({})
        if isinstance(reference := schema.get("$ref"), str):
            return self._reference(reference, schema)
        if isinstance(parts := schema.get("allOf"), list):
            return self._all_of(parts, schema)
        if "const" in schema:
            const, rest = schema["const"], _without(schema, "const", "enum")
            return self._chosen([const], rest)
        if isinstance(values := schema.get("enum"), list):
            return self._chosen(values, _without(schema, "enum"))
        for key in ("anyOf", "oneOf"):
            branches = schema.get(key)
            if isinstance(branches, list):
                return self._union(branches, _without(schema, key))
        return self._typed(schema)

    def _reference(self, reference: str, schema: Node) -> Node:
        """What a reference leads to; one that leads into itself is cut."""
        found = resolved(reference, self._root)
        if found is None or reference in self._open:
            told = _told(schema)
            if found is None or found.get("type") != "object":
                return self._anything(told)
            self.narrow = True
            cut: Node = {"type": "object", **told}
            _note(cut, f"Again a {reference.rpartition('/')[2]}.")
            return cut
        self._open.append(reference)
        try:
            return self.node({**found, **_without(schema, "$ref")})
        finally:
            self._open.pop()

    def _all_of(self, parts: list[JsonValue], schema: Node) -> Node:
        """All of some schemas as one; what leads into itself is cut."""
        references = [
            reference
            for part in parts
            if isinstance(part, dict) and isinstance(reference := part.get("$ref"), str)
        ]
        again = next((r for r in references if r in self._open), None)
        if again is not None:
            return self._reference(again, _without(schema, "allOf"))
        before = len(self._open)
        self._open += references
        try:
            return self.node(merged(schema, self._root))
        finally:
            del self._open[before:]

    def _typed(self, schema: Node) -> Node:
        kinds = _kinds(schema)
        nullable = "null" in kinds or schema.get("nullable") is True
        named = [kind for kind in kinds if kind in _KEPT]
        if not named and kinds == ["null"]:
            named = ["string"]
        if not named:
            return _nullable(self._anything(_told(schema)), nullable)
        if len(named) > 1:
            branches = [{**schema, "type": kind} for kind in named]
            return _nullable(_any_of([self.node(b) for b in branches], {}), nullable)
        out: Node = {"type": named[0], **_told(schema)}
        out |= {key: schema[key] for key in _KEPT[named[0]] if key in schema}
        self._fill(named[0], schema, out)
        return _nullable(out, nullable)

    def _fill(self, kind: str, schema: Node, out: Node) -> None:
        """What only some types have."""
        if kind == "object":
            self._object(schema, out)
        elif kind == "array":
            self._array(schema, out)
        elif kind == "string" and isinstance(form := schema.get("format"), str):
            if form == "date-time":
                out["format"] = form
            else:
                _note(out, f"Format: {form}.")
        elif kind == "integer":
            for key, limit, step in (
                ("exclusiveMinimum", "minimum", 1),
                ("exclusiveMaximum", "maximum", -1),
            ):
                if isinstance(edge := schema.get(key), int):
                    out.setdefault(limit, edge + step)

    def _object(self, schema: Node, out: Node) -> None:
        given = schema.get("properties")
        names = given if isinstance(given, dict) else {}
        fitted = {
            name: cast("JsonValue", self.node(value))
            for name, value in names.items()
            if value is not False
        }
        beyond = schema.get("additionalProperties", not names)
        if beyond is not False or "patternProperties" in schema:
            self.narrow = True
        if fitted or given is not None:
            out["properties"] = fitted
        wanted = schema.get("required")
        if isinstance(wanted, list):
            known = [name for name in wanted if str(name) in fitted]
            if known:
                out["required"] = cast("JsonValue", known)

    def _array(self, schema: Node, out: Node) -> None:
        first = schema.get("prefixItems")
        items = schema.get("items")
        if isinstance(first, list):
            self.narrow = True
            rest = [items] if isinstance(items, dict) else []
            out["items"] = _any_of([self.node(n) for n in (*first, *rest)], {})
        elif isinstance(items, dict) and items:
            out["items"] = self.node(items)
        else:
            self.narrow = True
            out["items"] = {"anyOf": list(_PLAIN)}

    def _union(self, branches: list[JsonValue], rest: Node) -> Node:
        """A choice of schemas; `null` among them makes the others nullable."""
        own = _kinds(rest)
        named = [b for b in branches if not _is_null(b)]
        if own and any(not _stands_alone(b, self._root) for b in named):
            return self._typed(rest)
        nullable = len(named) < len(branches) or rest.get("nullable") is True
        told = _told(rest)
        if not named:
            return _nullable({"type": "string", **told}, True)
        if "properties" in rest:
            around = _without(rest, *_TOLD, "nullable")
            named = [_both(around, branch) for branch in named]
        fitted = [self.node(b) for b in named]
        return _nullable(_any_of(fitted, told), nullable)

    def _chosen(self, values: list[JsonValue], rest: Node) -> Node:
        """A choice of values, by their types."""
        told = _told(rest)
        nullable = None in values or rest.get("nullable") is True
        kinds: dict[str, list[JsonValue]] = {}
        for value in values:
            if value is not None:
                kinds.setdefault(_kind(value), []).append(value)
        if not kinds:
            return _nullable({"type": "string", **told}, True)
        fitted = [self._values(kind, some) for kind, some in kinds.items()]
        return _nullable(_any_of(fitted, told), nullable)

    def _values(self, kind: str, values: list[JsonValue]) -> Node:
        if kind == "string" and all(values):
            return {"type": "string", "enum": values}
        out: Node = {"type": kind}
        if kind in ("integer", "number"):
            numbers = cast("list[float]", values)
            out |= {"minimum": min(numbers), "maximum": max(numbers)}
        elif kind in ("object", "array"):
            self.narrow = True
            if kind == "array":
                out["items"] = {"anyOf": list(_PLAIN)}
        if kind != "boolean" or len(values) == 1:
            _note(out, f"One of: {', '.join(map(dumps, values))}.")
        return out

    def _anything(self, told: Node) -> Node:
        """A place that takes any value."""
        self.narrow = True
        items: JsonValue = {"anyOf": list(_PLAIN)}
        wide: list[JsonValue] = [{"type": "object"}, {"type": "array", "items": items}]
        branches = cast("list[Node]", [*_PLAIN, *wide])
        return _any_of([dict(branch) for branch in branches], told)


def _any_of(branches: list[Node], told: Node) -> Node:
    """A union, which may hold nothing beside `anyOf`; a single branch is itself."""
    flat: list[Node] = []
    for branch in branches:
        inner = branch.get("anyOf")
        more = cast("list[Node]", inner) if isinstance(inner, list) else [branch]
        flat += [node for node in more if node not in flat]
    if len(flat) == 1:
        return {**flat[0], **told}
    return {"anyOf": [cast("JsonValue", {**told, **node}) for node in flat]}


def _nullable(node: Node, nullable: bool) -> Node:
    if not nullable:
        return node
    branches = node.get("anyOf")
    if not isinstance(branches, list):
        return {**node, "nullable": True}
    marked = [{**cast("Node", branch), "nullable": True} for branch in branches]
    return {"anyOf": cast("JsonValue", marked)}


def _kinds(schema: Node) -> list[str]:
    """The types a schema names, or the one its keywords speak of."""
    named = schema.get("type")
    if isinstance(named, str):
        return [named.lower()]
    if isinstance(named, list):
        return [str(kind).lower() for kind in named]
    for kind, words in _HINTS.items():
        if any(word in schema for word in words):
            return [kind]
    return []


def _kind(value: JsonValue) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _is_null(schema: JsonValue) -> bool:
    if not isinstance(schema, dict):
        return False
    return schema.get("type") == "null" or schema.get("const", 0) is None


def _stands_alone(schema: JsonValue, root: Node) -> bool:
    """Whether a branch of a union is more than a condition on its surroundings."""
    if not isinstance(schema, dict):
        return False
    if isinstance(reference := schema.get("$ref"), str):
        return resolved(reference, root) is not None
    words = ("type", "enum", "const", "anyOf", "oneOf", "allOf", "properties")
    return any(word in schema for word in words)


def _both(one: JsonValue, other: JsonValue) -> JsonValue:
    return {"allOf": [one, other]}


def _told(schema: Mapping[str, JsonValue]) -> Node:
    return {key: schema[key] for key in _TOLD if isinstance(schema.get(key), str)}


def _without(schema: Node, *keys: str) -> Node:
    return {key: value for key, value in schema.items() if key not in keys}


def _note(node: Node, words: str) -> None:
    """Say in the description what no keyword says."""
    said: Iterable[JsonValue] = (node.get("description"), words)
    node["description"] = " ".join(part for part in said if isinstance(part, str))
