"""The peers, and the environment they are installed in.

They are installed from the package index into `benchmarks/.venv-peers`, which git does
not know, the first time that they are asked for. One that cannot be had is left out.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.contestants import Contestant, Sitting, new_process
from benchmarks.measures import One

HOME = Path(__file__).parent / ".venv-peers"
PYTHON = HOME / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
RUNS = frozenset({"build", "trivial", "deltas", "chain", "fan", "history", "short"})
MANY = frozenset({"many"})
WAITS = frozenset({"suspend", "resume"})


@dataclass(frozen=True)
class Peer:
    """Somebody to be measured beside us: a module of `benchmarks.peers`."""

    module: str
    packages: tuple[str, ...]
    scenarios: frozenset[str] = RUNS | MANY

    def does(self, scenario: str) -> bool:
        """Whether it takes part in a scenario."""
        return scenario in self.scenarios


PEERS = {
    "openai": Peer("raw_openai", ("openai==3.57.0",)),
    "anthropic": Peer("raw_anthropic", ("anthropic==2.14.0",)),
    "pydantic-ai": Peer(
        "with_pydantic_ai",
        ("pydantic-ai-slim[openai]==2.68.0",),
        RUNS | MANY | WAITS,
    ),
    "langgraph": Peer(
        "with_langgraph",
        (
            "langgraph==1.2.24",
            "langchain-openai==1.7.4",
            "langgraph-checkpoint-sqlite==3.1.2",
        ),
        RUNS | MANY | WAITS,
    ),
    "openai-agents": Peer(
        "with_openai_agents", ("openai-agents==0.24.0",), RUNS | MANY | WAITS
    ),
    "agno": Peer(
        "with_agno",
        ("agno==3.1.10", "openai==3.57.0", "sqlalchemy", "aiosqlite"),
        RUNS | MANY | WAITS,
    ),
}


class PeerFailed(Exception):
    """A peer could not do what was asked of it."""


def made_ready(name: str) -> str | None:
    """Install a peer where it is not installed yet; why it cannot be, or None."""
    if not PYTHON.exists():
        failed = _said([sys.executable, "-m", "venv", str(HOME)])
        if failed is not None:
            return failed
    packages = PEERS[name].packages
    offline = [str(PYTHON), "-m", "pip", "install", "-qq", "--no-index", *packages]
    if _said(offline) is None:
        return None
    return _said([str(PYTHON), "-m", "pip", "install", "-qq", *packages])


def _said(command: list[str]) -> str | None:
    """The last line of what a command that fails says."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return None if done.returncode == 0 else (lines or ["it failed"])[-1]


def peer(name: str, scenario: str) -> Contestant:
    """A peer as a contestant of a scenario."""
    module = PEERS[name].module
    if scenario == "build":
        lines = (
            "from pathlib import Path\n"
            f"from benchmarks.peers.{module} import Peer\n"
            "Peer('http://127.0.0.1:1', Path()).agent('text-1')"
        )
        return new_process(lines, python=str(PYTHON))

    @asynccontextmanager
    async def up(sitting: Sitting) -> AsyncIterator[One]:
        folder = sitting.folder / f"{module}-{scenario}"
        folder.mkdir(exist_ok=True)
        command = ("-m", "benchmarks.peer_process", module, scenario)
        child = await asyncio.create_subprocess_exec(
            *(PYTHON, *command, sitting.url, folder),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
        )
        errors = asyncio.create_task(child.stderr.read())  # type: ignore[union-attr]

        async def one() -> float:
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdin.write(b"\n")
            figure = await child.stdout.readline()
            if not figure:
                lines = (await errors).decode(errors="replace").split("\n")
                raise PeerFailed(next(filter(str.strip, reversed(lines)), "it ended"))
            return float(figure)

        try:
            yield one
        finally:
            if child.returncode is None:
                child.kill()
            await child.wait()
            await errors

    return up
