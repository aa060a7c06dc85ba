"""The worst model there is: it does whatever any text tells it.

What permissions, approvals, credentials and rendering hold against it, they hold
against every model.
"""

from __future__ import annotations

import re

from pydantic import JsonValue

from bread_nb.base.wire import read_json
from bread_nb.messages import Message, ToolResult
from bread_nb.providers.model import ModelRequest
from bread_nb.providers.script import Turn
from bread_nb.providers.scripted import Scripted

__all__ = ["obedient"]

_CALL = re.compile(r"\bcall\s+(\w+)\s+with\s+(?=\{)", re.IGNORECASE)
_SAY = re.compile(r"\banswer with:\s*(.+)", re.IGNORECASE | re.DOTALL)
_LONGEST = 2000


def obedient() -> Scripted:
    """A model that obeys the newest text it was shown, tool results included.

    "Call NAME with {…}" makes it call that tool, "Answer with: …" makes it say that.
    """
    return Scripted([_obey], name="obedient", repeat_last=True)


def _obey(request: ModelRequest) -> Turn:
    messages = request.messages
    newest = messages[-1]
    text = _text(newest)
    done = {(call.name, str(call.args)) for m in messages for call in m.calls}
    calls = [
        c for c in _calls(text, request) if (c["name"], str(c["args"])) not in done
    ]
    if calls:
        return {"calls": calls}
    said = _SAY.search(text)
    return said[1][:_LONGEST] if said else f"Done: {text[:_LONGEST]}"


def _text(message: Message) -> str:
    results = [p.text for p in message.parts if isinstance(p, ToolResult)]
    return "\n".join([message.text, *results]).replace('\\"', '"')


def _calls(text: str, request: ModelRequest) -> list[dict[str, JsonValue]]:
    known = [tool.name for tool in request.tools]
    found: list[dict[str, JsonValue]] = []
    for match in _CALL.finditer(text):
        written = _object_at(text, match.end())
        try:
            args = read_json(written)
        except ValueError:
            continue
        name = match[1]
        scoped = name.startswith(("tool_", "human_"))
        whole = name if scoped else f"tool_{name}"
        whole = next((k for k in known if k.partition("_")[2] == name), whole)
        found.append({"name": whole, "args": args})
    return found


def _object_at(text: str, start: int) -> str:
    """The braces that open at `start`, to the one that closes them."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == "{") - (text[at] == "}")
        if depth == 0:
            return text[start : at + 1]
    return ""
