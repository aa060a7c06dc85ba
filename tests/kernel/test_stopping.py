"""Stop and the kernel's interrupt end a cell in time and leave nothing behind."""

import pytest
from kernel.driver import Kernel

pytestmark = pytest.mark.kernel

STUCK = """
calls = []

def turn(request):
    calls.append("turn")
    if len(calls) > 2:
        return "going on"
    return {"text": "I wait.", "calls": [{"name": "tool_hang"}]}

@tool
async def hang() -> str:
    calls.append("start")
    await asyncio.Event().wait()

stuck = Agent(model=Scripted([turn], repeat_last=True), tools=[hang])
tasks = lambda: len(asyncio.all_tasks(Bread.common_home.loop()))
"""


@pytest.fixture
def stuck(page: Kernel) -> Kernel:
    """The kernel, with an agent whose tool never comes back."""
    page.ok(STUCK)
    return page


def test_an_interrupt_ends_the_cell_and_leaves_no_task(stuck: Kernel):
    cell = stuck.start("%%bread stuck --session whole\nhi")
    view = stuck.view(stuck.card(cell))
    view.state("tools")
    stuck.interrupt()
    result = stuck.finish(cell, 5)
    assert result.error is not None
    assert result.error["ename"] == "BreadStopped"
    assert len(result.told.splitlines()) == 2
    assert result.told.startswith("Stopped by you. [RUN_CANCELLED]\n")
    assert result.plain[0].startswith("stuck stopped by you")
    view.state("stopped")
    assert stuck.ok("print(tasks(), calls)").stdout == "0 ['turn', 'start']\n"


def test_the_history_of_a_stopped_run_can_be_sent_again(stuck: Kernel):
    cell = stuck.start("%%bread stuck --session again\nhi")
    stuck.view(stuck.card(cell)).state("tools")
    stuck.interrupt()
    stuck.finish(cell, 5)
    went_on = stuck.ok("%%bread stuck --session again --out on\nand now?")
    assert went_on.status == "ok"
    said = stuck.ok(
        "m = on.outcome.messages\n"
        "print(on.text, [x.role for x in m], m[2].parts[0].content)"
    ).stdout
    roles = ["user", "assistant", "tool", "user", "assistant"]
    assert said == f"going on {roles} cancelled by user\n"


def test_what_a_stopped_cell_says_to_do_goes_on_from_there(stuck: Kernel):
    cell = stuck.start("%%bread stuck\nhi")
    stuck.view(stuck.card(cell)).state("tools")
    stuck.interrupt()
    _, do = stuck.finish(cell, 5).told.splitlines()
    line = do.removeprefix("  do   ")
    assert line.startswith("%%bread stuck --session stuck-")
    stuck.ok(f"{line} --out on\nand now?")
    said = stuck.ok("print(on.text, len(on.outcome.messages))").stdout
    assert said == "going on 5\n"


def test_an_interrupt_ends_a_cell_that_reads_crumbs(stuck: Kernel):
    stuck.ok("bread = Bread.load(); read = bread.run(stuck, 'hi'); read")
    cell = stuck.start("print('reading')\nasync for crumb in read: pass")
    stuck.wait(lambda: stuck.of(cell, "stream"), "the cell at work")
    stuck.interrupt()
    told = stuck.finish(cell, 5).told.splitlines()
    assert told[0].endswith("works on. [RUN_CANCELLED]")
    assert len(told) == 2
    stuck.ok("read.cancel()")


def test_stop_on_a_subshell_ends_a_blocking_cell(stuck: Kernel):
    cell = stuck.start("%%bread stuck\nhi")
    view = stuck.view(stuck.card(cell))
    view.state("tools")
    assert view.head()["button"] == "stop"
    assert view.head()["foreground"] is True
    action = view.act("stop")
    view.acked(action, 5)
    result = stuck.finish(cell, 5)
    assert result.told.startswith("Stopped by you. [RUN_CANCELLED]\n")
    assert view.result(action)["ok"] is True
    view.state("stopped")
    assert view.head()["button"] is None


def test_a_second_stop_is_refused_in_words(stuck: Kernel):
    cell = stuck.start("%%bread stuck\nhi")
    view = stuck.view(stuck.card(cell))
    view.state("tools")
    view.act("stop")
    stuck.finish(cell, 5)
    late = view.result(view.act("stop"))
    assert (late["ok"], late["say"]) == (
        False,
        "It does not work here, or not any more. There is nothing to stop.",
    )


def test_the_next_cell_works_and_the_interrupt_is_the_kernels_own_again(
    stuck: Kernel,
):
    cell = stuck.start("%%bread stuck\nhi")
    stuck.view(stuck.card(cell)).state("tools")
    stuck.interrupt()
    stuck.finish(cell, 5)
    assert stuck.ok("%bread writer hi").status == "ok"
    handler = stuck.ok(
        "import signal\n"
        "print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    )
    assert handler.stdout == "True\n"


def test_an_interrupt_ends_an_awaiting_cell(stuck: Kernel):
    stuck.ok(
        "from dataclasses import replace\n"
        "bread = Bread.load()\n"
        "mine = bread.run(replace(stuck, name='stuck'), 'hi'); mine"
    )
    stuck.wait(lambda: stuck.ok("print('start' in calls)").stdout == "True\n", "it")
    cell = stuck.start("print('waiting'); await mine")
    stuck.wait(lambda: stuck.of(cell, "stream"), "the cell at work")
    stuck.interrupt()
    result = stuck.finish(cell, 5)
    assert result.status == "error"
    handle = stuck.ok("print(mine.handle)").stdout.strip()
    assert result.told.splitlines() == [
        "Stopped by you. [RUN_CANCELLED]",
        f"  do   %%bread stuck --session {handle}",
    ]
    assert stuck.ok("print(mine.status, tasks())").stdout == "cancelled 0\n"


def test_an_interrupt_ends_a_cell_that_waits_for_a_result(stuck: Kernel):
    cell = stuck.start("held = Bread.load().run(stuck, 'hi'); print(1); held.result()")
    stuck.wait(lambda: stuck.of(cell, "stream"), "the cell at work")
    stuck.interrupt()
    result = stuck.finish(cell, 5)
    assert result.told.startswith("Stopped by you. [RUN_CANCELLED]\n")
    assert len(result.told.splitlines()) == 2


def test_a_tool_that_cannot_be_stopped_does_not_hold_the_cell(stuck: Kernel):
    stuck.ok(
        "gate = threading.Event()\n"
        "@tool\n"
        "async def block() -> str:\n"
        "    gate.wait(20)\n"
        "    return 'late'\n"
        "blocked = Agent(model=Scripted([{'calls': [{'name': 'tool_block'}]}, 'x']),\n"
        "    tools=[block])"
    )
    cell = stuck.start("%%bread blocked\nhi")
    stuck.card(cell)
    stuck.interrupt()
    result = stuck.finish(cell, 5)
    assert result.told.startswith("Stopped by you. [RUN_CANCELLED]\n")
    stuck.ok("gate.set()")


def test_a_clean_stop_reads_like_any_other(stuck: Kernel):
    stuck.ok(
        "def turn(request):\n"
        "    held.stop()\n"
        "    return {'calls': [{'name': 'tool_note'}]}\n"
        "@tool\n"
        "def note() -> str: return 'noted'\n"
        "clean = Agent(model=Scripted([turn], repeat_last=True), tools=[note])"
    )
    result = stuck.run("held = Bread.load().run(clean, 'hi'); print(held.result())")
    assert result.stdout.startswith("Stopped('stopped'")
    assert stuck.ok("held", watched=False).plain[0].startswith("agent stopped by you")
