"""What a project keeps: its agents, what their runs left, and who hears of them.

The part of `Bread` that starts nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from bread_nb.base.later import Later
from bread_nb.base.redact import Redactor
from bread_nb.crumbs import Crumb, from_wire
from bread_nb.errors import BreadError
from bread_nb.project.config import BreadConfig
from bread_nb.project.equipment import equip
from bread_nb.project.roster import Roster
from bread_nb.providers.deck import Deck
from bread_nb.runtime.agent import Agent
from bread_nb.runtime.listeners import Event, Listeners, Sink
from bread_nb.runtime.outcome import PendingCall
from bread_nb.runtime.sessions import Sessions
from bread_nb.stores.blobs import BlobStore
from bread_nb.stores.records import Definition, RunRow, crumb_log
from bread_nb.stores.store import Store

if TYPE_CHECKING:
    from bread_nb.project.costs import By, Costs
    from bread_nb.runtime import engine
else:
    engine = Later("bread_nb.runtime.engine")

__all__ = ["Archive"]

_MOST = 8


class Archive:
    """The agents of a project and what is kept of their runs.

    Args:
        config: The project's configuration.
        root: The project's folder.
        roster: The agents.
        store: A store or its address, in place of the configured one.
    """

    common_deck: ClassVar[Deck | None] = None

    def __init__(
        self,
        config: BreadConfig,
        root: Path,
        roster: Roster,
        *,
        store: Store | str | None = None,
    ) -> None:
        self.config = config
        self.root = root
        self._roster = roster
        self._listeners = Listeners(config.crumb_filter)
        self._kit = equip(config, root, self._listeners, store, deck=self.common_deck)

    @cached_property
    def _desk(self) -> engine.Desk:
        return engine.Desk(self._kit, self._roster.of_run)

    def __repr__(self) -> str:
        ids = self._roster.ids()
        number = "1 agent" if len(ids) == 1 else f"{len(ids) or 'no'} agents"
        shown = ", ".join(ids[:_MOST]) + (", …" if len(ids) > _MOST else "")
        who = f"{number}: {shown}" if ids else number
        place = getattr(self.store, "place", None) or type(self.store).__name__
        return f"Bread({who}; store {place})"

    @property
    def store(self) -> Store:
        """Where everything is kept."""
        return self._kit.store

    @property
    def blob_store(self) -> BlobStore | None:
        """Where files are kept."""
        return self._kit.blob_store

    @property
    def redactor(self) -> Redactor:
        """What takes secrets out of anything that is kept or shown."""
        return self._kit.redactor

    @property
    def deck(self) -> Deck:
        """The recordings that models are replayed from, and the mode."""
        return self._kit.catalog.deck

    @property
    def sessions(self) -> Sessions:
        """The conversations."""
        return Sessions(self._kit)

    # -- agents ------------------------------------------------------------------------

    def look_up_names(self, names: engine.Names) -> None:
        """Where the names of a run's `ctx` are looked up when it goes on."""
        self._desk.names = names

    def look_up_agents(self, find: Callable[[str], Agent | None]) -> None:
        """Where the agent of a stored run is looked up that no folder has."""
        self._roster.elsewhere = find

    def agent_ids(self) -> list[str]:
        """The ids of all agents, broken ones included."""
        return self._roster.ids()

    def agent(self, agent_id: str) -> Agent:
        """An agent as it is now.

        Raises:
            BreadError: `AGENT_NOT_FOUND` or `AGENT_BROKEN`.
        """
        return self._roster.find(agent_id).agent

    def definition(self, agent_id: str) -> Definition | None:
        """The files of an agent's folder as they are now; None for one without.

        Raises:
            BreadError: `AGENT_NOT_FOUND` or `AGENT_BROKEN`.
        """
        return self._roster.find(agent_id).definition

    def broken(self) -> dict[str, BreadError]:
        """What is wrong with the agents that cannot be run, by id."""
        return self._roster.broken()

    def reload(self) -> None:
        """Forget all loaded code; the next run reads it again."""
        if self._roster.folder is not None:
            self._roster.folder.reload()

    def changed(self, agent_id: str) -> list[str]:
        """The files of an agent that changed at its last loading."""
        folder = self._roster.folder
        return folder.changed(agent_id) if folder else []

    # -- runs --------------------------------------------------------------------------

    async def pending(self) -> list[PendingCall]:
        """The calls that wait for a person, oldest first."""
        return await self._desk.pending()

    async def interrupted(self) -> list[RunRow]:
        """The runs whose process ended while they worked, oldest first."""
        return await self._desk.broken_off(None)

    async def runs(self, *, limit: int | None = 20) -> list[RunRow]:
        """The newest runs, newest first."""
        return await self.store.query(RunRow, newest_first=True, limit=limit)

    async def costs(self, by: By = "run", *, days: int | None = None) -> list[Costs]:
        """What was spent, by run, family, session, agent, model or day; of `days`."""
        return await import_module("bread_nb.project.costs").of(self.store, by, days)

    async def find_run(self, name: str) -> RunRow:
        """A run by its handle, id, a unique beginning of the id, or `last`.

        Raises:
            BreadError: `RUN_NOT_FOUND`.
        """
        return await engine.find_run(self.store, name)

    async def crumbs(self, run: str) -> list[Crumb]:
        """The crumbs of a run as they are kept: deltas joined, numbered from 1."""
        row = await engine.find_run(self.store, run)
        entries = await self.store.read(crumb_log(row.id))
        found = (from_wire(e.value) for e in entries if isinstance(e.value, dict))
        return [replace(c, seq=e.seq) for c, e in zip(found, entries, strict=True)]

    def on(self, event: Event, fn: Callable[..., object]) -> Callable[[], None]:
        """Call `fn(crumb)` at each crumb or question, `fn(error, source)` at a fault.

        Returns:
            A function that takes the listener away again.
        """
        return self._listeners.add(event, fn)

    def add_sink(self, sink: Sink) -> Callable[[], None]:
        """Send every crumb to a sink; the result takes it away again."""
        return self._listeners.add_sink(sink)

    def publish(self, crumb: Crumb) -> None:
        """Give a crumb of a run that is at work somewhere else to who listens here."""
        self._listeners.publish(crumb)
