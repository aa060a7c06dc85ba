"""Completions on the `%bread` line: commands, agents, options, handles of runs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from IPython.core import completer
from IPython.core.completer import (
    CompletionContext,
    SimpleCompletion,
    SimpleMatcherResult,
)

from bread_nb.notebook.parsing import (
    COMMANDS,
    EVAL_OPTIONS,
    RUN_FLAGS,
    RUN_OPTIONS,
)

__all__ = ["Known", "complete", "matcher"]

_LINE = re.compile(r"\s*%{1,2}bread\s+(.*)", re.DOTALL)
_OPTIONS = tuple(f"--{name}" for name in (*RUN_OPTIONS, *RUN_FLAGS))
_MORE = {
    "resume": ("--approve", "--deny", "--answer"),
    "runs": ("--all",),
    "eval": tuple(f"--{name}" for name in EVAL_OPTIONS),
    "mode": ("live",),
    "gate": ("drop",),
    "cost": ("--by", "--all"),
    "doctor": ("--last", "--reach"),
}
_SUITES = (".py", ".yaml", ".yml")
_NAMED = ("show", "resume", "recover", "cancel")


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Where the names come from; each is asked when it is needed."""

    agents: Callable[[], Iterable[str]]
    handles: Callable[[], Iterable[str]]


def complete(line: str, known: Known) -> list[str] | None:
    """What may stand at the end of a line; None when it is not for us.

    Args:
        line: The first line of a cell, up to the cursor.
        known: The names there are.
    """
    found = _LINE.fullmatch(line)
    if found is None:
        return None
    words = found[1].split(" ")
    before, here = [word for word in words[:-1] if word], words[-1]
    if not before:
        options = [*known.agents(), *COMMANDS]
    elif before[0] in COMMANDS:
        options = list(_MORE.get(before[0], ()))
        if before[0] == "eval" and not here.startswith("-"):
            options = [*known.agents(), *_paths(here)]
        if before[0] in _NAMED and len(before) == 1:
            options = [*known.handles(), "last", *options]
    elif here.startswith("-"):
        options = [o for o in _OPTIONS if o not in before]
    else:
        return None
    return [option for option in options if option.startswith(here)]


def _paths(here: str) -> list[str]:
    """Folders, and files that may hold suites, whose path begins so."""
    folder, name = os.path.split(here)
    try:
        found = sorted(Path(folder or ".").iterdir())
    except OSError:
        return []
    hidden = (".", "_")
    return [
        os.path.join(folder, path.name) + (os.sep if path.is_dir() else "")
        for path in found
        if path.name.startswith(name) and not path.name.startswith(hidden)
        if path.is_dir() or path.suffix in _SUITES
    ]


def matcher(known: Known) -> Callable[[CompletionContext], SimpleMatcherResult]:
    """A matcher for IPython's completer; it is silent below the first line."""

    def bread_matcher(context: CompletionContext) -> SimpleMatcherResult:
        line = context.full_text.split("\n", 1)[0][: context.cursor_position]
        found = complete(line, known) if context.cursor_line == 0 else None
        if found is None:
            return SimpleMatcherResult(completions=[])
        word = line.rpartition(" ")[2]
        return SimpleMatcherResult(
            completions=[SimpleCompletion(text, type="bread") for text in found],
            matched_fragment=word,
            suppress=True,
        )

    as_matcher = cast("Any", completer).context_matcher
    return as_matcher(identifier="bread")(bread_matcher)
