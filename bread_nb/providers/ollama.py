"""The Ollama dialect: `/api/chat` of a server on this machine or another.

Settings go into the request's `options`, where `max_tokens` is another word for
`num_predict` and `stop_sequences` for `stop`; `think`, `keep_alive` and the like go to
the top of the request. A tool cannot be forced here: `tool_choice` is said in words.
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any, cast

from pydantic import JsonValue

from bread_nb.base.wire import dumps
from bread_nb.messages import (
    File,
    Message,
    Native,
    Reasoning,
    StopReason,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
)
from bread_nb.providers.client import Call
from bread_nb.providers.dialect import Dialect, bearer
from bread_nb.providers.encoding import (
    IMAGES,
    beside,
    body,
    empty_request,
    encode,
    file_words,
    held,
    keep_encoded,
    kind_of,
    pictures_again,
    readable,
    result_words,
)
from bread_nb.providers.faults import variable
from bread_nb.providers.fitting import as_instruction, object_schema
from bread_nb.providers.keys import Access, access
from bread_nb.providers.lines import Halves, count, fields
from bread_nb.providers.model import (
    CallEnd,
    CallFragment,
    CallStart,
    Delta,
    Finish,
    ModelRequest,
    ReasoningChunk,
    ReasoningEnd,
    TextChunk,
    UsageReport,
)
from bread_nb.providers.naming import CallIds, originals, wire_id, wire_name
from bread_nb.providers.pace import CALL_SETTINGS

__all__ = ["Ollama", "OllamaParser"]

Wire = dict[str, JsonValue]

PROVIDER = "ollama"

_URL = "http://localhost:11434"
_AT_TOP = frozenset(
    {"think", "keep_alive", "logprobs", "top_logprobs", "truncate", "shift"}
)
_OWN_SETTINGS = CALL_SETTINGS | _AT_TOP | {"max_tokens", "stop_sequences", "options"}
_STOPS: dict[str, StopReason] = {"stop": "end_turn", "length": "max_tokens"}
_THOUGHT: JsonValue = {"field": "thinking"}


class Ollama(Dialect):
    """A model that an Ollama server runs; it needs no key."""

    free = True
    provider = PROVIDER
    wire = "ollama"
    home = ""

    def _place(self, request: ModelRequest) -> Access:
        given = os.environ.get(variable(PROVIDER, "BASE_URL"))
        return access(
            PROVIDER,
            base_url=self.described.base_url or given or _URL,
            key=self.described.api_key,
            default_url=self.home,
            agent=request.agent_id,
        )

    def _url(self, base_url: str) -> str:
        return f"{base_url.removesuffix('/v1').removesuffix('/api')}/api/chat"

    def _headers(
        self, key: str | None, settings: Mapping[str, JsonValue]
    ) -> dict[str, str]:
        return {**bearer(key), "accept": "application/x-ndjson"}

    def _parser(self, request: ModelRequest, call: Call) -> OllamaParser:
        return OllamaParser(
            model=self._model,
            names=originals(request.tools),
            ids=CallIds(request.messages),
        )

    def encode(self, request: ModelRequest, settings: Mapping[str, JsonValue]) -> bytes:
        """The body of a request.

        Raises:
            BreadError: `INVALID_INPUT` when there is nothing to send.
        """
        wanted = request.output_schema
        words = [request.system, as_instruction(wanted) if wanted else ""]
        offered = request.tools
        if offered and (choice := request.tool_choice):
            named = [tool for tool in offered if tool.name == choice]
            offered = tuple(named) or offered
            words.append(_asked(named))
        sent: Wire = {"model": self._model, "stream": True}
        if offered:
            sent["tools"] = [_tool(tool) for tool in offered]
        elif wanted:
            # A format holds every answer to it, calls included.
            sent["format"] = wanted
        options = _options(settings)
        sent["options"] = options or None
        sent |= {key: value for key, value in settings.items() if key in _AT_TOP}
        said = [
            kept
            for message in pictures_again(request.messages, request.blobs)
            if (kept := keep_encoded(message, self._key, request.blobs, self._wire))
        ]
        if not said:
            raise empty_request(PROVIDER)
        if system := "\n\n".join(filter(str.strip, words)):
            said.insert(0, encode({"role": "system", "content": system}))
        return body(sent, said)

    def _wire(
        self, message: Message, blobs: Mapping[str, bytes]
    ) -> Iterator[JsonValue]:
        """A message as the messages it is here."""
        if message.role == "tool":
            for part in message.parts:
                if isinstance(part, ToolResult):
                    yield _result(part)
            if shown := beside(message):
                # A model sees what a tool shows when the user shows it.
                yield from self._wire(Message("user", shown), blobs)
            return
        words, images = _said(message, blobs)
        sent: Wire = {"role": message.role, "content": words}
        if images:
            sent["images"] = images
        if calls := message.calls:
            sent["tool_calls"] = [_call(call) for call in calls]
            if thought := "".join(self._thoughts(message)):
                sent["thinking"] = thought
        if words or images or calls:
            yield sent

    def _thoughts(self, message: Message) -> Iterator[str]:
        """What this model thought; it is sent back beside the calls it led to."""
        for part in message.parts:
            native = part.native if isinstance(part, Reasoning) else None
            if native and (native.provider, native.model) == (PROVIDER, self._model):
                assert isinstance(part, Reasoning)
                yield part.text


class OllamaParser:
    """Makes deltas of the lines of one answer.

    Args:
        model: The model that was asked; its reasoning is marked with it.
        names: Each tool's own name by the name it was sent under.
        ids: Where calls get their ids.
    """

    def __init__(self, *, model: str, names: Mapping[str, str], ids: CallIds) -> None:
        self.done = False
        self._asked = model
        self._model: str | None = None
        self._names = names
        self._ids = ids
        self._calls = 0
        self._thinking = False
        self._text = Halves()
        self._thought = Halves()
        self._reason = ""

    def read(self, event: dict[str, JsonValue]) -> list[Delta] | None:
        """The deltas of one line."""
        data = cast("dict[str, Any]", event)
        deltas: list[Delta] = []
        self._model = data.get("model") or self._model
        message = fields(data.get("message"))
        if thought := self._thought.join(message.get("thinking") or ""):
            self._thinking = True
            deltas.append(ReasoningChunk(thought))
        if content := message.get("content"):
            self._end_thinking(deltas)
            if text := self._text.join(content):
                deltas.append(TextChunk(text))
        for item in message.get("tool_calls") or ():
            self._end_thinking(deltas)
            self._call(item.get("id"), item["function"], deltas)
        if data["done"]:
            self._reason = data.get("done_reason") or "stop"
            self._count(data, deltas)
            self.done = True
        return deltas

    def close(self) -> list[Delta] | None:
        """What is left to say when the stream has ended."""
        if not self._reason:
            return None
        deltas: list[Delta] = []
        self._end_thinking(deltas)
        if half := self._text.end():
            deltas.append(TextChunk(half))
        stop = _STOPS.get(self._reason)
        if stop == "end_turn" and self._calls:
            stop = "tool_use"
        deltas.append(Finish(stop, self._model))
        return deltas

    def _end_thinking(self, deltas: list[Delta]) -> None:
        if not self._thinking:
            return
        self._thinking = False
        if half := self._thought.end():
            deltas.append(ReasoningChunk(half))
        deltas.append(ReasoningEnd(Native(PROVIDER, self._asked, _THOUGHT)))

    def _call(
        self, identifier: str | None, function: dict[str, Any], deltas: list[Delta]
    ) -> None:
        number, self._calls = self._calls, self._calls + 1
        name = self._names.get(function["name"], function["name"])
        deltas.append(CallStart(number, self._ids.unique(identifier), name))
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            deltas.append(CallFragment(number, arguments))
        elif arguments:
            deltas.append(CallFragment(number, dumps(arguments)))
        deltas.append(CallEnd(number))

    def _count(self, data: dict[str, Any], deltas: list[Delta]) -> None:
        total = count(data.get("prompt_eval_count"))
        made = count(data.get("eval_count"))
        read = min(count(data.get("prompt_eval_cached_count")), total)
        if total or made:
            usage = Usage(input=total - read, output=made, cache_read=read)
            deltas.append(UsageReport(usage))


def _said(message: Message, blobs: Mapping[str, bytes]) -> tuple[str, list[JsonValue]]:
    """The words of a message, and its images."""
    words: list[str] = []
    images: list[JsonValue] = []
    for part in message.parts:
        if isinstance(part, Text):
            words.append(part.text)
        elif isinstance(part, File):
            data = held(part, blobs)
            if message.role == "assistant":
                words.append(file_words(part))
            elif data is not None and kind_of(part) in IMAGES:
                images.append(b64encode(data).decode())
            else:
                words.append(readable(part, data))
    text = "".join(words)
    return (text if text.strip() else ""), images


def _call(call: ToolCall) -> JsonValue:
    function: Wire = {"name": wire_name(call.name), "arguments": call.args}
    return {"id": wire_id(call.id), "function": function}


def _result(result: ToolResult) -> JsonValue:
    return {
        "role": "tool",
        "content": result_words(result, marked=True),
        "tool_name": wire_name(result.name),
        "tool_call_id": wire_id(result.call_id),
    }


def _tool(tool: ToolSpec) -> JsonValue:
    function: Wire = {
        "name": wire_name(tool.name),
        "description": tool.description,
        "parameters": object_schema(tool.parameters),
    }
    return {"type": "function", "function": function}


def _asked(named: list[ToolSpec]) -> str:
    which = wire_name(named[0].name) if named else "one of the tools"
    return f"Answer by calling {which}."


def _options(settings: Mapping[str, JsonValue]) -> Wire:
    out = {k: v for k, v in settings.items() if k not in _OWN_SETTINGS}
    out.setdefault("num_predict", settings.get("max_tokens"))
    out.setdefault("stop", settings.get("stop_sequences"))
    if isinstance(out["stop"], str):
        out["stop"] = [out["stop"]]
    out |= cast("Wire", fields(settings.get("options")))
    return {key: value for key, value in out.items() if value is not None}
