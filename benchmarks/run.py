"""Measure scenarios and print them beside the hand loop and the goals.

    python -m benchmarks.run [SCENARIO …] [--repeat N] [--keep FILE] [--list]

CPU is that of this process with all its threads; the fake server has one of its own.
Each figure is the median of several rounds, in which all contestants take turns. Goals
were set on another day: they are moved here by what the hand loop takes.
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
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks import fake_server
from benchmarks.contestants import Sitting
from benchmarks.scenarios import AIOHTTP, HTTPX2, SCENARIOS, Scenario

OURS = ("chat", "messages")
COLUMNS = (*OURS, AIOHTTP, HTTPX2)
WARM_UPS = 2
YARDSTICKS = ("trivial", "deltas", "chain", "fan")


@dataclass(frozen=True)
class Row:
    """The medians of one scenario, and its goal as it is on this machine."""

    scenario: Scenario
    medians: dict[str, float]
    goal: float

    @property
    def worst(self) -> float:
        """Our figure in the dialect that does worse."""
        return max(self.medians[name] for name in OURS if name in self.medians)

    @property
    def met(self) -> bool:
        return self.worst <= self.goal

    @property
    def ratio(self) -> float | None:
        """Our worse figure by the hand loop on the HTTP client we use too."""
        hand = self.medians.get(HTTPX2)
        return self.worst / hand if hand else None


async def measure(
    scenario: Scenario, sitting: Sitting, rounds: int | None = None
) -> dict[str, float]:
    """The median figure of each contestant."""
    figures: dict[str, list[float]] = {name: [] for name in scenario.contestants}
    async with AsyncExitStack() as stack:
        ones = {
            name: await stack.enter_async_context(contestant(sitting))
            for name, contestant in scenario.contestants.items()
        }
        first = -WARM_UPS if scenario.rounds > 1 else 0
        for number in range(first, rounds or scenario.rounds):
            for name, one in ones.items():
                figure = await one()
                if number >= 0:
                    figures[name].append(figure)
    return {name: statistics.median(found) for name, found in figures.items()}


async def pace_of(sitting: Sitting) -> float:
    """How long the hand loop takes here, by what it took when the goals were set."""
    found: list[float] = []
    for name in YARDSTICKS:
        only = {AIOHTTP: SCENARIOS[name].contestants[AIOHTTP]}
        medians = await measure(replace(SCENARIOS[name], contestants=only), sitting)
        found.append(medians[AIOHTTP] / (SCENARIOS[name].hand or 1))
    return statistics.median(found)


async def sit(names: list[str], rounds: int | None) -> tuple[float, dict[str, Row]]:
    rows: dict[str, Row] = {}
    with fake_server.running() as url, tempfile.TemporaryDirectory() as folder:
        sitting = Sitting(url, Path(folder))
        pace = await pace_of(sitting)
        for name in names:
            scenario = SCENARIOS[name]
            medians = await measure(scenario, sitting, rounds)
            factor = 1.0 if scenario.unit == "MiB" else pace
            rows[name] = Row(scenario, medians, scenario.goal * factor)
            show(name, rows[name])
    return pace, rows


def show_head() -> None:
    columns = "".join(f"{name:>14}" for name in COLUMNS)
    print(f"{'':42}{'unit':>9}{columns}{'ratio':>7}{'goal':>8}  met", flush=True)


def show(name: str, row: Row) -> None:
    title = f"{name}: {row.scenario.title}"
    figures = "".join(f"{figure(row.medians.get(c)):>14}" for c in COLUMNS)
    ratio, met = figure(row.ratio), "yes" if row.met else "NO"
    print(
        f"{title[:42]:42}{row.scenario.unit:>9}{figures}{ratio:>7}"
        f"{figure(row.goal):>8}  {met}",
        flush=True,
    )
    for peer in row.medians.keys() - set(COLUMNS):
        print(f"{peer:>51}{figure(row.medians[peer]):>14}")


def figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"


def kept(pace: float, rows: dict[str, Row]) -> dict[str, object]:
    return {
        "date": datetime.date.today().isoformat(),
        "machine": f"{os.cpu_count()} cores, Python {platform.python_version()}",
        "pace": round(pace, 3),
        "rows": {
            name: {
                "unit": row.scenario.unit,
                "medians": {k: round(v, 4) for k, v in row.medians.items()},
                "goal": row.scenario.goal,
                "goal here": round(row.goal, 4),
                "met": row.met,
            }
            for name, row in rows.items()
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure bread_nb and the hand loop.")
    parser.add_argument("scenario", nargs="*", help="which ones; all by default")
    parser.add_argument("--repeat", type=int, help="rounds for each contestant")
    parser.add_argument("--keep", type=Path, help="write the figures here, as JSON")
    parser.add_argument("--list", action="store_true", help="name the scenarios")
    asked = parser.parse_args()
    if asked.list:
        for name, scenario in SCENARIOS.items():
            print(f"{name:10}{scenario.title}")
        return
    unknown = [name for name in asked.scenario if name not in SCENARIOS]
    if unknown:
        sys.exit(f"There is no scenario {unknown[0]!r}; --list names them.")
    show_head()
    pace, rows = asyncio.run(sit(asked.scenario or list(SCENARIOS), asked.repeat))
    print(f"\nThe hand loop takes {pace:.2f} times what it took when goals were set.")
    print("ratio: our worse dialect by the hand loop on httpx2.")
    if asked.keep:
        asked.keep.write_text(json.dumps(kept(pace, rows), indent=1) + "\n")


if __name__ == "__main__":
    main()
