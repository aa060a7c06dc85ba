"""The schema and the statements of the stores that speak SQL.

Two tables: `record` with one row a record, some of whose fields stand in columns beside
the body, and `log` with one row an entry. Values are bound with `?`. Agents are few and
have no index: it would cost a page in every commit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeGuard, cast

from pydantic import JsonValue

from bread_nb.stores.bodies import COLUMNS, Column, check_fields, columns_in, matches
from bread_nb.stores.store import Fields, Record

__all__ = [
    "DELETE",
    "DELETE_LOG",
    "GET",
    "INSERT",
    "INSERT_ENTRY",
    "MIGRATIONS",
    "UNREADABLE",
    "UPSERT",
    "VERSION",
    "Query",
    "entries",
    "select",
    "update",
]

MIGRATIONS: Sequence[Sequence[str]] = (
    (
        "CREATE TABLE record ("
        "kind TEXT NOT NULL, id TEXT NOT NULL, run_id TEXT, session_id TEXT, "
        "agent_id TEXT, status TEXT, created_at INTEGER, body TEXT NOT NULL, "
        "PRIMARY KEY (kind, id))",
        "CREATE INDEX record_by_run ON record (run_id, kind) WHERE run_id IS NOT NULL",
        "CREATE INDEX record_by_session ON record (session_id, kind) "
        "WHERE session_id IS NOT NULL",
        "CREATE INDEX record_by_status ON record (kind, status, created_at) "
        "WHERE status IS NOT NULL",
        "CREATE INDEX record_by_time ON record (kind, created_at)",
        "CREATE TABLE log (log TEXT NOT NULL, seq INTEGER NOT NULL, "
        "body TEXT NOT NULL, PRIMARY KEY (log, seq)) WITHOUT ROWID",
    ),
)
VERSION = len(MIGRATIONS)

GET = "SELECT body FROM record WHERE kind = ? AND id = ?"
INSERT = (
    f"INSERT INTO record (kind, id, {', '.join(COLUMNS)}, body) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
# Changes one row, or none when the record is there with other columns: setting a
# column costs a write to its index even when its value stays the same.
UPSERT = (
    f"{INSERT} ON CONFLICT (kind, id) DO UPDATE SET body = excluded.body WHERE "
    + " AND ".join(f"record.{name} IS excluded.{name}" for name in COLUMNS)
)
DELETE = "DELETE FROM record WHERE kind = ? AND id = ?"
INSERT_ENTRY = "INSERT INTO log (log, seq, body) VALUES (?, ?, ?)"
DELETE_LOG = "DELETE FROM log WHERE log = ?"
UNREADABLE = (
    "SELECT id FROM record WHERE kind = ? "
    "AND (typeof(body) <> 'text' OR NOT json_valid(body)) LIMIT 1"
)

_EXACT = 1 << 53


@dataclass(frozen=True, slots=True)
class Query:
    """A statement, or a part of one, with its values.

    When it is not `exact`, it may find records that do not match `where`: whoever runs
    it looks at the bodies, and keeps to the limit.
    """

    text: str
    values: list[Column]
    exact: bool = True
    where: Fields = field(default_factory=dict[str, JsonValue])
    limit: int | None = None


@lru_cache(maxsize=64)
def update(columns: tuple[str, ...]) -> str:
    """Give a record a new body and these columns."""
    names = ", ".join(f"{name} = ?" for name in ("body", *columns))
    return f"UPDATE record SET {names} WHERE kind = ? AND id = ?"


def entries(log: str, after: int, limit: int | None, newest: int | None) -> Query:
    """Read a log, in order."""
    text = "SELECT seq, body FROM log WHERE log = ? AND seq > ? ORDER BY seq"
    values: list[Column] = [log, after]
    if newest is not None:
        text = f"SELECT * FROM ({text} DESC LIMIT ?) ORDER BY seq"
        values.append(max(newest, 0))
    if limit is not None:
        text = f"{text} LIMIT ?"
        values.append(max(limit, 0))
    return Query(text, values)


def select(
    kind: type[Record], where: Fields, *, newest_first: bool, limit: int | None
) -> Query:
    """Find records, id and body, in the order of `created_at` and id.

    Raises:
        ValueError: When `where` names a field that the kind has not.
    """
    check_fields(kind, where)
    terms = ["kind = ?"]
    values: list[Column] = [kind.kind]
    exact = True
    for name, wanted in where.items():
        term = _term(kind, name, wanted)
        terms.append(term.text)
        values.extend(term.values)
        exact = exact and term.exact
    order = "created_at DESC, id DESC" if newest_first else "created_at, id"
    text = f"SELECT id, body FROM record WHERE {' AND '.join(terms)} ORDER BY {order}"
    most = None if limit is None else max(limit, 0)
    if most is not None and exact:
        text = f"{text} LIMIT ?"
        values.append(most)
    return Query(text, values, exact, dict(where), most)


def _term(kind: type[Record], name: str, wanted: JsonValue) -> Query:
    """A condition that no record that matches fails; exact when no other holds it."""
    if name == "id" or name in columns_in(kind):
        if wanted is None:
            return Query(f"{name} IS NULL", [])
        whole = _small(wanted) and not isinstance(wanted, bool)
        if whole if name == "created_at" else _bindable(wanted):
            return Query(f"{name} = ?", [cast("Column", wanted)])
        return _ANYTHING
    term = _body_term(f"'$.{name}'", wanted)
    if term is not _ANYTHING and matches(kind, {}, {name: wanted}):
        absent = f"json_type(body, '$.{name}') IS NULL"
        return Query(f"({term.text} OR {absent})", term.values, exact=False)
    return term


def _body_term(path: str, wanted: JsonValue) -> Query:
    if wanted is None:
        return Query(f"json_type(body, {path}) = 'null'", [], exact=False)
    if isinstance(wanted, dict):
        return _pair_terms(path, wanted)
    if _bindable(wanted) or _small(wanted):
        return Query(f"json_extract(body, {path}) = ?", [wanted], exact=False)
    return _ANYTHING


def _pair_terms(path: str, pairs: Mapping[str, JsonValue]) -> Query:
    terms: list[str] = [f"json_type(body, {path}) = 'object'"]
    values: list[Column] = []
    for key, value in pairs.items():
        if _bindable(key):
            each = f"SELECT 1 FROM json_each(record.body, {path}) WHERE key = ?"
            values.append(key)
            if _bindable(value):
                each = f"{each} AND atom = ?"
                values.append(value)
            terms.append(f"EXISTS ({each})")
    return Query(f"({' AND '.join(terms)})", values, exact=False)


_ANYTHING = Query("1", [], exact=False)


def _small(value: JsonValue) -> TypeGuard[int]:
    """Whether a number is whole and the same in JSON, in a column and in Python."""
    return type(value) in (int, bool) and abs(cast("int", value)) <= _EXACT


def _bindable(value: JsonValue) -> TypeGuard[str]:
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
