"""After a crash: what is safe runs again, what is not is asked, nothing is guessed."""

import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from fixtures.interrupted import counter, till

from bread_nb import Bread, BreadError, Finished, Suspended

SCRIPT = Path(__file__).parents[1] / "fixtures" / "interrupted.py"


@contextmanager
def inside(folder: Path, name: str) -> Generator[None]:
    """The agent in a process of its own, inside its tool; killed at the end."""
    child = subprocess.Popen(
        [sys.executable, str(SCRIPT), str(folder), name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout
    assert child.stdin
    try:
        assert child.stdout.readline().strip() in ("pay", "look")
        yield
    finally:
        child.kill()
        child.wait(timeout=30)
        child.stdout.close()
        child.stdin.close()


def die_inside(folder: Path, name: str) -> None:
    """Run the agent and kill its process while its tool runs."""
    with inside(folder, name):
        pass


@pytest_asyncio.fixture
async def bread(tmp_path: Path) -> AsyncGenerator[Bread]:
    """The till after its process was killed inside `pay`."""
    die_inside(tmp_path, "pay")
    async with till(tmp_path, hang=False) as bread:
        yield bread


async def question(bread: Bread) -> str:
    """Take the run up; the id of the question that it asks."""
    [run] = await bread.recover()
    outcome = await run
    assert isinstance(outcome, Suspended)
    [call] = outcome.pending
    assert (call.kind, call.tool, dict(call.args)) == ("outcome", "pay", {"amount": 3})
    return call.checkpoint_id


async def last_result(bread: Bread) -> tuple[object, bool]:
    messages = await bread.sessions.messages("till")
    [result] = next(m.parts for m in reversed(messages) if m.role == "tool")
    return result.content, result.failed


async def test_an_interrupted_run_is_seen_by_another_process(bread: Bread) -> None:
    [row] = await bread.interrupted()
    assert (row.handle, row.status) == ("pay-1", "working")
    assert await bread.pending() == []


async def test_a_call_that_happened_is_given_its_result(
    bread: Bread, tmp_path: Path
) -> None:
    answer = {"happened": True, "result": {"paid": 3}}
    outcome = await bread.resume(await question(bread), answer)
    assert isinstance(outcome, Finished)
    assert counter(tmp_path, "pay") == 1
    assert await last_result(bread) == ({"paid": 3}, False)


async def test_a_call_that_did_not_happen_is_run_now(
    bread: Bread, tmp_path: Path
) -> None:
    outcome = await bread.resume(await question(bread), {"run": True})
    assert isinstance(outcome, Finished)
    assert counter(tmp_path, "pay") == 2
    assert await last_result(bread) == ({"paid": 3}, False)


async def test_when_nobody_can_tell_the_model_is_told_that_it_failed(
    bread: Bread, tmp_path: Path
) -> None:
    outcome = await bread.resume(await question(bread), {"failed": True})
    assert isinstance(outcome, Finished)
    assert counter(tmp_path, "pay") == 1
    content, failed = await last_result(bread)
    assert failed
    assert "nobody can tell" in str(content)


@pytest.mark.parametrize(
    "answer",
    [{}, {"happened": True, "result": "three"}, {"run": "yes"}, True, None],
    ids=repr,
)
async def test_an_answer_that_says_nothing_leaves_the_question_open(
    bread: Bread, tmp_path: Path, answer: object
) -> None:
    asked = await question(bread)
    with pytest.raises(BreadError) as caught:
        await bread.resume(asked, answer)
    assert caught.value.code == "INVALID_ANSWER"
    assert [call.checkpoint_id for call in await bread.pending()] == [asked]
    assert counter(tmp_path, "pay") == 1


async def test_a_call_that_may_be_repeated_runs_again_without_a_question(
    tmp_path: Path,
) -> None:
    die_inside(tmp_path, "look")
    async with till(tmp_path, hang=False) as bread:
        [run] = await bread.recover()
        assert isinstance(await run, Finished)
    assert counter(tmp_path, "look") == 2


async def test_the_session_of_an_interrupted_run_takes_no_message(bread: Bread) -> None:
    with pytest.raises(BreadError) as caught:
        await bread.run("pay", "And now?", session="till")
    assert caught.value.code == "SESSION_WAITING"
    assert "interrupted" in caught.value.why


async def test_discarding_ends_the_interrupted_run_and_starts_anew(
    bread: Bread, tmp_path: Path
) -> None:
    outcome = await bread.run("look", "Look.", session="till", discard=True)
    assert isinstance(outcome, Finished)
    newest, oldest = await bread.runs()
    assert (newest.status, oldest.status) == ("finished", "stopped")
    assert counter(tmp_path, "pay") == 1
    messages = await bread.sessions.messages("till")
    asked = [call.id for message in messages for call in message.calls]
    answered = [p.call_id for m in messages if m.role == "tool" for p in m.parts]
    assert answered == asked


async def test_an_interrupted_run_can_be_ended(bread: Bread) -> None:
    row = await bread.cancel("pay-1")
    assert row.status == "stopped"
    assert await bread.interrupted() == []


async def test_taking_up_twice_finds_nothing_the_second_time(bread: Bread) -> None:
    await question(bread)
    assert await bread.recover() == []
    with pytest.raises(BreadError) as caught:
        await bread.recover("pay-1")
    assert caught.value.code == "NOT_INTERRUPTED"


async def test_a_live_run_is_not_taken_for_an_interrupted_one(tmp_path: Path) -> None:
    with inside(tmp_path, "pay"):
        async with till(tmp_path, hang=False) as bread:
            assert await bread.interrupted() == []
            with pytest.raises(BreadError) as caught:
                await bread.run("pay", "Me too.", session="till")
            assert caught.value.code == "SESSION_BUSY"
            with pytest.raises(BreadError) as caught:
                await bread.cancel("pay-1")
            assert caught.value.code == "SESSION_BUSY"


async def test_a_waiting_run_is_not_ended_while_another_process_runs_its_call(
    tmp_path: Path,
) -> None:
    with inside(tmp_path, "asked"):
        async with till(tmp_path, hang=False) as bread:
            with pytest.raises(BreadError) as caught:
                await bread.cancel("asked-1")
            assert caught.value.code == "SESSION_BUSY"
            with pytest.raises(BreadError) as caught:
                await bread.run("look", "Look.", session="till", discard=True)
            assert caught.value.code == "SESSION_BUSY"
    async with till(tmp_path, hang=False) as bread:
        [row] = await bread.interrupted()
        assert row.handle == "asked-1"
        assert (await bread.cancel("asked-1")).status == "stopped"
