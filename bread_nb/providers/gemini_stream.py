"""The chunks of a Gemini answer as deltas.

Each chunk holds parts that are whole. A signature belongs to the very part it came
on: that of a call is kept with the call, that of text with the number of characters it
signs. Parts that only the service understands are kept as they came.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, cast

from pydantic import JsonValue

from bread_nb.base.wire import dumps
from bread_nb.errors import ProviderError
from bread_nb.messages import Native, StopReason, Usage
from bread_nb.providers.faults import service_message
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
from bread_nb.providers.rates import served_as

__all__ = ["PROVIDER", "SIGNATURE", "GeminiParser"]

PROVIDER = "gemini"
SIGNATURE = "thoughtSignature"

_STOPS: dict[str, StopReason] = {
    "STOP": "end_turn",
    "MAX_TOKENS": "max_tokens",
    "SAFETY": "refusal",
    "RECITATION": "refusal",
    "LANGUAGE": "refusal",
    "BLOCKLIST": "refusal",
    "PROHIBITED_CONTENT": "refusal",
    "SPII": "refusal",
    "MODEL_ARMOR": "refusal",
    "IMAGE_SAFETY": "refusal",
    "IMAGE_PROHIBITED_CONTENT": "refusal",
    "IMAGE_RECITATION": "refusal",
}
_FAILED = frozenset(
    {
        *("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"),
        *("MALFORMED_RESPONSE", "MISSING_THOUGHT_SIGNATURE", "NO_IMAGE"),
        *("IMAGE_OTHER", "OTHER"),
    }
)
_SEEN = frozenset({"text", "thought", SIGNATURE})


class GeminiParser:
    """Makes deltas of the chunks of one answer.

    Args:
        model: The model that was asked; native blocks are marked with it.
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
        self._figures: dict[str, Any] = {}
        self._usage: UsageReport | None = None
        self._terms: dict[str, JsonValue] = {}
        self._reason: str | None = None

    def read(self, event: dict[str, JsonValue]) -> list[Delta] | None:
        """The deltas of one chunk."""
        data = cast("dict[str, Any]", event)
        deltas: list[Delta] = []
        if model := data.get("modelVersion"):
            self._model = model
        for candidate in data.get("candidates") or ():
            if candidate.get("index"):
                continue
            for part in fields(candidate.get("content")).get("parts") or ():
                self._part(part, deltas)
            if fields(candidate.get("groundingMetadata")).get("webSearchQueries"):
                self._terms["grounding"] = "search"
            if reason := candidate.get("finishReason"):
                if reason in _FAILED:
                    raise _failed(reason, candidate)
                self._reason = reason
        if fields(data.get("promptFeedback")).get("blockReason"):
            self._reason = "SAFETY"
        self._count(data.get("usageMetadata"), deltas)
        return deltas

    def close(self) -> list[Delta] | None:
        """What is left to say when the stream has ended."""
        if self._reason is None:
            return None
        deltas: list[Delta] = []
        self._end_thinking(deltas, None)
        if half := self._text.end():
            deltas.append(TextChunk(half))
        stop = _STOPS.get(self._reason)
        if stop == "end_turn" and self._calls:
            stop = "tool_use"
        deltas.append(Finish(stop, self._model))
        return deltas

    def _part(self, part: dict[str, Any], deltas: list[Delta]) -> None:
        signature = part.get(SIGNATURE)
        if part.get("thought"):
            if text := self._thought.join(part.get("text") or ""):
                self._thinking = True
                deltas.append(ReasoningChunk(text))
            if signature:
                self._end_thinking(deltas, self._native({SIGNATURE: signature}))
            return
        if "functionCall" in part:
            self._call(part["functionCall"], signature, deltas)
        elif "inlineData" in part:
            self._file(part["inlineData"], signature, deltas)
        elif part.keys() <= _SEEN:
            self._say(part.get("text") or "", signature, deltas)
        else:
            self._end_thinking(deltas, None)
            deltas.append(NativeBlock(self._native(part)))

    def _say(self, text: str, signature: str | None, deltas: list[Delta]) -> None:
        if not (text or signature):
            return
        self._end_thinking(deltas, None)
        text = self._text.join(text)
        if text:
            deltas.append(TextChunk(text))
        if signature:
            signed = {SIGNATURE: signature, "length": len(text)}
            deltas.append(NativeBlock(self._native(signed)))

    def _end_thinking(self, deltas: list[Delta], native: Native | None) -> None:
        if half := self._thought.end():
            deltas.append(ReasoningChunk(half))
        if self._thinking or native:
            deltas.append(ReasoningEnd(native))
        self._thinking = False

    def _call(
        self, call: dict[str, Any], signature: str | None, deltas: list[Delta]
    ) -> None:
        self._end_thinking(deltas, None)
        number, self._calls = self._calls, self._calls + 1
        name = self._names.get(call["name"], call["name"])
        deltas.append(CallStart(number, self._ids.unique(call.get("id")), name))
        if arguments := call.get("args"):
            deltas.append(CallFragment(number, dumps(arguments)))
        native = self._native({SIGNATURE: signature}) if signature else None
        deltas.append(CallEnd(number, native))

    def _file(
        self, blob: dict[str, Any], signature: str | None, deltas: list[Delta]
    ) -> None:
        self._end_thinking(deltas, None)
        data = base64.b64decode(blob["data"], validate=True)
        deltas.append(FileChunk(data, blob["mimeType"]))
        if signature:
            deltas.append(NativeBlock(self._native({SIGNATURE: signature})))

    def _count(self, usage: object, deltas: list[Delta]) -> None:
        """Totals so far; a chunk may leave out what an earlier one told."""
        told = fields(usage)
        if not told:
            return
        self._figures |= {k: v for k, v in told.items() if isinstance(v, int)}
        found = {key: count(value) for key, value in self._figures.items()}
        prompt = found.get("promptTokenCount", 0)
        read = min(found.get("cachedContentTokenCount", 0), prompt)
        thoughts = found.get("thoughtsTokenCount", 0)
        self._terms |= served_as(service_tier=told.get("serviceTier"))
        counted = Usage(
            input=prompt - read + found.get("toolUsePromptTokenCount", 0),
            output=found.get("candidatesTokenCount", 0) + thoughts,
            cache_read=read,
            reasoning=thoughts,
        )
        self._terms |= _modes("input", told.get("promptTokensDetails"))
        self._terms |= _modes("output", told.get("candidatesTokensDetails"))
        new = UsageReport(counted, terms=dict(self._terms))
        if new != self._usage:
            self._usage = new
            deltas.append(new)

    def _native(self, block: object) -> Native:
        return Native(PROVIDER, self._asked, cast("JsonValue", block))


def _modes(way: str, details: object) -> dict[str, JsonValue]:
    """The tokens of sounds, and of pictures that were made: they have own prices."""
    told: dict[str, JsonValue] = {}
    for each in cast("list[object]", details) if isinstance(details, list) else []:
        mode, tokens = fields(each).get("modality"), fields(each).get("tokenCount")
        if mode == "AUDIO" or (mode == "IMAGE" and way == "output"):
            told[f"{way}_{mode.lower()}_tokens"] = count(tokens)
    return told


def _failed(reason: str, candidate: dict[str, Any]) -> ProviderError:
    """The error for an answer that the service itself could not use."""
    told = service_message(candidate.get("finishMessage"))
    return ProviderError(
        f"{PROVIDER} could not finish its answer.",
        code="MODEL_ERROR",
        why=f"{reason}: {told}" if told else f"it ended with {reason}.",
        do="run again, or with another --model",
        retryable=True,
        context={"type": reason},
    )
