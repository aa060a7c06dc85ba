"""Who can be run: agents given in code and agents in folders."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from weakref import WeakSet

from bread_nb.errors import BreadError
from bread_nb.project.idle_rules import idle_rules
from bread_nb.project.loader import AgentFolder, unknown_agent
from bread_nb.runtime.agent import Agent
from bread_nb.stores.records import Definition, RunRow

__all__ = ["Member", "Roster"]

_LOG = logging.getLogger("bread_nb")


@dataclass(frozen=True, slots=True)
class Member:
    """An agent that can be run; `definition` is there for agents in folders."""

    id: str
    agent: Agent
    definition: Definition | None = None


class Roster:
    """The agents of one Bread instance; those given in code win over folders."""

    def __init__(self, agents: Mapping[str, Agent], folder: AgentFolder | None) -> None:
        self.given = dict(agents)
        self.folder = folder
        self.elsewhere: Callable[[str], Agent | None] | None = None
        self._handed: dict[str, Agent] = {}
        self._looked_at: WeakSet[Agent] = WeakSet()
        self._said: set[str] = set()

    def ids(self) -> list[str]:
        """All ids, broken ones included, in order."""
        in_folders = self.folder.ids() if self.folder else []
        return sorted({*self.given, *in_folders})

    def find(self, agent_id: str) -> Member:
        """An agent as it is now.

        Raises:
            BreadError: `AGENT_NOT_FOUND` or `AGENT_BROKEN`.
        """
        if agent_id in self.given:
            return Member(agent_id, self.given[agent_id])
        if self.folder is not None and agent_id in self.folder.ids():
            loaded = self.folder.load(agent_id)
            return Member(loaded.id, loaded.agent, loaded.definition)
        raise unknown_agent(agent_id, self.ids(), self.broken())

    def member(self, agent: str | Agent) -> Member:
        """An agent by its id, or one that is handed over itself.

        Raises:
            BreadError: `AGENT_NOT_FOUND` or `AGENT_BROKEN`.
        """
        member = self.find(agent) if isinstance(agent, str) else self._take(agent)
        self._warn(member)
        return member

    def _warn(self, member: Member) -> None:
        """Log each rule that matches no tool of the agent, once."""
        if member.agent in self._looked_at:
            return
        self._looked_at.add(member.agent)
        for rule in idle_rules(member.agent):
            said = f"{member.id}: {rule}"
            if said not in self._said:
                self._said.add(said)
                _LOG.warning("%s", said)

    def _take(self, agent: Agent) -> Member:
        agent_id = agent.name or "agent"
        self._handed[agent_id] = agent
        return Member(agent_id, agent)

    def of_run(self, row: RunRow) -> Agent:
        """The agent of a stored run, as it is now.

        One that was handed over itself is looked for where it came from, `elsewhere`
        in a new process; a folder's is read again.

        Raises:
            BreadError: `AGENT_NOT_FOUND` or `AGENT_BROKEN`.
        """
        name = row.agent_id
        if row.definition is None and name not in self.given:
            found = self._handed.get(name)
            if found is None and self.elsewhere is not None:
                found = self.elsewhere(name)
            if found is not None:
                return found
        return self.find(name).agent

    def broken(self) -> dict[str, BreadError]:
        """What is wrong with the agents that cannot be run."""
        return self.folder.problems() if self.folder else {}
