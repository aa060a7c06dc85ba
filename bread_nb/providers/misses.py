"""A request without a recording: which one is nearest, and where they part first."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from pydantic import JsonValue

from bread_nb.base.wire import canonical
from bread_nb.errors import BreadError
from bread_nb.providers.consents import Consent
from bread_nb.providers.modes import Mode, in_ci
from bread_nb.providers.shelf import SUFFIX
from bread_nb.providers.tape import Recording

__all__ = ["Asker", "first_difference", "miss", "undecided"]

Json = dict[str, JsonValue]

_ORDER = ("model", "system", "schema", "choice", "settings", "tools", "messages")
_WORDS = {
    "model": "the model",
    "system": "the system prompt",
    "schema": "the output schema",
    "choice": "the tool to choose",
    "settings": "the settings",
}
_SHOWN = 60
_COMPARED = 4_000
_WINDOW = 200
_PIECES = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Where a request came from, which decides how it is recorded.

    Args:
        cell: Whether it was a cell, whose kernel begins a cassette anew.
        notebook: The notebook's name, where it is known.
        suite: Whether a suite is evaluated.
        named: Whether it is known what to record into.
    """

    cell: bool = False
    notebook: str | None = None
    suite: bool = False
    named: bool = False


def miss(
    asked: Json, known: Sequence[Recording], mode: Mode, folder: str, asker: Asker
) -> BreadError:
    """The error for a request that no recording answers.

    Args:
        asked: The request.
        known: All recordings there are.
        mode: The mode, and who asked for it.
        folder: Where the recordings were looked for.
        asker: Where the request came from.
    """
    near = _nearest(asked, known)
    if near is None:
        why = f"there is no recording in {folder}"
    else:
        why = f"nearest: {near.place}; {first_difference(asked, near.asked)}"
    by = f"replay is on because {mode.said_by} is set"
    name = near.place.partition(SUFFIX)[0] if near is not None else ""
    return BreadError(
        "Not in the recording.",
        code="REPLAY_MISS",
        why=f"{why}{f' ({by})' if mode.implied else ''}.",
        do=_mend(mode, asker, name),
        context={"nearest": near.place if near else None, "mode": mode.name},
    )


def undecided(
    handle: str, asked: Json, known: Sequence[Consent], mode: Mode, asker: Asker
) -> BreadError:
    """The error for a recorded call about which no decision is recorded.

    Args:
        handle: The question's handle.
        asked: What is asked about the call.
        known: All decisions there are.
        mode: The mode, and who asked for it.
        asker: Where the answer came from.
    """

    def nearness(consent: Consent) -> int:
        said = consent.question.asked
        return sum(said.get(name) == asked.get(name) for name in ("agent", "args"))

    tool = asked.get("tool")
    same = [each for each in known if each.question.asked.get("tool") == tool]
    near = max(same, key=nearness, default=None)
    why = f"a recording asked for this call of {tool}, and a replay runs no tool "
    why += "that waits for a person; "
    if near is None:
        why += f"no decision about {tool} is recorded"
    else:
        why += f"nearest: {near.place}; {_other_question(asked, near.question.asked)}"
    name = near.place.partition(SUFFIX)[0] if near is not None else ""
    return BreadError(
        f"The recording has no decision about {handle}.",
        code="REPLAY_MISS",
        why=f"{why}.",
        do=_mend(mode, asker, name),
        context={"nearest": near.place if near else None, "mode": mode.name},
    )


def _other_question(asked: Json, recorded: Json) -> str:
    """Where two questions part first."""
    words = {"agent": "the agent", "args": "the arguments", "kind": "the question"}
    for name, where in words.items():
        if asked.get(name) != recorded.get(name):
            return _said(where, asked.get(name), recorded.get(name))
    return "it is the answer to another question"


def _mend(mode: Mode, asker: Asker, name: str) -> str:
    """How the request gets into a recording without the others getting lost.

    A kernel begins its cassette anew, so all of its cells have to be run.
    """
    if mode.said_by.endswith("=)"):
        says = mode.said_by[:-1]
        record, live = f'{says}"record"), and run it again', f'{says}"live")'
    elif asker.cell and not _unattended(asker):
        into = "" if asker.named else f" {name or 'NAME'}"
        record, live = f"%bread mode record{into}, run all cells", "%bread mode live"
    else:
        record, live = _command(asker, name), "BREAD_MODE=live"
    if in_ci():
        return f"on your own machine {record}; commit the cassette"
    return f"{record}, look at the diff; or {live}"


def _unattended(asker: Asker) -> bool:
    """Whether nobody sits before the cell: in a build, or a test of its notebook."""
    tested = asker.notebook and os.environ.get("PYTEST_CURRENT_TEST")
    return in_ci() or bool(tested)


def _command(asker: Asker, name: str) -> str:
    """What is typed in a terminal to record."""
    if asker.suite:
        return "bread eval --record"
    if notebook := asker.notebook or (name and _beside(name)):
        return f"bread refresh --record {notebook}"
    if asker.cell:
        return "bread refresh --record NOTEBOOK"
    into = "" if asker.named else f" BREAD_CASSETTE={name or 'NAME'}"
    return f"BREAD_MODE=record{into}, and run it again"


def _beside(name: str) -> str | None:
    notebook = f"{name}.ipynb"
    return notebook if Path(notebook).is_file() else None


def _nearest(asked: Json, known: Sequence[Recording]) -> Recording | None:
    return max(known, key=lambda each: _nearness(asked, each.asked), default=None)


def _nearness(asked: Json, other: Json) -> tuple[int, int, float]:
    """How many messages agree from the start, how many other parts, and how nearly."""
    mine, theirs = _messages(asked), _messages(other)
    common = 0
    for one, two in zip(mine, theirs, strict=False):
        if one != two:
            break
        common += 1
    parts = sum(asked.get(name) == other.get(name) for name in _ORDER[:-1])
    same_length = len(mine) == len(theirs)
    left = canonical([asked.get("system"), mine[common:]])[:_COMPARED]
    right = canonical([other.get("system"), theirs[common:]])[:_COMPARED]
    likeness = SequenceMatcher(None, left, right, autojunk=False).quick_ratio()
    return 2 * common + parts + same_length, common, likeness


def _messages(asked: Json) -> list[JsonValue]:
    found = asked.get("messages")
    return found if isinstance(found, list) else []


# -- the first difference --------------------------------------------------------------


def first_difference(asked: Json, recorded: Json) -> str:
    """Where two requests part first, and what each side says there."""
    for name in _ORDER:
        mine, theirs = asked.get(name), recorded.get(name)
        if mine == theirs:
            continue
        if name == "messages":
            return _message_difference(_listed(mine), _listed(theirs))
        if name == "tools":
            return _tool_difference(_listed(mine), _listed(theirs))
        return _said(_WORDS[name], mine, theirs)
    return "the recording was made by another version"


def _listed(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _tool_difference(mine: list[JsonValue], theirs: list[JsonValue]) -> str:
    ours, other = _by_name(mine), _by_name(theirs)
    for name in ours:
        if name not in other:
            return f"the tool {name} is offered, and was not when it was recorded"
    for name in other:
        if name not in ours:
            return f"the tool {name} is not offered, and was when it was recorded"
    for name, tool in ours.items():
        for part, word in (("description", "description"), ("parameters", "schema")):
            if tool.get(part) != other[name].get(part):
                return _said(
                    f"the {word} of tool {name}", tool.get(part), other[name].get(part)
                )
    return "the tools are offered in another order"


def _by_name(tools: list[JsonValue]) -> dict[str, Json]:
    return {str(t.get("name")): t for t in tools if isinstance(t, dict)}


def _message_difference(mine: list[JsonValue], theirs: list[JsonValue]) -> str:
    for number, (one, two) in enumerate(zip(mine, theirs, strict=False), start=1):
        if one == two:
            continue
        role, said = _speaker(one)
        other, recorded = _speaker(two)
        if role != other:
            return f"message {number} is the {role}'s, recorded the {other}'s"
        return _said(f"message {number} ({role})", said, recorded)
    return f"it has {_count(len(mine))}, the recording {_count(len(theirs))}"


def _count(messages: int) -> str:
    return f"{messages} message{'' if messages == 1 else 's'}"


def _speaker(message: JsonValue) -> tuple[str, JsonValue]:
    if isinstance(message, dict) and len(message) == 1:
        [(role, said)] = message.items()
        return role, said
    return "user", message


@dataclass(frozen=True, slots=True)
class _Part:
    line: int
    mine: str
    theirs: str


def _said(where: str, mine: JsonValue, theirs: JsonValue) -> str:
    """What both sides say at the first place where they differ."""
    where, mine, theirs = _deeper(where, mine, theirs)
    if not isinstance(mine, str) or not isinstance(theirs, str):
        return f"{where} is {_short(mine)}, recorded {_short(theirs)}"
    part = _first_part(mine, theirs)
    if "\n" in mine or "\n" in theirs:
        where = f"line {part.line} of {where}"
    return f"{where} says {part.mine!r}, recorded {part.theirs!r}"


def _deeper(
    where: str, mine: JsonValue, theirs: JsonValue
) -> tuple[str, JsonValue, JsonValue]:
    """The innermost place of two values of one shape at which they differ."""
    while True:
        match mine, theirs:
            case dict(), dict():
                names = sorted({*mine, *theirs})
                name = next(n for n in names if mine.get(n) != theirs.get(n))
                where, mine, theirs = (
                    f"{where}, {name}",
                    mine.get(name),
                    theirs.get(name),
                )
            case list(), list() if len(mine) == len(theirs):
                place = next(i for i, v in enumerate(mine) if v != theirs[i])
                where = f"{where}, part {place + 1}"
                mine, theirs = mine[place], theirs[place]
            case _:
                return where, mine, theirs


def _first_part(mine: str, theirs: str) -> _Part:
    """The first words that differ, with the number of their line from 1."""
    ours, other = _PIECES.findall(mine), _PIECES.findall(theirs)
    start = 0
    for one, two in zip(ours, other, strict=False):
        if one != two:
            break
        start += 1
    line = "".join(ours[:start]).count("\n") + 1
    left, right = ours[start : start + _WINDOW], other[start : start + _WINDOW]
    ops = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    _, a, b, c, d = next(op for op in ops if op[0] != "equal")
    if a == b or c == d:
        # Something was put in or left out: the next word shows where.
        b, d = b + 2, d + 2
    return _Part(line, _phrase(left[a:b]), _phrase(right[c:d]))


def _phrase(pieces: Iterable[str]) -> str:
    """A few words, up to the end of their line."""
    text = ""
    for piece in pieces:
        if "\n" in piece or len(text) >= _SHOWN:
            break
        text += piece
    return text[:_SHOWN].strip()


def _short(value: JsonValue) -> str:
    if value is None:
        return "left out"
    text = canonical(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
