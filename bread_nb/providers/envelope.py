"""What a command-line program is told and what it tells, beside plain text.

Messages become lines of `Role: words`. The answer may come in an envelope of JSON with
its tokens and its cost, such as that of `claude -p --output-format json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, cast, get_args

from pydantic import JsonValue

from bread_nb.base.redact import Redactor, environment_secrets
from bread_nb.base.wire import dumps
from bread_nb.errors import ProviderError
from bread_nb.messages import (
    File,
    Message,
    Price,
    StopReason,
    Text,
    ToolCall,
    ToolResult,
    Usage,
)
from bread_nb.providers.command import plain
from bread_nb.providers.encoding import held, readable, result_words
from bread_nb.providers.faults import status_fault
from bread_nb.providers.lines import count, fields

__all__ = [
    "CliAnswer",
    "claude_fault",
    "claude_json",
    "claude_reason",
    "claude_usage",
    "objects",
    "priced",
    "prompt",
]

_ROLES = {"user": "User", "assistant": "Assistant"}
_STATUS = re.compile(r"(?:API Error|HTTP)\D{0,12}([45]\d\d)\b")
_REASONS = frozenset(get_args(StopReason))
_LONGEST = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class CliAnswer:
    """What a program answered; what it does not tell is None.

    Args:
        text: The words of the answer.
        usage: The tokens it took.
        model: The model that answered.
        cost_usd: What it cost, in US dollars; 0 is a price too.
        stop_reason: Why the answer ended.
    """

    text: str
    usage: Usage | None = None
    model: str | None = None
    cost_usd: float | None = None
    stop_reason: StopReason | None = None


def prompt(
    messages: Iterable[Message], blobs: Mapping[str, bytes], system: str = ""
) -> bytes:
    """A conversation as the lines a program reads; empty when nobody said anything."""
    lines = list(_lines(messages, blobs))
    if system.strip() and lines:
        lines.insert(0, f"System: {system.strip()}")
    return "\n".join(lines).encode(errors="replace")


def _lines(messages: Iterable[Message], blobs: Mapping[str, bytes]) -> Iterator[str]:
    for message in messages:
        role = _ROLES.get(message.role, "")
        said: list[str] = []
        for part in message.parts:
            match part:
                case Text(text=text) if text.strip():
                    said.append(text)
                case File():
                    said.append(readable(part, held(part, blobs)))
                case ToolCall():
                    said.append(f"[calls {part.name} with {dumps(part.args)}]")
                case ToolResult():
                    yield f"Result of {part.name}: {result_words(part, marked=True)}"
                case _:
                    pass
        if said:
            yield f"{role}: {''.join(said)}"


def objects(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects of a text: the text itself, its list, or line by line."""
    text = plain(text).strip()
    whole = _read(text)
    if whole is None:
        found = [_read(line) for line in text.splitlines()]
    else:
        found = cast("list[object]", whole) if isinstance(whole, list) else [whole]
    for each in found:
        if isinstance(each, dict):
            yield cast("dict[str, Any]", each)


def _read(line: str) -> object:
    try:
        return json.loads(line)
    except ValueError:
        return None


def claude_json(stdout: str) -> CliAnswer:
    """The answer in the envelope of `claude -p --output-format json`.

    Raises:
        ProviderError: When there is no envelope, or when it tells of an error.
    """
    found = [each for each in objects(stdout) if each.get("type") == "result"]
    if not found:
        raise ProviderError(
            "The output of claude cannot be read.",
            code="COMMAND_UNREADABLE",
            why="it holds no JSON object of the type result.",
            do='give it the arguments "-p", "--output-format", "json"',
        )
    result = found[-1]
    fault = claude_fault(result)
    if fault is not None:
        raise fault
    text = result.get("result")
    if not isinstance(text, str):
        raise ProviderError(
            "The output of claude cannot be read.",
            code="COMMAND_UNREADABLE",
            why="its envelope has no text in result.",
            do="look at it: run the command by hand",
        )
    return CliAnswer(
        text=text,
        usage=claude_usage(result.get("usage")),
        model=_model(result),
        cost_usd=_amount(result.get("total_cost_usd")),
        stop_reason=claude_reason(result),
    )


def claude_reason(result: Mapping[str, Any]) -> StopReason | None:
    """Why the last message ended, where that is told."""
    reason = result.get("stop_reason")
    return cast("StopReason", reason) if reason in _REASONS else None


def claude_fault(
    result: Mapping[str, Any], secrets: Iterable[str] = ()
) -> ProviderError | None:
    """The error that an envelope tells of, or None."""
    subtype = str(result.get("subtype") or "success")
    if not result.get("is_error") and subtype == "success":
        return None
    errors = cast("list[object]", result.get("errors") or [""])
    told: object = result.get("result") or errors[0] or subtype
    line = " ".join(str(told).split())
    line = Redactor([*secrets, *environment_secrets()]).text(line)[:_LONGEST]
    status = _status(result.get("api_error_status")) or _status(line)
    if status is not None:
        return status_fault("claude", status, line)
    return ProviderError(
        "claude ended with an error.",
        code="MODEL_ERROR",
        why=f"{subtype}: {line}." if line != subtype else f"{subtype}.",
        do="look at what it says, then run again",
        context={"subtype": subtype},
    )


def _status(value: object) -> int | None:
    if isinstance(value, str):
        found = _STATUS.search(value)
        return int(found[1]) if found else None
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 400 <= value < 600 else None


def claude_usage(told: object) -> Usage | None:
    """The tokens of a message or of a session, when they were told."""
    usage = fields(told)
    if not usage:
        return None
    kept = fields(usage.get("cache_creation"))
    return Usage(
        input=count(usage.get("input_tokens")),
        output=count(usage.get("output_tokens")),
        cache_read=count(usage.get("cache_read_input_tokens")),
        cache_write=count(usage.get("cache_creation_input_tokens")),
        cache_write_1h=count(kept.get("ephemeral_1h_input_tokens")),
    )


def _model(result: Mapping[str, Any]) -> str | None:
    """The model that wrote most: small ones may have helped."""
    used = fields(result.get("modelUsage"))
    if not used:
        named: JsonValue = result.get("model")
        return named if isinstance(named, str) else None
    return max(used, key=lambda name: count(fields(used[name]).get("outputTokens")))


def _amount(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if isfinite(value) and value >= 0 else None


def priced(amount: object) -> Price | None:
    """What a program says that it charged, as a price."""
    known = _amount(amount)
    return None if known is None else Price(known, "provider")
