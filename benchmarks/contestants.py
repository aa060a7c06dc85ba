"""Those who are measured: us and the hand loop, in each kind of scenario.

A contestant is a context that hands out `one`, which does the work once and returns
its figure.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from benchmarks import hand_loop, ours
from benchmarks.measures import One, at_once, cpu_ms, half, read
from bread_nb import Bread
from bread_nb.messages import Text, assistant, to_json, user
from bread_nb.stores.records import Session, message_log
from bread_nb.stores.store import Append, Entry, Put

COMPILED = Path(tempfile.gettempdir(), "bread-nb-benchmarks")


@dataclass(frozen=True)
class Sitting:
    """Where a sitting takes place: the server's address, and a folder for stores."""

    url: str
    folder: Path
    numbers: count[int] = field(default_factory=count)

    def place(self, play: str) -> str:
        """The base URL under which the server plays this play."""
        return f"{self.url}/{play}/v1"

    def chat(self, play: str) -> str:
        """The address of the play for the hand loop."""
        return f"{self.place(play)}/chat/completions"

    def store(self) -> Path:
        """A database file that is not there yet."""
        return self.folder / f"store-{next(self.numbers)}.db"


Contestant = Callable[[Sitting], AbstractAsyncContextManager[One]]


def our_runs(provider: str, play: str, times: int) -> Contestant:
    """Streamed runs, one after the other."""

    @asynccontextmanager
    async def up(sitting: Sitting) -> AsyncIterator[One]:
        agent = ours.agent(provider, sitting.place(play))
        async with ours.bread_with(agent, sitting.store()) as bread:
            yield cpu_ms(lambda: read(ours.stream(bread)), times)

    return up


def our_calls(provider: str, play: str, calls: int, times: int) -> Contestant:
    """Runs that call tools."""

    @asynccontextmanager
    async def up(sitting: Sitting) -> AsyncIterator[One]:
        agent = ours.agent(provider, sitting.place(play))
        async with ours.bread_with(agent, sitting.store()) as bread:
            yield cpu_ms(lambda: ours.call_tools(bread, calls), times)

    return up


def hand_runs(
    transport: type[hand_loop.Transport], play: str, times: int
) -> Contestant:
    """The hand loop, from request to last byte, with or without calls."""

    @asynccontextmanager
    async def up(sitting: Sitting) -> AsyncIterator[One]:
        async with transport() as carrier:

            async def run() -> None:
                said = [{"role": "user", "content": ours.FIRST}]
                url, tools = sitting.chat(play), hand_loop.TOOLS
                await hand_loop.run(carrier, url, said, tools=tools)

            yield cpu_ms(run, times)

    return up


def our_deltas(provider: str, number: int) -> Contestant:
    """CPU microseconds a delta, once the first one is in."""

    @asynccontextmanager
    async def up(sitting: Sitting) -> AsyncIterator[One]:
        agent = ours.agent(provider, sitting.place(f"text-{number}"))
        async with ours.bread_with(agent, sitting.store()) as bread:

            async def one() -> float:
                return await read(ours.stream(bread)) * 1e6 / number

            yield one

    return up


def hand_deltas(transport: type[hand_loop.Transport], number: int) -> Contestant:
    @asynccontextmanager
    async def up(sitting: Sitting) -> AsyncIterator[One]:
        url = sitting.chat(f"text-{number}")
        async with transport() as carrier:

            async def one() -> float:
                begun: list[float] = []

                def heard(_: str) -> None:
                    if not begun:
                        begun.append(time.process_time())

                said = [{"role": "user", "content": ours.FIRST}]
                await hand_loop.run(carrier, url, said, heard=heard)
                return (time.process_time() - begun[0]) * 1e6 / number

            yield one

    return up


def our_waits(provider: str, which: str) -> Contestant:
    @asynccontextmanager
    async def up(sitting: Sitting) -> AsyncIterator[One]:
        agent = ours.agent(provider, sitting.place("chain-1"), ask=True)
        async with ours.bread_with(agent, sitting.store()) as bread:
            waits = ours.Waits(bread)
            yield half(waits.suspend, waits.resume, which)

    return up


def hand_waits(which: str) -> Contestant:
    @asynccontextmanager
    async def up(sitting: Sitting) -> AsyncIterator[One]:
        url = sitting.chat("chain-1")
        async with hand_loop.waits(sitting.store(), url) as waits:
            yield half(lambda: waits.suspend(ours.FIRST), waits.resume, which)

    return up


def our_history(provider: str, messages: int) -> Contestant:
    """Runs in a session of so many messages, which the process has read before."""

    @asynccontextmanager
    async def up(sitting: Sitting) -> AsyncIterator[One]:
        agent = ours.agent(provider, sitting.place("text-1"))
        async with ours.bread_with(agent, sitting.store()) as bread:
            await fill(bread, "long", messages)
            yield cpu_ms(lambda: read(ours.stream(bread, "long")), 20)

    return up


async def fill(bread: Bread, session: str, messages: int) -> None:
    """A session with so many messages, as if they had been said before."""
    said = [
        user(f"Question {n}: what comes after the number before it, and why?")
        if n % 2 == 0
        else assistant(Text(f"Answer {n}: one more, since each is the next of them."))
        for n in range(messages)
    ]
    entries = [Entry(n, to_json(message)) for n, message in enumerate(said, 1)]
    row = Session(id=session, created_at=1, updated_at=1)
    await bread.store.atomic(Put(row), Append(message_log(session), entries))


@asynccontextmanager
async def hand_history(sitting: Sitting) -> AsyncIterator[One]:
    said = [
        {"role": ("user", "assistant")[n % 2], "content": f"Number {n} of them. " * 3}
        for n in range(1000)
    ]
    async with hand_loop.OnHttpx2() as carrier:

        async def run() -> None:
            last = {"role": "user", "content": ours.FIRST}
            await hand_loop.run(carrier, sitting.chat("text-1"), [*said, last])

        yield cpu_ms(run, 20)


def our_many(provider: str, number: int) -> Contestant:
    @asynccontextmanager
    async def up(sitting: Sitting) -> AsyncIterator[One]:
        agent = ours.agent(provider, sitting.place("paced-20-5"))
        async with ours.bread_with(agent, sitting.store()) as bread:
            yield lambda: at_once(lambda: read(ours.stream(bread)), number)

    return up


def hand_many(transport: type[hand_loop.Transport], number: int) -> Contestant:
    @asynccontextmanager
    async def up(sitting: Sitting) -> AsyncIterator[One]:
        url = sitting.chat("paced-20-5")
        async with transport() as carrier:

            async def run() -> None:
                said = [{"role": "user", "content": ours.FIRST}]
                await hand_loop.run(carrier, url, said)

            yield lambda: at_once(run, number)

    return up


@asynccontextmanager
async def our_store(sitting: Sitting) -> AsyncIterator[One]:
    """The files of the store after 505 runs of one session, MiB."""

    async def one() -> float:
        store = sitting.store()
        agent = ours.agent("openai", sitting.place("text-5"))
        async with ours.bread_with(agent, store) as bread:
            for _ in range(505):
                await bread.run("asker", ours.FIRST, session="one")
        files = store.parent.glob(f"{store.name}*")
        return sum(file.stat().st_size for file in files) / (1 << 20)

    yield one


def told(*args: str, python: str = sys.executable) -> str:
    """What a new Python prints; whatever it imports is compiled, as when installed."""
    env = {**os.environ, "PYTHONPYCACHEPREFIX": str(COMPILED)}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [python, *args]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    return done.stdout


IMPORTING = """
import time
wall, cpu = time.perf_counter(), time.process_time()
{lines}
print((time.perf_counter() - wall) * 1000, (time.process_time() - cpu) * 1000)
"""
BUILDING = """
from bread_nb import Agent, Bread, Model, tool
def add(a: int, b: int) -> int:
    "Add two numbers."
    return a + b
agent = Agent(model="openai:fake-1", prompt="Be brief.", tools=[tool(add)])
bread = Bread(agents={"asker": agent})
"""


def new_process(
    lines: str, *, cpu: bool = True, python: str = sys.executable
) -> Contestant:
    """Milliseconds, of CPU or by the clock, that lines take in a new process."""

    @asynccontextmanager
    async def up(_: Sitting) -> AsyncIterator[One]:
        async def one() -> float:
            program = IMPORTING.format(lines=lines)
            wall_ms, spent_ms = told("-c", program, python=python).split()
            return float(spent_ms if cpu else wall_ms)

        yield one

    return up


def our_restart(provider: str) -> Contestant:
    """A new process that answers a question, until it has the final text."""

    @asynccontextmanager
    async def up(sitting: Sitting) -> AsyncIterator[One]:
        async def one() -> float:
            store, url = sitting.store(), sitting.place("chain-1")
            agent = ours.agent(provider, url, ask=True)
            async with ours.bread_with(agent, store) as bread:
                asked = await ours.Waits(bread).suspend()
            return restarted("benchmarks.ours", provider, url, str(store), asked)

        yield one

    return up


@asynccontextmanager
async def hand_restart(sitting: Sitting) -> AsyncIterator[One]:
    async def one() -> float:
        store, url = sitting.store(), sitting.chat("chain-1")
        async with hand_loop.waits(store, url) as waits:
            number = await waits.suspend(ours.FIRST)
        return restarted("benchmarks.hand_loop", url, str(store), str(number))

    yield one


def restarted(module: str, *args: str) -> float:
    """Wall milliseconds of a process from its start to its end."""
    since = time.perf_counter()
    assert told("-m", module, *args).startswith("word")
    return (time.perf_counter() - since) * 1000
