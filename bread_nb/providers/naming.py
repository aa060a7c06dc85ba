"""Names and ids as every service takes them, and back.

A service takes letters, digits, `_` and `-`, 64 of them at most, a letter or `_`
first. Anything else is sent under a name made from it, the same in every run.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from bread_nb.base.ids import new_id
from bread_nb.messages import Message, ToolSpec

__all__ = ["CallIds", "originals", "wire_id", "wire_name"]

_LONGEST_NAME = 64
_LONGEST_ID = 40
_NAME = re.compile(rf"[A-Za-z_][A-Za-z0-9_-]{{0,{_LONGEST_NAME - 1}}}")
_ID = re.compile(rf"[A-Za-z0-9_-]{{1,{_LONGEST_ID}}}")


def wire_name(name: str, longest: int = _LONGEST_NAME) -> str:
    """A tool's name as it is sent."""
    fits = len(name) <= longest and _NAME.fullmatch(name)
    return name if fits else _made(name, longest)


def wire_id(identifier: str) -> str:
    """A call's id as it is sent."""
    return identifier if _ID.fullmatch(identifier) else _made(identifier, _LONGEST_ID)


def originals(tools: Iterable[ToolSpec]) -> dict[str, str]:
    """The name of each tool by the name it is sent under."""
    return {wire_name(tool.name): tool.name for tool in tools}


def _made(text: str, longest: int) -> str:
    mark = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", text).strip("_")
    if not plain[:1].isalpha():
        plain = f"x{plain}"
    return f"{plain[: longest - len(mark) - 1].rstrip('_')}_{mark}"


class CallIds:
    """Gives each call of an answer an id that its conversation does not have yet."""

    def __init__(self, messages: Iterable[Message]) -> None:
        self._messages = messages
        self._taken: set[str] | None = None

    def unique(self, given: str | int | None) -> str:
        """`given`, which may be a number, or a new id where it is missing or in use."""
        if self._taken is None:
            self._taken = {
                call.id for message in self._messages for call in message.calls
            }
        if not given:
            given = f"call_{new_id().replace('-', '')}"
        given = str(given)
        name, number = given, 1
        while name in self._taken:
            number += 1
            name = f"{given}_{number}"
        self._taken.add(name)
        return name
