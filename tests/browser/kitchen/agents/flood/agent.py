"""Says ten thousand short pieces, a thousand in a second, and calls nothing."""

import asyncio
from collections.abc import AsyncIterator

from gates import write_down

from bread_nb import Agent
from bread_nb.messages import Usage
from bread_nb.providers.model import (
    Delta,
    Finish,
    ModelRequest,
    TextChunk,
    UsageReport,
)

PIECES = 10_000
IN_A_ROW = 20
PAUSE_SECONDS = 0.02


class Flood:
    """Counts, so that a lost or doubled piece shows."""

    name = "scripted:flood"
    free = True

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        for number in range(PIECES):
            yield TextChunk(f"{number} " if number % 50 else f"\n\n{number} ")
            if number % IN_A_ROW == 0:
                await asyncio.sleep(PAUSE_SECONDS)
        write_down("said")
        yield UsageReport(Usage(input=1, output=PIECES))
        yield Finish("end_turn", self.name)

    async def aclose(self) -> None:
        """There is nothing to free."""


agent = Agent(model=Flood())
