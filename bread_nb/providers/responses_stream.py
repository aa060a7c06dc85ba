"""The events of an OpenAI Responses stream as deltas.

An answer is a list of items. Reasoning, and what a tool of the service did, are kept
whole; of a message and of a call the id is kept, which the service knows them by.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import JsonValue

from bread_nb.errors import ProviderError
from bread_nb.messages import Native, StopReason, Usage
from bread_nb.providers.faults import body_fault
from bread_nb.providers.lines import Halves, count, fields
from bread_nb.providers.model import (
    CallEnd,
    CallFragment,
    CallStart,
    Delta,
    FileChunk,
    Finish,
    NativeBlock,
    ReasoningChunk,
    ReasoningEnd,
    TextChunk,
    UsageReport,
)
from bread_nb.providers.naming import CallIds
from bread_nb.providers.rates import reported, served_as

__all__ = ["PROVIDER", "ResponsesParser"]

PROVIDER = "responses"

_ENDED = ("completed", "incomplete")
_SEARCHES = {
    "web_search_call": "web_searches",
    "file_search_call": "storage_searches",
}
_MESSAGE = ("type", "id", "phase")


@dataclass(slots=True)
class _Item:
    """An item of the answer as far as it has come."""

    kind: str
    call: int = -1
    spoken: bool = False
    part: object = None
    halves: Halves = field(default_factory=Halves)


class ResponsesParser:
    """Makes deltas of the events of one answer.

    Args:
        service: Who answers, for errors.
        model: The model that was asked; native blocks are marked with it.
        names: Each tool's own name by the name it was sent under.
        ids: Where calls get their ids.
        secrets: What an error may not show.
        expose: Whether an error's context gets the event it was told by.
    """

    def __init__(
        self,
        service: str,
        *,
        model: str,
        names: Mapping[str, str],
        ids: CallIds,
        secrets: tuple[str, ...] = (),
        expose: bool = False,
    ) -> None:
        self.done = False
        self._service = service
        self._asked = model
        self._names = names
        self._ids = ids
        self._secrets = secrets
        self._expose = expose
        self._model: str | None = None
        self._calls = 0
        self._items: dict[int, _Item] = {}
        self._ended: set[int] = set()
        self._refused = False
        self._cut: str | None = None

    def read(self, event: dict[str, JsonValue]) -> list[Delta] | None:
        """The deltas of one event."""
        deltas: list[Delta] = []
        data = cast("dict[str, Any]", event)
        match data.get("type"):
            case "response.output_text.delta":
                self._say(self._items[data["output_index"]], data["delta"], deltas)
            case "response.function_call_arguments.delta":
                self._argue(self._items[data["output_index"]], data["delta"], deltas)
            case "response.reasoning_summary_text.delta":
                self._think(data, data["summary_index"], deltas)
            case "response.reasoning_text.delta":
                self._think(data, data.get("content_index"), deltas)
            case "response.refusal.delta":
                self._refused = True
                self._say(self._items[data["output_index"]], data["delta"], deltas)
            case "response.output_item.added":
                self._begin(data["output_index"], data["item"], deltas)
            case "response.output_item.done":
                self._end(data["output_index"], data["item"], deltas)
            case "response.completed" | "response.incomplete" | "response.failed":
                self._finish(data["response"], deltas)
            case "error":
                raise self._failed(event)
            case "keepalive":
                return None
            case None if data.get("object") == "response":
                self._finish(data, deltas)
            case _:
                pass
        return deltas

    def close(self) -> list[Delta] | None:
        """What is left to say when the stream has ended."""
        if not self.done:
            return None
        deltas: list[Delta] = []
        for item in self._items.values():
            self._close_item(item, None, deltas)
        deltas.append(Finish(self._stop(), self._model))
        return deltas

    def _stop(self) -> StopReason:
        if self._cut == "content_filter" or self._refused:
            return "refusal"
        if self._cut is not None:
            return "max_tokens"
        return "tool_use" if self._calls else "end_turn"

    def _say(self, item: _Item, text: str, deltas: list[Delta]) -> None:
        item.spoken = True
        if text := item.halves.join(text):
            deltas.append(TextChunk(text))

    def _argue(self, item: _Item, text: str, deltas: list[Delta]) -> None:
        item.spoken = True
        text = item.halves.join(text)
        if text and item.call >= 0:
            deltas.append(CallFragment(item.call, text))

    def _think(self, data: dict[str, Any], part: object, deltas: list[Delta]) -> None:
        """A piece of reasoning; a new part of it begins a new paragraph."""
        item = self._items[data["output_index"]]
        text: str = data["delta"]
        if item.spoken and part != item.part:
            text = f"\n\n{text}"
        item.part, item.spoken = part, True
        if text := item.halves.join(text):
            deltas.append(ReasoningChunk(text))

    def _begin(self, index: int, given: dict[str, Any], deltas: list[Delta]) -> None:
        item = self._items[index] = _Item(given["type"])
        match item.kind:
            case "function_call":
                item.call, self._calls = self._calls, self._calls + 1
                name = self._names.get(given["name"], given["name"])
                identifier = self._ids.unique(given.get("call_id"))
                deltas.append(CallStart(item.call, identifier, name))
            case "message" if given.get("id"):
                kept = {key: given[key] for key in _MESSAGE if given.get(key)}
                deltas.append(NativeBlock(self._native(kept)))
            case _:
                pass

    def _end(self, index: int, given: dict[str, Any], deltas: list[Delta]) -> None:
        if index in self._ended:
            return
        if index not in self._items:
            self._begin(index, given, deltas)
        item = self._items.pop(index)
        self._ended.add(index)
        if not item.spoken:
            self._at_once(item, given, deltas)
        self._close_item(item, given, deltas)

    def _at_once(self, item: _Item, given: dict[str, Any], deltas: list[Delta]) -> None:
        """What an item says that came in no pieces."""
        match item.kind:
            case "message":
                for part in given.get("content") or ():
                    self._refused = self._refused or part["type"] == "refusal"
                    said = part.get("text") or part.get("refusal")
                    if said:
                        self._say(item, said, deltas)
            case "function_call":
                if text := given.get("arguments"):
                    self._argue(item, text, deltas)
            case "reasoning":
                parts = given.get("summary") or given.get("content") or ()
                if text := item.halves.join("\n\n".join(p["text"] for p in parts)):
                    item.spoken = True
                    deltas.append(ReasoningChunk(text))
            case _:
                pass

    def _close_item(
        self, item: _Item, given: dict[str, Any] | None, deltas: list[Delta]
    ) -> None:
        """The end of an item; `given` is the whole of it, None when it was cut."""
        half = item.halves.end()
        match item.kind:
            case "message":
                if half:
                    deltas.append(TextChunk(half))
            case "function_call":
                if half:
                    deltas.append(CallFragment(item.call, half))
                known = given and given.get("id")
                native = self._native({"id": known}) if known else None
                deltas.append(CallEnd(item.call, native))
            case "reasoning":
                if half:
                    deltas.append(ReasoningChunk(half))
                able = given and (
                    given.get("encrypted_content") or given.get("content")
                )
                native = self._native(given) if able else None
                if native or item.spoken:
                    deltas.append(ReasoningEnd(native))
            case "image_generation_call" if given and given.get("result"):
                self._image(given, deltas)
            case _ if given:
                deltas.append(NativeBlock(self._native(given)))
            case _:
                pass

    def _failed(self, event: JsonValue) -> ProviderError:
        return body_fault(self._service, event, self._secrets, expose=self._expose)

    def _image(self, given: dict[str, Any], deltas: list[Delta]) -> None:
        """An image that was made; its bytes are a file and not kept twice."""
        kept = {key: value for key, value in given.items() if key != "result"}
        deltas.append(NativeBlock(self._native(kept)))
        kind = given.get("output_format") or "png"
        data = base64.b64decode(given["result"], validate=True)
        deltas.append(FileChunk(data, f"image/{kind}"))

    def _finish(self, response: dict[str, Any], deltas: list[Delta]) -> None:
        """The whole answer, which also holds what no event told of."""
        status = response.get("status")
        if status == "failed":
            fault: JsonValue = {"error": response.get("error")}
            raise self._failed(fault)
        self._model = response.get("model") or self._model
        if status not in _ENDED:
            return
        for index, item in enumerate(response.get("output") or ()):
            self._end(index, item, deltas)
        if status == "incomplete":
            details = fields(response.get("incomplete_details"))
            self._cut = str(details.get("reason"))
        self._count(fields(response.get("usage")), _terms(response), deltas)
        self.done = True

    def _count(
        self, usage: dict[str, Any], terms: dict[str, JsonValue], deltas: list[Delta]
    ) -> None:
        if not usage:
            return
        total = count(usage.get("input_tokens"))
        details = fields(usage.get("input_tokens_details"))
        read = min(count(details.get("cached_tokens")), total)
        write = min(count(details.get("cache_write_tokens")), total - read)
        made = fields(usage.get("output_tokens_details"))
        found = Usage(
            input=total - read - write,
            output=count(usage.get("output_tokens")),
            cache_read=read,
            cache_write=write,
            reasoning=count(made.get("reasoning_tokens")),
        )
        deltas.append(UsageReport(found, reported(usage), terms))

    def _native(self, block: object) -> Native:
        return Native(PROVIDER, self._asked, cast("JsonValue", block))


def _terms(response: dict[str, Any]) -> dict[str, JsonValue]:
    """What else the price depends on: class of service, tools of the service."""
    terms = served_as(service_tier=response.get("service_tier"))
    kinds = [item.get("type") for item in response.get("output") or ()]
    for kind, name in _SEARCHES.items():
        if number := kinds.count(kind):
            terms[name] = number
    return terms
