"""What a call would touch, declared by its tool.

A field names the argument that holds the value: `Write(path="dest")` says that the
tool writes the file named by its argument `dest`. Where the value is made of arguments,
the field is a function of them: `Write(path=lambda args: f"posts/{args['title']}.md")`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import TypeAlias

from pydantic import JsonValue

__all__ = [
    "Defer",
    "Effect",
    "Net",
    "Pure",
    "Read",
    "Shell",
    "Spawn",
    "Unknown",
    "Write",
    "effect_words",
    "touched",
]


Argument: TypeAlias = str | Callable[[Mapping[str, JsonValue]], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shell:
    """Runs a command: `command` names the argument with its text or argv."""

    command: Argument


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """Reads a file: `path` names the argument."""

    path: Argument


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """Writes or deletes a file: `path` names the argument."""

    path: Argument


@dataclass(frozen=True, slots=True, kw_only=True)
class Net:
    """Sends to the network: `url` names the argument with the address or host."""

    url: Argument | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spawn:
    """Starts another agent or process: `target` names the argument."""

    target: Argument | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Defer:
    """Leaves an action for later: `action` names the argument."""

    action: Argument | None = None


@dataclass(frozen=True, slots=True)
class Pure:
    """Touches nothing outside its own computation."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody said what it touches."""


Effect = Shell | Read | Write | Net | Spawn | Defer | Pure | Unknown

_WORDS: dict[type, str] = {
    Shell: "Runs a command",
    Read: "Reads a file",
    Write: "Writes a file",
    Net: "Sends to the network",
    Spawn: "Starts another program or agent",
    Defer: "Leaves an action for later",
    Pure: "Touches nothing outside itself",
    Unknown: "Nobody declared what it touches",
}


def touched(effect: Effect, args: Mapping[str, JsonValue]) -> str | None:
    """The value of the argument the effect names, or makes of the arguments, as text.

    A function that cannot make anything of them says nothing: the form is shown for
    whatever a model asks, and shows the arguments in any case.
    """
    for item in fields(effect):
        named: Argument | None = getattr(effect, item.name)
        value = _made(named, args) if callable(named) else args.get(named or "")
        if value is not None:
            return value if isinstance(value, str) else str(value)
    return None


def _made(
    make: Callable[[Mapping[str, JsonValue]], str], args: Mapping[str, JsonValue]
) -> str | None:
    try:
        return make(args)
    except (AttributeError, LookupError, TypeError, ValueError):
        return None


def effect_words(effect: Effect, args: Mapping[str, JsonValue]) -> str:
    """The effect as a sentence, such as `Writes a file (out/report.md).`"""
    words = _WORDS[type(effect)]
    target = touched(effect, args)
    return f"{words} ({target})." if target else f"{words}."
