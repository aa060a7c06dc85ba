"""Bread in a script: no loop of its own until a result is asked for."""

import asyncio
import signal
import threading

import pytest
from fixtures.journey import BOUND, call, calls, check_sendable, within
from journeys.conftest import MakeBread

from bread_nb import (
    Agent,
    BreadError,
    Finished,
    Permissions,
    Scripted,
    Suspended,
    tool,
)
from bread_nb.providers.model import ModelRequest


@tool
def pay() -> str:
    """Pay."""
    return "paid"


def till(*turns: object) -> Agent:
    asking = Permissions(ask=["tool:pay"])
    return Agent(model=Scripted(list(turns)), tools=[pay], permissions=asking)


def test_a_run_waits_and_goes_on_without_a_loop_of_the_scripts(
    make_script_bread: MakeBread,
):
    bread = make_script_bread({"till": till(calls(call("tool_pay")), "done")})
    waiting = bread.run("till", "go").result()
    assert isinstance(waiting, Suspended)
    [question] = asyncio.run(bread.pending())
    outcome = bread.resume(question.checkpoint_id, "yes").result()
    assert isinstance(outcome, Finished)
    assert outcome.text == "done"
    check_sendable(outcome.messages)


def test_ctrl_c_cancels_the_run_and_keeps_its_history_whole(
    make_script_bread: MakeBread,
):
    def interrupt(_: ModelRequest) -> dict[str, object]:
        signal.raise_signal(signal.SIGINT)
        return calls(call("tool_pay"), text="never")

    bread = make_script_bread({"till": till(interrupt, "fine")})
    run = bread.run("till", "go", session="s1")
    with pytest.raises(KeyboardInterrupt):
        run.result()
    assert run.status == "cancelled"
    assert asyncio.run(bread.find_run("last")).status == "cancelled"
    assert bread.run("till", "more", session="s1").result().text == "fine"


def test_a_fault_is_raised_by_result(make_script_bread: MakeBread):
    bread = make_script_bread({"till": till({"error": 401})})
    run = bread.run("till", "go")
    for _ in range(2):
        with pytest.raises(BreadError) as caught:
            run.result()
        assert caught.value.code == "MODEL_AUTH"


def test_runs_of_several_threads_do_not_meet(make_script_bread: MakeBread):
    bread = make_script_bread({"till": till(*["done"] * 8)})
    texts: list[str] = []

    def work() -> None:
        texts.append(bread.run("till", "go").result(timeout=BOUND).text)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=BOUND)
    assert texts == ["done"] * 8
    handles = {row.handle for row in asyncio.run(bread.runs())}
    assert handles == {f"till-{number}" for number in range(1, 9)}


def test_async_with_closes_at_the_end(make_script_bread: MakeBread):
    bread = make_script_bread({"till": till("done")})

    async def main() -> str:
        async with bread as same:
            assert same is bread
            return (await within(bread.run("till", "go"))).text

    assert asyncio.run(main()) == "done"
