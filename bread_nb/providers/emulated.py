"""Tools for a program that has none: calls in JSON, and a probe before the first.

Each round is one start of the program, told the whole conversation again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from bread_nb.base.wire import read_json
from bread_nb.errors import BreadError
from bread_nb.messages import ToolSpec, user
from bread_nb.providers.json_tools import JsonTools
from bread_nb.providers.lines import fields
from bread_nb.providers.model import (
    CallFragment,
    CallStart,
    Delta,
    ModelRequest,
    TextChunk,
    closing,
)

__all__ = ["in_rounds", "probe"]

Ask = Callable[[ModelRequest], AsyncIterator[Delta]]

_LONGEST = 120
_PROBE = ToolSpec(
    name="read_register",
    description="Read an entry of the register. Nothing else knows what is in it.",
    parameters={
        "type": "object",
        "properties": {"entry": {"type": "string"}},
        "required": ["entry"],
    },
)
_QUESTION = (
    'What does entry "oven-4711" of the register say? It is a random word, written '
    "there a minute ago."
)


class _Rounds:
    """A program, asked once a round."""

    free = False

    def __init__(self, name: str, ask: Ask) -> None:
        self.name = name
        self._ask = ask

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """What one round gives."""
        return self._ask(request)

    async def aclose(self) -> None:
        """Nothing is open between the rounds."""


def in_rounds(name: str, ask: Ask) -> JsonTools:
    """A program that is asked by `ask`, made to call tools in JSON."""
    return JsonTools(_Rounds(name, ask))


async def probe(name: str, ask: Ask) -> None:
    """Ask what only a tool can know, and see that the reply is a call and no guess.

    Raises:
        BreadError: `TOOLS_NOT_SUPPORTED` when the program answers by itself.
    """
    request = ModelRequest(model="", messages=(user(_QUESTION),), tools=(_PROBE,))
    called, given, said = list[str](), "", ""
    async with closing(in_rounds(name, ask).stream(request)) as deltas:
        async for delta in deltas:
            match delta:
                case CallStart():
                    called.append(delta.name)
                case CallFragment(text=text):
                    given += text
                case TextChunk(text=text):
                    said += text
                case _:
                    pass
    if called == [_PROBE.name] and _entry(given):
        return
    begun = " ".join((said or given).split())[:_LONGEST]
    raise BreadError(
        f"The model of {name} cannot use tools this way.",
        code="TOOLS_NOT_SUPPORTED",
        why=f"asked for what only a tool can know, it said: {begun}",
        do="use a larger model, or give the agent no tools",
    )


def _entry(arguments: str) -> object:
    try:
        return fields(read_json(arguments)).get("entry")
    except ValueError:
        return None
