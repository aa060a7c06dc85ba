"""The messages of sessions that were read or written lately.

A session of a thousand messages is read once, not at every run. An entry counts only
while the store has just as many messages as it had when the entry was made.
"""

from __future__ import annotations

from collections import OrderedDict

from bread_nb.errors import BreadError
from bread_nb.messages import Message, from_json
from bread_nb.stores.records import message_log
from bread_nb.stores.store import Store

__all__ = ["Histories"]

_MOST = 64


class Histories:
    """Messages by session; the least lately used are forgotten first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[list[Message], int]] = OrderedDict()

    def keep(self, session_id: str, history: list[Message], stored: int) -> None:
        """Remember that the first `stored` messages are those in the store."""
        self._kept[session_id] = (history, stored)
        self._kept.move_to_end(session_id)
        if len(self._kept) > _MOST:
            self._kept.popitem(last=False)

    def forget(self, session_id: str) -> None:
        """Read the session from the store the next time."""
        self._kept.pop(session_id, None)

    async def read(self, store: Store, session_id: str) -> list[Message]:
        """A session's stored messages, as a list of the caller's own.

        Raises:
            BreadError: `STORE_CORRUPT` when one of them cannot be read.
        """
        log = message_log(session_id)
        history, stored = self._kept.get(session_id, ([], 0))
        if stored:
            newest = await store.read(log, newest=1)
            if newest and newest[0].seq == stored:
                return history[:stored]
        entries = await store.read(log)
        try:
            fresh = [from_json(entry.value) for entry in entries]
        except (ValueError, TypeError) as error:
            raise BreadError(
                f"Session {session_id!r} cannot be read.",
                code="STORE_CORRUPT",
                why=f"one of its messages is damaged: {error}.",
                do="use another session",
            ) from None
        self.keep(session_id, fresh, len(fresh))
        return fresh.copy()
