"""Cassettes looked through: what they hold, what is wrong, what can go."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from bread_nb.base.redact import Redactor
from bread_nb.errors import BreadError
from bread_nb.providers.asked import key_of
from bread_nb.providers.consents import consent_of
from bread_nb.providers.model import CallStart, TextChunk, UsageReport
from bread_nb.providers.shelf import Line, rewrite_text
from bread_nb.providers.tape import read_deltas, to_line

__all__ = ["Entry", "Pruned", "entries", "problems", "prune"]

Json = dict[str, JsonValue]

_KINDS = ("call", "decision")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of a cassette in words.

    Args:
        number: The line, from 1.
        kind: `call` or `decision`.
        who: The model, or the agent that asked.
        asked: What was asked last, in short.
        answer: What came, in short.
        tokens: All tokens of the call, where they were told.
    """

    number: int
    kind: str
    who: str
    asked: str
    answer: str
    tokens: int | None = None


def entries(lines: Sequence[Line]) -> list[Entry]:
    """The lines of a cassette in words."""
    return [_entry(line) for line in lines]


def _entry(line: Line) -> Entry:
    value = line.value
    if value.get("kind") == "decision":
        question = value.get("question")
        asked = question if isinstance(question, dict) else {}
        by = " (by a cell)" if value.get("by") == "cell" else ""
        return Entry(
            number=line.number,
            kind="decision",
            who=str(asked.get("agent")),
            asked=f"{asked.get('tool')} {to_line(asked.get('args'))}",
            answer=f"{to_line(value.get('answer'))}{by}",
        )
    answer, tokens = _said(value.get("answer"))
    return Entry(
        number=line.number,
        kind=str(value.get("kind")),
        who=str(value.get("model")),
        asked=_last_words(value.get("asked")),
        answer=answer,
        tokens=tokens,
    )


def _said(events: JsonValue) -> tuple[str, int | None]:
    """The words and calls of an answer, and its tokens."""
    said: list[str] = []
    tokens: int | None = None
    try:
        for delta in read_deltas(events if isinstance(events, list) else [events]):
            match delta:
                case TextChunk(text=text):
                    said.append(text)
                case CallStart(name=name):
                    said.append(f"[{name}]")
                case UsageReport(usage=usage):
                    tokens = usage.total
                case _:
                    pass
    except BreadError as error:
        said.append(f"[{error.code}]")
    except (KeyError, TypeError, ValueError):
        said.append("[cannot be played]")
    return "".join(said), tokens


def _last_words(asked: JsonValue) -> str:
    messages = asked.get("messages") if isinstance(asked, dict) else None
    if not isinstance(messages, list) or not messages:
        return ""
    last = messages[-1]
    said = next(iter(last.values()), "") if isinstance(last, dict) else last
    return said if isinstance(said, str) else to_line(said)


# -- what is wrong ---------------------------------------------------------------------


def problems(lines: Sequence[Line], redactor: Redactor) -> list[tuple[int, str]]:
    """What is wrong with lines of a cassette, by their numbers."""
    decided = {
        str(line.value.get("key"))
        for line in lines
        if line.value.get("kind") == "decision"
    }
    return [
        (line.number, why)
        for line in lines
        for why in (*_wrong(line, redactor), *_lacking(line, decided))
    ]


def _lacking(line: Line, decided: set[str]) -> Iterator[str]:
    """What a call of a model rests on that is not in the file."""
    keys = line.value.get("decided")
    if isinstance(keys, list) and not decided.issuperset(map(str, keys)):
        yield "a decision about a call before it is not there: its replay ends there"


def _wrong(line: Line, redactor: Redactor) -> Iterator[str]:
    kind = line.value.get("kind")
    if kind not in _KINDS:
        yield f"its kind is {kind!r}, neither call nor decision"
        return
    asked = line.value.get("asked" if kind == "call" else "question")
    if line.value.get("key") != key_of(asked):
        yield "its key is not that of what was asked: it will never be played"
    if kind == "call" and _said(line.value.get("answer"))[0].endswith(_UNPLAYABLE):
        yield "its answer cannot be played"
    if kind == "decision":
        try:
            consent_of(line, "")
        except BreadError as error:
            yield f"it cannot be played: {error.why.removesuffix('.')}"
    if _holds_secret(line.value, redactor):
        yield "it holds what looks like a secret"


_UNPLAYABLE = "[cannot be played]"


def _holds_secret(value: JsonValue, redactor: Redactor) -> bool:
    """Whether any text in it is one that would be masked."""
    match value:
        case str():
            return redactor.text(value) != value
        case list():
            # Texts in a row may be the pieces of one.
            texts = "".join(item for item in value if isinstance(item, str))
            if redactor.text(texts) != texts:
                return True
            return any(_holds_secret(item, redactor) for item in value)
        case dict():
            named = redactor.known(list(value)) != list(value)
            return named or any(
                _holds_secret(item, redactor)
                if name not in _OPAQUE
                else redactor.known(item) != item
                for name, item in value.items()
            )
        case _:
            return False


# What is opaque may look like a key by chance; only a known secret is one there.
_OPAQUE = frozenset({"native", "base64", "sha256", "key", "block", "decided"})


# -- what can go -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """How many lines there were, and how many went for which reason."""

    lines: int
    broken: int = 0
    repeated: int = 0

    @property
    def dropped(self) -> int:
        """All that went."""
        return self.broken + self.repeated


def prune(path: Path) -> Pruned:
    """Take out what is never played, or changes nothing when it is.

    That is a line that cannot be read or found, and all but the first of equal
    recordings when all recordings of their request are equal. A file in which no line
    is a recording is left as it is.

    Raises:
        BreadError: `CASSETTE_UNWRITABLE`, or `CASSETTE_BROKEN` for such a file.
    """
    found = Pruned(lines=0)

    def kept(text: str) -> str:
        nonlocal found
        written = [line for line in text.split("\n") if line.strip()]
        read = [(line, value) for line in written if (value := _readable(line))]
        if written and not any(map(_is_recording, written)):
            raise _no_recording(path, len(written))
        left = list(_without_repeats(read))
        found = Pruned(
            lines=len(written),
            broken=len(written) - len(read),
            repeated=len(read) - len(left),
        )
        return "".join(f"{line}\n" for line in left)

    rewrite_text(path, kept)
    return found


def _no_recording(path: Path, lines: int) -> BreadError:
    return BreadError(
        f"{path.name} holds no recording.",
        code="CASSETTE_BROKEN",
        why=f"of {lines:,} line{'' if lines == 1 else 's'} none is one, so none was "
        "taken out.",
        do="take the file from git again, or delete it and record anew",
        context={"file": path.name, "line": 0},
    )


def _is_recording(line: str) -> bool:
    found = _object(line)
    return found is not None and found.get("kind") in _KINDS and "key" in found


def _readable(line: str) -> Json | None:
    found = _object(line)
    if found is None:
        return None
    asked = found.get("asked" if found.get("kind") == "call" else "question")
    return found if found.get("key") == key_of(asked) else None


def _object(line: str) -> Json | None:
    try:
        value: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("Json", value) if isinstance(value, dict) else None


def _without_repeats(read: Sequence[tuple[str, Json]]) -> Iterator[str]:
    answers: dict[str, set[str]] = {}
    for line, value in read:
        answers.setdefault(str(value["key"]), set()).add(line)
    said: set[str] = set()
    for line, value in read:
        alone = len(answers[str(value["key"])]) == 1
        if not (alone and line in said):
            yield line
        said.add(line)
