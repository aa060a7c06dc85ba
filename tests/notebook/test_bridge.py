"""The engine thread, and waiting for it."""

import asyncio
import gc
import threading
from collections.abc import Iterator
from contextvars import ContextVar

import pytest

from bread_nb.errors import BreadError
from bread_nb.notebook.bridge import Engine

CELL: ContextVar[str] = ContextVar("CELL", default="none")


@pytest.fixture
def engine() -> Iterator[Engine]:
    engine = Engine()
    yield engine
    engine.close()


async def where() -> tuple[str, str]:
    return threading.current_thread().name, CELL.get()


def test_the_thread_starts_at_first_use_and_there_is_one(engine: Engine):
    before = threading.active_count()
    assert not engine.started
    assert engine.loop() is engine.loop()
    assert threading.active_count() == before + 1


def test_work_keeps_the_context_of_the_cell_that_sent_it(engine: Engine):
    token = CELL.set("first")
    assert engine.call(where) == ("bread-engine", "first")
    CELL.reset(token)
    assert engine.submit(where).result(5)[0] == "bread-engine"


def test_what_the_work_raises_is_raised_here(engine: Engine):
    async def fail() -> None:
        raise BreadError("No", code="NO")

    with pytest.raises(BreadError, match="No"):
        engine.call(fail)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_exit_that_work_raises_leaves_the_thread_alive(
    engine: Engine, kind: type[BaseException], caplog: pytest.LogCaptureFixture
):
    async def leave() -> None:
        raise kind

    with pytest.raises(kind):
        engine.submit(leave).result(5)
    assert engine.submit(where).result(5)[0] == "bread-engine"
    engine.close()
    gc.collect()
    assert caplog.messages == []


def test_cancelled_work_is_done_only_when_it_has_ended(engine: Engine):
    ended: list[str] = []
    tasks: list[asyncio.Task[object]] = []
    begun = threading.Event()

    async def work() -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.append(task)
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cleaned up")

    done = engine.submit(work)
    assert begun.wait(5)
    engine.soon(tasks[0].cancel)
    with pytest.raises(BaseException):  # noqa: B017, PT011
        done.result(5)
    assert ended == ["cleaned up"]


def test_a_closed_engine_starts_anew_when_it_is_needed(engine: Engine):
    first = engine.loop()
    engine.close()
    assert not engine.started
    assert engine.loop() is not first
