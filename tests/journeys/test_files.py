"""Files that a model makes, and what else hooks and outcomes say of a run."""

from collections.abc import AsyncIterator

from fixtures.journey import call, calls, finished, only, stopped, waiting, within
from journeys.conftest import MakeBread
from pydantic import BaseModel

from bread_nb import (
    Agent,
    Finished,
    Guards,
    Hooks,
    Permissions,
    Scripted,
    Suspended,
    human_tool,
    tool,
)
from bread_nb.messages import File
from bread_nb.providers.model import (
    CallEnd,
    CallStart,
    Delta,
    FileChunk,
    Finish,
    ModelRequest,
    TextChunk,
)
from bread_nb.stores.blobs import MemoryBlobs

PNG = b"\x89PNG loaf"


class Painter:
    """A model that paints a loaf in its first turn and a slice in its second."""

    name = "scripted:painter"
    free = True

    def __init__(self) -> None:
        self.turns = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        self.turns += 1
        yield TextChunk(f"Picture {self.turns}.")
        yield FileChunk(PNG + bytes([self.turns]), "image/png")
        if self.turns == 1:
            yield CallStart(0, "c1", "tool_look")
            yield CallEnd(0)
            yield Finish("tool_use")
        else:
            yield Finish("end_turn")

    async def aclose(self) -> None:
        return None


@tool
def look() -> str:
    """Look."""
    return "nice"


async def test_files_of_a_model_are_stored_told_and_listed(make_bread: MakeBread):
    blobs, agent = MemoryBlobs(), Agent(model=Painter(), tools=[look])
    bread = make_bread({"painter": agent}, blob_store=blobs)
    run = bread.run("painter", "a loaf", session="s1")
    outcome = await finished(bread, run)
    told = only(run.crumbs, "file:generated")
    first, second = (crumb["uri"] for crumb in told)
    assert await blobs.get(first) == (PNG + b"\x01", "image/png")
    listed = [
        {"kind": "file", "uri": uri, "mimeType": "image/png"} for uri in (first, second)
    ]
    assert list(outcome.files) == listed
    assert only(run.crumbs, "agent:run:end")[0]["files"] == listed
    kept = await bread.sessions.messages("s1")
    assert File(first, "image/png") in kept[1].parts
    assert outcome.output == "Picture 2."


async def test_a_run_without_files_lists_none(make_bread: MakeBread):
    bread = make_bread({"baker": Agent(model=Scripted(["done"]))})
    run = bread.run("baker", "go")
    assert (await finished(bread, run)).files == ()
    assert "files" not in only(run.crumbs, "agent:run:end")[0]


class Order(BaseModel):
    topic: str


async def test_hooks_of_a_resumed_run_get_the_input_as_its_type(make_bread: MakeBread):
    seen: list[object] = []
    hooks = Hooks(
        on_suspend=lambda context: seen.append(context.input),
        after_run=lambda context: seen.append(context.input),
    )
    script = Scripted([calls(call("human_approve", question="?")), "done"])
    agent = Agent(
        model=script,
        input_schema=Order,
        tools=[human_tool("approve")],
        hooks=hooks,
    )
    bread = make_bread({"baker": agent})
    outcome = await waiting(bread, bread.run("baker", {"topic": "rye"}))
    await within(bread.resume(outcome.only, "yes"))
    assert seen == [Order(topic="rye")] * 2


async def test_an_approved_call_resets_the_refusals(make_bread: MakeBread):
    def decide(name: str, args: dict[str, int]) -> bool:
        if args["euros"] > 100:
            raise PermissionError("not above 100")
        return True

    @tool
    def pay(euros: int) -> str:
        """Pay."""
        return "paid"

    small, large = (calls(call("tool_pay", euros=n)) for n in (5, 500))
    agent = Agent(
        model=Scripted([large, small, large, "done", large, large]),
        tools=[pay],
        permissions=Permissions(ask=[decide]),
        guards=Guards(denials=2),
    )
    bread = make_bread({"till": agent})
    outcome = await within(bread.run("till", "go"))
    assert isinstance(outcome, Suspended)
    assert isinstance(await within(bread.resume(outcome.only, "yes")), Finished)
    last = await stopped(bread, bread.run("till", "more"))
    assert last.reason == "denied:tool_pay"
