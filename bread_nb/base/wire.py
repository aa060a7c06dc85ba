"""Casing on the wire, canonical JSON and JSON-safe values.

Inside the house names are snake_case; on the wire they are camelCase. This is
the only module that turns one into the other.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeAlias, cast

from pydantic import JsonValue
from pydantic_core import PydanticSerializationError, to_jsonable_python

__all__ = [
    "DuplicateKey",
    "camel",
    "canonical",
    "dumps",
    "fingerprint",
    "json_safe",
    "read_json",
    "snake",
    "whole_characters",
]

Known: TypeAlias = Callable[[object], JsonValue]

_DEEPEST = 100
_LONGEST = 100_000
_MOST_BITS = 14_000


_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


class DuplicateKey(ValueError):
    """A key that stands twice in one mapping.

    Args:
        key: The key.
        line: The line of its second place, where that is known.
    """

    def __init__(self, key: str, line: int | None = None) -> None:
        where = f"line {line}: " if line else ""
        super().__init__(f"{where}the key {key!r} stands there twice")
        self.key = key


def camel(name: str) -> str:
    """`tool_call_id` as `toolCallId`."""
    head, *rest = name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


def snake(name: str) -> str:
    """`toolCallId` as `tool_call_id`."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name)


def dumps(value: JsonValue) -> str:
    """Compact JSON; non-finite numbers are refused."""
    return _COMPACT.encode(value)


def canonical(value: JsonValue) -> str:
    """JSON with sorted keys: equal values give equal text."""
    return json.dumps(
        value,
        ensure_ascii=False,
        separators=(",", ":"),
        sort_keys=True,
        allow_nan=False,
    )


def fingerprint(value: JsonValue) -> str:
    """The sha256 of the canonical JSON of `value`, in hex."""
    text = canonical(value).encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()


def read_json(text: str, *, unique: bool = False) -> JsonValue:
    """What a model wrote as JSON: finite numbers, at most 100 levels deep.

    Args:
        text: What was written.
        unique: Whether a key that stands twice in an object is an error; what a person
            types is never half forgotten.

    Raises:
        ValueError: When it is not such JSON.
    """
    pairs = _once if unique else None
    try:
        value = json.loads(
            text, parse_constant=_finite, parse_float=_finite, object_pairs_hook=pairs
        )
        if text.count("[") + text.count("{") > _DEEPEST:
            json_safe(value)
    except (RecursionError, TypeError) as error:
        raise ValueError(str(error)) from None
    return value


def _once(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {}
    for key, value in pairs:
        if key in found:
            raise DuplicateKey(key)
        found[key] = value
    return found


def _finite(text: str) -> float:
    number = float(text)
    if math.isfinite(number):
        return number
    raise ValueError(f"{text} is not a JSON number")


def json_safe(value: object, known: Known | None = None) -> JsonValue:
    """`value` as plain JSON values.

    Pydantic models, dataclass-like objects with `model_dump`, tuples, sets, iterators
    and numpy scalars are converted; `known` may say what an object becomes.

    Raises:
        TypeError: When a part of it has no JSON form; the message names the type.
    """
    return _plain(value, _DEEPEST, known)


def _plain(value: object, levels: int, known: Known | None) -> JsonValue:
    if isinstance(value, str):
        return whole_characters(value)
    if value is None or isinstance(value, bool | int | float):
        return _number(value)
    if levels == 0:
        raise TypeError(f"something nested more than {_DEEPEST} levels deep is no JSON")
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value)
        return {_key(k): _plain(item, levels - 1, known) for k, item in items.items()}
    if isinstance(value, bytes | bytearray):
        raise TypeError(f"{type(value).__name__} is not JSON; put it in the blob store")
    if isinstance(value, Sequence | set | frozenset):
        members = cast("Sequence[object]", value)
        return [_plain(item, levels - 1, known) for item in members]
    if isinstance(value, Iterator):
        return _steps(cast("Iterator[object]", value), levels - 1, known)
    made = known(value) if known is not None else None
    return _foreign(value, levels) if made is None else made


def _number(value: float | None) -> JsonValue:
    if isinstance(value, float) and not math.isfinite(value):
        raise TypeError(f"{value} is not a JSON number")
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise TypeError("a whole number of over 4,200 digits is not JSON")
    return value


def _steps(values: Iterator[object], levels: int, known: Known | None) -> JsonValue:
    """What an iterator gives, as a list; one without an end is no JSON."""
    taken = list(islice(values, _LONGEST + 1))
    if len(taken) > _LONGEST:
        raise TypeError(f"an iterator of over {_LONGEST:,} values is not JSON")
    return [_plain(item, levels, known) for item in taken]


def whole_characters(text: str) -> str:
    """`text` with halves of characters joined, or replaced when they stand alone."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _key(key: object) -> str:
    if isinstance(key, str):
        return whole_characters(key)
    if isinstance(key, bool | int | float) or key is None:
        return json.loads(json.dumps({key: 0})).popitem()[0]
    raise TypeError(f"a key of type {type(key).__name__} is not JSON")


def _foreign(value: object, levels: int) -> JsonValue:
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "shape", None) == ():
        return _plain(item(), levels - 1, None)
    try:
        plain = to_jsonable_python(value, inf_nan_mode="constants")
    except (PydanticSerializationError, TypeError, ValueError, RecursionError):
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        raise TypeError(f"a value of type {kind} is not JSON") from None
    return _plain(plain, levels, None)
