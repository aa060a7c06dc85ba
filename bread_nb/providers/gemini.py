"""The Gemini `generateContent` dialect.

Settings have the names of the API, in snake_case or camelCase: `safety_settings`,
`cached_content`, `tool_config`, `labels` and `service_tier` go to the top of the
request, anything else into its `generationConfig`, where `max_tokens` is another word
for `maxOutputTokens` and `stop` for `stopSequences`. `tools` are the service's own and
offered beside the agent's; a setting that is null leaves out what would be sent.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from typing import cast
from urllib.parse import quote, urlsplit

from pydantic import JsonValue

from bread_nb.base.wire import camel
from bread_nb.messages import (
    File,
    Message,
    Native,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from bread_nb.providers.client import Call, Transport
from bread_nb.providers.dialect import Dialect, bearer
from bread_nb.providers.encoding import (
    PDF,
    body,
    empty_request,
    encode,
    held,
    keep_encoded,
    kind_of,
    offered,
    readable,
    result_words,
    turns,
)
from bread_nb.providers.fitting import as_instruction, object_schema
from bread_nb.providers.gemini_schema import fit
from bread_nb.providers.gemini_stream import PROVIDER, SIGNATURE, GeminiParser
from bread_nb.providers.lines import fields
from bread_nb.providers.model import Model, ModelRequest
from bread_nb.providers.naming import CallIds, originals, wire_id, wire_name
from bread_nb.providers.pace import CALL_SETTINGS

__all__ = ["Gemini"]

Wire = dict[str, JsonValue]

_OPENING = encode({"text": "Go on."})
_ROLES = {"user": b"user", "assistant": b"model"}
_AT_TOP = frozenset(
    {"safetySettings", "cachedContent", "toolConfig", "labels", "serviceTier"}
)
_CONFIG = ("generation_config", "generationConfig")
_OWN_SETTINGS = CALL_SETTINGS | {"max_tokens", "stop", "tools", *_CONFIG}
# Models up to 2.5 have no JSON mode beside tools and ask for no signatures.
_OLDER = re.compile(r"(?:^|/)(?:gemini-[12](?:\D|$)|gemma|learnlm)")
# What the API documents for calls that another model made.
_FOREIGN = "skip_thought_signature_validator"
_MEDIA = ("image/", "audio/", "video/", PDF)


class Gemini(Dialect):
    """A model that is asked by `streamGenerateContent`."""

    provider = PROVIDER
    wire = "gemini"
    home = "https://generativelanguage.googleapis.com/v1beta"

    def __init__(
        self, model: str | Model, *, transport: Transport | None = None
    ) -> None:
        super().__init__(model, transport=transport)
        self._model = self._model.removeprefix("models/")
        self._older = _OLDER.search(self._model) is not None

    def _headers(
        self, key: str | None, settings: Mapping[str, JsonValue]
    ) -> dict[str, str]:
        headers = bearer(None)
        return {**headers, "x-goog-api-key": key} if key else headers

    def _parser(self, request: ModelRequest, call: Call) -> GeminiParser:
        return GeminiParser(
            model=self._model,
            names=originals(request.tools),
            ids=CallIds(request.messages),
        )

    def _url(self, base_url: str) -> str:
        """Where the model is asked; an address without a path means the usual one."""
        if not urlsplit(base_url).path:
            base_url = f"{base_url}/v1beta"
        model = self._model if "/" in self._model else f"models/{self._model}"
        return f"{base_url}/{quote(model)}:streamGenerateContent?alt=sse"

    def encode(self, request: ModelRequest, settings: Mapping[str, JsonValue]) -> bytes:
        """The body of a request.

        Raises:
            BreadError: `INVALID_INPUT` when there is nothing to send.
        """
        shape, instruction = self._format(request)
        system = "\n\n".join(filter(str.strip, (request.system, instruction)))
        sent: Wire = {}
        if system:
            sent["systemInstruction"] = {"parts": [{"text": system}]}
        if request.tools:
            declared: JsonValue = [_declared(tool) for tool in request.tools]
            sent["tools"] = [{"functionDeclarations": declared}, *offered(settings)]
            sent["toolConfig"] = _choice(request.tool_choice)
        elif more := offered(settings):
            sent["tools"] = more
        named = {k: v for k, v in settings.items() if k not in _OWN_SETTINGS}
        given = {camel(key): value for key, value in named.items()}
        sent |= {key: given.pop(key) for key in _AT_TOP & given.keys()}
        config = {**shape, **_limits(settings), **given}
        sent["generationConfig"] = {k: v for k, v in config.items() if v is not None}
        contents = [
            b'{"role":"%s","parts":[%s]}' % (_ROLES[role], said)
            for role, said in turns(
                request.messages,
                lambda m: keep_encoded(m, self._key, request.blobs, self._parts),
                _OPENING,
            )
        ]
        if not contents:
            raise empty_request(PROVIDER)
        return body(sent, contents, name="contents")

    def _format(self, request: ModelRequest) -> tuple[Wire, str]:
        """The format for an answer of this schema, and words to add to it."""
        schema = request.output_schema
        if schema is None:
            return {}, ""
        if self._older and request.tools:
            return {}, as_instruction(schema)
        fitted = fit(schema)
        shape: Wire = {"responseMimeType": "application/json"}
        if fitted.narrow:
            return shape, as_instruction(schema)
        return {**shape, "responseSchema": fitted.schema}, ""

    def _parts(self, message: Message, blobs: Mapping[str, bytes]) -> list[JsonValue]:
        """A message as parts; none of them is empty unless it is signed."""
        out: list[Wire] = []
        for part in message.parts:
            match part:
                case Text(text=text):
                    out.append({"text": text})
                case File():
                    out.append(_file(part, held(part, blobs)))
                case ToolCall():
                    out.append(self._call(part, first=not _called(out)))
                case ToolResult():
                    out.append(_result(part))
                case Reasoning(text=text, native=native):
                    if signed := self._own(native):
                        out.append({"text": text, "thought": True, **signed})
                case Native():
                    self._add(self._own(part), out)
        if message.role == "tool":
            out += [_file(file, held(file, blobs)) for file in message.files]
        return [p for p in out if SIGNATURE in p or _says_something(p)]

    def _add(self, block: Wire, out: list[Wire]) -> None:
        """A block of this model: a signature for the part before it, or a part."""
        if SIGNATURE not in block or block.keys() - {SIGNATURE, "length"}:
            if block:
                out.append(block)
            return
        signature: Wire = {SIGNATURE: block[SIGNATURE]}
        length = block.get("length")
        before = out[-1] if out else {}
        if not isinstance(length, int):
            if "inlineData" in before:
                before |= signature
        elif length == 0:
            out.append({"text": "", **signature})
        elif before.keys() == {"text"}:
            text = str(before["text"])
            out[-1:] = [{"text": text[:-length]}, {"text": text[-length:], **signature}]

    def _call(self, call: ToolCall, *, first: bool) -> Wire:
        """A call; the first of an answer is signed, if need be as a foreign one."""
        function: Wire = {
            "id": wire_id(call.id),
            "name": wire_name(call.name),
            "args": call.args,
        }
        signed = self._own(call.native)
        if not signed and first and not self._older:
            signed = {SIGNATURE: _FOREIGN}
        return {"functionCall": function, **signed}

    def _own(self, native: Native | None) -> Wire:
        """The block of a native part of this model, else nothing."""
        if native is None or native.provider != PROVIDER:
            return {}
        return fields(native.block) if native.model == self._model else {}


def _called(parts: list[Wire]) -> bool:
    return any("functionCall" in part for part in parts)


def _says_something(part: Wire) -> bool:
    return part.keys() != {"text"} or bool(str(part["text"]).strip())


def _file(file: File, data: bytes | None) -> Wire:
    kind = kind_of(file)
    if data is None or not kind.startswith(_MEDIA) or kind.endswith("+xml"):
        return {"text": readable(file, data)}
    return {"inlineData": {"mimeType": kind, "data": b64encode(data).decode()}}


def _result(result: ToolResult) -> Wire:
    told = result_words(result) if isinstance(result.content, str) else result.content
    response: JsonValue = {"error" if result.failed else "output": told}
    return {
        "functionResponse": {
            "id": wire_id(result.call_id),
            "name": wire_name(result.name),
            "response": response,
        }
    }


def _declared(tool: ToolSpec) -> Wire:
    return {
        "name": wire_name(tool.name),
        "description": tool.description,
        "parameters": fit(object_schema(tool.parameters)).schema,
    }


def _choice(choice: str | None) -> JsonValue:
    if choice is None:
        return None
    calling: Wire = {"mode": "ANY"}
    if choice != "required":
        calling["allowedFunctionNames"] = [wire_name(choice)]
    return {"functionCallingConfig": calling}


def _limits(settings: Mapping[str, JsonValue]) -> Wire:
    """The settings that have another name here, and those given as the API's own."""
    out: Wire = {"maxOutputTokens": settings.get("max_tokens")}
    stop = settings.get("stop")
    out["stopSequences"] = [stop] if isinstance(stop, str) else stop
    for name in _CONFIG:
        out |= cast("Wire", fields(settings.get(name)))
    return out
