"""The Anthropic Messages dialect.

Settings go into the request as they are, apart from these: `max_tokens` is 8192 when
it is not given, on top of a thinking budget; `stop` is another word for
`stop_sequences`; `betas` is a list for the `anthropic-beta` header; a setting that is
null leaves out what would be sent otherwise.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import cast

from pydantic import JsonValue

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
from bread_nb.providers.client import Call, Transport, carrier, exchange
from bread_nb.providers.encoding import (
    body,
    empty_request,
    encode,
    file_words,
    result_words,
)
from bread_nb.providers.fitting import as_instruction, object_schema, strict
from bread_nb.providers.keys import access
from bread_nb.providers.lines import count, fields
from bread_nb.providers.messages_stream import MessagesParser
from bread_nb.providers.model import Delta, Model, ModelRequest
from bread_nb.providers.naming import CallIds, originals, wire_id, wire_name
from bread_nb.providers.pace import PACE_SETTINGS, Waits

__all__ = ["Anthropic"]

_URL = "https://api.anthropic.com"
_VERSION = "2023-06-01"
_MAX_TOKENS = 8192
_OWN_SETTINGS = PACE_SETTINGS | {"max_tokens", "stop", "betas"}
# Models from before structured outputs refuse `output_config.format`.
_NO_FORMAT = re.compile(
    r"(?:^|\.)claude-(?:[23]|instant|"
    r"(?:opus|sonnet)-4(?:-0)?(?:[-@]20\d{6})?(?:-v\d.*)?$)"
)


class Anthropic:
    """A model that is asked by the Messages API.

    Args:
        model: The model's id, or its description with base_url, api_key and settings.
        transport: What carries the calls; by default a connection of its own.
    """

    free = False

    def __init__(
        self, model: str | Model, *, transport: Transport | None = None
    ) -> None:
        described = model if isinstance(model, Model) else Model(f"anthropic:{model}")
        self.name = described.name
        self._provider = "anthropic"
        self._model = described.name.partition(":")[2]
        self._described = described
        self._transport = carrier(transport, described.client)
        self._key = f"messages:{self._model}"

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """Ask, and stream the answer."""
        settings = {**self._described.settings, **request.settings}
        place = access(
            self._provider,
            base_url=self._described.base_url,
            key=self._described.api_key,
            default_url=_URL,
            agent=request.agent_id,
            client=self._described.client,
        )
        call = Call(
            service=self._provider,
            url=f"{place.base_url.removesuffix('/v1')}/v1/messages",
            headers=_headers(place.key, settings),
            body=self.encode(request, settings),
            secrets=place.secrets,
        )
        parser = MessagesParser(
            provider=self._provider,
            model=self._model,
            names=originals(request.tools),
            ids=CallIds(request.messages),
        )
        return exchange(self._transport, call, parser, Waits.read(settings))

    def encode(self, request: ModelRequest, settings: Mapping[str, JsonValue]) -> bytes:
        """The body of a request.

        Raises:
            BreadError: `INVALID_INPUT` when there is nothing to send.
        """
        instruction, output = self._format(request.output_schema, settings)
        system = "\n\n".join(filter(str.strip, (request.system, instruction)))
        sent: dict[str, JsonValue] = {
            "model": self._model,
            "max_tokens": _limit(settings),
            "stream": True,
            "system": system or None,
        }
        tools = [_tool(tool) for tool in request.tools]
        if tools:
            sent["tools"] = cast("JsonValue", tools)
            sent["tool_choice"] = _choice(request.tool_choice)
        if "stop" in settings:
            stop = settings["stop"]
            sent["stop_sequences"] = [stop] if isinstance(stop, str) else stop
        sent |= {k: v for k, v in settings.items() if k not in _OWN_SETTINGS}
        if output:
            sent["output_config"] = output
        turns = list(self._turns(request.messages))
        if not turns:
            raise empty_request(self._provider)
        return body(sent, turns)

    def _format(
        self, schema: dict[str, JsonValue] | None, settings: Mapping[str, JsonValue]
    ) -> tuple[str, dict[str, JsonValue]]:
        """Words to add to the system prompt, and the output configuration."""
        output = fields(settings.get("output_config"))
        if schema is None:
            return "", output
        closed = strict(schema, all_required=False)
        if closed is None or _NO_FORMAT.search(self._model):
            return as_instruction(schema), output
        return "", {**output, "format": {"type": "json_schema", "schema": closed}}

    def _turns(self, messages: Iterable[Message]) -> Iterator[bytes]:
        """The messages as turns that alternate and begin with the user."""
        role, blocks = "user", list[bytes]()
        for message in messages:
            speaker = "assistant" if message.role == "assistant" else "user"
            encoded = self._encoded(message)
            if not encoded:
                continue
            if speaker != role:
                yield _turn(role, blocks or [encode(_text("Go on."))])
                role, blocks = speaker, []
            blocks.append(encoded)
        if blocks:
            yield _turn(role, blocks)

    def _encoded(self, message: Message) -> bytes:
        """The content blocks of a message, joined by commas."""
        kept = message.encoded.get(self._key)
        if kept is None:
            kept = b",".join(
                encode(block)
                for part in message.parts
                if (block := self._block(part)) is not None
            )
            message.encoded[self._key] = kept
        return kept

    def _block(self, part: Part) -> JsonValue:
        """A part as a content block; None when it is not sent."""
        match part:
            case Text(text=text):
                return _text(text) if text.strip() else None
            case File():
                return _text(file_words(part))
            case ToolCall():
                return _call(part)
            case ToolResult():
                return _result(part)
            case Reasoning(native=native) if native is not None:
                return self._own(native)
            case Native():
                return self._own(part)
            case _:
                return None

    def _own(self, native: Native) -> JsonValue:
        same = (native.provider, native.model) == (self._provider, self._model)
        return native.block if same else None


def _headers(key: str | None, settings: Mapping[str, JsonValue]) -> dict[str, str]:
    headers = {
        "content-type": "application/json",
        "accept": "text/event-stream",
        "anthropic-version": _VERSION,
    }
    if key:
        headers["x-api-key"] = key
    betas = settings.get("betas")
    if isinstance(betas, list):
        headers["anthropic-beta"] = ",".join(map(str, betas))
    return headers


def _limit(settings: Mapping[str, JsonValue]) -> JsonValue:
    if settings.get("max_tokens") is not None:
        return settings["max_tokens"]
    return _MAX_TOKENS + count(fields(settings.get("thinking")).get("budget_tokens"))


def _turn(role: str, blocks: list[bytes]) -> bytes:
    return b'{"role":"%s","content":[%s]}' % (role.encode(), b",".join(blocks))


def _text(text: str) -> JsonValue:
    return {"type": "text", "text": text}


def _call(call: ToolCall) -> JsonValue:
    return {
        "type": "tool_use",
        "id": wire_id(call.id),
        "name": wire_name(call.name),
        "input": call.args,
    }


def _result(result: ToolResult) -> JsonValue:
    sent: dict[str, JsonValue] = {
        "type": "tool_result",
        "tool_use_id": wire_id(result.call_id),
        "content": result_words(result),
    }
    if result.failed:
        sent["is_error"] = True
    return sent


def _tool(tool: ToolSpec) -> JsonValue:
    return {
        "name": wire_name(tool.name),
        "description": tool.description,
        "input_schema": object_schema(tool.parameters),
    }


def _choice(choice: str | None) -> JsonValue:
    if choice is None:
        return None
    if choice == "required":
        return {"type": "any"}
    return {"type": "tool", "name": wire_name(choice)}
