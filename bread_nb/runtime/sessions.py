"""Conversations as a person sees them: listed, read, forgotten."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bread_nb.base.later import Later
from bread_nb.messages import Message, from_json
from bread_nb.runtime.scope import Kit
from bread_nb.stores.records import Session, message_log
from bread_nb.stores.upkeep import clean_sessions, forget_session

if TYPE_CHECKING:
    from bread_nb.runtime import engine
else:
    engine = Later("bread_nb.runtime.engine")

__all__ = ["Sessions"]


class Sessions:
    """The sessions of a store."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._store = kit.store

    async def get(self, session_id: str) -> Session | None:
        """One session, or None."""
        return await self._store.get(Session, session_id)

    async def list(self, *, tags: Mapping[str, str] | None = None) -> list[Session]:
        """The sessions that have all these tags, oldest first."""
        where = {"tags": dict(tags)} if tags else None
        return await self._store.query(Session, where)  # pyright: ignore[reportArgumentType]

    async def messages(self, session_id: str) -> list[Message]:
        """What was said in a session, in order."""
        entries = await self._store.read(message_log(session_id))
        return [from_json(entry.value) for entry in entries]

    async def forget(self, session_id: str) -> None:
        """Forget a session with its runs, messages, crumbs and questions.

        Raises:
            BreadError: `SESSION_BUSY` while a run works in it.
        """

        async def free(session: Session) -> bool:
            if await engine.at_work(session, self._kit):
                raise engine.session_busy(session_id, "a run")
            return True

        await forget_session(self._store, session_id, free)

    async def clean(
        self, *, older_than_ms: int, tags: Mapping[str, str] | None = None
    ) -> int:
        """Forget the sessions that nobody has used for so long; how many they were.

        One that a run works in is left.
        """

        async def free(session: Session) -> bool:
            return not await engine.at_work(session, self._kit)

        return await clean_sessions(self._store, older_than_ms, tags, free)
