"""Records and log entries as the JSON that is kept.

A body leaves out the fields that have their default, so a default once given never
changes. Nothing kept is ever more than JSON: reading imports and calls nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import TypeVar, cast

from pydantic import JsonValue
from pydantic import ValidationError as PydanticError
from pydantic_core import (
    PydanticSerializationError,
    from_json,
    to_json,
    to_jsonable_python,
)

from bread_nb.base.schema import problems_of
from bread_nb.stores.store import Fields, Record
from bread_nb.stores.store_errors import check_key, corrupt_entry, corrupt_record

__all__ = [
    "COLUMNS",
    "Column",
    "Columns",
    "as_expected",
    "body_of",
    "check_fields",
    "column",
    "columns_in",
    "columns_of",
    "copied",
    "defaults_of",
    "fields_of",
    "matches",
    "record_of",
    "same",
    "text_of",
    "value_of",
]

Column = str | int | None
Columns = dict[str, Column]
_SCALARS = frozenset({str, int, float, bool, type(None)})
COLUMNS = ("run_id", "session_id", "agent_id", "status", "created_at")

R = TypeVar("R", bound=Record)


def body_of(record: Record) -> str:
    """A record as JSON text.

    Raises:
        ValueError: When a value in it has no JSON form that can be read back.
    """
    try:
        text = record.model_dump_json(exclude_defaults=True)
    except PydanticSerializationError:
        text = "NaN"
    if "NaN" in text or "Infinity" in text:
        return _careful(record.model_dump(exclude_defaults=True), type(record))
    return text


def text_of(value: JsonValue, kind: type[Record] | None = None) -> str:
    """A JSON value, or the fields of a record of this kind, as JSON text.

    Raises:
        ValueError: When it has no JSON form that can be read back.
    """
    try:
        data = to_json(value, inf_nan_mode="constants")
    except PydanticSerializationError:
        return _careful(value, kind)
    if b"NaN" in data or b"Infinity" in data:
        return _careful(value, kind)
    return data.decode()


def _careful(value: object, kind: type[Record] | None) -> str:
    """Text with ASCII escapes, which half characters survive; no NaN, not too deep."""
    text = json.dumps(
        value, separators=(",", ":"), allow_nan=False, default=to_jsonable_python
    )
    if kind is not None:
        kind.model_validate(json.loads(text))
    return text


def copied(fields: Fields) -> Fields:
    """Fields that no later change to their lists and mappings can reach.

    Raises:
        ValueError: When a value has no JSON form that can be read back.
    """
    return {
        name: value if type(value) in _SCALARS else _parsed(text_of(value))
        for name, value in fields.items()
    }


def record_of(kind: type[R], id: str, body: bytes | str, place: str) -> R:
    """The record of a body.

    Raises:
        BreadError: `STORE_CORRUPT`, naming kind and id.
    """
    try:
        record = kind.model_validate_json(body)
    except PydanticError as error:
        if all(problem["type"] != "json_invalid" for problem in error.errors()):
            why = "; ".join(problems_of(error))
            raise corrupt_record(place, kind.kind, id, why) from None
        record = _record_with_escapes(kind, id, body, place)
    if record.id != id:
        raise corrupt_record(place, kind.kind, id, f"its own id is {record.id!r}")
    return record


def _record_with_escapes(kind: type[R], id: str, body: bytes | str, place: str) -> R:
    fields = fields_of(kind, id, body, place)
    try:
        return kind.model_validate(fields)
    except PydanticError as error:
        why = "; ".join(problems_of(error))
        raise corrupt_record(place, kind.kind, id, why) from None


def fields_of(
    kind: type[Record], id: str, body: bytes | str, place: str
) -> dict[str, JsonValue]:
    """The fields of a body, those with their default left out.

    Raises:
        BreadError: `STORE_CORRUPT`, naming kind and id.
    """
    try:
        fields = _parsed(body)
    except ValueError:
        raise corrupt_record(place, kind.kind, id, "it is not JSON") from None
    if not isinstance(fields, dict):
        raise corrupt_record(place, kind.kind, id, "it is not a mapping")
    return fields


def value_of(body: bytes | str, place: str, log: str, seq: int) -> JsonValue:
    """The value of a log's entry.

    Raises:
        BreadError: `STORE_CORRUPT`, naming log and number.
    """
    try:
        return _parsed(body)
    except ValueError:
        raise corrupt_entry(place, log, seq) from None


def _parsed(body: bytes | str) -> JsonValue:
    try:
        return cast("JsonValue", from_json(body))
    except ValueError:
        pass
    try:
        return cast("JsonValue", json.loads(body))
    except RecursionError:
        raise ValueError("too deep") from None


@cache
def defaults_of(kind: type[Record]) -> Mapping[str, JsonValue]:
    """The fields of a kind that have a default, with it as plain JSON."""
    return {
        name: cast("JsonValue", from_json(to_json(default)))
        for name, field in kind.model_fields.items()
        if not field.is_required()
        for default in [field.get_default(call_default_factory=True)]
    }


@cache
def columns_in(kind: type[Record]) -> tuple[str, ...]:
    """The fields of a kind that have columns."""
    found = (name for name in COLUMNS if name in kind.model_fields)
    return tuple(name for name in found if name not in kind.seldom)


_NO_COLUMNS: Columns = dict.fromkeys(COLUMNS)


def columns_of(record: Record) -> Columns:
    """The fields of a record that have columns; those it does not have are None."""
    columns = _NO_COLUMNS.copy()
    for name in columns_in(type(record)):
        columns[name] = column(name, getattr(record, name))
    return columns


def column(name: str, value: object) -> Column:
    """A field as its column holds it; what no column can hold is None."""
    if name == "created_at":
        return value if isinstance(value, int) and value.bit_length() < 64 else None
    return check_key(value) if isinstance(value, str) else None


@cache
def _names_in(kind: type[Record]) -> frozenset[str]:
    return frozenset(kind.model_fields)


def check_fields(kind: type[Record], fields: Fields) -> None:
    """Refuse names that are no fields of the kind.

    Raises:
        ValueError: Naming them.
    """
    if not fields.keys() <= _names_in(kind):
        wrong = ", ".join(sorted(fields.keys() - _names_in(kind)))
        raise ValueError(f"a {kind.kind} has no field {wrong}")


def matches(kind: type[Record], fields: Fields, where: Fields) -> bool:
    """Whether the fields equal `where`; a mapping needs only hold the pairs asked."""
    defaults = defaults_of(kind)
    for name, wanted in where.items():
        value = fields.get(name, defaults.get(name))
        if not isinstance(wanted, dict):
            if not same(value, wanted):
                return False
        elif not isinstance(value, dict) or not all(
            key in value and same(value[key], item) for key, item in wanted.items()
        ):
            return False
    return True


def as_expected(kind: type[Record], fields: Fields, expect: Fields) -> bool:
    """Whether the fields are exactly those expected."""
    defaults = defaults_of(kind)
    return all(
        same(fields.get(name, defaults.get(name)), wanted)
        for name, wanted in expect.items()
    )


def same(one: JsonValue, other: JsonValue) -> bool:
    """Whether two JSON values are equal; true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return one == other
