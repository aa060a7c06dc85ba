"""The events of a Chat Completions stream, from any host, as deltas.

Hosts differ: indexes, ids and names of calls may be missing or come twice, usage may
come in any chunk, reasoning has three spellings. What comes out is always the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from bread_nb.base.wire import dumps
from bread_nb.messages import Native, StopReason, Usage
from bread_nb.providers.chat_files import Speech, picture
from bread_nb.providers.faults import status_fault
from bread_nb.providers.lines import Halves, count, fields, parse_json
from bread_nb.providers.model import (
    CallEnd,
    CallFragment,
    CallStart,
    Delta,
    Finish,
    ReasoningChunk,
    ReasoningEnd,
    TextChunk,
    UsageReport,
)
from bread_nb.providers.naming import CallIds
from bread_nb.providers.rates import reported, served_as

__all__ = ["ChatParser", "reasoning_back"]

# What a service sends may have any shape; a wrong one is a broken stream.
_Json = Any

_STOPS: dict[str, StopReason] = {
    "stop": "end_turn",
    "end_turn": "end_turn",
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
    "model_length": "context_exceeded",
}
_FAILED = ("error", "insufficient_system_resource")


@dataclass(slots=True)
class _Call:
    """A call as far as it has come."""

    number: int
    given_id: str
    name: str = ""
    text: list[str] = field(default_factory=list[str])
    sent: int = 0
    started: bool = False
    halves: Halves = field(default_factory=Halves)

    @property
    def whole(self) -> bool:
        """Whether the argument text is a JSON value already."""
        try:
            parse_json("".join(self.text).encode("utf-8", "surrogatepass"))
        except ValueError:
            return False
        return True


class ChatParser:
    """Makes deltas of the chunks of one answer.

    Args:
        provider: The provider that native blocks are marked with.
        model: The model that was asked, for the same purpose.
        names: Each tool's own name by the name it was sent under.
        ids: Where calls get their ids.
    """

    def __init__(
        self, *, provider: str, model: str, names: Mapping[str, str], ids: CallIds
    ) -> None:
        self.done = False
        self._provider = provider
        self._asked = model
        self._model: str | None = None
        self._names = names
        self._ids = ids
        self._calls: list[_Call] = []
        self._places: dict[int, _Call] = {}
        self._text = Halves()
        self._thought = Halves()
        self._thinking = False
        self._kept: list[str] = []
        self._details: list[dict[str, _Json]] = []
        self._usage: UsageReport | None = None
        self._terms: dict[str, JsonValue] = {}
        self._reason: str | None = None
        self._refused = False
        self._speech = Speech()

    def read(self, event: dict[str, JsonValue]) -> list[Delta] | None:
        """The deltas of one chunk."""
        chunk: dict[str, _Json] = event
        deltas: list[Delta] = []
        if model := chunk.get("model"):
            self._model = model
        if tier := chunk.get("service_tier"):
            self._terms = served_as(service_tier=tier)
        for choice in chunk.get("choices") or ():
            if choice.get("index"):
                continue
            if delta := choice.get("delta") or choice.get("message"):
                self._delta(delta, deltas)
            if reason := choice.get("finish_reason"):
                if reason in _FAILED:
                    raise status_fault(self._provider, 500, kind=reason)
                self._reason = reason
        if usage := chunk.get("usage") or fields(chunk.get("x_groq")).get("usage"):
            self._count(usage, deltas)
        return deltas

    def close(self) -> list[Delta] | None:
        """What is left to say when the stream has ended."""
        if self._reason is None and not self.done:
            return None
        deltas: list[Delta] = []
        self._end_thinking(deltas)
        if half := self._text.end():
            deltas.append(TextChunk(half))
        if spoken := self._speech.file():
            deltas.append(spoken)
        for call in self._calls:
            call.text.append(call.halves.end())
            self._start(call, deltas)
            deltas.append(CallEnd(call.number))
        deltas.append(Finish(self._stop(), self._model))
        return deltas

    def _stop(self) -> StopReason | None:
        stop = _STOPS.get(self._reason or "")
        return "refusal" if stop == "end_turn" and self._refused else stop

    def _delta(self, delta: dict[str, _Json], deltas: list[Delta]) -> None:
        if thought := delta.get("reasoning_content") or delta.get("reasoning"):
            self._think(thought, deltas)
            if "reasoning_content" in delta:
                self._kept.append(thought)
        if details := delta.get("reasoning_details"):
            self._thinking = True
            for detail in details:
                self._keep(detail)
        if content := delta.get("content"):
            if isinstance(content, str):
                self._say(content, deltas)
            else:
                self._blocks(content, deltas)
        if refusal := delta.get("refusal"):
            self._refused = True
            self._say(refusal, deltas)
        if "audio" in delta or "images" in delta:
            self._show(delta, deltas)
        for item in delta.get("tool_calls") or ():
            self._called(item, deltas)

    def _show(self, delta: dict[str, _Json], deltas: list[Delta]) -> None:
        """Speech and pictures."""
        if spoken := self._speech.hear(fields(delta.get("audio"))):
            self._say(spoken, deltas)
        for block in delta.get("images") or ():
            if shown := picture(block):
                self._end_thinking(deltas)
                deltas.append(shown)

    def _blocks(self, blocks: list[dict[str, _Json]], deltas: list[Delta]) -> None:
        """Content as a list of blocks, as Mistral's reasoning models send it."""
        for block in blocks:
            if block["type"] == "thinking":
                for piece in block["thinking"]:
                    self._think(piece["text"], deltas)
            elif block["type"] == "text":
                self._say(block["text"], deltas)
            elif shown := picture(block):
                deltas.append(shown)

    def _think(self, text: str, deltas: list[Delta]) -> None:
        self._thinking = True
        if text := self._thought.join(text):
            deltas.append(ReasoningChunk(text))

    def _say(self, text: str, deltas: list[Delta]) -> None:
        if self._thinking:
            self._end_thinking(deltas)
        if text := self._text.join(text):
            deltas.append(TextChunk(text))

    def _end_thinking(self, deltas: list[Delta]) -> None:
        if not self._thinking:
            return
        if half := self._thought.end():
            deltas.append(ReasoningChunk(half))
        block: dict[str, _Json] = {}
        if self._details:
            block["reasoning_details"] = list(self._details)
        elif self._kept:
            block["reasoning_content"] = "".join(self._kept)
        native = Native(self._provider, self._asked, block) if block else None
        deltas.append(ReasoningEnd(native))
        self._thinking = False
        self._kept.clear()
        self._details.clear()

    def _keep(self, detail: dict[str, _Json]) -> None:
        """Keep a piece of native reasoning, joined to the piece it goes on from."""
        last = self._details[-1] if self._details else {}
        same = all(last.get(k) == detail.get(k) for k in ("type", "index"))
        if not (last and same and last.get("type") != "reasoning.encrypted"):
            self._details.append(dict(detail))
            return
        for key, value in detail.items():
            if key in ("text", "summary") and value:
                last[key] = (last.get(key) or "") + value
            elif value is not None:
                last[key] = value

    def _called(self, item: dict[str, _Json], deltas: list[Delta]) -> None:
        function = fields(item.get("function"))
        name: str = function.get("name") or ""
        call = self._which(item.get("index"), item.get("id") or "", name)
        call.name = call.name or name
        if text := function.get("arguments"):
            if not isinstance(text, str):
                text = dumps(text)
            call.text.append(call.halves.join(text))
        if call.name:
            if self._thinking:
                self._end_thinking(deltas)
            self._start(call, deltas)

    def _which(self, place: int | None, identifier: str, name: str) -> _Call:
        """The call that a piece belongs to; a new one where it belongs to none."""
        if place is not None:
            call = self._places.get(place)
        elif identifier:
            call = next((c for c in self._calls if c.given_id == identifier), None)
        else:
            call = self._calls[-1] if self._calls else None
        if call is None or self._another(call, identifier, name):
            call = _Call(len(self._calls), identifier)
            self._calls.append(call)
        if place is not None:
            self._places[place] = call
        call.given_id = call.given_id or identifier
        return call

    @staticmethod
    def _another(call: _Call, identifier: str, name: str) -> bool:
        """Whether a named piece begins a call of its own at a place in use."""
        if not name or not call.name:
            return False
        if identifier and call.given_id:
            return identifier != call.given_id
        return not identifier and call.whole

    def _start(self, call: _Call, deltas: list[Delta]) -> None:
        """Say what is known of a call and was not said yet."""
        if not call.started:
            call.started = True
            name = self._names.get(call.name, call.name)
            identifier = self._ids.unique(call.given_id)
            deltas.append(CallStart(call.number, identifier, name))
        fresh = call.text[call.sent :]
        deltas.extend(CallFragment(call.number, text) for text in fresh if text)
        call.sent = len(call.text)

    def _count(self, usage: dict[str, _Json], deltas: list[Delta]) -> None:
        found = UsageReport(
            _usage(usage), reported(usage), {**self._terms, **_sounds(usage)}
        )
        if found != self._usage:
            self._usage = found
            deltas.append(found)


def _sounds(usage: dict[str, _Json]) -> dict[str, JsonValue]:
    """The tokens that were sound, which have prices of their own."""
    heard = fields(usage.get("prompt_tokens_details")).get("audio_tokens")
    spoken = fields(usage.get("completion_tokens_details")).get("audio_tokens")
    told = {"input_audio_tokens": count(heard), "output_audio_tokens": count(spoken)}
    return {name: number for name, number in told.items() if number}


def _usage(usage: dict[str, _Json]) -> Usage:
    """The tiers of a usage object, each token counted once."""
    prompt = count(usage.get("prompt_tokens"))
    details = fields(usage.get("prompt_tokens_details"))
    read = details.get("cached_tokens") or usage.get("prompt_cache_hit_tokens")
    read = min(count(read), prompt)
    write = count(details.get("cache_write_tokens"))
    if read + write > prompt:
        # OpenRouter tells some tokens as written and as read again; they count once.
        write = 0
    made = fields(usage.get("completion_tokens_details"))
    return Usage(
        input=prompt - read - write,
        output=count(usage.get("completion_tokens")),
        cache_read=read,
        cache_write=write,
        reasoning=count(made.get("reasoning_tokens")),
    )


def reasoning_back(block: JsonValue, *, with_calls: bool) -> dict[str, JsonValue]:
    """What of a kept block goes back: bare reasoning only beside its calls."""
    kept = ("reasoning_details", "reasoning_content")[: 2 if with_calls else 1]
    return {key: value for key, value in fields(block).items() if key in kept}
