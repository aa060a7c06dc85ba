"""The words that `%bread` takes for commands: no agent can be called by them."""

from __future__ import annotations

__all__ = ["COMMANDS", "LATER", "why_hidden"]

COMMANDS = (
    "agents",
    "runs",
    "pending",
    "show",
    "resume",
    "recover",
    "cancel",
    "reload",
    "eval",
    "mode",
    "gate",
    "cost",
    "doctor",
    "help",
)
LATER = ("diff", "fork")


def why_hidden(agent_id: str) -> str:
    """Why a cell cannot run an agent of this id; empty when it can."""
    if agent_id in COMMANDS or agent_id in LATER:
        return f"in a cell {agent_id} is a command, so that no cell can run this agent"
    return ""
