"""What a model was asked, in the form by which a recording is found again.

Equal requests have equal keys, on any machine and in any process: what the run itself
made (ids of calls and runs, times, addresses of objects) is numbered or named instead,
and secrets are masked. What a person wrote stays as it is.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from bread_nb.base.redact import Redactor
from bread_nb.base.wire import fingerprint
from bread_nb.messages import (
    File,
    Message,
    Native,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from bread_nb.providers.model import ModelRequest
from bread_nb.providers.pace import CALL_SETTINGS

__all__ = ["Names", "asked_of", "key_of"]

Json = dict[str, JsonValue]

_KEY_LENGTH = 32
_SHORT = 16
_IDS = re.compile(
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b"
)
_TIMES = re.compile(
    r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"
)
_ADDRESSES = re.compile(r"(?<= at )0x[0-9a-fA-F]+")


@dataclass(slots=True)
class Names:
    """The names that the parts of one request get in place of what a run made.

    `redactor` masks the secrets in it.
    """

    redactor: Redactor
    calls: dict[str, str] = field(default_factory=dict[str, str])
    ids: dict[str, str] = field(default_factory=dict[str, str])

    def call(self, identifier: str) -> str:
        """The name of a call: the first of the request is `call-1`."""
        return self.calls.setdefault(identifier, f"call-{len(self.calls) + 1}")

    def plain(self, text: str) -> str:
        """A text without secrets and without what the run itself made."""
        text = self.redactor.text(text)
        text = _IDS.sub(self._id, text)
        return _ADDRESSES.sub("0x", _TIMES.sub("TIME", text))

    def _id(self, found: re.Match[str]) -> str:
        return self.ids.setdefault(found[0], f"id-{len(self.ids) + 1}")

    def value(self, value: JsonValue) -> JsonValue:
        """A JSON value whose texts are made plain."""
        match value:
            case str():
                return self.plain(value)
            case list():
                return [self.value(item) for item in value]
            case dict():
                return {key: self.value(item) for key, item in value.items()}
            case _:
                return value


def key_of(asked: JsonValue) -> str:
    """The key by which the recording of a question is found."""
    return fingerprint(asked)[:_KEY_LENGTH]


def asked_of(
    request: ModelRequest,
    model: str,
    redactor: Redactor,
    settings: Mapping[str, JsonValue] | None = None,
) -> Json:
    """A request in its canonical form.

    Args:
        request: What the model is asked.
        model: `provider:model`.
        redactor: Masks the secrets in it.
        settings: Those that the model was described with.
    """
    names = Names(redactor)
    given = {**(settings or {}), **request.settings}
    # How a service is asked is between the caller and the network.
    given = {key: value for key, value in given.items() if key not in CALL_SETTINGS}
    asked: Json = {
        "model": model,
        "system": names.plain(request.system),
        "messages": [_message(m, request, names) for m in request.messages],
        "tools": [_tool(tool, redactor) for tool in request.tools],
        "settings": redactor.value(given),
        "schema": _texts(request.output_schema, redactor),
        "choice": request.tool_choice,
    }
    return {name: value for name, value in asked.items() if value}


def _message(message: Message, request: ModelRequest, names: Names) -> JsonValue:
    parts = [_part(part, message, request, names) for part in message.parts]
    alone = len(parts) == 1 and isinstance(parts[0], str)
    return {message.role: parts[0] if alone else parts}


def _part(
    part: Part, message: Message, request: ModelRequest, names: Names
) -> JsonValue:
    redactor = names.redactor
    match part:
        case Text(text=text):
            written = message.role == "user"
            return redactor.text(text) if written else names.plain(text)
        case Reasoning(text=text, native=native):
            signed = _signed(native, redactor)
            return {"reasoning": names.plain(text), **signed}
        case Native():
            return {"native": part.provider, **_signed(part, redactor)}
        case File(uri=uri, mime_type=mime, name=name):
            data = request.blobs.get(uri)
            digest = hashlib.sha256(data).hexdigest() if data is not None else uri
            known: Json = {"name": name} if name else {}
            return {"file": mime, "content": digest.removeprefix("blob:"), **known}
        case ToolCall(id=identifier, name=name):
            args: JsonValue = part.broken if part.broken is not None else part.args
            signed = _signed(part.native, redactor)
            shown = redactor.value(args)
            return {"call": name, "id": names.call(identifier), "args": shown, **signed}
        case ToolResult(call_id=identifier, content=content, failed=failed):
            shown = names.value(redactor.value(content))
            result: Json = {"result": shown, "id": names.call(identifier)}
            return {**result, "failed": True} if failed else result


def _signed(native: Native | None, redactor: Redactor) -> Json:
    """What stands for a block that nobody can read: its hash."""
    if native is None:
        return {}
    return {"block": fingerprint(redactor.known(native.block))[:_SHORT]}


def _tool(tool: ToolSpec, redactor: Redactor) -> JsonValue:
    return {
        "name": tool.name,
        "description": redactor.text(tool.description),
        "parameters": _texts(tool.parameters, redactor),
    }


def _texts(value: JsonValue, redactor: Redactor) -> JsonValue:
    """A schema with the secrets in its texts masked; its names are no secrets."""
    match value:
        case str():
            return redactor.text(value)
        case list():
            return [_texts(item, redactor) for item in value]
        case dict():
            return {key: _texts(item, redactor) for key, item in value.items()}
        case _:
            return value
