"""Tools for models that have none: each reply is one JSON object, held to a schema.

The tools are told in the system prompt, calls and results of the conversation as
words. A reply names a tool and its arguments, or `answer` and the text. Nothing is
guessed: what is no whole call is words, or a call with broken arguments.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import cast

from pydantic import JsonValue

from bread_nb.base.wire import dumps
from bread_nb.messages import (
    File,
    Message,
    Part,
    Text,
    ToolCall,
    ToolResult,
)
from bread_nb.providers.encoding import result_words
from bread_nb.providers.fitting import object_schema
from bread_nb.providers.json_replies import Reply
from bread_nb.providers.lines import fields
from bread_nb.providers.model import (
    Delta,
    Finish,
    ModelRequest,
    Restart,
    TextChunk,
    Wrapper,
    closing,
)
from bread_nb.providers.naming import CallIds

__all__ = ["JsonTools"]

_RULES = """\
You have tools. Each of your replies is one JSON object and nothing else: no words
around it, no code fence. To call a tool, reply

{"name": "TOOL", "arguments": {…}}

Its result comes in the next message. Never make up what a tool would give. When you
need no tool, or no more of them, reply

{"name": "%s", "arguments": %s}

The tools, with the JSON Schema of their arguments:"""
_MUST = "This reply has to call %s."


class JsonTools(Wrapper):
    """A model without tools of its own, made to call them in JSON."""

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """Ask, and stream the answer with its calls."""
        if request.settings.get("tools") == "json":
            rest = {k: v for k, v in request.settings.items() if k != "tools"}
            request = replace(request, settings=rest)
        if not (request.tools or any(m.calls for m in request.messages)):
            return self.inner.stream(request)
        return self._called(request)

    async def _called(self, request: ModelRequest) -> AsyncIterator[Delta]:
        ids, ending = CallIds(request.messages), _ending(request)
        reply = Reply(ending, ids, bare=request.output_schema is not None)
        async with closing(self.inner.stream(_shaped(request))) as deltas:
            async for delta in deltas:
                match delta:
                    case TextChunk(text=text):
                        for said in reply.read(text):
                            yield said
                    case Finish():
                        for said in reply.end(delta):
                            yield said
                    case Restart():
                        reply = Reply(ending, ids, bare=reply.bare)
                        yield delta
                    case _:
                        yield delta


def _ending(request: ModelRequest) -> str:
    """The name that stands for an answer; none of the tools has it."""
    names = {tool.name for tool in request.tools}
    return next(name for name in ("answer", "final_answer", "") if name not in names)


def _shaped(request: ModelRequest) -> ModelRequest:
    """The request in words, its reply held to a schema."""
    if not request.tools:
        return replace(request, messages=_told(request.messages), tool_choice=None)
    words = "\n\n".join(filter(str.strip, (request.system, _manifest(request))))
    return replace(
        request,
        system=words,
        messages=_told(request.messages),
        tools=(),
        tool_choice=None,
        output_schema=_envelope(request),
    )


def _manifest(request: ModelRequest) -> str:
    ending = _ending(request)
    lines = [_RULES % (ending, dumps(_answer(request)[1]))]
    for tool in request.tools:
        told: JsonValue = {
            "name": tool.name,
            "description": tool.description,
            "arguments": object_schema(tool.parameters),
        }
        lines.append(dumps(told))
    if request.tool_choice is not None:
        one = request.tool_choice
        lines.append(_MUST % ("a tool" if one == "required" else one))
    return "\n".join(lines)


def _answer(request: ModelRequest) -> tuple[dict[str, JsonValue], JsonValue]:
    """The schema of an answer's arguments, and what they look like."""
    wanted = request.output_schema
    if wanted is None:
        return _object({"text": {"type": "string"}}), {"text": "…"}
    return _object({"value": wanted}), {"value": "…"}


def _object(properties: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return {
        "type": "object",
        "properties": properties,
        "required": cast("JsonValue", list(properties)),
        "additionalProperties": False,
    }


def _envelope(request: ModelRequest) -> dict[str, JsonValue]:
    """The schema of a reply: one of the tools, or the answer."""
    tools = list(request.tools)
    choice = request.tool_choice
    if choice is not None:
        tools = [tool for tool in tools if tool.name == choice] or tools
    parts = [(tool.name, object_schema(tool.parameters)) for tool in tools]
    if choice is None:
        parts.append((_ending(request), _answer(request)[0]))
    shared: dict[str, JsonValue] = {}
    branches = [_hoisted(schema, n, shared) for n, (_, schema) in enumerate(parts)]
    names: JsonValue = {"type": "string", "enum": [name for name, _ in parts]}
    given: JsonValue = {"anyOf": cast("JsonValue", branches)}
    if len(branches) == 1:
        given = branches[0]
    out = _object({"name": names, "arguments": given})
    return {**out, "$defs": shared} if shared else out


def _hoisted(
    schema: dict[str, JsonValue], number: int, shared: dict[str, JsonValue]
) -> dict[str, JsonValue]:
    """A schema with its definitions moved to `shared`, under names of their own."""
    for key in ("$defs", "definitions"):
        for name, value in fields(schema.get(key)).items():
            shared[f"{number}_{name}"] = _referred(value, number)
    rest = {k: v for k, v in schema.items() if k not in ("$defs", "definitions")}
    return cast("dict[str, JsonValue]", _referred(rest, number))


def _referred(value: JsonValue, number: int) -> JsonValue:
    """A part of a schema, its references led to the definitions of this number."""
    if isinstance(value, list):
        return [_referred(item, number) for item in value]
    if not isinstance(value, dict):
        return value
    out = {key: _referred(item, number) for key, item in value.items()}
    reference = out.get("$ref")
    if isinstance(reference, str):
        for place in ("#/$defs/", "#/definitions/"):
            if reference.startswith(place):
                out["$ref"] = f"#/$defs/{number}_{reference.removeprefix(place)}"
    return out


def _told(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """A conversation with its calls and results as words, the speakers in turn."""
    out: list[Message] = []
    for message in messages:
        role = "assistant" if message.role == "assistant" else "user"
        plain = message.role != "tool" and not message.calls
        parts = message.parts if plain else tuple(_words(message))
        if out and out[-1].role == role:
            between = (Text("\n\n"),) if out[-1].parts and parts else ()
            out[-1] = Message(role, (*out[-1].parts, *between, *parts))
        else:
            out.append(message if plain else Message(role, parts))
    return tuple(out)


def _words(message: Message) -> Iterator[Part]:
    """What a message with calls or results says."""
    calls: list[JsonValue] = []
    for part in message.parts:
        match part:
            case ToolCall(name=name, args=args):
                calls.append({"name": name, "arguments": args})
            case ToolResult(name=name, files=files):
                words = result_words(part, marked=True)
                yield Text(f"Result of {name}: {words}\n")
                yield from files
            case Text() | File():
                yield part
            case _:
                pass
    if calls:
        yield Text(dumps(calls[0] if len(calls) == 1 else calls))
