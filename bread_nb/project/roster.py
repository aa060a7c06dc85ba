"""Who can be run: agents given in code and agents in folders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bread_nb.errors import BreadError
from bread_nb.project.loader import AgentFolder, unknown_agent
from bread_nb.runtime.agent import Agent
from bread_nb.stores.records import Definition

__all__ = ["Member", "Roster"]


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
        raise unknown_agent(agent_id, self.ids())

    def broken(self) -> dict[str, BreadError]:
        """What is wrong with the agents that cannot be run."""
        return self.folder.problems() if self.folder else {}
