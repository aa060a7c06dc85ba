"""The calls of a session: what its messages ask for, and what the program asks for.

A message names a call, and the program asks for it on another way; the two find each
other by the id of the call where the program tells it, else by name and arguments.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from bread_nb.base.wire import canonical
from bread_nb.providers.lines import fields
from bread_nb.providers.tool_bridge import ToolBridge, ToolRequest

__all__ = ["SessionCalls", "Use"]

_REPEAT_SECONDS = 1.0


@dataclass(slots=True)
class Use:
    """A call in a message of the model.

    `call_id` is set once it was handed on, `result` once it has one. It is `served`
    once the program got that, `refused` when the program gave the model another.
    """

    id: str
    name: str
    args: dict[str, Any]
    call_id: str = ""
    result: tuple[str, bool] | None = None
    served: bool = False
    refused: bool = False

    def is_asked_by(self, request: ToolRequest) -> bool:
        """Whether a request may mean this call."""
        if request.mark is not None:
            return request.mark == self.id
        same = request.name == self.name
        return same and canonical(request.args) == canonical(self.args)


class SessionCalls:
    """All calls of one session.

    Args:
        bridge: Where the program asks.
        changed: Set when there is something to look at again.
    """

    def __init__(self, bridge: ToolBridge, changed: asyncio.Event) -> None:
        self._bridge = bridge
        self._changed = changed
        self._uses: list[Use] = []

    def add(self, use: Use) -> None:
        """A message asks for a call."""
        self._uses.append(use)

    @property
    def unserved(self) -> list[Use]:
        """The calls whose results the program did not get from here."""
        return [use for use in self._uses if not use.served]

    def refuse(self, blocks: Iterable[object]) -> None:
        """Note the results that the program gave by itself: none of them is ours."""
        for block in map(fields, blocks):
            for use in self._uses:
                if use.id == block.get("tool_use_id") and not use.served:
                    use.refused = True

    def due(self, uses: Iterable[Use]) -> list[Use]:
        """Those of `uses` to be carried out, once the program waits for one of them."""
        due = [use for use in uses if not (use.call_id or use.refused)]
        asked = [self._meant_by(request) for request in self._bridge.requests]
        return due if any(use in due for use in asked if use is not None) else []

    def serve(self) -> None:
        """Answer what can be answered; a call asked for again gets the same result."""
        waiting = list(self._bridge.requests)
        self._bridge.requests.clear()
        for request in waiting:
            use = self._meant_by(request)
            early = use is not None and use.served and not self._is_repeated(request)
            if use is None or use.result is None or early:
                self._bridge.requests.append(request)
                continue
            text, is_failed = use.result
            request.answer(text, failed=is_failed)
            use.served = True

    def _is_repeated(self, request: ToolRequest) -> bool:
        """Whether a call is asked for again: no message tells of another one like it.

        Where the program gives no ids, that message may still be on its way.
        """
        if request.mark is not None:
            return True
        loop = asyncio.get_running_loop()
        due = request.at + _REPEAT_SECONDS
        if loop.time() < due:
            loop.call_at(due, self._changed.set)
        return loop.time() >= due

    def _meant_by(self, request: ToolRequest) -> Use | None:
        meant = [use for use in self._uses if use.is_asked_by(request)]
        fresh = [use for use in meant if not use.served]
        return next(iter(fresh or meant), None)
