"""From an exception in a user's file to file, line, reason and mend."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, replace
from pathlib import Path

from bread_nb.errors import BreadError

__all__ = ["Place", "Trouble", "diagnose", "trouble"]

_LONGEST = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where code was being loaded: the file in `folder`, whose project is `root`.

    `package` is the private name under which the folder is imported.
    """

    root: Path
    folder: Path
    file: str
    package: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """What is wrong with a file, in words."""

    what: str
    why: str
    mend: str
    file: str
    line: int | None = None


def diagnose(error: BaseException, place: Place) -> Trouble:
    """Say where a file went wrong, why, and what to do about it."""
    if isinstance(error, SyntaxError) and error.filename:
        path = Path(error.filename)
        if _is_own(path, place.root):
            there = (_shown(path, place), error.lineno)
            return trouble(place, "does not parse", error.msg, spot=there)
    spot = _innermost(error, place)
    if isinstance(error, BreadError):
        found = trouble(place, "cannot be used", _merged(error), spot=spot)
        advice = f": {error.do}" if error.do else ""
        return replace(found, mend=f"{found.mend}{advice}")
    name = type(error).__name__
    why = str(error) or f"a bare {name}"
    return trouble(place, f"raises {name}", why, spot=spot)


def trouble(
    place: Place,
    verb: str,
    why: str,
    *,
    spot: tuple[str, int | None] | None = None,
) -> Trouble:
    """A trouble in words: the file, what it does wrong, and the reason.

    Args:
        place: The file.
        verb: What is wrong with it, such as `does not parse`.
        why: The reason.
        spot: Another file and the line in it.
    """
    file, line = spot or (_file_of(place), None)
    where = f"{file} line {line}" if line else file
    return Trouble(
        what=f"{where} {verb}.",
        why=_sentence(_plain(why, place)),
        mend=f"mend line {line}" if line else f"mend {file}",
        file=file,
        line=line,
    )


def _innermost(error: BaseException, place: Place) -> tuple[str, int | None]:
    """The last frame of the traceback that is inside the folder."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if _is_own(path, place.folder):
            return _shown(path, place), frame.lineno
    named = error.context.get("file") if isinstance(error, BreadError) else None
    return _file_of(replace(place, file=str(named)) if named else place), None


def _is_own(path: Path, folder: Path) -> bool:
    """Whether a file is in a folder, and not in an environment that is there too."""
    return path.is_relative_to(folder) and "site-packages" not in path.parts


def _merged(error: BreadError) -> str:
    """What and why of an error in one sentence."""
    return f"{error.what.rstrip('.')}: {error.why}" if error.why else error.what


def _plain(text: str, place: Place) -> str:
    """A message on one line, without private names and paths of this machine."""
    if place.package:
        text = text.replace(f"{place.package}.", ".")
        text = text.replace(place.package, place.folder.name)
    text = text.replace(f"{place.root}/", "")
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def _file_of(place: Place) -> str:
    return _shown(place.folder / place.file, place)


def _shown(path: Path, place: Place) -> str:
    try:
        return path.relative_to(place.root).as_posix()
    except ValueError:
        return str(path)
