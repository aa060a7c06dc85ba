"""What a small model is asked, when its template knows no tools.

The host decides the flow and the model fills in. A tool is never left to its choice:
the first one that has no result yet is called, its arguments held to their schema by
a grammar and shown by examples. When every tool has answered, a fresh short chat with
the results alone closes in one sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from pydantic import JsonValue

from bread_nb.base.wire import dumps
from bread_nb.messages import Message, Text, ToolResult, ToolSpec, assistant, user
from bread_nb.providers.encoding import file_words
from bread_nb.providers.grammar import arguments_grammar, fields_of, sentences
from bread_nb.providers.shots import (
    Shot,
    argument_shots,
    closing,
    words_of,
)

__all__ = ["Step", "shape", "with_grammar"]

_CLOSING = "Answer in one short sentence. Use the tool result."
_TO_SCHEMA = "Answer with JSON of this schema: "
_REPEAT_PENALTY = 1.1
_LONGEST_QUESTION = 1200
_ARGUMENT_TOKENS = 512
_CLOSING_TOKENS = 80
_TEXT_TOKENS = 512


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to ask: a short chat, and what holds the answer to its form.

    `tool` is the one whose arguments the answer is; with `fixed` set they are known
    and nothing is asked.
    """

    messages: tuple[Message, ...]
    system: str = ""
    settings: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    tool: ToolSpec | None = None
    fixed: str | None = None


def shape(
    messages: tuple[Message, ...],
    tools: tuple[ToolSpec, ...],
    *,
    system: str = "",
    schema: dict[str, JsonValue] | None = None,
    choice: str | None = None,
) -> Step:
    """The step that is due in a conversation.

    Args:
        messages: The conversation.
        tools: The tools on offer.
        system: The system prompt, for answers without a tool.
        schema: The schema of the final answer, when one is wanted.
        choice: The tool to call, by name, or `required`.
    """
    question, results = _now(messages)
    tool = _due(tools, results, choice)
    if tool is not None:
        return _call(tool, question)
    if results:
        return _close(question, results, schema)
    if schema is not None:
        system = f"{system}\n{_TO_SCHEMA}{dumps(schema)}".strip()
        return Step(_spoken(messages), system, _to_schema(schema))
    return Step(_spoken(messages), system, {"max_tokens": _TEXT_TOKENS})


def _now(messages: tuple[Message, ...]) -> tuple[str, list[ToolResult]]:
    """What the user asked last, and the results that came since."""
    question, results = "", list[ToolResult]()
    for message in messages:
        if message.role == "user" and (words := _words(message)).strip():
            question, results = words, []
        elif message.role == "tool":
            results += [p for p in message.parts if isinstance(p, ToolResult)]
    return question[:_LONGEST_QUESTION], results


def _due(
    tools: tuple[ToolSpec, ...], results: list[ToolResult], choice: str | None
) -> ToolSpec | None:
    used = {result.name for result in results}
    for tool in tools:
        if tool.name == choice or (
            tool.name not in used and choice in (None, "required")
        ):
            return tool
    return None


def _call(tool: ToolSpec, question: str) -> Step:
    fields = fields_of(tool.parameters)
    if not fields:
        return Step((), tool=tool, fixed="{}")
    told = tool.description.strip().partition("\n")[0]
    names = " and ".join(fields)
    system = f"{told or words_of(tool.name)}\nAnswer with JSON that holds {names}."
    settings: dict[str, JsonValue] = {"max_tokens": _ARGUMENT_TOKENS}
    if grammar := arguments_grammar(tool.parameters, question):
        settings["grammar"] = grammar
    else:
        settings = _to_schema(tool.parameters)
    return Step(_chat(argument_shots(tool), question), system, settings, tool)


def _close(
    question: str, results: list[ToolResult], schema: dict[str, JsonValue] | None
) -> Step:
    *shots, (asked, _) = closing(question, results)
    if schema is not None:
        told = f"{_TO_SCHEMA}{dumps(schema)}"
        return Step((user(asked),), told, _to_schema(schema))
    settings: dict[str, JsonValue] = {"max_tokens": _CLOSING_TOKENS, "stop": ["\n"]}
    return Step(_chat(shots, asked), _CLOSING, settings)


def _chat(shots: list[Shot], question: str) -> tuple[Message, ...]:
    told: list[Message] = []
    for asked, answered in shots:
        told += (user(asked), assistant(Text(answered)))
    return (*told, user(question))


def _spoken(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The words of a conversation, without its calls and results."""
    return tuple(
        Message(message.role, (Text(words),))
        for message in messages
        if message.role != "tool" and (words := _words(message)).strip()
    )


def _words(message: Message) -> str:
    """What a message says; a file is its name, the model sees nothing else of it."""
    pieces = [*map(file_words, message.files), message.text]
    return "\n".join(piece for piece in pieces if piece.strip())


def _to_schema(schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
    named = {"name": "answer", "schema": schema}
    wanted = {"type": "json_schema", "json_schema": cast("JsonValue", named)}
    return {"max_tokens": _ARGUMENT_TOKENS, "response_format": wanted}


def with_grammar(settings: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The settings of a plain answer, the name of a grammar replaced by the grammar.

    Without a grammar a penalty on repetition lets a small model come to an end.
    """
    named = settings.get("grammar")
    if named is None:
        return {"repeat_penalty": _REPEAT_PENALTY, **settings}
    made = sentences(named) if isinstance(named, str) else None
    return {**settings, "grammar": made or named}
