"""Tools for a program that has none: a manifest, an envelope of JSON, and a probe.

Each round is one start of the program, told the whole conversation again. What is
neither a whole envelope nor plain words is a fault: no call is ever guessed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pydantic import JsonValue

from bread_nb.base.wire import dumps
from bread_nb.errors import BreadError, ProviderError
from bread_nb.messages import Message, ToolSpec, user
from bread_nb.providers.fitting import object_schema
from bread_nb.providers.lines import fields

__all__ = [
    "PROBE",
    "PROBE_QUESTION",
    "Asked",
    "check_probe",
    "in_envelope",
    "manifest",
    "probe_messages",
    "read_envelope",
]

_RULES = """\
You have tools. Each of your replies is one JSON object and nothing else: no words
around it, no code fence. It is one of

{"calls": [{"name": "TOOL", "arguments": {…}}]}
{"answer": "TEXT"}

Use "calls" whenever a tool can give what you need; several calls in one reply are
carried out together, and their results come as lines that begin with "Result of".
You cannot see what a tool would give before you call it: never make a result up. Use
"answer" when you are done."""
_MUST = 'This reply has to use "calls".'
_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)\n?```", re.DOTALL)
_LONGEST = 120

PROBE = ToolSpec(
    name="read_register",
    description="Read an entry of the register. Nothing else knows what is in it.",
    parameters={
        "type": "object",
        "properties": {"entry": {"type": "string"}},
        "required": ["entry"],
    },
)
PROBE_QUESTION = (
    'What does entry "oven-4711" of the register say? It is a random word, written '
    "there a minute ago."
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A call as the program wrote it."""

    name: str
    arguments: str


def manifest(tools: Sequence[ToolSpec], choice: str | None = None) -> str:
    """The words that tell of the tools and of the form of a reply.

    Args:
        tools: The tools on offer.
        choice: `required`, or the name of the tool to call.
    """
    listed = [
        {
            "name": tool.name,
            "description": tool.description,
            "parameters": object_schema(tool.parameters),
        }
        for tool in tools
    ]
    words = [_RULES, "The tools:", *(dumps(cast("JsonValue", each)) for each in listed)]
    if choice is not None:
        named = "" if choice == "required" else f" The tool is {choice}."
        words.append(f"{_MUST}{named}")
    return "\n".join(words)


def in_envelope(schema: dict[str, JsonValue]) -> str:
    """The words that ask for an answer of a schema inside the envelope."""
    return f'The value of "answer" is no text but JSON of this schema: {dumps(schema)}'


def read_envelope(text: str) -> str | list[Asked]:
    """What a reply says: calls, or the answer. Plain words are an answer.

    Raises:
        ProviderError: When it is an envelope that is cut or broken.
    """
    found = [each for each in _objects(text) if {"calls", "answer"} & each.keys()]
    if not found:
        if text.lstrip().startswith(("{", "```")) or '"calls"' in text:
            raise _unreadable(text, "it begins like JSON and is none.")
        return text
    envelope = found[0]
    calls = envelope.get("calls")
    if not calls:
        answer = envelope.get("answer", "")
        return answer if isinstance(answer, str) else dumps(cast("JsonValue", answer))
    if not isinstance(calls, list):
        raise _unreadable(text, "its calls are no list.")
    return [_asked(each, text) for each in cast("list[object]", calls)]


def _asked(told: object, text: str) -> Asked:
    call = fields(told)
    name, arguments = call.get("name"), call.get("arguments", {})
    if not isinstance(name, str) or not name:
        raise _unreadable(text, "a call of it names no tool.")
    if isinstance(arguments, str):
        return Asked(name, arguments)
    return Asked(name, dumps(cast("JsonValue", arguments)))


def _objects(text: str) -> Iterator[dict[str, Any]]:
    for piece in (text, *_FENCE.findall(text)):
        try:
            value = json.loads(piece)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield cast("dict[str, Any]", value)


def _unreadable(text: str, why: str) -> ProviderError:
    begun = " ".join(text.split())[:_LONGEST]
    return ProviderError(
        "The program's reply cannot be read.",
        code="STREAM_BROKEN",
        why=f"{why} It begins: {begun}",
        do="run again, or use a larger model",
        retryable=True,
    )


def check_probe(name: str, text: str) -> None:
    """Check that the reply to the probe is a call and no guess.

    Raises:
        BreadError: `TOOLS_NOT_SUPPORTED` when the program answers by itself.
    """
    try:
        said = read_envelope(text)
    except ProviderError:
        said = text
    if not isinstance(said, str):
        [first, *more] = said
        entry = fields(_value(first.arguments)).get("entry")
        if first.name == PROBE.name and entry and not more:
            return
    begun = " ".join(text.split())[:_LONGEST]
    raise BreadError(
        f"The model of {name} cannot use tools this way.",
        code="TOOLS_NOT_SUPPORTED",
        why=f"asked for what only a tool can know, it said: {begun}",
        do="use a larger model, or give the agent no tools",
    )


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None


def probe_messages() -> Iterable[Message]:
    """The conversation of the probe."""
    return (user(PROBE_QUESTION),)
