"""Casing on the wire, canonical JSON and JSON-safe values.

Inside the house names are snake_case; on the wire they are camelCase. This is
the only module that turns one into the other.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import cast

from pydantic import JsonValue
from pydantic_core import PydanticSerializationError, to_jsonable_python

__all__ = [
    "camel",
    "canonical",
    "dumps",
    "fingerprint",
    "json_safe",
    "snake",
    "whole_characters",
]


def camel(name: str) -> str:
    """`tool_call_id` as `toolCallId`."""
    head, *rest = name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


def snake(name: str) -> str:
    """`toolCallId` as `tool_call_id`."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name)


def dumps(value: JsonValue) -> str:
    """Compact JSON; non-finite numbers are refused."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


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


def json_safe(value: object) -> JsonValue:
    """`value` as plain JSON values.

    Pydantic models, dataclass-like objects with `model_dump`, tuples, sets and
    numpy scalars are converted.

    Raises:
        TypeError: When a part of it has no JSON form; the message names the type.
    """
    if isinstance(value, str):
        return whole_characters(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        raise TypeError(f"{value} is not a JSON number")
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value)
        return {_key(key): json_safe(item) for key, item in items.items()}
    if isinstance(value, bytes | bytearray):
        raise TypeError(f"{type(value).__name__} is not JSON; put it in the blob store")
    if isinstance(value, Sequence | set | frozenset):
        members = cast("Sequence[object]", value)
        return [json_safe(item) for item in members]
    return _foreign(value)


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
        return key
    if isinstance(key, bool | int | float) or key is None:
        return json.loads(json.dumps({key: 0})).popitem()[0]
    raise TypeError(f"a key of type {type(key).__name__} is not JSON")


def _foreign(value: object) -> JsonValue:
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "shape", None) == ():
        return json_safe(item())
    try:
        return cast(JsonValue, to_jsonable_python(value, inf_nan_mode="constants"))
    except (PydanticSerializationError, TypeError, ValueError):
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        raise TypeError(f"a value of type {kind} is not JSON") from None
