"""`%bread mode`: how models are called here, who says so, and from which files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from bread_nb.errors import BreadError
from bread_nb.notebook.parsing import first_word, usage
from bread_nb.notebook.stage import Stage
from bread_nb.providers.deck import Deck
from bread_nb.providers.modes import MODES
from bread_nb.providers.shelf import cassettes, read_lines

__all__ = ["mode_command"]

_MEANINGS = {
    "live": "models are called.",
    "record": "models are called, and what they say is recorded.",
    "replay": "no model is called; recordings answer.",
    "auto": "recordings answer what they have; the model is called for the rest.",
}


def mode_command(stage: Stage, rest: str) -> None:
    """Say the mode, or take another one for this kernel.

    Raises:
        BreadError: `USAGE`, or `RECORD_REFUSED` in CI.
    """
    word, after = first_word(rest)
    name = after.strip()
    if word and word not in MODES:
        raise usage(
            f"There is no mode {word!r}.",
            f"the modes are {', '.join(MODES)}.",
            "%bread mode replay",
        )
    if name and word != "record":
        raise usage(
            f"%bread mode {word} takes no {name.split()[0]!r}.",
            "only a recording has a name.",
            f"%bread mode {word}",
        )
    if word:
        stage.take_mode(word, name or None)
    stage.say(_described(stage.deck, fresh=bool(word)))


def _described(deck: Deck, *, fresh: bool) -> str:
    mode = deck.mode
    says = "" if fresh else f" Said by {mode.said_by}." if mode.said_by else ""
    lines = [f"{mode.name}: {_MEANINGS[mode.name]}{says}"]
    if mode.name == "record":
        lines.append(_target(deck))
    elif mode.name != "live":
        lines += [_counted(path) for path in cassettes(Path.cwd())] or [
            "There is no recording in this folder. Make one: %bread mode record NAME"
        ]
    return "\n".join(lines)


def _target(deck: Deck) -> str:
    try:
        name = deck.target().name
    except BreadError as error:
        return f"{error.what} {error.do}"
    return f"Into {name}, which begins anew with the first thing recorded."


def _counted(path: Path) -> str:
    try:
        kinds = Counter(str(line.value.get("kind")) for line in read_lines(path))
    except BreadError as error:
        return f"{path.name}: {error.what} {error.do}"
    calls, asked = kinds["call"], kinds["decision"]
    told = [f"{calls} call{'' if calls == 1 else 's'}"]
    if asked:
        told.append(f"{asked} decision{'' if asked == 1 else 's'}")
    return f"{path.name}: {', '.join(told)}"
