"""Measure scenarios and print them beside the hand loop and the goals.

    python -m benchmarks.run [SCENARIO …] [--peers] [--repeat N] [--keep] [--list]

CPU is that of this process with all its threads; the fake server has one of its own.
Each figure is the median of several rounds, in which all contestants take turns. Goals
were set on another day: they are moved here by what the hand loop takes meanwhile.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import json
import os
import platform
import statistics
import sys
import tempfile
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks import fake_server
from benchmarks.contestants import Contestant, Sitting, hand_runs
from benchmarks.hand_loop import OnAiohttp
from benchmarks.peer_home import PEERS, PeerFailed, made_ready, peer
from benchmarks.scenarios import AIOHTTP, HTTPX2, SCENARIOS, Scenario

OURS = ("chat", "messages")
COLUMNS = (*OURS, AIOHTTP, HTTPX2)
WARM_UPS = 2
# What the hand loop on aiohttp took for this play when the goals were set, CPU ms.
YARDSTICK, PLAY, THEN = "yardstick", "chain-20", 5.3


@dataclass(frozen=True)
class Row:
    """The medians of one scenario, and how slow the machine was meanwhile."""

    scenario: Scenario
    medians: dict[str, float]
    pace: float
    skipped: dict[str, str]

    @property
    def goal(self) -> float | None:
        """The goal as it is on this machine at this moment."""
        if self.scenario.goal is None or self.scenario.unit == "MiB":
            return self.scenario.goal
        return self.scenario.goal * self.pace

    @property
    def worst(self) -> float:
        """Our figure in the dialect that does worse."""
        return max(self.medians[name] for name in OURS if name in self.medians)

    @property
    def met(self) -> bool | None:
        return None if self.goal is None else self.worst <= self.goal

    @property
    def ratio(self) -> float | None:
        """Our worse figure by the hand loop on the HTTP client we use too."""
        hand = self.medians.get(HTTPX2)
        return self.worst / hand if hand else None


async def measure(
    scenario: Scenario,
    sitting: Sitting,
    rounds: int | None,
    peers: dict[str, Contestant],
) -> Row:
    """The median figure of each contestant; the yardstick takes its turn with them."""
    yardstick = {YARDSTICK: hand_runs(OnAiohttp, PLAY, 1)}
    contestants = {**scenario.contestants, **peers, **yardstick}
    figures: dict[str, list[float]] = {name: [] for name in contestants}
    skipped: dict[str, str] = {}
    async with AsyncExitStack() as stack:
        ones = {
            name: await stack.enter_async_context(contestant(sitting))
            for name, contestant in contestants.items()
        }
        first = -WARM_UPS if scenario.rounds > 1 else 0
        for number in range(first, rounds or scenario.rounds):
            for name, one in list(ones.items()):
                try:
                    figure = await one()
                except PeerFailed as failed:
                    skipped[name] = str(failed)
                    del ones[name], figures[name]
                    continue
                if number >= 0:
                    figures[name].append(figure)
    medians = {name: statistics.median(found) for name, found in figures.items()}
    return Row(scenario, medians, medians.pop(YARDSTICK) / THEN, skipped)


async def sit(names: list[str], rounds: int | None, peers: list[str]) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    with fake_server.running() as url, tempfile.TemporaryDirectory() as folder:
        sitting = Sitting(url, Path(folder))
        for name in names:
            with_us = {
                each: peer(each, name) for each in peers if PEERS[each].does(name)
            }
            rows[name] = await measure(SCENARIOS[name], sitting, rounds, with_us)
            show(name, rows[name])
    return rows


def show_head() -> None:
    columns = "".join(f"{name:>14}" for name in COLUMNS)
    print(
        f"{'':42}{'unit':>9}{columns}{'ratio':>7}{'pace':>7}{'goal':>7}  met",
        flush=True,
    )


def show(name: str, row: Row) -> None:
    title = f"{name}: {row.scenario.title}"
    figures = "".join(f"{figure(row.medians.get(c)):>14}" for c in COLUMNS)
    ratio, met = figure(row.ratio), {True: "yes", False: "NO", None: ""}[row.met]
    print(
        f"{title[:42]:42}{row.scenario.unit:>9}{figures}{ratio:>7}"
        f"{row.pace:>7.2f}{figure(row.goal):>7}  {met}",
        flush=True,
    )
    for other, took in row.medians.items():
        if other not in COLUMNS:
            ours = f"we take {row.worst / took:.2f} of it"
            print(f"{other:>51}{figure(took):>14}  {ours}", flush=True)
    for other, why in row.skipped.items():
        print(f"{other:>51}{'-':>14}  {why}", flush=True)


def figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"


def kept(rows: dict[str, Row]) -> dict[str, object]:
    return {
        "date": datetime.date.today().isoformat(),
        "machine": f"{os.cpu_count()} cores, Python {platform.python_version()}",
        "rows": {
            name: {
                "unit": row.scenario.unit,
                "medians": {k: round(v, 4) for k, v in row.medians.items()},
                "pace": round(row.pace, 3),
                "goal": row.scenario.goal,
                "goal here": None if row.goal is None else round(row.goal, 4),
                "met": row.met,
                **({"skipped": row.skipped} if row.skipped else {}),
            }
            for name, row in rows.items()
        },
    }


def ready_peers() -> list[str]:
    """The peers that can be measured here; says why another one cannot."""
    ready: list[str] = []
    for name in PEERS:
        why = made_ready(name)
        if why is None:
            ready.append(name)
        else:
            print(f"{name} is left out: {why}", flush=True)
    return ready


def keep(rows: dict[str, Row]) -> Path:
    """Write the figures into a file of today."""
    place = Path(__file__).parent / "results" / f"{datetime.date.today()}.json"
    place.parent.mkdir(exist_ok=True)
    place.write_text(json.dumps(kept(rows), indent=1) + "\n")
    return place


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure bread_nb and the hand loop.")
    parser.add_argument("scenario", nargs="*", help="which ones; all by default")
    parser.add_argument("--repeat", type=int, help="rounds for each contestant")
    parser.add_argument("--peers", action="store_true", help="measure others too")
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/")
    parser.add_argument("--list", action="store_true", help="name the scenarios")
    asked = parser.parse_args()
    if asked.list:
        for name, scenario in SCENARIOS.items():
            print(f"{name:10}{scenario.title}")
        return
    unknown = [name for name in asked.scenario if name not in SCENARIOS]
    if unknown:
        sys.exit(f"There is no scenario {unknown[0]!r}; --list names them.")
    peers = ready_peers() if asked.peers else []
    show_head()
    names = asked.scenario or list(SCENARIOS)
    rows = asyncio.run(sit(names, asked.repeat, peers))
    print("\nratio: our worse dialect by the hand loop on httpx2.")
    print(
        "pace: the yardstick by what it took when the goals were set; goals times pace."
    )
    if asked.keep:
        print(f"kept in {keep(rows)}")


if __name__ == "__main__":
    main()
