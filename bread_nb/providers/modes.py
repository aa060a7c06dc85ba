"""How models are called: live, recorded, replayed, or as it turns out.

Who says so, the first that speaks: `%bread mode`, `BREAD_MODE`, and where neither does,
`CI` and `PYTEST_CURRENT_TEST`, which mean replay. The default is auto.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal, cast, get_args

from bread_nb.errors import BreadError, closest

__all__ = ["MODES", "Mode", "ModeName", "decide", "in_ci", "mode_named"]

ModeName = Literal["live", "record", "replay", "auto"]
MODES = get_args(ModeName)

_NOTHING = ("", "0", "false", "no", "off")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """A mode and who chose it.

    Args:
        name: `live`, `record`, `replay` or `auto`.
        said_by: Such as `BREAD_MODE`, `%bread mode`, `CI`; empty for the default.
        implied: Whether it was concluded from where the process runs.
    """

    name: ModeName = "auto"
    said_by: str = ""
    implied: bool = False


def decide(environ: Mapping[str, str] | None = None) -> Mode:
    """The mode that the environment asks for.

    Raises:
        BreadError: `INVALID_MODE`, or `RECORD_REFUSED` in CI.
    """
    env = os.environ if environ is None else environ
    said, ci = env.get("BREAD_MODE", "").strip(), env.get("CI", "")
    return _decided(said, ci, bool(not said and env.get("PYTEST_CURRENT_TEST")))


@cache
def _decided(said: str, ci: str, in_pytest: bool) -> Mode:
    """The mode, made once for what the environment says: it is asked at each call."""
    if said:
        return mode_named(said.lower(), "BREAD_MODE", {"CI": ci})
    if in_ci({"CI": ci}):
        return Mode(name="replay", said_by="CI", implied=True)
    if in_pytest:
        return Mode(name="replay", said_by="PYTEST_CURRENT_TEST", implied=True)
    return Mode()


def mode_named(
    name: str, said_by: str, environ: Mapping[str, str] | None = None
) -> Mode:
    """The mode of this name.

    Raises:
        BreadError: `INVALID_MODE`, or `RECORD_REFUSED` in CI.
    """
    if name not in MODES:
        near = closest(name, MODES)
        raise BreadError(
            f"There is no mode {name!r}.",
            code="INVALID_MODE",
            why=f"{said_by} takes live, record, replay or auto.",
            do=_say(said_by, near or "auto"),
        )
    if name == "record" and in_ci(environ):
        raise BreadError(
            "Nothing is recorded in CI.",
            code="RECORD_REFUSED",
            why=f"CI is set, and {said_by} says record.",
            do="record on your own machine and commit the cassette; "
            f"here {_say(said_by, 'replay')}",
        )
    return Mode(name=cast("ModeName", name), said_by=said_by)


def _say(said_by: str, name: str) -> str:
    """How the mode is said instead, by whoever said it."""
    if said_by.endswith("=)"):
        return f'{said_by[:-1]}"{name}")'
    if said_by.startswith("--"):
        return f"BREAD_MODE={name}"
    return f"{said_by}={name}" if said_by.isupper() else f"{said_by} {name}"


def in_ci(environ: Mapping[str, str] | None = None) -> bool:
    """Whether this is an unattended build."""
    env = os.environ if environ is None else environ
    return env.get("CI", "").strip().lower() not in _NOTHING
