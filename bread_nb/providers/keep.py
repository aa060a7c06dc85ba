"""What a model holds open between the turns of one run: a session, a process."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Keep", "Kept"]


class Kept(Protocol):
    """Something that is open."""

    async def aclose(self) -> None:
        """End it; it may be called twice."""
        ...


class Keep:
    """The things that models hold open for a run; whoever drives the run closes them.

    A model finds its own under itself.
    """

    def __init__(self) -> None:
        self._held: dict[int, tuple[object, Kept]] = {}

    def __bool__(self) -> bool:
        return bool(self._held)

    def get(self, owner: object) -> Kept | None:
        """What `owner` holds."""
        held = self._held.get(id(owner))
        return held[1] if held is not None else None

    def put(self, owner: object, kept: Kept) -> None:
        """Hold something for `owner`."""
        self._held[id(owner)] = (owner, kept)

    def drop(self, owner: object) -> None:
        """Hold nothing for `owner` any more; it is not closed by this."""
        self._held.pop(id(owner), None)

    async def aclose(self) -> None:
        """Close all of it."""
        while self._held:
            _, (_, kept) = self._held.popitem()
            await kept.aclose()
