"""What a model reads and says.

A message is a role and its parts. Parts that no neutral shape can express (signed
thinking, encrypted reasoning) are kept as `Native` blocks, byte for byte, and go
back only to the provider and model they came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from os import PathLike
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import JsonValue

from bread_nb.base.media import data_uri, mime_type_of
from bread_nb.base.wire import dumps

__all__ = [
    "File",
    "Message",
    "Native",
    "Part",
    "Price",
    "Reasoning",
    "Role",
    "StopReason",
    "Text",
    "ToolCall",
    "ToolResult",
    "ToolSpec",
    "Usage",
    "assistant",
    "from_json",
    "to_json",
    "user",
]

Role = Literal["user", "assistant", "tool"]
StopReason = Literal[
    "end_turn",
    "max_tokens",
    "tool_use",
    "stop_sequence",
    "refusal",
    "pause_turn",
    "context_exceeded",
]


@dataclass(frozen=True, slots=True)
class Native:
    """A block only its own provider understands, kept as it came."""

    provider: str
    model: str
    block: JsonValue


@dataclass(frozen=True, slots=True)
class Text:
    """Words of the user or of the model."""

    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """What the model thought; `native` holds the signed original if there is one."""

    text: str
    native: Native | None = None


@dataclass(frozen=True, slots=True)
class File:
    """A file by its address: one in the blob store, or a `data:` URI that holds it."""

    uri: str
    mime_type: str
    name: str | None = None

    @classmethod
    def of(
        cls,
        source: bytes | str | PathLike[str],
        *,
        mime_type: str | None = None,
        name: str | None = None,
    ) -> File:
        """A file from its bytes or its path, to be returned by a tool.

        Raises:
            OSError: When there is no such file.
        """
        if isinstance(source, bytes):
            data = source
        else:
            path = Path(source).expanduser()
            data, name = path.read_bytes(), name or path.name
        kind = mime_type or mime_type_of(name, data)
        return cls(data_uri(data, kind), kind, name)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call the model asks for.

    `broken` holds the argument text when it was no JSON object; such a call never
    runs. `native` is kept for providers that sign their calls.
    """

    id: str
    name: str
    args: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    broken: str | None = None
    native: Native | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What became of one call; text stays text, anything else is JSON.

    `files` are what the tool gave beside its words.
    """

    call_id: str
    name: str
    content: JsonValue = None
    failed: bool = False
    files: tuple[File, ...] = ()

    @property
    def text(self) -> str:
        """The content as the model reads it."""
        return self.content if isinstance(self.content, str) else dumps(self.content)


Part = Text | Reasoning | Native | File | ToolCall | ToolResult


def _nothing_yet() -> dict[str, bytes]:
    """No bytes; `dict[…]` as a factory takes seven times as long."""
    return {}


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation.

    `encoded` is a place where a dialect keeps the bytes it made of this message, so
    that each message is encoded once; it takes no part in equality.
    """

    role: Role
    parts: tuple[Part, ...]
    encoded: dict[str, bytes] = field(
        default_factory=_nothing_yet, compare=False, repr=False
    )

    @property
    def text(self) -> str:
        """The words of the message, without reasoning."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of the message, in order."""
        if self.role != "assistant":
            return ()
        return tuple([part for part in self.parts if isinstance(part, ToolCall)])

    @property
    def files(self) -> tuple[File, ...]:
        """The files of the message and of the results in it, in order."""
        found: list[File] = []
        for part in self.parts:
            if isinstance(part, File):
                found.append(part)
            elif isinstance(part, ToolResult) and part.files:
                found += part.files
        return tuple(found)


def user(text: str, *files: File) -> Message:
    """A message of the user; files come before the words about them."""
    words = (Text(text),) if text.strip() or not files else ()
    return Message("user", (*files, *words))


def assistant(*parts: Part) -> Message:
    """A message of the model."""
    return Message("assistant", parts)


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as it is offered to a model."""

    name: str
    description: str
    parameters: dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens by tier. `input` leaves out what was read from or written to a cache.

    `reasoning` is a part of `output`, `cache_write_1h` the part of `cache_write` that
    is kept for an hour.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0
    cache_write_1h: int = 0

    @property
    def total(self) -> int:
        """All tokens, each counted once."""
        return self.input + self.output + self.cache_read + self.cache_write

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.reasoning + other.reasoning,
            self.cache_write_1h + other.cache_write_1h,
        )

    @staticmethod
    def of(tiers: Mapping[str, int]) -> Usage:
        """The usage of a mapping of tiers; a tier of a newer version is left out."""
        return Usage(**{name: tiers[name] for name in Usage.__slots__ if name in tiers})


@dataclass(frozen=True, slots=True)
class Price:
    """What one call cost, and who says so.

    Args:
        amount: The money.
        source: `provider` when the service said it, `rates` for the caller's own
            rates, `genai-prices` and its version for the table, `free` when nothing
            is charged.
        currency: What it is counted in.
    """

    amount: float
    source: str
    currency: str = "USD"


_PARTS: dict[str, type[Any]] = {
    "text": Text,
    "reasoning": Reasoning,
    "native": Native,
    "file": File,
    "call": ToolCall,
    "result": ToolResult,
}
_KINDS = {kind: name for name, kind in _PARTS.items()}
_FIELDS = {kind: tuple(f.name for f in fields(kind)) for kind in _PARTS.values()}


def to_json(message: Message) -> JsonValue:
    """A message as plain JSON, for the store."""
    return {"role": message.role, "parts": [_part_json(p) for p in message.parts]}


def _part_json(part: Part) -> JsonValue:
    out: dict[str, JsonValue] = {"kind": _KINDS[type(part)]}
    for name in _FIELDS[type(part)]:
        value = getattr(part, name)
        if isinstance(value, Native):
            value = _part_json(value)
        elif name == "files":
            value = [_part_json(file) for file in value] or None
        if value is not None:
            out[name] = value
    return out


def from_json(value: JsonValue) -> Message:
    """The message that `to_json` made `value` from.

    Raises:
        ValueError: When it is not such a message.
    """
    match value:
        case {"role": "user" | "assistant" | "tool" as role, "parts": [*parts]}:
            return Message(role, tuple(_part(part) for part in parts))
        case _:
            raise ValueError("this is not a stored message")


def _part(value: JsonValue) -> Part:
    if not isinstance(value, dict) or value.get("kind") not in _PARTS:
        raise ValueError("this is not a part of a stored message")
    kind = _PARTS[cast("str", value["kind"])]
    known = {name: value[name] for name in _FIELDS[kind] if name in value}
    made = cast("dict[str, Any]", known)
    if known.get("native") is not None:
        made["native"] = _part(known["native"])
    if isinstance(files := known.get("files"), list):
        made["files"] = tuple([_part(file) for file in files])
    return cast("Part", kind(**made))


def answered(messages: Iterable[Message]) -> set[str]:
    """The ids of the calls that have a result in `messages`."""
    return {
        part.call_id
        for message in messages
        for part in message.parts
        if isinstance(part, ToolResult)
    }
