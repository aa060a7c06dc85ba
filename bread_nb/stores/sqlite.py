"""The store in a SQLite file.

One thread with one connection does everything. A commit survives the death of the
process. The file is in write-ahead mode, so that reading does not wait for other
processes that write.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar, cast

from bread_nb.base.ids import monotonic
from bread_nb.errors import BreadError
from bread_nb.stores import sql
from bread_nb.stores.bodies import Column, fields_of, matches
from bread_nb.stores.desk_store import DeskStore, Line, Row
from bread_nb.stores.file_locks import lock_holder
from bread_nb.stores.folders import make_folder, shown_path
from bread_nb.stores.steps import Draft, Group, Key, Lines, Prepared, reads
from bread_nb.stores.store import Record
from bread_nb.stores.store_errors import (
    corrupt_file,
    corrupt_record,
    locked,
    newer,
    unwritable,
)

__all__ = ["SqliteStore"]

T = TypeVar("T")

_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = NORMAL",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA trusted_schema = OFF",
)
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_UNWRITABLE = {
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
}
_PAUSE = 0.01


class SqliteStore(DeskStore):
    """A store in one file, which is made at the first write.

    Args:
        path: The file.
        root: The project's folder; errors name the file as seen from there.
        busy: Seconds to wait while another process is writing.
    """

    def __init__(
        self, path: Path, *, root: Path | None = None, busy: float = 30.0
    ) -> None:
        self.path = path
        place = shown_path(path, root or path.parent)
        super().__init__(partial(_SqliteDesk, path, place, busy), place)


class _SqliteDesk:
    """The connection, and one transaction for all groups of steps between commits.

    The first group of a transaction undoes all of it when it fails; a later one goes
    back to its savepoint.
    """

    def __init__(self, path: Path, place: str, busy: float) -> None:
        self._path = path
        self._place = place
        self._busy = busy
        self._db: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._lost: BreadError | None = None

    def body(self, key: Key, asked: float) -> bytes | None:
        """The body of a record."""
        rows = self._look(sql.GET, key, asked)
        return cast("bytes", rows[0][0]) if rows else None

    def lines(self, query: sql.Query, asked: float) -> list[Line]:
        """Entries of a log, number and body."""
        return cast("list[Line]", self._look(query.text, query.values, asked))

    def find(self, kind: type[Record], query: sql.Query, asked: float) -> list[Row]:
        """Records that match, id and body."""
        found = self._look(query.text, query.values, asked, kind)
        rows = [(_text(id), cast("bytes", body)) for id, body in found]
        if query.exact:
            return rows
        matching = (
            (id, body)
            for id, body in rows
            if matches(kind, fields_of(kind, id, body, self._place), query.where)
        )
        return list(islice(matching, query.limit))

    def change(self, steps: Sequence[Prepared], asked: float) -> Group | None:
        """Do all steps or none."""
        if self._lost is not None:
            raise self._lost
        begun = self._db is not None and self._db.in_transaction
        try:
            db = self._at_hand() or self._made(asked)
            if begun:
                db.execute("SAVEPOINT step")
            else:
                self._patiently(asked, partial(db.execute, "BEGIN IMMEDIATE"))
            return self._group(db, steps, begun=begun)
        except (sqlite3.Error, OSError) as error:
            fault = self._fault(error)
            if begun and not (self._db and self._db.in_transaction):
                self._lost = fault
            raise fault from None

    def commit(self) -> None:
        """Keep what has been done since the last commit."""
        lost, self._lost = self._lost, None
        if lost is not None:
            raise lost
        db = self._db
        if db is None or not db.in_transaction:
            return
        try:
            self._patiently(monotonic(), db.commit)
        except sqlite3.Error as error:
            raise self._fault(error) from None
        finally:
            with suppress(sqlite3.Error):
                db.rollback()

    def close(self) -> None:
        """Let go of the file."""
        db, self._db = self._db, None
        if db is not None:
            db.close()

    def _group(
        self, db: sqlite3.Connection, steps: Sequence[Prepared], *, begun: bool
    ) -> Group | None:
        group: Group | None = None
        try:
            group = self._written(db, steps)
        finally:
            # Some faults of the disk undo the whole transaction by themselves.
            if db.in_transaction:
                if group is None:
                    db.execute("ROLLBACK TO step" if begun else "ROLLBACK")
                if begun:
                    db.execute("RELEASE step")
        return group

    def _written(
        self, db: sqlite3.Connection, steps: Sequence[Prepared]
    ) -> Group | None:
        """The group with all it changes written, or None when one step fails."""
        held: dict[Key, bytes | str | None] = {}
        for key in reads(steps):
            row = db.execute(sql.GET, key).fetchone()
            held[key] = row[0] if row else None
        group = Group(steps, held, self._place)
        if not group.work():
            return None
        for step in group.logs:
            if not isinstance(step, Lines):
                db.execute(sql.DELETE_LOG, (step.log,))
                continue
            rows = [(step.log, seq, text) for seq, text in step.entries]
            try:
                db.executemany(sql.INSERT_ENTRY, rows)
            except sqlite3.IntegrityError:
                return None
        for draft in group.drafts:
            _write(db, draft)
        return group

    def _look(
        self,
        text: str,
        values: Sequence[Column],
        asked: float,
        kind: type[Record] | None = None,
    ) -> list[tuple[object, ...]]:
        """Rows; none where there is no file yet."""
        try:
            db = self._at_hand()
            if db is None and _identity(self._path) is None:
                return []
            db = db or self._open(asked)
            return self._patiently(asked, lambda: db.execute(text, values).fetchall())
        except (sqlite3.Error, OSError) as error:
            if kind is not None and self._db is not None:
                self._name_unreadable(self._db, kind)
            raise self._fault(error) from None

    def _name_unreadable(self, db: sqlite3.Connection, kind: type[Record]) -> None:
        """Raise for a record that no JSON function can read, if there is one."""
        with suppress(sqlite3.Error):
            for (id,) in db.execute(sql.UNREADABLE, (kind.kind,)).fetchall():
                raise corrupt_record(
                    self._place, kind.kind, _text(id), "it is not JSON"
                )

    def _at_hand(self) -> sqlite3.Connection | None:
        """The open connection, unless its file was taken away."""
        db = self._db
        if db is None or db.in_transaction or self._file == _identity(self._path):
            return db
        self.close()
        return None

    def _made(self, asked: float) -> sqlite3.Connection:
        """A connection to a file that may have to be made."""
        make_folder(self._path.parent)
        return self._open(asked)

    def _open(self, asked: float) -> sqlite3.Connection:
        self._db = self._patiently(asked, self._connect)
        self._file = _identity(self._path)
        return self._db

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._path, timeout=0, isolation_level=None)
        try:
            db.text_factory = bytes
            if self._version(db) < sql.VERSION:
                self._migrate(db)
            for pragma in _PRAGMAS:
                db.execute(pragma)
        except BaseException:
            db.close()
            raise
        return db

    def _version(self, db: sqlite3.Connection) -> int:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version > sql.VERSION:
            raise newer(self._place, version, sql.VERSION)
        return version

    def _migrate(self, db: sqlite3.Connection) -> None:
        db.execute("BEGIN IMMEDIATE")
        for statements in sql.MIGRATIONS[self._version(db) :]:
            for statement in statements:
                db.execute(statement)
        db.execute(f"PRAGMA user_version = {sql.VERSION}")
        db.execute("COMMIT")

    def _patiently(self, asked: float, action: Callable[[], T]) -> T:
        """Try again while another process is in the way, but not for ever."""
        while True:
            try:
                return action()
            except sqlite3.OperationalError as error:
                if _code(error) not in _BUSY:
                    raise
                if monotonic() - asked >= self._busy:
                    holder = lock_holder([self._path, Path(f"{self._path}-shm")])
                    raise locked(self._place, self._busy, holder) from None
            time.sleep(_PAUSE)

    def _fault(self, error: sqlite3.Error | OSError) -> BreadError:
        if isinstance(error, OSError):
            return unwritable(self._place, error.strerror or type(error).__name__)
        if _code(error) in _UNWRITABLE:
            return unwritable(self._place, str(error))
        return corrupt_file(self._place, str(error))


def _write(db: sqlite3.Connection, draft: Draft) -> None:
    key = (draft.kind.kind, draft.id)
    if draft.gone:
        db.execute(sql.DELETE, key)
        return
    text, columns = draft.text(), draft.columns
    if draft.there is None:
        row = (*key, *columns.values(), text)
        if db.execute(sql.UPSERT, row).rowcount == 1:
            return
    elif not draft.there:
        db.execute(sql.INSERT, (*key, *columns.values(), text))
        return
    db.execute(sql.update(tuple(columns)), (text, *columns.values(), *key))


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file this is; None when there is none."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


def _code(error: sqlite3.Error) -> int:
    """The primary code; 0 when the fault is not the database's."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
