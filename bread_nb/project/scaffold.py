"""The first files of a new agent."""

from __future__ import annotations

import os
from pathlib import Path

from bread_nb.base.names import check_name
from bread_nb.errors import BreadError
from bread_nb.project.reserved import why_hidden

__all__ = ["new_agent", "seen_from_here"]

_AGENT = '''"""What {id} is for, in one sentence."""

import os

from bread_nb import Agent

agent = Agent(model=os.environ.get("BREAD_MODEL", "local:smollm2-135m"))
'''
_PROMPT = "You are {id}. Answer in two short sentences.\n"


def new_agent(root: Path, agent_id: str) -> list[Path]:
    """Write `agents/<id>/`; the files that were made.

    Raises:
        BreadError: `INVALID_NAME`, `AGENT_EXISTS` or `PROJECT_UNWRITABLE`.
    """
    check_name(agent_id, "agent")
    hidden = why_hidden(agent_id)
    if hidden:
        raise BreadError(
            f"An agent cannot be called {agent_id!r}.",
            code="INVALID_NAME",
            why=f"{hidden}.",
            do=f"bread new agent my_{agent_id}",
        )
    folder = root / "agents" / agent_id
    seen = seen_from_here(folder)
    if folder.exists():
        raise BreadError(
            f"There is an agent {agent_id!r} already.",
            code="AGENT_EXISTS",
            why=f"{seen}/ is there; nothing was changed.",
            do=f"edit {seen}/agent.py, or choose another name",
        )
    texts = {"agent.py": _AGENT, "prompt.md": _PROMPT}
    try:
        folder.mkdir(parents=True)
        for name, text in texts.items():
            (folder / name).write_text(text.format(id=agent_id), encoding="utf-8")
    except OSError as error:
        raise BreadError(
            f"{seen}/ cannot be written.",
            code="PROJECT_UNWRITABLE",
            why=f"{error.strerror or type(error).__name__}.",
            do=f"make {root} a folder you may write in",
        ) from None
    return [folder / name for name in texts]


def seen_from_here(path: Path) -> str:
    """A path as it is written in the working directory."""
    try:
        return Path(os.path.relpath(path)).as_posix()
    except ValueError:  # it is on another drive
        return path.as_posix()
