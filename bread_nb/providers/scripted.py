"""The test double: a model that says what its script says.

What a turn may be is told in `script`.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bread_nb.base.later import Later
from bread_nb.base.wire import dumps
from bread_nb.errors import BreadError
from bread_nb.messages import Reasoning, Text, ToolCall, ToolResult, Usage
from bread_nb.providers.model import (
    CallEnd,
    CallFragment,
    CallStart,
    Delta,
    Finish,
    Model,
    ModelRequest,
    ReasoningChunk,
    ReasoningEnd,
    TextChunk,
    UsageReport,
    split_name,
)
from bread_nb.providers.script import Line, Turn, Turns, read_script, read_turn

if TYPE_CHECKING:
    from bread_nb.providers import script_files
else:
    script_files = Later("bread_nb.providers.script_files")

__all__ = ["Scripted", "from_description", "load_script"]

_TOKEN = 4


class Scripted:
    """A model that plays a script and keeps what it was sent.

    Args:
        turns: A list of turns, or a mapping that gives each agent its own list.
        by: `"cursor"` takes the next turn at each call of this object. `"history"`
            takes the turn numbered by the assistant messages of the request and its
            failed attempts, so it survives restarts and may be shared.
        repeat_last: Play the last turn again and again instead of ending.
        name: What the model is called.

    Raises:
        BreadError: `INVALID_SCRIPT` when a turn is not one.
    """

    free = True
    is_script = True

    def __init__(
        self,
        turns: Turns,
        *,
        by: Literal["cursor", "history"] = "cursor",
        repeat_last: bool = False,
        name: str = "scripted",
    ) -> None:
        self.name = name
        self.requests: list[ModelRequest] = []
        self._by = by
        self._repeat_last = repeat_last
        self._scripts = read_script(turns)
        self._places: dict[str | None, int] = {}

    def __repr__(self) -> str:
        count = sum(map(len, self._scripts.values()))
        return f"Scripted({count} turns, by={self._by!r})"

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """Play the turn that this request is due."""
        self.requests.append(request)
        number, turn = self._due(request)
        line = await _resolved(turn, request)
        if line.delay:
            await asyncio.sleep(line.delay)
        for index, delta in enumerate(_spoken(line)):
            if index and line.delay and not isinstance(delta, ReasoningEnd):
                await asyncio.sleep(line.delay)
            yield delta
        for delta in _called(line.calls, number, request):
            yield delta
        if (usage := _used(line, request)) is not None:
            yield UsageReport(usage)
        if line.error is not None:
            raise line.error
        yield Finish(line.stop, self.name)

    async def aclose(self) -> None:
        """There is nothing to free."""

    def _due(self, request: ModelRequest) -> tuple[int, Turn]:
        """The number of the turn from 1, and the turn."""
        whose = None if None in self._scripts else request.agent_id
        turns = self._scripts.get(whose)
        if turns is None:
            known = ", ".join(sorted(str(name) for name in self._scripts))
            raise _exhausted(f"it has turns for {known}, none for {whose!r}.")
        if self._by == "history":
            place = _answers(request) + request.attempt - 1
        else:
            place = self._places.get(whose, 0)
            self._places[whose] = place + 1
        if place >= len(turns) and not (self._repeat_last and turns):
            raise _exhausted(f"it has {len(turns)} turns; this was turn {place + 1}.")
        return place + 1, turns[min(place, len(turns) - 1)]


def load_script(path: str | Path, root: Path | None = None) -> Scripted:
    """The model `scripted:FILE`: a YAML list of turns, taken by history.

    Args:
        path: The file.
        root: Where a relative path is looked for as well, after the working directory.

    Raises:
        BreadError: `SCRIPT_NOT_FOUND` or `INVALID_SCRIPT`.
    """
    turns = script_files.read_file(path, root)
    return Scripted(turns, by="history", name=f"scripted:{path}")


def from_description(described: Model, root: Path | None = None) -> Scripted:
    """The model of `Model("scripted:FILE")`."""
    return load_script(split_name(described.name)[1], root)


async def _resolved(turn: Turn, request: ModelRequest) -> Line:
    while callable(turn):
        made = turn(request)
        turn = await made if inspect.isawaitable(made) else made
    return read_turn(turn)


def _spoken(line: Line) -> list[Delta]:
    deltas: list[Delta] = [ReasoningChunk(text) for text in line.reasons]
    if deltas:
        deltas.append(ReasoningEnd())
    deltas.extend(TextChunk(text) for text in line.texts)
    return deltas


def _called(
    calls: Sequence[ToolCall], number: int, request: ModelRequest
) -> list[Delta]:
    taken = {call.id for message in request.messages for call in message.calls}
    deltas: list[Delta] = []
    for index, call in enumerate(calls):
        identifier = call.id or _fresh(f"call_{number}_{index + 1}", taken)
        text = call.broken if call.broken is not None else dumps(call.args)
        deltas += (
            CallStart(index, identifier, call.name),
            CallFragment(index, text),
            CallEnd(index),
        )
    return deltas


def _fresh(identifier: str, taken: set[str]) -> str:
    """`identifier`, with a number after it where the history has it already."""
    name, again = identifier, 1
    while name in taken:
        again += 1
        name = f"{identifier}_{again}"
    taken.add(name)
    return name


def _used(line: Line, request: ModelRequest) -> Usage | None:
    """The tokens to report; by default none for a turn that fails."""
    if not line.counted:
        return line.usage
    if line.error is not None:
        return None
    said = "".join(line.reasons + line.texts)
    said += "".join(map(_arguments, line.calls))
    return Usage(
        input=_tokens(request.system) + _tokens("".join(_words(request))),
        output=_tokens(said),
        reasoning=_tokens("".join(line.reasons)),
    )


def _tokens(text: str) -> int:
    return -(-len(text) // _TOKEN)


def _arguments(call: ToolCall) -> str:
    return call.broken if call.broken is not None else dumps(call.args)


def _words(request: ModelRequest) -> list[str]:
    words: list[str] = []
    for message in request.messages:
        for part in message.parts:
            if isinstance(part, Text | Reasoning | ToolResult):
                words.append(part.text)
            elif isinstance(part, ToolCall):
                words.append(_arguments(part))
    return words


def _answers(request: ModelRequest) -> int:
    return sum(message.role == "assistant" for message in request.messages)


def _exhausted(why: str) -> BreadError:
    return BreadError(
        "The script has no more turns.",
        code="SCRIPT_EXHAUSTED",
        why=why,
        do="add a turn, or Scripted(..., repeat_last=True)",
    )
