"""`%bread` lines, read by hand: a first word, options, and the rest as it stands.

Nothing is expanded: braces, dollars and percent signs are what they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from bread_nb.errors import BreadError, closest
from bread_nb.project.reserved import COMMANDS, LATER

__all__ = [
    "COMMANDS",
    "EVAL_OPTIONS",
    "LATER",
    "RUN_OPTIONS",
    "Options",
    "RunLine",
    "fill_in",
    "first_word",
    "identifier",
    "missing_name",
    "money",
    "read_options",
    "read_run",
    "unknown",
    "unquoted",
    "usage",
    "without_marker",
]

RUN_OPTIONS = ("session", "model", "with", "out")
LATER_OPTIONS = ("skill", "budget")
RUN_FLAGS = ("template", "discard")
EVAL_OPTIONS = (
    "model",
    "repeat",
    "concurrency",
    "budget",
    "tag",
    "pass-rate",
    "baseline",
    "out",
)

_MARKER = re.compile(r"\A[ \t]*#[ \t]*NBVAL_[^\n]*(?:\n|\Z)")
_PLACE = re.compile(r"\{\{[ \t]*([^\W\d]\w*)[ \t]*\}\}")
_QUOTES = "\"'"


@dataclass(slots=True)
class Options:
    """The options of a line, by name, and the text after them, untouched."""

    values: dict[str, str] = field(default_factory=dict[str, str])
    flags: set[str] = field(default_factory=set[str])
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """How an agent is to be run; `text` is the input where it stands on the line."""

    agent: str
    text: str
    session: str | None = None
    skill: str | None = None
    model: str | None = None
    budget: float | None = None
    names: tuple[str, ...] = ()
    template: bool = False
    discard: bool = False
    out: str | None = None


def usage(what: str, why: str, do: str) -> BreadError:
    """The error for a line that cannot be meant so."""
    return BreadError(what, code="USAGE", why=why, do=do)


def first_word(line: str) -> tuple[str, str]:
    """The first word of a line and what follows it."""
    found = re.match(r"\s*(\S*)[^\S\n]*", line)
    assert found is not None
    return found[1], line[found.end() :]


def read_options(
    line: str,
    *,
    values: Iterable[str] = (),
    flags: Iterable[str] = (),
    rest_of: Iterable[str] = (),
    later: Iterable[str] = (),
) -> Options:
    """The options at the beginning of a line; `--` ends them.

    Args:
        line: The line after its first word.
        values: Options with a value.
        flags: Options without one.
        rest_of: Options whose value is all that follows.
        later: Options with a value that are read, to be refused as not available yet;
            nobody is told of them.

    Raises:
        BreadError: `USAGE` for an option that is not known or lacks its value.
    """
    found = Options()
    values, flags, rest_of, later = map(set, (values, flags, rest_of, later))
    rest = line.lstrip()
    while rest.startswith("--"):
        name, rest = _option(rest)
        if not name:
            found.text = rest.removeprefix(" ")
            return found
        if name in flags:
            found.flags.add(name)
        elif name in rest_of:
            found.values[name] = unquoted(rest.removeprefix("=").lstrip())
            return found
        elif name in values or name in later:
            found.values[name], rest = _value(name, rest)
        else:
            raise unknown(name, [*values, *flags, *rest_of])
        rest = rest.lstrip()
    found.text = rest
    return found


def _option(rest: str) -> tuple[str, str]:
    found = re.match(r"--([^\s=]*)", rest)
    assert found is not None
    return found[1], rest[found.end() :]


def _value(name: str, rest: str) -> tuple[str, str]:
    rest = rest.removeprefix("=").lstrip()
    if rest[:1] in _QUOTES and rest[:1]:
        end = rest.find(rest[0], 1)
        if end > 0:
            return rest[1:end], rest[end + 1 :]
    found = re.match(r"(\S*)\s?", rest)
    assert found is not None
    value, after = found[1], rest[found.end() :]
    if not value or value.startswith("--"):
        raise usage(
            f"--{name} needs a value.", "there is none behind it.", f"--{name} VALUE"
        )
    return value, after


def unknown(name: str, known: Iterable[str]) -> BreadError:
    """The error for an option that is not known."""
    names = sorted(known)
    near = closest(name, names)
    listed = ", ".join(f"--{n}" for n in names) or "none"
    do = f"--{near}" if near else "put -- before text that begins with --"
    return usage(f"There is no option --{name}.", f"the options are {listed}.", do)


def read_run(agent: str, rest: str, *, body: bool) -> RunLine:
    """The line of a run.

    Args:
        agent: Its first word.
        rest: What follows it.
        body: Whether a cell body is the input, so that no text may stand on the line.

    Raises:
        BreadError: `USAGE`.
    """
    options = read_options(
        rest, values=RUN_OPTIONS, flags=RUN_FLAGS, later=LATER_OPTIONS
    )
    text = unquoted(options.text)
    if body and text.strip():
        raise usage(
            "There is text on the line and in the cell.",
            f"the cell is the input of %%bread, and the line says {text[:40]!r} too.",
            f"%bread {agent} with the text on the line, or all of it in the cell",
        )
    values = options.values
    return RunLine(
        agent=agent,
        text=text,
        session=values.get("session"),
        skill=values.get("skill"),
        model=values.get("model"),
        budget=money(values.get("budget")),
        names=_names(values.get("with")),
        template="template" in options.flags,
        discard="discard" in options.flags,
        out=identifier("out", values.get("out")),
    )


def unquoted(text: str) -> str:
    """A text without one pair of quotes around it."""
    bare = text.strip()
    if len(bare) >= 2 and bare[0] == bare[-1] and bare[0] in _QUOTES:
        return bare[1:-1]
    return text


def money(value: str | None) -> float | None:
    """The amount that `--budget` is given.

    Raises:
        BreadError: `USAGE`.
    """
    if value is None:
        return None
    try:
        amount = float(value.removeprefix("$"))
    except ValueError:
        amount = -1.0
    if not 0 < amount < float("inf"):
        raise usage(
            f"--budget {value} is no amount.",
            "it is in USD, and more than 0.",
            "--budget 1.50",
        )
    return amount


def _names(value: str | None) -> tuple[str, ...]:
    if value is None:
        return ()
    names = [name.strip() for name in value.split(",")]
    return tuple(str(identifier("with", name)) for name in names if name)


def identifier(option: str, value: str | None) -> str | None:
    """The name of a variable that an option is given.

    Raises:
        BreadError: `USAGE`.
    """
    if value is not None and not value.isidentifier():
        raise usage(
            f"--{option} {value} is no name.",
            "it has to be the name of a variable.",
            f"--{option} result",
        )
    return value


def without_marker(body: str) -> str:
    """A cell body without the marker for nbval that may stand on its first line."""
    return _MARKER.sub("", body, count=1)


def fill_in(text: str, values: dict[str, object]) -> str:
    """A text with each `{{name}}` filled in once; what is filled in stays as it is.

    Raises:
        BreadError: `NAME_NOT_FOUND` with the nearest name there is.
    """

    def value(found: re.Match[str]) -> str:
        if found[1] in values:
            return str(values[found[1]])
        raise missing_name(found[1], values)

    return _PLACE.sub(value, text)


def missing_name(name: str, known: Iterable[str]) -> BreadError:
    """The error for a variable that is not there."""
    near = closest(name, [k for k in known if not k.startswith("_")])
    return BreadError(
        f"There is no variable {name!r}.",
        code="NAME_NOT_FOUND",
        why="this notebook has not made one of that name"
        + (f"; {near!r} is near." if near else "."),
        do=f"run the cell that makes {name}, then this one again",
        context={"name": name},
    )
