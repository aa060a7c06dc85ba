"""The recordings that one process plays and makes.

It knows the mode, where recordings are kept, and how often each request was made: the
k-th equal request gets recording k, and begins anew when there are no more.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import JsonValue

from bread_nb.base.ids import now_ms
from bread_nb.base.later import Later
from bread_nb.base.wire import dumps
from bread_nb.errors import BreadError
from bread_nb.providers.asked import key_of
from bread_nb.providers.consents import Consent, Question, consent_of
from bread_nb.providers.modes import Mode, decide, mode_named
from bread_nb.providers.shelf import (
    SUFFIX,
    Line,
    Shelf,
    append,
    cassette_path,
    cassettes,
    rewrite,
    rewrite_text,
)
from bread_nb.providers.tape import Recording, recording_of

if TYPE_CHECKING:
    from bread_nb.providers import misses
else:
    misses = Later("bread_nb.providers.misses")

__all__ = ["Deck"]

Json = dict[str, JsonValue]

_SETTLED_MS = 100


class Deck:
    """What is played and recorded in one process.

    `played` and `recorded` are the runs for which a model's answer was.

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
        self._into: str | None = None
        self._added: list[Path] = []
        self._anew = anew
        self._notebook = notebook
        self._gate = threading.Lock()
        self._shelves: dict[Path, Shelf] = {}
        self._listed: list[Path] = []
        self._listed_at: tuple[str, int] | None = None
        self._asked: Counter[tuple[Path | None, str]] = Counter()
        self._begun: set[Path | tuple[Path, str]] = set()
        self._questions: dict[str, Question] = {}
        self._numbers: Counter[str] = Counter()
        self._by_cell: set[str] = set()
        self.played: set[str] = set()
        self.recorded: set[str] = set()
        self._replaying: set[str] = set()
        self._decided: dict[str, list[str]] = {}

    # -- the mode ----------------------------------------------------------------------

    def choose(
        self, name: str, cassette: str | None = None, *, said_by: str = "%bread mode"
    ) -> Mode:
        """Take a mode, whatever the environment says.

        Args:
            name: The mode.
            cassette: The name to record under, if any.
            said_by: Who says so, for messages.

        Raises:
            BreadError: `INVALID_MODE`, or `RECORD_REFUSED` in CI.
        """
        self.chosen = mode_named(name, said_by)
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
        found = self._found("call", key, path)
        if not found:
            return None
        with self._gate:
            number = self._asked[path, key]
            self._asked[path, key] += 1
        file, line = found[number % len(found)]
        return recording_of(line, file)

    def answered(self, run_id: str, *, played: bool) -> None:
        """Note what the newest turn of a run comes from: a recording, or a model."""
        if played:
            self.played.add(run_id)
            self._replaying.add(run_id)
        else:
            self._replaying.discard(run_id)

    def replays(self, run_id: str) -> bool:
        """Whether the newest turn of a run comes from a recording."""
        return run_id in self._replaying and self.mode.name in ("replay", "auto")

    def _found(
        self, kind: str, key: str, path: Path | None = None
    ) -> list[tuple[str, Line]]:
        """The lines of a key; those of this notebook alone where it has some."""
        shelves = self._all(path)
        found = [(s.path.name, line) for s in shelves for line in s.of_key(kind, key)]
        own = self.own() if path is None and len(shelves) > 1 else None
        return [each for each in found if each[0] == own] or found

    def _all(self, path: Path | None) -> list[Shelf]:
        paths = self._paths() if path is None else [path]
        return [self._shelves.setdefault(p, Shelf(p)) for p in paths]

    def names(self) -> list[str]:
        """The files that recordings come from."""
        return [path.name for path in self._paths() if path.is_file()]

    def _paths(self) -> list[Path]:
        """Where to look; one that lies elsewhere takes the place of its namesake."""
        paths = list(dict.fromkeys([*self._cassettes(), *self._added]))
        named = Path(os.environ.get("BREAD_CASSETTE", ""))
        if not named.is_absolute():
            return paths
        named = cassette_path(str(named))
        return [named, *(path for path in paths if path.name != named.name)]

    def add(self, path: Path) -> None:
        """Look into this cassette too, wherever it lies."""
        if path not in self._added:
            self._added.append(path)

    def recordings(self, path: Path | None = None) -> list[Recording]:
        """All recorded calls of models by file and line, this notebook's own first."""
        own = self.own()
        shelves = sorted(self._all(path), key=lambda shelf: shelf.path.name != own)
        return [
            recording_of(line, shelf.path.name)
            for shelf in shelves
            for line in shelf.lines()
            if line.value.get("kind") == "call"
        ]

    def has_recordings(self) -> bool:
        """Whether there is any cassette to look in."""
        return bool(self._cassettes()) or bool(self.names())

    def _cassettes(self) -> list[Path]:
        """The cassettes of the working directory, listed anew when it has changed.

        One that changed a moment ago may change again without looking any younger.
        """
        folder = os.getcwd()
        try:
            changed = os.stat(folder).st_mtime_ns // 1_000_000
        except OSError:
            return []
        stamp = folder, changed
        if stamp != self._listed_at or now_ms() - changed < _SETTLED_MS:
            self._listed, self._listed_at = cassettes(Path(folder)), stamp
        return self._listed

    def miss(self, asked: Json, path: Path | None = None) -> BreadError:
        """The error for a request that has no recording."""
        where = path.name if path is not None else f"{Path.cwd().name}/*{SUFFIX}"
        named = path is not None or self._name() is not None
        known = self.recordings(path)
        return misses.miss(asked, known, self.mode, where, self._asker(named=named))

    def _asker(self, *, named: bool) -> misses.Asker:
        return misses.Asker(
            cell=self._anew,
            notebook=self._notebook(),
            suite=bool(self._added),
            named=named,
        )

    # -- decisions -------------------------------------------------------------------

    @property
    def heeds(self) -> bool:
        """Whether decisions are recorded or replayed now."""
        return self.mode.name in ("record", "replay")

    def ask(self, identifier: str, asked: Json) -> None:
        """Note that a call waits for a person; equal questions are numbered.

        Args:
            identifier: The question's id, by which it is settled.
            asked: What is asked.
        """
        with self._gate:
            key = key_of(asked)
            self._numbers[key] += 1
            question = Question(asked=asked, number=self._numbers[key])
            self._questions[identifier] = question

    def asks(self, identifier: str) -> bool:
        """Whether a question is known here that is not settled yet."""
        return identifier in self._questions

    def consent(self, identifier: str) -> Consent | None:
        """The recorded decision about a question, when this is a replay.

        Raises:
            BreadError: `CASSETTE_BROKEN`.
        """
        question = self._questions.get(identifier)
        if question is None or self.mode.name != "replay":
            return None
        found = [consent_of(li, f) for f, li in self._found("decision", question.key)]
        if not found:
            return None
        same = [each for each in found if each.question.number == question.number]
        return same[0] if same else found[(question.number - 1) % len(found)]

    def undecided(self, identifier: str, handle: str) -> BreadError:
        """The error for a recorded call whose decision is not recorded."""
        known = [
            consent_of(line, shelf.path.name)
            for shelf in self._all(None)
            for line in shelf.lines()
            if line.value.get("kind") == "decision"
        ]
        asker = self._asker(named=self._name() is not None)
        asked = self._questions[identifier].asked
        return misses.undecided(handle, asked, known, self.mode, asker)

    def decided(self, run_id: str) -> list[str]:
        """The keys of the decisions recorded since the last turn of a run."""
        return self._decided.pop(run_id, [])

    def leave_to_cell(self, identifier: str) -> None:
        """A cell of the notebook is about to answer this question."""
        self._by_cell.add(identifier)

    def settle(
        self, identifier: str, answer: JsonValue, outcome: Json, run_id: str
    ) -> None:
        """Record a decision and what came of it, where this is a recording.

        Where nothing names a cassette only scripts have answered, which need none.
        """
        question = self._questions.pop(identifier, None)
        if question is None or self.mode.name != "record" or self.own() is None:
            return
        consent = Consent(
            question=question,
            answer=answer,
            by="cell" if identifier in self._by_cell else "person",
            outcome=outcome,
        )
        self.write(consent.line(), question.key, self.target())
        self._decided.setdefault(run_id, []).append(question.key)

    # -- recording ---------------------------------------------------------------------

    def own(self) -> str | None:
        """The file name of this notebook's cassette, where it is known."""
        name = self._name()
        return cassette_path(name).name if name else None

    def _name(self) -> str | None:
        said = self.named or os.environ.get("BREAD_CASSETTE") or self._notebook()
        return said or self._into

    @contextmanager
    def recording_into(self, path: Path) -> Generator[None]:
        """Record into this cassette, where nothing else says a name."""
        before, self._into = self._into, str(path)
        try:
            yield
        finally:
            self._into = before

    def forget_older(self, path: Path) -> None:
        """Take out what is older than this process, and put the rest in order."""
        with self._gate:
            if path.exists():
                rewrite(path, lambda lines: self._fresh(path, lines))

    def _fresh(self, path: Path, lines: Sequence[Line]) -> list[str]:
        mine = (line for line in lines if (path, line.value.get("key")) in self._begun)
        return [line.text for line in sorted(mine, key=_order)]

    def target(self) -> Path:
        """The cassette that is recorded into.

        Raises:
            BreadError: `CASSETTE_UNNAMED` when nobody has said a name.
        """
        if name := self._name():
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
                if self._anew:
                    rewrite_text(path, lambda _: "")
                else:
                    rewrite(path, lambda lines: _without(lines, key))
            append(path, line)


def _order(line: Line) -> list[str]:
    """By what was asked, so that it is the same whatever was answered first."""
    asked = line.value.get("asked")
    if not isinstance(asked, dict):
        return ["~", str(line.value.get("key"))]
    messages = asked.get("messages")
    told = messages if isinstance(messages, list) else []
    return [str(asked.get("system")), *(dumps(message) for message in told)]


def _without(lines: Sequence[Line], key: str) -> list[str]:
    return [line.text for line in lines if line.value.get("key") != key]
