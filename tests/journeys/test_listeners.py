"""Who hears of crumbs; no fault of theirs ends a run and none is lost."""

import asyncio
import logging

import pytest
from fixtures.journey import call, calls, finished, types, waiting, within
from journeys.conftest import MakeBread

from bread_nb import Agent, BreadError, Scripted, human_tool
from bread_nb.a2ui.picture import picture
from bread_nb.crumbs import Crumb, HumanRequired, to_wire
from bread_nb.stores.store import Entry


def baker(*turns: object) -> Agent:
    script = Scripted(list(turns) or [{"deltas": ["a", "b"]}], repeat_last=True)
    return Agent(model=script, tools=[human_tool("approve")])


class Keeper:
    """A sink that keeps what it is sent, or raises."""

    def __init__(self, error: Exception | None = None) -> None:
        self.crumbs: list[Crumb] = []
        self._error = error

    def accept(self, crumb: Crumb) -> None:
        self.crumbs.append(crumb)
        if self._error is not None:
            raise self._error


async def test_listeners_and_sinks_get_every_crumb(make_bread: MakeBread):
    bread, heard, sink = make_bread({"baker": baker()}), list[Crumb](), Keeper()
    bread.on("crumb", heard.append)
    bread.add_sink(sink)
    run = bread.run("baker", "go")
    await finished(bread, run)
    assert heard == sink.crumbs == list(run.crumbs)


async def test_a_question_is_told_to_those_who_asked_for_questions(
    make_bread: MakeBread,
):
    heard: list[HumanRequired] = []
    bread = make_bread({"baker": baker(calls(call("human_approve", question="?")))})
    bread.on("human:required", heard.append)
    outcome = await waiting(bread, bread.run("baker", "go"))
    assert [crumb.checkpoint_id for crumb in heard] == [outcome.only]


async def test_a_question_is_stored_before_anybody_hears_of_it(make_bread: MakeBread):
    found: list[int] = []
    bread = make_bread({"baker": baker(calls(call("human_approve", question="?")))})

    async def look(_: Crumb) -> None:
        found.append(len(await bread.pending()))

    bread.on("human:required", look)
    await waiting(bread, bread.run("baker", "go"))
    await within(bread._listeners.drain())
    assert found == [1]


async def test_listeners_can_be_taken_away(make_bread: MakeBread):
    bread, heard, sink = make_bread({"baker": baker()}), list[Crumb](), Keeper()
    leave, detach = bread.on("crumb", heard.append), bread.add_sink(sink)
    leave()
    detach()
    leave()
    await finished(bread, bread.run("baker", "go"))
    assert (heard, sink.crumbs) == ([], [])


async def test_a_listener_that_raises_is_a_fault_and_not_a_failure(
    make_bread: MakeBread, caplog: pytest.LogCaptureFixture
):
    faults: list[tuple[str, str]] = []
    after: list[Crumb] = []

    def deaf(_: Crumb) -> None:
        raise ValueError("deaf")

    async def later(_: Crumb) -> None:
        raise KeyError("late")

    bread = make_bread({"baker": baker()})
    bread.on("fault", lambda error, source: faults.append((source, str(error))))
    for listener in (deaf, later, after.append):
        bread.on("crumb", listener)
    bread.add_sink(Keeper(OSError("full")))
    run = bread.run("baker", "go")
    await finished(bread, run)
    await within(bread._listeners.drain())
    assert after == list(run.crumbs)
    assert set(faults) == {
        ("crumb listener", "deaf"),
        ("crumb listener", "'late'"),
        ("sink Keeper", "full"),
    }
    assert len(faults) == 3 * len(run.crumbs)
    logged = [record for record in caplog.records if record.name == "bread_nb"]
    assert len(logged) == 3
    assert all(record.levelno == logging.WARNING for record in logged)


async def test_a_fault_in_the_log_holds_no_key(
    make_bread: MakeBread,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("OVEN_API_KEY", "CANARY-0123456789abcdef")

    def deaf(_: Crumb) -> None:
        raise ValueError("refused: CANARY-0123456789abcdef")

    bread = make_bread({"baker": baker()})
    bread.on("crumb", deaf)
    await finished(bread, bread.run("baker", "go"))
    assert "refused" in caplog.text
    assert "CANARY" not in caplog.text


def test_an_event_there_is_not_is_named(make_script_bread: MakeBread):
    with pytest.raises(BreadError) as caught:
        make_script_bread({"baker": baker()}).on("crumbs", print)
    assert caught.value.code == "UNKNOWN_EVENT"
    assert "human:required" in caught.value.why


async def test_a_fault_listener_that_raises_is_only_logged(make_bread: MakeBread):
    def deaf(*_: object) -> None:
        raise ValueError("deaf")

    bread = make_bread({"baker": baker()})
    bread.on("fault", deaf)
    bread.on("crumb", deaf)
    await finished(bread, bread.run("baker", "go"))


async def test_the_filter_keeps_crumbs_from_sinks_alone(make_bread: MakeBread):
    def no_deltas(crumb: Crumb) -> bool:
        return crumb.type != "text:delta"

    heard, sink = list[Crumb](), Keeper()
    bread = make_bread({"baker": baker()}, crumb_filter=no_deltas)
    bread.on("crumb", heard.append)
    bread.add_sink(sink)
    run = bread.run("baker", "go")
    await finished(bread, run)
    assert heard == list(run.crumbs)
    assert sink.crumbs == [crumb for crumb in heard if no_deltas(crumb)]
    assert "text:delta" in types(await bread.crumbs("last"))


async def test_a_filter_that_raises_lets_crumbs_pass(make_bread: MakeBread):
    def broken(_: Crumb) -> bool:
        raise ValueError("broken")

    sources: list[str] = []
    sink = Keeper()
    bread = make_bread({"baker": baker()}, crumb_filter=broken)
    bread.on("fault", lambda error, source: sources.append(source))
    bread.add_sink(sink)
    run = bread.run("baker", "go")
    await finished(bread, run)
    assert sink.crumbs == list(run.crumbs)
    assert set(sources) == {"crumb_filter"}


async def test_a_slow_listener_does_not_hold_up_the_run_but_the_closing(
    make_bread: MakeBread,
):
    go_on, heard = asyncio.Event(), list[str]()

    async def slow(crumb: Crumb) -> None:
        await within(go_on.wait())
        heard.append(crumb.type)

    bread = make_bread({"baker": baker()})
    bread.on("crumb", slow)
    run = bread.run("baker", "go")
    await finished(bread, run)
    assert heard == []
    closing = asyncio.ensure_future(bread.close())
    go_on.set()
    await within(closing)
    assert sorted(heard) == sorted(types(run.crumbs))


async def test_a_crumb_of_a_later_version_is_read_and_shown_with_the_rest(
    make_bread: MakeBread,
):
    bread = make_bread({"baker": baker("Bread.")})
    run = bread.run("baker", "go")
    await finished(bread, run)
    name = f"crumbs/{run.id}"
    last = (await bread.store.read(name))[-1]
    assert isinstance(last.value, dict)
    news = {**last.value, "type": "weather:report", "wind": [3], "seq": last.seq + 1}
    more = {**last.value, "humidity": {"air": 40}, "seq": last.seq + 2}
    entries = [Entry(last.seq + 1, news), Entry(last.seq + 2, more)]
    await bread.store.append(name, entries)
    kept = await bread.crumbs("last")
    assert [to_wire(crumb) for crumb in kept[-2:]] == [news, more]
    assert "baker finished" in picture(kept).plain
