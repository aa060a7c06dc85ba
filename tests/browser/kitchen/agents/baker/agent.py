"""Bakes a loaf once the gate of its name is open; an oat loaf falls flat."""

from gates import passing, write_down

from bread_nb import Agent, Scripted, tool


@tool
async def prove(loaf: str) -> str:
    """Wait until the dough has risen."""
    await passing(loaf)
    write_down(f"prove {loaf}")
    return "risen"


def turn(request: object) -> object:
    loaf = next(m.text for m in request.messages if m.role == "user")
    if not loaf.startswith("loaf"):
        return f"bread of {loaf}"
    if request.messages[-1].role == "tool":
        return "flat" if loaf == "loaf-2" else f"bread of {loaf}"
    return {"calls": [{"name": "tool_prove", "args": {"loaf": loaf}}]}


agent = Agent(model=Scripted([turn], by="history", repeat_last=True), tools=[prove])
