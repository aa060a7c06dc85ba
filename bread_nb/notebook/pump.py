"""Sends what changed, never more than 20 messages a second in the whole kernel.

Text waits 50 ms for more of it; whatever else changed goes out in the next free slot.
One message carries all that changed in a card meanwhile.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from bread_nb.notebook.bridge import Engine

__all__ = ["SLOT_SECONDS", "Pump", "Source"]

SLOT_SECONDS = 0.05


class Source(Protocol):
    """Something that has news for the page."""

    def send_news(self) -> int:
        """Send what changed; how many messages that took."""
        ...


class Pump:
    """Hands out the slots; `spend` and `touch_soon` are for all threads."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._due: dict[Source, float] = {}
        self._free = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def touch(self, source: Source, *, text: bool = False) -> None:
        """A card changed; `text` when nothing but its text grew."""
        now = self._engine.loop().time()
        due = now + SLOT_SECONDS if text else now
        if due >= self._due.get(source, due + 1):
            return
        self._due[source] = due
        self._plan()

    def touch_soon(self, source: Source) -> None:
        """As `touch`, from any thread."""
        self._engine.soon(lambda: self.touch(source))

    def forget(self, source: Source) -> None:
        """A card is gone."""
        self._due.pop(source, None)

    def spend(self, messages: int = 1) -> None:
        """Messages were sent past the pump, as answers to the page; from any thread."""
        now = self._engine.loop().time()
        self._free = max(self._free, now) + messages * SLOT_SECONDS

    def _plan(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._due:
            when = max(min(self._due.values()), self._free)
            self._timer = self._engine.loop().call_at(when, self._send)

    def _send(self) -> None:
        self._timer = None
        if not self._due:
            return
        now = self._engine.loop().time()
        if now < self._free:
            self._plan()
            return
        source = min(self._due, key=self._due.__getitem__)
        if self._due[source] <= now:
            del self._due[source]
            messages = source.send_news()
            if messages:
                self._free = now + messages * SLOT_SECONDS
        self._plan()
