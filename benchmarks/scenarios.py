"""What is measured, and what we want.

All contestants of a scenario are up together and take turns, so that they share the
machine's good and bad minutes. A peer is added by giving it a name and a contestant in
the scenarios it takes part in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchmarks import hand_loop
from benchmarks.contestants import (
    BUILDING,
    Contestant,
    hand_deltas,
    hand_history,
    hand_many,
    hand_restart,
    hand_runs,
    hand_waits,
    new_process,
    our_calls,
    our_deltas,
    our_history,
    our_many,
    our_restart,
    our_runs,
    our_store,
    our_waits,
)
from benchmarks.eval_cases import alone, with_agent

AIOHTTP, HTTPX2 = "hand aiohttp", "hand httpx2"


def either(ours_by: Callable[[str], Contestant]) -> dict[str, Contestant]:
    """Us in both dialects."""
    return {"chat": ours_by("openai"), "messages": ours_by("anthropic")}


def by_hand(
    hand_by: Callable[[type[hand_loop.Transport]], Contestant],
) -> dict[str, Contestant]:
    """The hand loop on both transports."""
    return {AIOHTTP: hand_by(hand_loop.OnAiohttp), HTTPX2: hand_by(hand_loop.OnHttpx2)}


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One row of the table.

    `goal` is what we want, None where a row is only there to compare with another;
    `rounds` is how often each contestant is measured.
    """

    title: str
    unit: str
    goal: float | None
    contestants: Mapping[str, Contestant]
    rounds: int = 15


SCENARIOS: dict[str, Scenario] = {
    "import": Scenario(
        title="import bread_nb",
        unit="wall ms",
        goal=150,
        contestants={
            "chat": new_process("import bread_nb", cpu=False),
            AIOHTTP: new_process("import aiohttp", cpu=False),
            HTTPX2: new_process("import httpx2", cpu=False),
        },
    ),
    "build": Scenario(
        title="import and build an agent",
        unit="CPU ms",
        goal=176,
        contestants={
            "chat": new_process(BUILDING),
            AIOHTTP: new_process("import aiohttp"),
            HTTPX2: new_process("import httpx2"),
        },
    ),
    "trivial": Scenario(
        title="trivial streamed run",
        unit="CPU ms",
        goal=1.1,
        contestants=either(lambda p: our_runs(p, "text-1", 40))
        | by_hand(lambda t: hand_runs(t, "text-1", 40)),
    ),
    "deltas": Scenario(
        title="10,000 deltas, each",
        unit="CPU µs",
        goal=25,
        rounds=7,
        contestants=either(lambda p: our_deltas(p, 10_000))
        | by_hand(lambda t: hand_deltas(t, 10_000)),
    ),
    "chain": Scenario(
        title="20 sequential tool calls",
        unit="CPU ms",
        goal=27,
        contestants=either(lambda p: our_calls(p, "chain-20", 20, 4))
        | by_hand(lambda t: hand_runs(t, "chain-20", 4)),
    ),
    "fan": Scenario(
        title="50 parallel tool calls in one turn",
        unit="CPU ms",
        goal=10,
        contestants=either(lambda p: our_calls(p, "fan-50", 50, 6))
        | by_hand(lambda t: hand_runs(t, "fan-50", 6)),
    ),
    "suspend": Scenario(
        title="durable suspend",
        unit="CPU ms",
        goal=2,
        contestants=either(lambda p: our_waits(p, "suspend"))
        | {HTTPX2: hand_waits("suspend")},
    ),
    "resume": Scenario(
        title="durable resume",
        unit="CPU ms",
        goal=2.5,
        contestants=either(lambda p: our_waits(p, "resume"))
        | {HTTPX2: hand_waits("resume")},
    ),
    "restart": Scenario(
        title="new process to the resumed answer",
        unit="wall ms",
        goal=300,
        rounds=7,
        contestants=either(our_restart) | {HTTPX2: hand_restart},
    ),
    "history": Scenario(
        title="a run at 1,000 messages of history",
        unit="CPU ms",
        goal=3,
        contestants=either(lambda p: our_history(p, 1000)) | {HTTPX2: hand_history},
    ),
    "short": Scenario(
        title="the same at 10 messages",
        unit="CPU ms",
        goal=None,
        contestants=either(lambda p: our_history(p, 10)),
    ),
    "store": Scenario(
        title="store after 505 runs of one session",
        unit="MiB",
        goal=1.5,
        rounds=1,
        contestants={"chat": our_store},
    ),
    "many": Scenario(
        title="200 runs at once, 20 deltas 5 ms apart",
        unit="wall s",
        goal=0.35,
        rounds=7,
        contestants=either(lambda p: our_many(p, 200))
        | by_hand(lambda t: hand_many(t, 200)),
    ),
    "harness": Scenario(
        title="eval harness alone, a case",
        unit="CPU ms",
        goal=0.15,
        rounds=9,
        contestants={"chat": alone(400)},
    ),
    "evals": Scenario(
        title="eval harness with the agent, a case",
        unit="CPU ms",
        goal=1.5,
        rounds=7,
        contestants=either(lambda p: with_agent(p, 200)),
    ),
}
