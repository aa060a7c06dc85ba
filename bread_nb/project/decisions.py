"""Answers given before they are asked for, where nobody sits at the page.

A decision file is a YAML mapping from a tool's name (`*` for any other) to `approve`,
`deny`, an answer, or a list of these that is used up in order:

    publish: [deny, approve]
    approve: {answer: go ahead}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import yaml
from pydantic import JsonValue

from bread_nb.base.wire import read_json
from bread_nb.base.yaml_text import read_yaml
from bread_nb.errors import BreadError
from bread_nb.runtime.outcome import PendingCall

__all__ = [
    "Decisions",
    "answer_options",
    "answer_words",
    "as_answer",
    "refusal",
    "resume_line",
    "typed_answer",
]

_EXAMPLE = "for example a line publish: approve"
_JSON_BEGINS = ("{", "[", '"')
_OPTIONS = {
    "approval": ('{"approved": true}',),
    "halt": ('{"approved": true}',),
    "input": ('{"answer": …}',),
    "outcome": ('{"happened": true, "result": …}', '{"run": true}', '{"failed": true}'),
}
_ANSWERS = frozenset({"approved", "answer", "declined", "happened", "run", "failed"})


class Decisions:
    """What to answer to each call; it knows which answers are used up.

    Args:
        answers: Answers by the tool's own name; `*` is for any other tool.
        approve: Approve what nothing else is said about.
        deny: The reason to refuse what nothing else is said about; None refuses none.
    """

    def __init__(
        self,
        answers: Mapping[str, JsonValue] | None = None,
        *,
        approve: bool = False,
        deny: str | None = None,
    ) -> None:
        self._left = {
            name: list(value) if isinstance(value, list) else value
            for name, value in (answers or {}).items()
        }
        self._approve = approve
        self._deny = deny

    @staticmethod
    def read(
        path: Path, *, approve: bool = False, deny: str | None = None
    ) -> Decisions:
        """The decisions in a file; the rest as for the class itself.

        Raises:
            BreadError: `INVALID_DECISIONS`, saying what is wrong.
        """
        try:
            found: object = read_yaml(path.read_text("utf-8"))
        except OSError as error:
            raise _bad(path, error.strerror or "it cannot be read") from None
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise _bad(path, " ".join(str(error).split())) from None
        if not isinstance(found, dict):
            raise _bad(path, "it is not a mapping from tools to answers")
        answers = cast("dict[object, JsonValue]", found)
        for name, value in answers.items():
            for item in value if isinstance(value, list) else [value]:
                _check(path, str(name), item)
        named = {str(name): value for name, value in answers.items()}
        return Decisions(named, approve=approve, deny=deny)

    def answer(self, call: PendingCall) -> JsonValue:
        """The answer to a call, or None when a person must be asked."""
        for name in (call.tool, call.tool_name, "*"):
            if name in self._left:
                return _meant(name, self._next(name), call.kind)
        if self._approve and call.kind == "approval":
            return {"approved": True}
        if self._deny is not None and call.kind in ("approval", "input"):
            return refusal(call.kind, self._deny)
        return None

    def _next(self, name: str) -> JsonValue:
        value = self._left[name]
        if not isinstance(value, list):
            return value
        return value.pop(0) if value else None


def refusal(kind: str, reason: str) -> JsonValue:
    """The answer that refuses a call of this kind."""
    word: dict[str, JsonValue] = (
        {"declined": True} if kind == "input" else {"approved": False}
    )
    return {**word, "reason": reason} if reason else word


def as_answer(value: JsonValue) -> JsonValue:
    """A value as an answer: one of the known mappings, or else what was asked for."""
    if isinstance(value, dict) and _ANSWERS & set(value):
        return value
    return {"answer": value}


def typed_answer(kind: str, handle: str, text: str) -> JsonValue:
    """What `--answer` says to a question of this kind.

    It is JSON. A question of a human tool takes plain text as well, unless it begins
    as JSON does, for then it is JSON with a mistake in it.

    Raises:
        BreadError: `USAGE`; the question stays open.
    """
    try:
        value = read_json(text, unique=True)
    except ValueError as error:
        plain = text.strip()
        if kind == "input" and not plain.startswith(_JSON_BEGINS):
            return {"answer": plain}
        raise BreadError(
            "--answer is no JSON.",
            code="USAGE",
            why=f"{error}; {handle} still waits.",
            do=resume_line(kind, handle, as_json=True),
        ) from None
    return as_answer(value) if kind == "input" else value


def answer_options(kind: str) -> Sequence[str]:
    """What `--answer` may say to a question of this kind; … stands for a value."""
    return _OPTIONS[kind]


def resume_line(kind: str, handle: str, *, as_json: bool = False) -> str:
    """The line that answers a question of this kind.

    Args:
        kind: The kind of the question.
        handle: Its handle.
        as_json: Whether to say it with `--answer` where a shorter option does, too.
    """
    begin, options = f"%bread resume {handle}", answer_options(kind)
    if kind in ("approval", "halt") and not as_json:
        return f"{begin} --approve"
    first, *others = (f"'{option}'" for option in options)
    return f"{begin} --answer {first}" + (f", or {', '.join(others)}" if others else "")


def answer_words(kind: str, answer: JsonValue) -> str:
    """What is being done with an answer, in a word."""
    match answer:
        case {"approved": True} if kind != "input":
            return "Approving"
        case {"declined": True} if kind == "input":
            return "Declining"
        case _ if kind == "approval":
            return "Refusing"
        case _:
            return "Answering"


def _meant(name: str, value: JsonValue, kind: str) -> JsonValue:
    match value, kind:
        case None, _:
            return None
        case "approve", "approval" | "halt":
            return {"approved": True}
        case "deny", _:
            return refusal(kind, "")
        case "run" | "failed", "outcome":
            return {str(value): True}
        case str(), "approval" | "halt":
            raise BreadError(
                f"The decision about {name} can be read in no way.",
                code="INVALID_DECISIONS",
                why=f"{value!r} is neither approve nor deny; the call still waits.",
                do=f"for example a line {name}: approve",
            )
        case _:
            return as_answer(value)


def _check(path: Path, name: str, value: JsonValue) -> None:
    if value is None or isinstance(value, bool):
        why = f"{name}: {value!r} is neither approve nor deny nor an answer"
        raise _bad(path, why)


def _bad(path: Path, why: str) -> BreadError:
    return BreadError(
        f"{path} is no decision file.",
        code="INVALID_DECISIONS",
        why=f"{why}.",
        do=_EXAMPLE,
    )
