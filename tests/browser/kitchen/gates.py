"""Gates that a test opens with a file, and models and ledgers made of files."""

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator
from pathlib import Path

from bread_nb.messages import Usage
from bread_nb.providers.model import (
    Delta,
    Finish,
    ModelRequest,
    ReasoningChunk,
    ReasoningEnd,
    TextChunk,
    UsageReport,
)

LOOK_SECONDS = 0.02


class Gate(str):
    """The name of a gate in a stream of text."""


class Thought(str):
    """A piece of reasoning in a stream of text."""


class Gated:
    """A model that says its pieces and waits at the gates between them."""

    name = "scripted:gated"
    free = True

    def __init__(self, *pieces: str) -> None:
        self._pieces = pieces

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        said = False
        for piece in self._pieces:
            if isinstance(piece, Gate):
                await passing(piece)
            elif isinstance(piece, Thought):
                yield ReasoningChunk(piece)
            else:
                if not said:
                    yield ReasoningEnd()
                said = True
                yield TextChunk(piece)
        yield UsageReport(Usage(input=20, output=40))
        yield Finish("end_turn", self.name)

    async def aclose(self) -> None:
        """There is nothing to free."""


async def passing(name: str) -> None:
    """Wait until a gate is open."""
    while not is_open(name):  # noqa: ASYNC110
        await asyncio.sleep(LOOK_SECONDS)


def pass_blocking(name: str) -> None:
    """Wait until a gate is open, holding the thread."""
    never = threading.Event()
    while not is_open(name):
        never.wait(LOOK_SECONDS)


def crash_at(name: str) -> None:
    """Die without a word when a gate is open."""

    def wait_and_die() -> None:
        pass_blocking(name)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=wait_and_die, daemon=True).start()


def is_open(name: str) -> bool:
    return Path("gates", name).exists()


def write_down(line: str, name: str = "ledger") -> None:
    """Add a line to a ledger."""
    with Path(f"{name}.txt").open("a", encoding="utf-8") as ledger:
        ledger.write(f"{line}\n")
