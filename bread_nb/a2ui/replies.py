"""What a person put into a form, checked against its schema, problem by problem.

This is the check that speaks at the field. It knows types, lists of values, bounds and
shapes; patterns and formats are the tool's own validation to judge, which follows.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

from bread_nb.a2ui.forms import is_secret, resolved
from bread_nb.a2ui.words import say

__all__ = ["Problem", "check_answer", "read_answer"]

Json = dict[str, JsonValue]

_DEEPEST = 30


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong at one place; `path` is a JSON Pointer into the answer."""

    path: str
    text: str

    def to_wire(self) -> Json:
        """The problem as the card takes it."""
        return {"path": self.path, "text": self.text}


def read_answer(
    schema: JsonValue, given: JsonValue, kept: JsonValue = None
) -> tuple[JsonValue, list[Problem]]:
    """The answer a page sent: secrets put back, numbers read, and what is wrong.

    Args:
        schema: The schema of the form.
        given: What the page sent.
        kept: The values the form was made with; a secret that nobody typed again is
            taken from here.
    """
    value = _repaired(schema, schema, given, kept, "")
    return value, check_answer(schema, value)


def _repaired(
    schema: JsonValue, root: JsonValue, given: JsonValue, kept: JsonValue, name: str
) -> JsonValue:
    known = resolved(schema, root)
    properties = known.get("properties")
    if isinstance(given, dict) and isinstance(properties, dict):
        before = kept if isinstance(kept, dict) else {}
        value: Json = {
            key: _repaired(properties[key], root, item, before.get(key), key)
            if key in properties
            else item
            for key, item in given.items()
        }
        for key, part in properties.items():
            secret = is_secret(key, resolved(part, root))
            if secret and key in before and value.get(key) in (None, ""):
                value[key] = before[key]
        return value
    if isinstance(given, str) and known.get("type") in ("integer", "number"):
        return _number(given, whole=known["type"] == "integer")
    return given


def _number(text: str, *, whole: bool) -> JsonValue:
    try:
        return int(text) if whole else float(text)
    except ValueError:
        return text


def check_answer(schema: JsonValue, value: JsonValue) -> list[Problem]:
    """What does not fit the schema, in the order of its fields."""
    return _check(schema, schema, value, "", 0)


def _check(
    schema: JsonValue, root: JsonValue, value: JsonValue, path: str, depth: int
) -> list[Problem]:
    if depth > _DEEPEST or not isinstance(schema, dict):
        return []
    known = resolved(schema, root)
    listed = [known["const"]] if "const" in known else known.get("enum")
    if isinstance(listed, list):
        fits = any(_same(value, item) for item in listed)
        return [] if fits else [Problem(path, say("problem_choice"))]
    for word in ("anyOf", "oneOf"):
        parts = known.get(word)
        if isinstance(parts, list) and parts:
            tried = [_check(part, root, value, path, depth + 1) for part in parts]
            return min(tried, key=len)
    problems: list[Problem] = []
    for part in cast("list[JsonValue]", known.get("allOf") or []):
        problems += _check(part, root, value, path, depth + 1)
    wrong = _wrong_type(known.get("type"), value)
    if wrong is not None:
        return [*problems, Problem(path, say(f"problem_{wrong}"))]
    return [*problems, *_inside(known, root, value, path, depth)]


def _same(first: JsonValue, second: JsonValue) -> bool:
    return first == second and isinstance(first, bool) is isinstance(second, bool)


def _wrong_type(kind: JsonValue, value: JsonValue) -> str | None:
    kinds = kind if isinstance(kind, list) else [kind] if kind else []
    if not kinds or any(_is(str(one), value) for one in kinds):
        return None
    if value == "" and "string" not in kinds:
        return "missing"
    return str(kinds[0]) if len(kinds) == 1 else "type"


def _is(kind: str, value: JsonValue) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match kind:
        case "string":
            return isinstance(value, str)
        case "integer":
            return number and float(cast("float", value)).is_integer()
        case "number":
            return number
        case "boolean":
            return isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case "null":
            return value is None
        case _:
            return True


def _inside(
    schema: Json, root: JsonValue, value: JsonValue, path: str, depth: int
) -> list[Problem]:
    match value:
        case bool() | None:
            return []
        case int() | float():
            return _number_problems(schema, value, path)
        case str():
            return _size_problems(schema, len(value), path, "Length")
        case list():
            problems = _size_problems(schema, len(value), path, "Items")
            for at, item in enumerate(value):
                part = schema.get("items")
                problems += _check(part, root, item, f"{path}/{at}", depth + 1)
            return problems
        case dict():
            return _object_problems(schema, root, value, path, depth)


_LIMITS: dict[str, Callable[[float, float], bool]] = {
    "minimum": operator.ge,
    "exclusiveMinimum": operator.gt,
    "maximum": operator.le,
    "exclusiveMaximum": operator.lt,
}


def _number_problems(schema: Json, value: float, path: str) -> list[Problem]:
    problems: list[Problem] = []
    for word, fits in _LIMITS.items():
        limit = schema.get(word)
        if isinstance(limit, int | float) and not fits(value, limit):
            places = {"limit": f"{limit}"}
            problems.append(Problem(path, say(f"problem_{word}", places)))
    return problems


def _size_problems(schema: Json, size: int, path: str, what: str) -> list[Problem]:
    low, high = schema.get(f"min{what}"), schema.get(f"max{what}")
    if isinstance(low, int) and size < low:
        key = "problem_missing" if size == 0 else f"problem_min{what}"
        return [Problem(path, say(key, {"n": low}))]
    if isinstance(high, int) and size > high:
        return [Problem(path, say(f"problem_max{what}", {"n": high}))]
    return []


def _object_problems(
    schema: Json, root: JsonValue, value: Mapping[str, JsonValue], path: str, depth: int
) -> list[Problem]:
    properties = schema.get("properties")
    parts = properties if isinstance(properties, dict) else {}
    required = schema.get("required")
    names = [str(n) for n in required] if isinstance(required, list) else []
    problems: list[Problem] = []
    for key in [*parts, *(name for name in names if name not in parts)]:
        token = key.replace("~", "~0").replace("/", "~1")
        place = f"{path}/{token}"
        if key in value:
            problems += _check(parts.get(key), root, value[key], place, depth + 1)
        elif key in names:
            problems.append(Problem(place, say("problem_missing")))
    more = schema.get("additionalProperties")
    for key in value:
        if key in parts:
            continue
        place = f"{path}/{key}"
        if more is False:
            problems.append(Problem(place, say("problem_stranger")))
        elif isinstance(more, dict):
            problems += _check(more, root, value[key], place, depth + 1)
    return problems
