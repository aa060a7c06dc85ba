"""Every sentence we say, from one catalogue that the widget reads too.

`words.json` has the groups `kernel` (said here) and `view` (said by the page). A
sentence is whole: it has named places, and where a number is in it a form for one and
for others. `**bold**` and `` `code` `` are the only marks in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, cast

from bread_nb.a2ui.figures import count

__all__ = ["Piece", "phrase", "say"]

Places = Mapping[str, str | int]
Style = Literal["", "strong", "code"]
_Entry = str | dict[str, str]

_MARKS = re.compile(r"(\*\*|`|\{[a-z_]+\})")
_STYLES: dict[str, Style] = {"**": "strong", "`": "code"}


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a sentence in one style."""

    text: str
    style: Style = ""


def say(key: str, places: Places | None = None) -> str:
    """The sentence `key` with its places filled; its marks stay as they are."""
    shown = _shown(places or {})
    return "".join(
        shown[part[1:-1]] if part.startswith("{") else part
        for part in _MARKS.split(_template(key, places or {}))
    )


def phrase(key: str, places: Places | None = None) -> list[Piece]:
    """The sentence `key` in pieces, for whoever draws its marks."""
    shown = _shown(places or {})
    style: Style = ""
    pieces: list[Piece] = []
    for part in _MARKS.split(_template(key, places or {})):
        if part in _STYLES:
            style = "" if style else _STYLES[part]
            continue
        text = shown[part[1:-1]] if part.startswith("{") else part
        if text:
            pieces.append(Piece(text, style))
    return pieces


def _shown(places: Places) -> dict[str, str]:
    return {
        name: count(value) if isinstance(value, int) else value
        for name, value in places.items()
    }


def _template(key: str, places: Places) -> str:
    entry = _catalogue()[key]
    if isinstance(entry, str):
        return entry
    return entry["one"] if places.get("n") == 1 else entry["other"]


@cache
def _catalogue() -> dict[str, _Entry]:
    text = (files("bread_nb.a2ui") / "words.json").read_text(encoding="utf-8")
    return cast("dict[str, _Entry]", json.loads(text)["kernel"])
