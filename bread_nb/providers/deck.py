"""The recordings that one process plays and makes.

It knows the mode, where recordings are kept, and how often each request was made: the
k-th equal request gets recording k, and begins anew when there are no more.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import JsonValue

from bread_nb.errors import BreadError
from bread_nb.providers.misses import miss
from bread_nb.providers.modes import Mode, decide, mode_named
from bread_nb.providers.shelf import (
    SUFFIX,
    Line,
    Shelf,
    append,
    cassettes,
    rewrite,
)
from bread_nb.providers.tape import Recording

__all__ = ["Deck", "cassette_path", "recording_of"]

Json = dict[str, JsonValue]


class Deck:
    """What is played and recorded in one process.

    Args:
        anew: Whether a cassette is begun anew by the first thing recorded into it, as
            in a kernel. Otherwise what is recorded takes the place of the older
            recordings of the same request, and all others stay.
        notebook: Tells the notebook's name, where the front end does.
    """

    def __init__(
        self,
        *,
        anew: bool = False,
        notebook: Callable[[], str | None] = lambda: None,
    ) -> None:
        self.chosen: Mode | None = None
        self.named: str | None = None
        self._anew = anew
        self._notebook = notebook
        self._gate = threading.Lock()
        self._shelves: dict[Path, Shelf] = {}
        self._asked: Counter[tuple[Path | None, str]] = Counter()
        self._begun: set[Path | tuple[Path, str]] = set()

    # -- the mode ----------------------------------------------------------------------

    def choose(self, name: str, cassette: str | None = None) -> Mode:
        """Take a mode, whatever the environment says.

        Raises:
            BreadError: `INVALID_MODE`, or `RECORD_REFUSED` in CI.
        """
        self.chosen = mode_named(name, "%bread mode")
        self.named = cassette
        return self.chosen

    @property
    def mode(self) -> Mode:
        """The mode as it is now.

        Raises:
            BreadError: `INVALID_MODE`, or `RECORD_REFUSED` in CI.
        """
        return self.chosen or decide()

    @property
    def fresh_store(self) -> bool:
        """Whether runs are kept in a store of their own, which ends with the kernel.

        So it is in a kernel that records or replays, unless `BREAD_STORE` names one.
        """
        if not self._anew or os.environ.get("BREAD_STORE"):
            return False
        mode = self.mode
        if mode.implied and not self.has_recordings():
            return False
        return mode.name in ("record", "replay")

    # -- playing -----------------------------------------------------------------------

    def find(self, key: str, path: Path | None = None) -> Recording | None:
        """The recording that this request is due; asking for it counts.

        Args:
            key: The key of the request.
            path: The cassette; all of the working directory when None.

        Raises:
            BreadError: `CASSETTE_BROKEN`.
        """
        found = [r for r in self.recordings(path) if r.key == key]
        own = None if path is not None else self.own()
        found = [r for r in found if r.place.startswith(f"{own}:")] or found
        if not found:
            return None
        with self._gate:
            number = self._asked[path, key]
            self._asked[path, key] += 1
        return found[number % len(found)]

    def recordings(self, path: Path | None = None) -> list[Recording]:
        """All recorded calls of models, in the order of files and lines."""
        paths = cassettes(Path.cwd()) if path is None else [path]
        return [
            recording_of(line, shelf.path.name)
            for shelf in map(self._shelf, paths)
            for line in shelf.lines()
            if line.value.get("kind") == "call"
        ]

    def has_recordings(self) -> bool:
        """Whether there is a cassette in the working directory."""
        return bool(cassettes(Path.cwd()))

    def _shelf(self, path: Path) -> Shelf:
        if path not in self._shelves:
            self._shelves[path] = Shelf(path)
        return self._shelves[path]

    def miss(self, asked: Json, path: Path | None = None) -> BreadError:
        """The error for a request that has no recording."""
        where = path.name if path is not None else f"{Path.cwd().name}/*{SUFFIX}"
        return miss(asked, self.recordings(path), self.mode, where)

    # -- recording ---------------------------------------------------------------------

    def own(self) -> str | None:
        """The file name of this notebook's cassette, where it is known."""
        name = self.named or os.environ.get("BREAD_CASSETTE") or self._notebook()
        return cassette_path(name).name if name else None

    def target(self) -> Path:
        """The cassette that is recorded into.

        Raises:
            BreadError: `CASSETTE_UNNAMED` when nobody has said a name.
        """
        name = self.named or os.environ.get("BREAD_CASSETTE") or self._notebook()
        if name:
            return Path.cwd() / cassette_path(name)
        raise BreadError(
            "There is no name for the recording.",
            code="CASSETTE_UNNAMED",
            why="this front end does not tell the notebook's name.",
            do="%bread mode record NAME, or set BREAD_CASSETTE",
        )

    def keep(self, recording: Recording, path: Path | None = None) -> None:
        """Write a recording into its cassette.

        Raises:
            BreadError: `CASSETTE_UNWRITABLE` or `CASSETTE_UNNAMED`.
        """
        self.write(recording.line(), recording.key, path or self.target())

    def write(self, line: str, key: str, path: Path) -> None:
        """Write a line, in place of what older sessions recorded for it."""
        with self._gate:
            begun = path if self._anew else (path, key)
            fresh = begun not in self._begun
            self._begun.add(begun)
            if fresh and path.exists():
                rewrite(path, lambda lines: self._kept(lines, key))
            append(path, line)

    def _kept(self, lines: Sequence[Line], key: str) -> list[str]:
        if self._anew:
            return []
        return [line.text for line in lines if line.value.get("key") != key]


def cassette_path(name: str) -> Path:
    """The file of a cassette by its name, which may be a notebook's."""
    path = Path(name)
    if path.name.endswith(SUFFIX):
        return path
    return path.with_name(f"{path.name.removesuffix('.ipynb')}{SUFFIX}")


def recording_of(line: Line, file: str) -> Recording:
    """A line as the recording of a call."""
    asked, answer = line.value.get("asked"), line.value.get("answer")
    return Recording(
        key=str(line.value.get("key")),
        model=str(line.value.get("model")),
        asked=asked if isinstance(asked, dict) else {},
        answer=answer if isinstance(answer, list) else [],
        place=f"{file}:{line.number}",
    )
