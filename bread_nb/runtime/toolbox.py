"""The tools and instructions of one run, gathered anew for each turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from bread_nb.base.names import called
from bread_nb.errors import BreadError
from bread_nb.governance.permissions import Permissions
from bread_nb.messages import ToolSpec
from bread_nb.runtime.ability import Ability
from bread_nb.runtime.agent import Agent, decorated
from bread_nb.runtime.scope import Scope
from bread_nb.tools.tool import Tool

__all__ = ["Toolbox", "assemble"]


@dataclass(frozen=True, slots=True)
class Toolbox:
    """What an agent may use this turn; tools it is denied are not in it."""

    tools: Mapping[str, Tool]
    permissions: Permissions
    instructions: str = ""
    specs: tuple[ToolSpec, ...] = field(default_factory=tuple)

    @property
    def names(self) -> list[str]:
        """The names the model reads."""
        return list(self.tools)


async def assemble(
    agent: Agent, scope: Scope, abilities: Sequence[Ability] = ()
) -> Toolbox:
    """Gather an agent's own tools and those of its abilities.

    Raises:
        BreadError: `TOOL_NAME_COLLISION` when two tools would have one name.
    """
    found: list[Tool] = list(_own_tools(agent, scope))
    texts = [agent.prompt or ""]
    for ability in abilities:
        part = await ability.contribute(scope)
        found.extend(part.tools)
        texts.append(part.instructions)
    offered: dict[str, Tool] = {}
    for tool in found:
        if not agent.permissions.offers(tool.origin):
            continue
        if tool.leaf in offered:
            raise _collision(tool, offered[tool.leaf])
        offered[tool.leaf] = tool
    return Toolbox(
        tools=offered,
        permissions=agent.permissions,
        instructions="\n\n".join(text for text in texts if text.strip()),
        specs=tuple(tool.spec for tool in offered.values()),
    )


def _own_tools(agent: Agent, scope: Scope) -> Sequence[Tool]:
    tools: list[Tool] = []
    for entry in agent.tools:
        if isinstance(entry, Tool):
            tools.append(entry)
            continue
        given = cast("object", entry())
        if isinstance(given, str | bytes | dict) or not isinstance(given, Iterable):
            kind = _kind(cast("object", given))
            raise _no_tools(entry, scope, f"it returned {kind}")
        for made in cast("Iterable[object]", given):
            if not isinstance(made, Tool):
                raise _no_tools(entry, scope, f"there is {_kind(made)} among them")
            tools.append(made)
    return tools


def _kind(value: object) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"


def _no_tools(entry: object, scope: Scope, why: str) -> BreadError:
    return BreadError(
        f"{called(entry)} gives no tools.",
        code="INVALID_TOOL",
        why=f"it is in the tools of {scope.agent_id}, and {why}.",
        do=f"{decorated(entry)}, or let it return a list of tools",
    )


def _collision(tool: Tool, other: Tool) -> BreadError:
    return BreadError(
        f"Two tools are called {tool.leaf}.",
        code="TOOL_NAME_COLLISION",
        why=f"{tool.perm_id} and {other.perm_id} would have one name.",
        do="rename one, or deny one in permissions",
        context={"leaf": tool.leaf},
    )
