"""Cassettes as files: one JSON a line, appended whole, rewritten at once.

Two processes may write into one cassette: a line is appended under a lock in one piece,
and what is rewritten takes the place of the old file as a whole.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import JsonValue

from bread_nb.errors import BreadError

try:
    import fcntl
except ImportError:  # where there is no such module, a line is still written at once
    fcntl = None

__all__ = [
    "SUFFIX",
    "Line",
    "Shelf",
    "append",
    "cassette_path",
    "cassettes",
    "read_lines",
    "rewrite",
    "rewrite_text",
]

SUFFIX = ".cassette.jsonl"

_BLOCK = 1 << 20

Json = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a cassette: its text, its number from 1, and what it holds."""

    text: str
    number: int
    value: Json


def cassette_path(name: str) -> Path:
    """The file of a cassette by its name, which may be a notebook's."""
    path = Path(name)
    if path.name.endswith(SUFFIX):
        return path
    return path.with_name(f"{path.name.removesuffix('.ipynb')}{SUFFIX}")


def cassettes(folder: Path) -> list[Path]:
    """The cassettes of a folder, by name."""
    try:
        with os.scandir(folder) as found:
            names = sorted(e.name for e in found if e.name.endswith(SUFFIX))
    except OSError:
        return []
    return [folder / name for name in names]


def read_lines(path: Path) -> list[Line]:
    """The lines of a cassette; none where there is no such file.

    A last line without an end counts when it is whole, as editors leave it; else it is
    being written, or was never finished.

    Raises:
        BreadError: `CASSETTE_BROKEN`, naming file and line.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise _broken(path, 0, f"it cannot be read: {error}") from None
    lines = text.split("\n")
    if not _is_whole(lines[-1]):
        lines.pop()
    return [
        Line(line, number, _object(line, path, number))
        for number, line in enumerate(lines, start=1)
        if line.strip()
    ]


def _is_whole(line: str | bytes) -> bool:
    """Whether a line is an object: what is cut off before its end never is."""
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _object(line: str, path: Path, number: int) -> Json:
    try:
        value: object = json.loads(line)
    except (ValueError, RecursionError):
        marks = line.startswith(("<<<<<<<", "=======", ">>>>>>>"))
        why = "it is a mark of a merge" if marks else "it is no JSON"
        raise _broken(path, number, why) from None
    if not isinstance(value, dict):
        raise _broken(path, number, "it is no JSON object")
    return cast("Json", value)


def _broken(path: Path, number: int, why: str) -> BreadError:
    where = f"Line {number} of {path.name}" if number else path.name
    return BreadError(
        f"{where} is no recording.",
        code="CASSETTE_BROKEN",
        why=f"{why}.",
        do=f"bread cassette prune {path.name}, or take the file from git again",
        context={"file": path.name, "line": number},
    )


class Shelf:
    """One cassette as it stands in its file now, read again when it has changed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stamp: tuple[int, int] | None = None
        self._lines: list[Line] = []
        self._by_key: dict[tuple[str, str], list[Line]] = {}

    def lines(self) -> list[Line]:
        """The lines of the file.

        Raises:
            BreadError: `CASSETTE_BROKEN`.
        """
        stamp = _stamp(self.path)
        if stamp != self._stamp or stamp is None:
            self._lines = read_lines(self.path)
            self._by_key = {}
            for line in self._lines:
                named = str(line.value.get("kind")), str(line.value.get("key"))
                self._by_key.setdefault(named, []).append(line)
            self._stamp = stamp
        return self._lines

    def of_key(self, kind: str, key: str) -> list[Line]:
        """The lines of one kind and key, in their order.

        Raises:
            BreadError: `CASSETTE_BROKEN`.
        """
        self.lines()
        return self._by_key.get((kind, key), [])


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


# -- writing ---------------------------------------------------------------------------


def append(path: Path, line: str) -> None:
    """Add a line at the end, after what another process may have written.

    Raises:
        BreadError: `CASSETTE_UNWRITABLE`.
    """
    with _writing(path), _held(path) as file:
        _end_last_line(file)
        _write(file, f"{line}\n".encode())


def rewrite(path: Path, change: Callable[[Sequence[Line]], Iterable[str]]) -> None:
    """Put what `change` makes of the lines in their place, all at once.

    Raises:
        BreadError: `CASSETTE_UNWRITABLE`, or `CASSETTE_BROKEN`.
    """

    def changed(_: str) -> str:
        return "".join(f"{line}\n" for line in change(read_lines(path)))

    rewrite_text(path, changed)


def rewrite_text(path: Path, change: Callable[[str], str]) -> None:
    """Put what `change` makes of a cassette's text in its place, all at once.

    Raises:
        BreadError: `CASSETTE_UNWRITABLE`.
    """
    with _writing(path), _held(path):
        text = change(path.read_bytes().decode("utf-8-sig", "replace"))
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            draft.write_bytes(text.encode())
            os.replace(draft, path)
        finally:
            draft.unlink(missing_ok=True)


@contextmanager
def _writing(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise BreadError(
            f"{path.name} cannot be written.",
            code="CASSETTE_UNWRITABLE",
            why=f"{error.strerror or type(error).__name__}.",
            do="record into a folder you may write to, or BREAD_MODE=live",
        ) from None


@contextmanager
def _held(path: Path) -> Generator[int]:
    """The open file, locked; the one that has this name now."""
    while True:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        file = os.open(path, flags, 0o644)
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
            if _is_at(file, path):
                yield file
                return
        finally:
            os.close(file)


def _is_at(file: int, path: Path) -> bool:
    """Whether the file still has its name; another may have taken its place."""
    try:
        there: Any = path.stat()
    except OSError:
        return False
    mine = os.fstat(file)
    return (mine.st_ino, mine.st_dev) == (there.st_ino, there.st_dev)


def _end_last_line(file: int) -> None:
    """End a last line that is whole; one that was never finished is taken away."""
    end = os.lseek(file, 0, os.SEEK_END)
    if end == 0:
        return
    os.lseek(file, -1, os.SEEK_END)
    if os.read(file, 1) == b"\n":
        return
    os.lseek(file, 0, os.SEEK_SET)
    text = b"".join(iter(lambda: os.read(file, _BLOCK), b""))
    whole = text.rfind(b"\n") + 1
    if _is_whole(text[whole:]):
        _write(file, b"\n")
    else:
        os.ftruncate(file, whole)


def _write(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]
