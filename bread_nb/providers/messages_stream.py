"""The events of an Anthropic Messages stream as deltas.

Usage figures in later events are totals and replace the earlier ones. Blocks that
only the API itself understands are put together and kept as they came.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast, get_args

from pydantic import JsonValue

from bread_nb.base.wire import dumps
from bread_nb.messages import Native, StopReason, Usage
from bread_nb.providers.lines import Halves, count, fields, parse_json, whole
from bread_nb.providers.model import (
    CallEnd,
    CallFragment,
    CallStart,
    Delta,
    Finish,
    NativeBlock,
    ReasoningChunk,
    ReasoningEnd,
    TextChunk,
    UsageReport,
)
from bread_nb.providers.naming import CallIds
from bread_nb.providers.rates import reported, served_as

__all__ = ["MessagesParser"]

_STOPS: dict[str, StopReason] = {
    **{reason: reason for reason in cast("tuple[StopReason]", get_args(StopReason))},
    "model_context_window_exceeded": "context_exceeded",
}


@dataclass(slots=True)
class _Block:
    """A content block as far as it has come."""

    start: dict[str, Any]
    call: int = -1
    text: list[str] = field(default_factory=list[str])
    signature: list[str] = field(default_factory=list[str])
    halves: Halves = field(default_factory=Halves)

    @property
    def kind(self) -> str:
        return str(self.start["type"])


class MessagesParser:
    """Makes deltas of the events of one answer.

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
        self._calls = 0
        self._blocks: dict[int, _Block] = {}
        self._figures: dict[str, Any] = {}
        self._usage: UsageReport | None = None
        self._reason: str | None = None
        self._cut = False

    def read(self, event: dict[str, JsonValue]) -> list[Delta] | None:
        """The deltas of one event."""
        deltas: list[Delta] = []
        data = cast("dict[str, Any]", event)
        match data["type"]:
            case "content_block_delta":
                self._piece(self._blocks[data["index"]], data["delta"], deltas)
            case "content_block_start":
                self._begin(data["index"], data["content_block"], deltas)
            case "content_block_stop":
                self._end(self._blocks.pop(data["index"]), deltas)
            case "message_start":
                self._model = data["message"].get("model")
                self._count(data["message"].get("usage"), deltas)
            case "message_delta":
                self._reason = data["delta"].get("stop_reason") or self._reason
                self._count(data.get("usage"), deltas)
            case "message_stop":
                self.done = True
            case "message":
                self._message(data, deltas)
            case "ping":
                return None
            case _:
                pass
        return deltas

    def close(self) -> list[Delta] | None:
        """What is left to say when the stream has ended."""
        if not self.done:
            return None
        deltas: list[Delta] = []
        for block in self._blocks.values():
            self._end(block, deltas)
        if self._cut and self._reason != "max_tokens":
            raise ValueError("the input of a block is no JSON")
        deltas.append(Finish(_STOPS.get(self._reason or ""), self._model))
        return deltas

    def _message(self, data: dict[str, Any], deltas: list[Delta]) -> None:
        """A whole message, from a host that does not stream."""
        self._model = data.get("model")
        for index, start in enumerate(data["content"]):
            self._begin(index, start, deltas)
            self._end(self._blocks.pop(index), deltas)
        self._count(data.get("usage"), deltas)
        self._reason = data.get("stop_reason")
        self.done = True

    def _begin(self, index: int, start: dict[str, Any], deltas: list[Delta]) -> None:
        block = self._blocks[index] = _Block(start)
        match block.kind:
            case "tool_use":
                block.call, self._calls = self._calls, self._calls + 1
                name = self._names.get(start["name"], start["name"])
                identifier = self._ids.unique(start.get("id"))
                deltas.append(CallStart(block.call, identifier, name))
            case "text" | "thinking":
                key = block.kind
                if text := start.get(key):
                    self._piece(block, {"type": f"{key}_delta", key: text}, deltas)
            case _:
                pass

    def _piece(self, block: _Block, delta: dict[str, Any], deltas: list[Delta]) -> None:
        match delta["type"]:
            case "text_delta":
                if text := block.halves.join(delta["text"]):
                    deltas.append(TextChunk(text))
            case "thinking_delta":
                block.text.append(delta["thinking"])
                if text := block.halves.join(delta["thinking"]):
                    deltas.append(ReasoningChunk(text))
            case "input_json_delta":
                block.text.append(delta["partial_json"])
                text = block.halves.join(delta["partial_json"])
                if text and block.call >= 0:
                    deltas.append(CallFragment(block.call, text))
            case "signature_delta":
                block.signature.append(delta["signature"])
            case _:
                pass

    def _end(self, block: _Block, deltas: list[Delta]) -> None:
        half = block.halves.end()
        match block.kind:
            case "text":
                if half:
                    deltas.append(TextChunk(half))
            case "thinking":
                if half:
                    deltas.append(ReasoningChunk(half))
                thought = _thought(block)
                signed = thought.get("signature") != ""
                deltas.append(ReasoningEnd(self._native(thought) if signed else None))
            case "tool_use":
                if half:
                    deltas.append(CallFragment(block.call, half))
                if block.start.get("input") and not any(block.text):
                    text = dumps(block.start["input"])
                    deltas.append(CallFragment(block.call, text))
                deltas.append(CallEnd(block.call))
            case _:
                try:
                    deltas.append(NativeBlock(self._native(_with_input(block))))
                except ValueError:
                    self._cut = True

    def _native(self, block: JsonValue) -> Native:
        return Native(self._provider, self._asked, block)

    def _count(self, usage: object, deltas: list[Delta]) -> None:
        told = {k: v for k, v in fields(usage).items() if v is not None}
        if not told:
            return
        self._figures |= told
        found = self._figures
        made = fields(found.get("output_tokens_details"))
        kept = fields(found.get("cache_creation"))
        written = count(found.get("cache_creation_input_tokens"))
        usage = Usage(
            input=count(found.get("input_tokens")),
            output=count(found.get("output_tokens")),
            cache_read=count(found.get("cache_read_input_tokens")),
            cache_write=written,
            reasoning=count(made.get("thinking_tokens")),
            cache_write_1h=min(count(kept.get("ephemeral_1h_input_tokens")), written),
        )
        new = UsageReport(usage, reported(found), _terms(found))
        if new != self._usage:
            self._usage = new
            deltas.append(new)


def _terms(found: Mapping[str, Any]) -> dict[str, JsonValue]:
    """What else the price depends on: class of service, place, tools of the service."""
    terms = served_as(service_tier=found.get("service_tier"), speed=found.get("speed"))
    if found.get("inference_geo") not in (None, "global", "not_available"):
        terms["inference_geo"] = str(found["inference_geo"])
    steps = found.get("iterations") or ()
    if any(fields(step).get("type") != "message" for step in steps):
        # An advisor or a compaction is charged beside the totals.
        terms["iterations"] = "other"
    used = fields(found.get("server_tool_use"))
    if searches := count(used.get("web_search_requests")):
        terms["web_searches"] = searches
    return terms


def _thought(block: _Block) -> dict[str, JsonValue]:
    """A thinking block as it goes back, its signature unchanged.

    One that was cut has an empty signature, and no service takes it back.
    """
    kept: dict[str, JsonValue] = dict(block.start)
    kept["thinking"] = whole("".join(block.text))
    if signature := "".join(block.signature):
        kept["signature"] = signature
    return kept


def _with_input(block: _Block) -> JsonValue:
    """Any other block, with the input that was streamed after its start."""
    kept = dict(block.start)
    if text := "".join(block.text):
        kept["input"] = parse_json(whole(text).encode())
    return kept
