"""What a person decided about a call that waited, and what came of it.

A cassette keeps both, so that a replay neither asks nor runs the tool. A decision made
by a cell of the notebook is left to that cell: it comes again when the cell is run.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, cast

from pydantic import JsonValue

from bread_nb.base.redact import Redactor
from bread_nb.crumbs import ErrorInfo
from bread_nb.errors import BreadError
from bread_nb.providers.asked import Names, key_of
from bread_nb.providers.shelf import Line
from bread_nb.providers.tape import to_line

__all__ = ["By", "Consent", "Question", "consent_of", "error_of", "question_of"]

Json = dict[str, JsonValue]
By = Literal["cell", "person"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A call that waits: what is asked, and which of equal questions it is, from 1."""

    asked: Json
    number: int = 1

    @property
    def key(self) -> str:
        """The key by which the decision is found."""
        return key_of(self.asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """A decision about a question.

    Args:
        question: What was asked.
        answer: The person's answer.
        by: `cell` when a cell of the notebook gave it.
        outcome: What came of the call, if it ran: its crumbs and its result.
        place: The file and line it was read from.
    """

    question: Question
    answer: JsonValue
    by: By = "person"
    outcome: Json = field(default_factory=dict[str, JsonValue])
    place: str = ""

    def line(self) -> str:
        """The decision as a line of a cassette."""
        return to_line(
            {
                "answer": self.answer,
                "by": self.by,
                "key": self.question.key,
                "kind": "decision",
                "number": self.question.number,
                "outcome": self.outcome,
                "question": self.question.asked,
            }
        )


def question_of(
    agent_id: str,
    tool_name: str,
    args: Mapping[str, JsonValue],
    kind: str,
    redactor: Redactor,
) -> Json:
    """What is asked about a call, in the form by which its decision is found."""
    shown = Names(redactor).value(redactor.value(dict(args)))
    return {"agent": agent_id, "tool": tool_name, "args": shown, "kind": kind}


def consent_of(line: Line, file: str) -> Consent:
    """A line as a decision.

    Raises:
        BreadError: `CASSETTE_BROKEN`, for one that cannot be played.
    """
    place = f"{file}:{line.number}"
    try:
        return _read(line.value, place)
    except (TypeError, ValueError) as error:
        raise BreadError(
            f"{place} cannot be played.",
            code="CASSETTE_BROKEN",
            why=f"{error}.",
            do="take the line from git again, or record it again",
            context={"file": file, "line": line.number},
        ) from None


def _read(value: Json, place: str) -> Consent:
    asked, number = value.get("question"), value.get("number", 1)
    by, outcome = value.get("by", "person"), value.get("outcome", {})
    if not isinstance(asked, dict):
        raise ValueError(f"its question is {_short(asked)}, and no object")
    if not isinstance(number, int) or number < 1:
        raise ValueError(f"its number is {_short(number)}, and no number of a question")
    if by not in ("cell", "person"):
        raise ValueError(f"it was answered by {_short(by)}, neither cell nor person")
    if "answer" not in value:
        raise ValueError("it has no answer")
    if not isinstance(outcome, dict):
        raise ValueError(f"its outcome is {_short(outcome)}, and no object")
    _check_outcome(outcome)
    return Consent(
        question=Question(asked=asked, number=number),
        answer=value["answer"],
        by="cell" if by == "cell" else "person",
        outcome=outcome,
        place=place,
    )


# -- outcomes --------------------------------------------------------------------------

_SHOWN = 60
_ENDS = ("result", "error", "told", "halt")
_TEXTS = ("code", "message", "why", "do")
_FILE = {"uri", "mime_type", "name", "base64", "sha256"}


def _check_outcome(outcome: Json) -> None:
    """Refuse what cannot be played.

    Raises:
        ValueError: Saying what is wrong.
    """
    if outcome and not any(name in outcome for name in _ENDS):
        raise ValueError("its outcome has neither a result nor an error")
    if "error" in outcome:
        error_of(outcome["error"])
    for name in ("halt", "why"):
        if not isinstance(outcome.get(name, ""), str):
            raise ValueError(
                f"{name} of its outcome is {_short(outcome[name])}, and no text"
            )
    for name in ("partial", "files"):
        if not isinstance(outcome.get(name, []), list):
            raise ValueError(
                f"{name} of its outcome is {_short(outcome[name])}, and no list"
            )
    for file in cast("list[JsonValue]", outcome.get("files", [])):
        _check_file(file)


def error_of(value: JsonValue) -> ErrorInfo:
    """The error of an outcome; what was empty has been left out of it.

    Raises:
        ValueError: When it is none, saying why.
    """
    if not isinstance(value, dict):
        raise ValueError(f"its error is {_short(value)}, and no object")
    given: dict[str, Any] = {"code": "", "message": "", **value}
    if unknown := given.keys() - {field.name for field in fields(ErrorInfo)}:
        raise ValueError(f"its error has a field {min(unknown)!r}, which there is not")
    for name in _TEXTS:
        if not isinstance(given.get(name, ""), str):
            raise ValueError(
                f"{name} of its error is {_short(given[name])}, and no text"
            )
    if not isinstance(given.get("retryable", False), bool):
        raise ValueError("retryable of its error is neither true nor false")
    if not isinstance(given.get("context") or {}, dict):
        raise ValueError(
            f"context of its error is {_short(given['context'])}, and no object"
        )
    return ErrorInfo(**given)


def _check_file(file: JsonValue) -> None:
    """Refuse a file that could not be put where files are kept."""
    known = isinstance(file, dict) and file.keys() <= _FILE
    if not isinstance(file, dict) or not known:
        raise ValueError(f"{_short(file)} is no file")
    for name in ("uri", "mime_type", "base64"):
        if not isinstance(file.get(name), str):
            raise ValueError(f"a file of its outcome has no {name}")
    if not isinstance(file.get("name"), str | None):
        raise ValueError(f"the name of a file is {_short(file['name'])}, and no text")
    data = base64.b64decode(str(file["base64"]), validate=True)
    digest = hashlib.sha256(data).hexdigest()
    if file.get("sha256", digest) != digest:
        raise ValueError(f"the bytes of {file['uri']} are not those of its sha256")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
