"""The file of a SQLite store, as its tests look at it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from bread_nb.stores.records import Session

__all__ = ["make", "names", "raw", "session"]


def session(id: str, **fields: object) -> Session:
    return Session.model_validate(
        {"id": id, "created_at": 1, "updated_at": 1, **fields}
    )


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def make(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


@contextmanager
def raw(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        yield db
