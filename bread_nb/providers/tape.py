"""What one line of a cassette holds, as values and as text.

A line is one recorded call of a model, or one decision of a person. Its keys are
sorted, its text is readable, and equal recordings are equal bytes. The pieces that a
model streamed keep their boundaries: neighbours of a kind share one event.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, cast

from pydantic import JsonValue

from bread_nb import errors
from bread_nb.errors import BreadError, FallbackError, ProviderError
from bread_nb.messages import Native, Price, Usage
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
    Restart,
    SessionReport,
    TextChunk,
    UsageReport,
)
from bread_nb.providers.shelf import Line

__all__ = [
    "Recording",
    "read_deltas",
    "read_error",
    "recording_of",
    "to_line",
    "written_deltas",
    "written_error",
]

Json = dict[str, JsonValue]

_KINDS: dict[str, type[Any]] = {
    "call": CallStart,
    "call_end": CallEnd,
    "file": FileChunk,
    "finish": Finish,
    "native": NativeBlock,
    "reasoning_end": ReasoningEnd,
    "restart": Restart,
    "session": SessionReport,
    "usage": UsageReport,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}
_HALF = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One call of a model: what it was asked, and all that it streamed.

    Args:
        key: The hash of what was asked.
        model: `provider:model` as a person writes it.
        asked: The request in its canonical form.
        answer: The events of the stream, an error at the end where it broke.
        decided: The keys of the decisions about the calls of the turn before.
        place: The file and line it was read from.
    """

    key: str
    model: str
    asked: Json
    answer: Sequence[JsonValue]
    decided: Sequence[str] = ()
    place: str = ""

    def line(self) -> str:
        """The recording as a line of a cassette."""
        line: Json = {
            "answer": list(self.answer),
            "asked": self.asked,
            "key": self.key,
            "kind": "call",
            "model": self.model,
        }
        if self.decided:
            line["decided"] = list(self.decided)
        return to_line(line)


def recording_of(line: Line, file: str) -> Recording:
    """A line as the recording of a call."""
    asked, answer = line.value.get("asked"), line.value.get("answer")
    return Recording(
        key=str(line.value.get("key")),
        model=str(line.value.get("model")),
        asked=asked if isinstance(asked, dict) else {},
        answer=answer if isinstance(answer, list) else [answer],
        place=f"{file}:{line.number}",
    )


def to_line(value: JsonValue) -> str:
    """A value as one line of JSON with sorted keys."""
    text = json.dumps(
        value,
        ensure_ascii=False,
        sort_keys=True,
        separators=(",", ":"),
        allow_nan=False,
    )
    # Half a character has no UTF-8; its escape is plain JSON all the same.
    return _HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


# -- deltas ----------------------------------------------------------------------------


def written_deltas(deltas: Iterable[Delta]) -> list[JsonValue]:
    """Deltas as events; pieces of one text, thought or call in a row share one."""
    events: list[Json] = []
    for delta in deltas:
        match delta:
            case TextChunk(text=text):
                _add_piece(events, {"text": [text]}, "text")
            case ReasoningChunk(text=text):
                _add_piece(events, {"reasoning": [text]}, "reasoning")
            case CallFragment(index=index, text=text):
                _add_piece(events, {"arguments": [text], "index": index}, "arguments")
            case _:
                events.append({_NAMES[type(delta)]: _fields(delta)})
    return cast("list[JsonValue]", events)


def _add_piece(events: list[Json], event: Json, name: str) -> None:
    last = events[-1] if events else {}
    if name in last and last.get("index") == event.get("index"):
        pieces = cast("list[JsonValue]", last[name])
        pieces += cast("list[JsonValue]", event[name])
    else:
        events.append(event)


def read_deltas(events: Sequence[JsonValue]) -> Iterable[Delta]:
    """The deltas that `written_deltas` made the events of; an error is raised.

    Raises:
        BreadError: The error that the recorded stream ended with.
        ValueError: For an event that is none, or of a call that was not begun.
    """
    begun: set[int] = set()
    for event in events:
        match event:
            case {"text": [*texts]}:
                yield from (TextChunk(str(text)) for text in texts)
            case {"reasoning": [*texts]}:
                yield from (ReasoningChunk(str(text)) for text in texts)
            case {"arguments": [*texts], "index": int(index)} if index in begun:
                yield from (CallFragment(index, str(text)) for text in texts)
            case {"error": dict(error)}:
                raise read_error(error)
            case dict() if len(event) == 1 and _known(event):
                [(name, value)] = event.items()
                delta = _delta(_KINDS[name], cast("Json", value))
                if isinstance(delta, CallStart):
                    begun.add(delta.index)
                elif isinstance(delta, CallEnd) and delta.index not in begun:
                    raise ValueError(f"{event!r} ends a call that was not begun")
                yield delta
            case _:
                raise ValueError(f"{event!r} is no event of a recording")


def _known(event: Json) -> bool:
    [(name, value)] = event.items()
    return name in _KINDS and isinstance(value, dict)


def _delta(kind: type[Any], value: Json) -> Delta:
    known = {field.name for field in fields(kind)}
    given = {name: _read(name, item) for name, item in value.items() if name in known}
    return cast("Delta", kind(**given))


def _fields(value: object) -> Json:
    """The fields of a value that are not what they are by default."""
    found: Json = {}
    for field in fields(cast("Any", value)):
        item: object = getattr(value, field.name)
        if not _is_default(field, item):
            found[field.name] = _written(item)
    return found


def _is_default(field: Any, item: object) -> bool:  # noqa: ANN401
    if field.default is not MISSING:
        return item == field.default
    return field.default_factory is not MISSING and item == field.default_factory()


def _written(value: object) -> JsonValue:
    match value:
        case Native() | Usage() | Price():
            return _fields(value)
        case bytes():
            return {
                "base64": base64.b64encode(value).decode(),
                "sha256": hashlib.sha256(value).hexdigest(),
            }
        case BreadError():
            return written_error(value)
        case Mapping():
            return dict(cast("Mapping[str, JsonValue]", value))
        case _:
            return cast("JsonValue", value)


def _read(name: str, value: JsonValue) -> object:
    reader = _READERS.get(name)
    return value if reader is None or value is None else reader(value)


def _of(kind: type[Any], value: Json) -> dict[str, Any]:
    known = {field.name for field in fields(kind)}
    return {name: item for name, item in value.items() if name in known}


# -- errors ----------------------------------------------------------------------------

_WORDS = ("what", "code", "why", "do", "retryable", "context")
_MORE = ("status", "retry_after", "problems", "seconds", "exhausted", "acted")


def written_error(error: BreadError) -> Json:
    """An error as JSON, all that a program or a person reads of it."""
    found: Json = {"type": type(error).__name__}
    for name in (*_WORDS, *_MORE):
        value = getattr(error, name, None)
        if value:
            found[name] = value
    return found


def read_error(value: Json) -> BreadError:
    """The error that `written_error` made the value of, marked as replayed."""
    kind: object = getattr(errors, str(value.get("type")), None)
    if not isinstance(kind, type) or not issubclass(kind, BreadError):
        kind = BreadError
    if issubclass(kind, errors.Halt):
        kind = BreadError
    error = kind.__new__(kind)
    words: dict[str, Any] = {name: value[name] for name in _WORDS if name in value}
    BreadError.__init__(error, words.pop("what", "The call failed."), **words)
    if isinstance(error, ProviderError):
        error.status = error.retry_after = None
    if isinstance(error, FallbackError):
        error.failures = ()
    for name in _MORE:
        if name in value:
            _check_kind(name, value[name])
            setattr(error, name, value[name])
    error.replayed = True
    return error


def _check_kind(name: str, value: JsonValue) -> None:
    number = isinstance(value, int | float)
    if name in ("status", "retry_after", "seconds") and not number:
        raise ValueError(f"{name} is {value!r}, and no number")


def _usage(value: Json) -> Usage:
    counts = _of(Usage, value)
    if not all(isinstance(count, int) and count >= 0 for count in counts.values()):
        raise ValueError(f"{value!r} is no count of tokens")
    return Usage(**counts)


_READERS: dict[str, Callable[[Any], object]] = {
    "native": lambda value: Native(**value),
    "usage": _usage,
    "price": lambda value: Price(**_of(Price, value)),
    "data": lambda value: base64.b64decode(value["base64"], validate=True),
    "error": read_error,
}
