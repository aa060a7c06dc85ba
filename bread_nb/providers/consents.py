"""What a person decided about a call that waited, and what came of it.

A cassette keeps both, so that a replay neither asks nor runs the tool. A decision made
by a cell of the notebook is left to that cell: it comes again when the cell is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

from bread_nb.base.redact import Redactor
from bread_nb.providers.asked import Names, key_of
from bread_nb.providers.shelf import Line
from bread_nb.providers.tape import to_line

__all__ = ["By", "Consent", "Question", "consent_of", "question_of"]

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
    """A line as a decision."""
    value = line.value
    asked, number = value.get("question"), value.get("number")
    outcome = value.get("outcome")
    return Consent(
        question=Question(
            asked=asked if isinstance(asked, dict) else {},
            number=number if isinstance(number, int) else 1,
        ),
        answer=value.get("answer"),
        by="cell" if value.get("by") == "cell" else "person",
        outcome=outcome if isinstance(outcome, dict) else {},
        place=f"{file}:{line.number}",
    )
