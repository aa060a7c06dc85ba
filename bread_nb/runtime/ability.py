"""Abilities: what an agent is given besides its own tools; the one extension seam."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bread_nb.runtime.scope import Scope
from bread_nb.tools.lifecycle import Hooks
from bread_nb.tools.tool import Tool

__all__ = ["Ability", "Contribution"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """Tools, instructions and hooks for one run."""

    tools: Sequence[Tool] = ()
    instructions: str = ""
    hooks: Hooks | None = None


class Ability(Protocol):
    """Something an agent can do: asked for its contribution at every turn."""

    async def contribute(self, scope: Scope) -> Contribution: ...
