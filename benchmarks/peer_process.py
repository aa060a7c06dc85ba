"""One peer doing one scenario, in a process and an environment of its own.

    python -m benchmarks.peer_process PEER SCENARIO URL FOLDER

does the work once for each line of standard input and prints the figure.
"""

from __future__ import annotations

import asyncio
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.measures import One, at_once, cpu_ms, half, read


def measure_of(peer: Any, scenario: str) -> One:  # noqa: ANN401
    """What gives the figure of a scenario."""
    measures: dict[str, One] = {
        "trivial": cpu_ms(lambda: read(peer.words("text-1")), 20),
        "deltas": lambda: per_delta(peer, 10_000),
        "chain": cpu_ms(lambda: peer.call_tools("chain-20"), 2),
        "fan": cpu_ms(lambda: peer.call_tools("fan-50"), 3),
        "history": cpu_ms(lambda: read(peer.words("text-1", 1000)), 5),
        "short": cpu_ms(lambda: read(peer.words("text-1", 10)), 20),
        "many": lambda: at_once(lambda: read(peer.words("paced-20-5")), 200),
    }
    if scenario in measures:
        return measures[scenario]
    return half(peer.suspend, peer.resume, scenario, times=10)


async def per_delta(peer: Any, number: int) -> float:  # noqa: ANN401
    return await read(peer.words(f"text-{number}")) * 1e6 / number


def main() -> None:
    name, scenario, url, folder = sys.argv[1:]
    module = import_module(f"benchmarks.peers.{name}")
    with asyncio.Runner() as runner:
        one = measure_of(module.Peer(url, Path(folder)), scenario)
        for _ in sys.stdin:
            print(runner.run(one()), flush=True)


if __name__ == "__main__":
    main()
