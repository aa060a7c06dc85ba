"""A kernel that dies takes nothing with it: forms and runs go on from the store."""

from collections.abc import Callable
from pathlib import Path

import pytest
from kernel.conftest import agent
from kernel.driver import Kernel

pytestmark = pytest.mark.kernel

KNEADER = '''
import asyncio
from pathlib import Path
from bread_nb import Agent, Scripted, tool

def note(line):
    with Path("kneaded.txt").open("a") as file:
        file.write(f"{line}\\\\n")

@tool
async def knead(minutes: int) -> str:
    """Knead."""
    note("begun")
    if not Path("let-it-end").exists():
        await asyncio.Event().wait()
    note("ended")
    return "kneaded"

def first(request):
    note("asked")
    call = {"name": "tool_knead", "args": {"minutes": 5}}
    return {"text": "I knead.", "calls": [call]}

agent = Agent(model=Scripted([first, "It rests."], by="history"), tools=[knead])
'''


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def test_a_form_outlives_its_kernel(open_kernel: Callable[..., Kernel], project: Path):
    first = open_kernel()
    first.ok("%load_ext bread_nb")
    cell = first.start("%%bread publisher\nhi")
    first.view(first.card(cell)).form()
    first.finish(cell)
    first.kill()
    assert len(lines(project / "asked.txt")) == 1

    second = open_kernel()
    second.ok("%load_ext bread_nb")
    inbox = second.start("%bread pending")
    view = second.view(second.card(inbox))
    form = view.form()
    listed = second.finish(inbox)
    assert "publisher-1.a  publisher  publish" in listed.plain[0]
    assert "form above" in listed.plain[0]
    assert form["title"] == "Let publisher run publish?"
    assert view.result(view.answer(form, {"approved": True}))["ok"] is True
    view.until(lambda v: "Finished" in repr(v.data["rows"]), "what became of it")
    assert lines(project / "published.txt") == ["Rye"]
    assert len(lines(project / "asked.txt")) == 2
    second.wait(
        lambda: any("finished" in p for p in second.result(inbox).plain),
        "the picture below the form",
    )
    assert second.ok("%bread pending").plain == ["No run waits for you."]


def test_the_waiting_cell_itself_shows_the_form_after_a_restart(
    open_kernel: Callable[..., Kernel], project: Path
):
    first = open_kernel()
    first.ok("%load_ext bread_nb")
    cell = first.start("%%bread publisher\nsame cell", cell="kept")
    first.view(first.card(cell)).form()
    first.finish(cell)
    first.kill()

    second = open_kernel()
    second.ok("%load_ext bread_nb")
    again = second.start("%%bread publisher\nsame cell", cell="kept")
    view = second.view(second.card(again))
    view.form()
    assert second.finish(again).plain[0].startswith("publisher waits for a person")
    assert view.result(view.act("end"))["ok"] is True
    view.state("stopped")


def test_a_run_that_was_broken_off_asks_what_happened_and_goes_on(
    open_kernel: Callable[..., Kernel], project: Path
):
    agent(project, "kneader", KNEADER)
    first = open_kernel()
    first.ok("%load_ext bread_nb")
    cell = first.start("%%bread kneader\nhi")
    first.view(first.card(cell)).state("tools")
    first.wait(lambda: "begun" in lines(project / "kneaded.txt"), "the tool")
    first.kill()

    second = open_kernel()
    second.ok("%load_ext bread_nb")
    inbox = second.start("%bread pending")
    interrupted = second.view(second.card(inbox))
    interrupted.until(lambda v: v.data.get("rows"), "the row")
    assert interrupted.data["head"]["title"] == "1 run was interrupted"
    assert "%bread recover kneader-1" in second.finish(inbox).plain[0]

    taken = second.start("%bread recover")
    view = second.view(second.card(taken))
    form = view.form()
    assert form["ask"] == "outcome"
    assert form["started"]
    assert second.finish(taken).status == "ok"
    view.answer(form, {"happened": True, "result": "kneaded by hand"})
    view.state("finished")
    assert lines(project / "kneaded.txt") == ["asked", "begun"]
    last = second.ok("%bread show kneader-1", watched=False)
    assert "kneaded by hand" in last.outputs[-1]["text/html"]
    assert "[NOT_INTERRUPTED]" in second.run("%bread recover kneader-1").told
    assert second.ok("%bread recover").plain == ["No run was interrupted."]


def test_a_call_may_be_run_again_when_a_person_says_so(
    open_kernel: Callable[..., Kernel], project: Path
):
    first = open_kernel()
    first.ok("%load_ext bread_nb")
    (project / "kneaded.txt").unlink()
    cell = first.start("%%bread kneader\nagain")
    first.view(first.card(cell)).state("tools")
    first.wait(lambda: "begun" in lines(project / "kneaded.txt"), "the tool")
    first.kill()
    (project / "let-it-end").touch()

    second = open_kernel()
    second.ok("%load_ext bread_nb")
    asked = second.ok("%bread resume kneader-2", watched=False)
    assert "The kernel ended during knead minutes=5." in asked.plain[0]
    refused = second.run("%bread resume kneader-2 --approve")
    assert refused.told.splitlines()[0].endswith("[USAGE]")
    ended = second.ok("""%bread resume kneader-2 --answer '{"run": true}'""")
    assert "It rests." in ended.plain[-1]
    assert lines(project / "kneaded.txt") == ["asked", "begun", "begun", "ended"]


def test_a_name_given_along_is_asked_for_after_a_restart(
    open_kernel: Callable[..., Kernel], project: Path
):
    define = (
        "from bread_nb import *\n"
        "@tool\n"
        "def use(ctx: ToolContext) -> str:\n"
        "    return f\"used {ctx.ctx['loaf']}\"\n"
        "user = Agent(model=Scripted([{'calls': [{'name': 'tool_use'}]},\n"
        "    'done'], by='history'), tools=[use],\n"
        "    permissions=Permissions(ask=['tool:*']))"
    )
    first = open_kernel()
    first.ok("%load_ext bread_nb")
    first.ok(f"{define}\nloaf = 'the loaf'")
    first.ok("%%bread user --with loaf\nhi")
    first.kill()

    second = open_kernel()
    second.ok("%load_ext bread_nb")
    unknown = second.run("%bread resume user-1.a --approve")
    assert "[AGENT_NOT_FOUND]" in unknown.told
    second.ok(define)
    missing = second.run("%bread resume user-1.a --approve")
    assert missing.told.splitlines() == [
        "There is no variable 'loaf'. [NAME_NOT_FOUND]",
        "  why  this notebook has not made one of that name.",
        "  do   run the cell that makes loaf, then this one again",
    ]
    second.ok("loaf = 'another loaf'")
    ended = second.ok("%bread resume user-1.a --approve", watched=False)
    assert "used another loaf" in ended.outputs[-1]["text/html"]


def test_a_store_that_cannot_be_written_is_one_clear_error(
    open_kernel: Callable[..., Kernel],
):
    kernel = open_kernel(BREAD_STORE="sqlite:////proc/nowhere/bread.db")
    kernel.ok("%load_ext bread_nb")
    result = kernel.run("%bread writer hi", watched=False)
    assert "[STORE_UNWRITABLE]" in result.told.splitlines()[0]
    assert len(result.told.splitlines()) == 3
    assert result.outputs == []
