"""Calls a tool that holds a thread until the gate `hold` is open."""

from gates import pass_blocking, write_down

from bread_nb import Agent, Scripted, tool


@tool
def hold(what: str) -> str:
    """Hold something until it is let go."""
    write_down(f"hold {what}")
    pass_blocking("hold")
    write_down(f"let go {what}")
    return f"held {what}"


agent = Agent(
    model=Scripted(
        [{"calls": [{"name": "tool_hold", "args": {"what": "dough"}}]}, "Let go."],
        by="history",
    ),
    tools=[hold],
)
