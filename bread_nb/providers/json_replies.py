"""Replies that call tools in JSON, as deltas: words, an answer, or calls.

A call is `{"name": …, "arguments": …}`, alone or in a list, in a code fence or in
`<tool_call>` tags. Words before it are words; a reply that is cut in a call is a call
whose arguments are broken.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, cast

from bread_nb.base.wire import dumps, read_json
from bread_nb.providers.lines import Halves
from bread_nb.providers.model import (
    CallEnd,
    CallFragment,
    CallStart,
    Delta,
    Finish,
    TextChunk,
)
from bread_nb.providers.naming import CallIds

__all__ = ["Reply", "read_calls"]

_BEGIN = re.compile(r"(?:\A|\n)[ \t]*(?=[\[{]|```|<tool_call>)")
_MAYBE = re.compile(r"(?:\A|\n)[ \t]*(?:`{1,2}|<[a-z_]{0,9})?\Z")
_FENCE = re.compile(r"\A```[a-z_]*[ \t]*\n?(.*?)(?:\n?```\s*)?\Z", re.DOTALL)
_TAGS = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
_NAMED = re.compile(r'"name"\s*:\s*("(?:[^"\\]|\\.)*")')
_ARGUED = re.compile(r'"(?:arguments|parameters|args)"\s*:\s*')
_LAST_ESCAPE = re.compile(r"(\\+)(?:u[0-9a-fA-F]{0,3})?\Z")
_ARGUMENTS = ("arguments", "parameters", "args")


class Reply:
    """One reply as far as it has come.

    Args:
        ending: The name that stands for an answer in words.
        ids: Where calls get their ids.
        bare: Whether the answer is a value of a schema and not a text.
    """

    def __init__(self, ending: str, ids: CallIds, *, bare: bool = False) -> None:
        self.bare = bare
        self._ending = ending
        self._ids = ids
        self._pending = ""
        self._held = False
        self._answer = None if bare else _Answer(ending)

    def read(self, text: str) -> Iterator[Delta]:
        """What a piece of text says for certain."""
        self._pending += text
        if not self._held:
            yield from self._prose()
        if self._held and self._answer is not None:
            said = self._answer.more(self._pending)
            if said:
                yield TextChunk(said)

    def _prose(self) -> Iterator[Delta]:
        """The words before anything that may be a call."""
        begun = _BEGIN.search(self._pending)
        maybe = begun or _MAYBE.search(self._pending)
        cut = maybe.start() if maybe else len(self._pending)
        self._held = begun is not None
        said, self._pending = self._pending[:cut], self._pending[cut:]
        if said:
            yield TextChunk(said)

    def end(self, finish: Finish) -> Iterator[Delta]:
        """What is left to say: calls, the answer, or words after all."""
        text, answer = self._pending, self._answer
        if answer is not None and answer.begun:
            if said := answer.end():
                yield TextChunk(said)
            yield finish
            return
        found = read_calls(text)
        if found is None:
            if text:
                yield TextChunk(text)
            yield finish
            return
        called = 0
        for name, arguments in found:
            if name == self._ending:
                yield TextChunk(_answered(arguments))
                continue
            yield CallStart(called, self._ids.unique(None), name)
            yield CallFragment(called, arguments)
            yield CallEnd(called)
            called += 1
        whole = finish.stop_reason in (None, "end_turn", "stop_sequence")
        if called and whole:
            finish = Finish("tool_use", finish.model, finish.name)
        yield finish


class _Answer:
    """The text of an answer inside its JSON, as soon as it is there."""

    def __init__(self, ending: str) -> None:
        name = re.escape(json.dumps(ending))
        self._begin = re.compile(
            rf'\s*(?:```[a-z]*\s*)?\{{\s*"name"\s*:\s*{name}\s*,'
            r'\s*"arguments"\s*:\s*\{\s*"text"\s*:\s*"'
        )
        self._at = 0
        self._halves = Halves()
        self._over = False
        self.begun = False

    def more(self, text: str) -> str:
        """What came since the last time."""
        if not self.begun:
            found = self._begin.match(text)
            if found is None:
                return ""
            self.begun, self._at = True, found.end()
        if self._over:
            return ""
        raw = text[self._at :]
        stop = _closing_quote(raw)
        if stop is not None:
            raw, self._over = raw[:stop], True
        elif (last := _LAST_ESCAPE.search(raw)) and len(last[1]) % 2:
            raw = raw[: last.end(1) - 1]
        self._at += len(raw)
        return self._halves.join(_unescaped(raw)) if raw else ""

    def end(self) -> str:
        """What is left over of a character that was cut."""
        return self._halves.end()


def _closing_quote(raw: str) -> int | None:
    """Where a JSON string ends; None when it does not end yet."""
    at = 0
    while (at := raw.find('"', at)) >= 0:
        slashes = len(raw[:at]) - len(raw[:at].rstrip("\\"))
        if slashes % 2 == 0:
            return at
        at += 1
    return None


def _unescaped(raw: str) -> str:
    try:
        return cast("str", json.loads(f'"{raw}"', strict=False))
    except ValueError:
        return raw


def _answered(arguments: str) -> str:
    """The words of an answer, or its value as JSON."""
    try:
        value = read_json(arguments)
    except ValueError:
        return arguments
    for key in ("text", "value"):
        if isinstance(value, dict) and value.keys() == {key}:
            found = value[key]
            return found if isinstance(found, str) and key == "text" else dumps(found)
    return value if isinstance(value, str) else dumps(value)


def read_calls(text: str) -> list[tuple[str, str]] | None:
    """The calls in a text, each its name and the text of its arguments.

    None when the text is no call. What begins as a call and cannot be read is one with
    the arguments as far as they came.
    """
    bare = text.strip()
    if tagged := _TAGS.findall(bare):
        found = [read_calls(piece) for piece in tagged]
        return [call for calls in found for call in calls or ()] or None
    if fence := _FENCE.match(bare):
        bare = fence[1].strip()
    try:
        value = read_json(bare)
    except ValueError:
        return _cut_call(bare)
    items = value if isinstance(value, list) else [value]
    calls = [_call(item) for item in items]
    whole = [call for call in calls if call is not None]
    return whole if whole and len(whole) == len(calls) else None


def _call(value: object) -> tuple[str, str] | None:
    if not isinstance(value, dict):
        return None
    given = cast("dict[str, Any]", value)
    inner = given.get("function")
    if isinstance(inner, dict):
        given = cast("dict[str, Any]", inner)
    name = given.get("name")
    key = next((key for key in _ARGUMENTS if key in given), None)
    if not isinstance(name, str) or not name or key is None:
        return None
    arguments = given[key]
    return name, arguments if isinstance(arguments, str) else dumps(arguments)


def _cut_call(text: str) -> list[tuple[str, str]] | None:
    """A call that broke off, which never runs."""
    named = _NAMED.search(text) if text.startswith(("{", "[")) else None
    if named is None or not _ARGUED.search(text):
        return None
    return [(_unescaped(named[1][1:-1]), text)]
