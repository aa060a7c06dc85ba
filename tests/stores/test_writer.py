"""The writer's thread, at a desk that fails."""

from __future__ import annotations

import asyncio

import pytest

from bread_nb.errors import BreadError
from bread_nb.stores.writer import Job, Writer


class Slate:
    """A desk that keeps nothing; its commit fails as often as it is told to."""

    def __init__(self, failing: int = 0) -> None:
        self.failing = failing
        self.closed = False

    def commit(self) -> None:
        if self.failing:
            self.failing -= 1
            raise BreadError("The disk is full.", code="STORE_UNWRITABLE")

    def close(self) -> None:
        self.closed = True


async def ask(writer: Writer[Slate], result: object) -> object:
    def work(desk: Slate, asked: float) -> object:
        if isinstance(result, BaseException):
            raise result
        return result

    job = Job(work)
    assert writer.take(job)
    return await asyncio.wait_for(job.future, 30)


async def test_a_commit_that_fails_fails_all_that_waited_for_it():
    writer = Writer(Slate(failing=1))
    with pytest.raises(BreadError) as caught:
        await ask(writer, 1)
    assert caught.value.code == "STORE_UNWRITABLE"
    assert await ask(writer, 2) == 2
    writer.finish()
    writer.wait(30)


async def test_an_error_goes_to_the_one_who_asked():
    writer = Writer(Slate())
    results = await asyncio.gather(
        ask(writer, 1),
        ask(writer, ValueError("no")),
        ask(writer, 3),
        return_exceptions=True,
    )
    assert [str(result) for result in results] == ["1", "no", "3"]
    writer.finish()
    writer.wait(30)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_a_thread_that_ends_by_a_fault_of_its_own_leaves_nobody_waiting():
    desk = Slate()
    writer = Writer(desk)
    results = await asyncio.gather(
        ask(writer, KeyError("a bug")), ask(writer, 2), return_exceptions=True
    )
    assert {getattr(result, "code", None) for result in results} == {"STORE_CLOSED"}
    writer.wait(30)
    assert desk.closed
    assert not writer.take(Job(lambda desk, asked: None))


async def test_the_last_job_is_told_when_everything_is_let_go():
    desk = Slate()
    writer = Writer(desk)
    last: Job[Slate] = Job(lambda desk, asked: None)
    assert writer.finish(last)
    assert not writer.finish(Job(lambda desk, asked: None))
    await asyncio.wait_for(last.future, 30)
    assert desk.closed


def test_a_loop_that_has_ended_is_not_told():
    writer = Writer(Slate())

    async def hurry() -> None:
        writer.take(Job(lambda desk, asked: None))

    for _ in range(20):
        asyncio.run(hurry())
    assert asyncio.run(ask(writer, "still here")) == "still here"
    writer.finish()
    writer.wait(30)
