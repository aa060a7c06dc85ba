"""The marks up to which Anthropic keeps a request in its cache.

The setting `cache` is True, or how long it is kept (`5m`, `1h`), for the tools, the
system prompt and the transcript; or a mapping of `tools`, `system` and `transcript`
that says it of each. The mark of the transcript stands on the last block of the last
message, and so moves forward with each request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import cast

from pydantic import JsonValue

from bread_nb.errors import BreadError
from bread_nb.messages import Message, Native, Part, Reasoning, Text

__all__ = ["Caching"]

_MOST = 4
# The API looks for what it has kept this many blocks before a mark.
_LOOKS_BACK = 20
_MARKS: dict[str, JsonValue] = {
    "5m": {"type": "ephemeral"},
    "1h": {"type": "ephemeral", "ttl": "1h"},
}
_SPLICES = {
    "5m": b',"cache_control":{"type":"ephemeral"}}',
    "1h": b',"cache_control":{"type":"ephemeral","ttl":"1h"}}',
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Caching:
    """How long each part of a request is kept; None is not at all.

    The fields stand in the order in which the API reads the parts.
    """

    tools: str | None = None
    system: str | None = None
    transcript: str | None = None

    @staticmethod
    def read(settings: Mapping[str, JsonValue]) -> Caching:
        """What the setting `cache` asks for; it is off by default.

        Raises:
            BreadError: `INVALID_SETTING`.
        """
        value = settings.get("cache")
        if value is None or value is False:
            return Caching()
        names = [field.name for field in fields(Caching)]
        asked: Mapping[str, JsonValue]
        asked = value if isinstance(value, dict) else dict.fromkeys(names, value)
        kept = {name: _time(asked.get(name)) for name in names}
        if asked.keys() - kept.keys() or "" in kept.values():
            raise _unfit(value, "it is true, 5m or 1h, or says so of each part.")
        times = [time for time in kept.values() if time]
        if times != sorted(times):
            why = "what is kept for an hour comes before what is kept for 5 minutes."
            raise _unfit(value, why)
        return Caching(**kept)

    def of_tools(self, tools: list[JsonValue]) -> list[JsonValue]:
        """The tools, the last one marked."""
        last = tools[-1] if tools else None
        if self.tools is None or not isinstance(last, dict) or "cache_control" in last:
            return tools
        return [*tools[:-1], {**last, "cache_control": _MARKS[self.tools]}]

    def of_system(self, system: str) -> JsonValue:
        """The system prompt, as a marked block where it is kept."""
        if self.system is None or not system:
            return system or None
        mark = _MARKS[self.system]
        return [{"type": "text", "text": system, "cache_control": mark}]

    def places(
        self,
        messages: Sequence[Message],
        owns: Callable[[Native], bool],
        given: Mapping[str, JsonValue],
    ) -> set[int]:
        """The messages whose last block is marked, by `id()`.

        There are two where so much was added since the last request that the API would
        not find what it has kept of it.

        Args:
            messages: The transcript.
            owns: Whether a native block is sent.
            given: The rest of the request.
        """
        room = _MOST - _marks_in(given)
        if self.transcript is None or room < 1:
            return set()
        markable = [n for n, m in enumerate(messages) if _can_carry(m, owns)]
        if not markable:
            return set()
        marked = {id(messages[markable[-1]])}
        spoken = [n for n, m in enumerate(messages) if m.role == "assistant"]
        before = [n for n in markable if spoken and n < spoken[-1]]
        if before and room > 1:
            added = sum(len(message.parts) for message in messages[before[-1] + 1 :])
            if added >= _LOOKS_BACK:
                marked.add(id(messages[before[-1]]))
        return marked

    def mark(self, blocks: bytes) -> bytes:
        """Content blocks, joined by commas, with a mark on the last one."""
        return blocks[:-1] + _SPLICES[self.transcript or "5m"]


def _marks_in(given: Mapping[str, JsonValue]) -> int:
    """The marks that a request has already, those of the caller among them."""
    parts: list[JsonValue] = [cast("JsonValue", given)]
    for name in ("tools", "system"):
        found = given.get(name)
        parts += found if isinstance(found, list) else []
    return sum(isinstance(part, dict) and "cache_control" in part for part in parts)


def _time(value: JsonValue) -> str | None:
    """How long something is kept; empty for what says no such thing."""
    match value:
        case None | False:
            return None
        case True:
            return "5m"
        case "5m" | "1h":
            return value
        case _:
            return ""


def _can_carry(message: Message, owns: Callable[[Native], bool]) -> bool:
    """Whether the last block that is sent of a message takes a mark.

    Blank text is not sent. Thinking, and other blocks of the service's own, go back as
    they came.
    """
    for part in reversed(message.parts):
        native = _native(part)
        if native is not None:
            if owns(native):
                return False
        elif not isinstance(part, Reasoning) and not _is_blank(part):
            return True
    return False


def _native(part: Part) -> Native | None:
    if isinstance(part, Native):
        return part
    return part.native if isinstance(part, Reasoning) else None


def _is_blank(part: Part) -> bool:
    return isinstance(part, Text) and not part.text.strip()


def _unfit(value: object, why: str) -> BreadError:
    return BreadError(
        f"cache cannot be {value!r}.",
        code="INVALID_SETTING",
        why=why,
        do='Model(..., settings={"cache": True})',
    )
