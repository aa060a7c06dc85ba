"""Tables of questions and answers as cases: DataFrames, CSV and JSONL files, mappings.

The names people give such columns are known, so that a public table works as it is.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time
from os import PathLike
from pathlib import Path
from typing import Any, cast

from bread_nb.errors import BreadError
from bread_nb.evals.scoring import MISSING

__all__ = ["Columns", "Row", "read_rows", "said_or_missing"]

_USUAL: dict[str, tuple[str, ...]] = {
    "name": ("name", "id", "case"),
    "input": ("input", "question", "prompt", "query", "problem", "instruction"),
    "expected": ("expected", "answer", "ideal", "target", "reference", "solution"),
    "skill": ("skill",),
    "tags": ("tags", "category"),
}
_LONGEST_CELL = 2**31 - 1
_KINDS = "Cases, mappings, a DataFrame, or the path of a .csv or .jsonl file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Which column is what; `input` may be several, which become a mapping."""

    name: str | None = None
    input: str | Sequence[str] | None = None
    expected: str | None = None
    skill: str | None = None
    tags: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of a table, as a case needs it."""

    name: str
    input: object
    expected: object
    skill: str | None
    tags: tuple[str, ...]


def read_rows(source: object, columns: Columns) -> Iterator[Row]:
    """The rows of a table.

    Raises:
        BreadError: `INVALID_SUITE` for a table that cannot be read, naming the row.
    """
    table, where = _table(source)
    rows = list(table)
    if not rows:
        return
    found = _found({name: None for row in rows for name in row}, columns, where)
    if columns.name is None:
        found |= _naming(rows)
    for number, row in enumerate(rows, start=1):
        try:
            yield _row(row, found, number)
        except KeyError as error:
            raise _unusable(f"row {number} of {where} has no {error}") from None


def _naming(rows: Sequence[Mapping[str, object]]) -> dict[str, str | Sequence[str]]:
    """The column of the names: the first of the usual ones that tells rows apart."""
    by_lower = {str(n).strip().lower(): str(n) for row in rows for n in row}
    for usual in _USUAL["name"]:
        if column := by_lower.get(usual):
            said = [name for row in rows if (name := _named(row.get(column)))]
            if len(set(said)) == len(said):
                return {"name": column}
    return {"name": ""}


def _named(cell: object) -> str:
    value = _plain(cell)
    return "" if value is None else str(value).strip()


def _row(
    row: Mapping[str, object], found: Mapping[str, str | Sequence[str]], number: int
) -> Row:
    def cell(field: str) -> object:
        column = found.get(field)
        if column is None:
            return None
        if isinstance(column, str):
            return _plain(row.get(column))
        return {each: _plain(row[each]) for each in column}

    wanted = found["input"]
    tags = cell("tags")
    given = _plain(row[wanted]) if isinstance(wanted, str) else cell("input")
    return Row(
        name=_named(cell("name")) or f"row-{number}",
        input=_spoken(given),
        expected=said_or_missing(cell("expected")),
        skill=str(cell("skill")) if cell("skill") else None,
        tags=_tags(tags),
    )


def said_or_missing(right: object) -> object:
    """What is right; an empty text, or nothing at all, says nothing of it."""
    empty = right is None or (isinstance(right, str) and not right.strip())
    return MISSING if empty else right


def _spoken(value: object) -> object:
    """An input in messages, as OpenAI's evals have it, as the text that they say."""
    if not isinstance(value, list) or not value:
        return cast("object", value)
    said: list[tuple[str, str]] = []
    for each in cast("list[object]", value):
        message = cast("Mapping[str, object]", each if isinstance(each, dict) else {})
        role, content = message.get("role"), message.get("content")
        if not isinstance(role, str) or not isinstance(content, str):
            return cast("object", value)
        said.append((role, content))
    if all(role in ("system", "user") for role, _ in said):
        return "\n\n".join(content for _, content in said)
    return "\n\n".join(f"{role}: {content}" for role, content in said)


def _tags(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(tag.strip() for tag in value.split(",") if tag.strip())
    if isinstance(value, list | tuple):
        return tuple(str(tag) for tag in cast("Sequence[object]", value))
    return ()


def _plain(value: object) -> object:
    """A cell without types of numpy and pandas; an empty cell of a frame is None."""
    if type(value).__name__ in ("NaTType", "NAType"):
        return None
    if hasattr(value, "dtype") and callable(tolist := getattr(value, "tolist", None)):
        value = tolist()
    if isinstance(value, date | time):
        return value.isoformat()
    return None if isinstance(value, float) and value != value else value


def _found(
    row: Mapping[str, object], columns: Columns, where: str
) -> dict[str, str | Sequence[str]]:
    """The column of each field, by what was said and by the usual names."""
    by_lower = {str(name).strip().lower(): str(name) for name in row}
    found: dict[str, str | Sequence[str]] = {}
    for field, usual in _USUAL.items():
        said = cast("str | Sequence[str] | None", getattr(columns, field))
        if said is not None:
            for each in [said] if isinstance(said, str) else said:
                if each not in row:
                    raise _unusable(f"{where} has no column {each!r}, as {field} says")
            found[field] = said
        elif name := next((by_lower[n] for n in usual if n in by_lower), None):
            found[field] = name
    if "input" not in found:
        names = ", ".join(map(str, row))
        raise _unusable(f"no column of {where} is the input; it has {names}")
    return found


def _table(source: object) -> tuple[Iterator[Mapping[str, object]], str]:
    if isinstance(source, str | PathLike):
        path = Path(cast("str | PathLike[str]", source))
        readers = {".csv": _csv, ".tsv": _csv, ".jsonl": _jsonl, ".ndjson": _jsonl}
        reader = readers.get(path.suffix.lower())
        if reader is None:
            raise _unusable(f"{path.name} is neither a .csv nor a .jsonl file")
        return reader(path), path.name
    if callable(to_dicts := getattr(source, "to_dicts", None)):
        return iter(cast("list[Mapping[str, Any]]", to_dicts())), "the table"
    to_dict = getattr(source, "to_dict", None)
    if callable(to_dict) and hasattr(source, "columns"):
        frame = cast("list[Mapping[str, Any]]", to_dict(orient="records"))
        return iter(frame), "the table"
    if isinstance(source, list | tuple):
        source = cast("Sequence[object]", source)
        if all(isinstance(row, Mapping) for row in source):
            return iter(cast("Sequence[Mapping[str, object]]", source)), "the list"
    raise _unusable(f"{type(cast('object', source)).__name__} is no table")


def _csv(path: Path) -> Iterator[Mapping[str, object]]:
    tab = path.suffix.lower() == ".tsv"
    before = csv.field_size_limit(_LONGEST_CELL)
    number = 0
    try:
        with _opened(path) as file:
            reader = csv.DictReader(file, delimiter="\t" if tab else ",")
            for number, row in enumerate(reader, start=1):  # noqa: B007
                yield row
    except (csv.Error, UnicodeDecodeError) as error:
        raise _unreadable(path, number, error) from None
    finally:
        csv.field_size_limit(before)


def _jsonl(path: Path) -> Iterator[Mapping[str, object]]:
    number = 0
    try:
        with _opened(path) as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield _json_row(line, path, number)
    except UnicodeDecodeError as error:
        raise _unreadable(path, number, error) from None


def _json_row(line: str, path: Path, number: int) -> Mapping[str, object]:
    try:
        row: object = json.loads(line)
    except ValueError as error:
        raise _unusable(f"{path.name}, line {number}: {error}") from None
    if not isinstance(row, dict):
        raise _unusable(f"{path.name}, line {number}: it is no mapping")
    return cast("Mapping[str, object]", row)


def _unreadable(path: Path, number: int, error: Exception) -> BreadError:
    if isinstance(error, UnicodeDecodeError):
        return _unusable(f"{path.name} is not UTF-8; save it as UTF-8")
    return _unusable(f"{path.name}, after row {number}: {error}")


def _opened(path: Path) -> Any:  # noqa: ANN401
    try:
        return path.open(encoding="utf-8-sig", newline="")
    except OSError as error:
        raise _unusable(f"{path} cannot be read: {error.strerror}") from None


def _unusable(why: str) -> BreadError:
    return BreadError(
        "These cases cannot be used.", code="INVALID_SUITE", why=f"{why}.", do=_KINDS
    )
