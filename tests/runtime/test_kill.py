"""Kill -9 at every crumb: nothing finished runs twice, nothing is lost."""

import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from fixtures.killable import bakery, ledger

from bread_nb import Bread, Finished, Suspended
from bread_nb.a2ui.spending import tokens_of
from bread_nb.crumbs import ModelUsed
from bread_nb.runtime.bills import bills_of, total_of
from bread_nb.runtime.outcome import Outcome, PendingCall

SCRIPT = Path(__file__).parents[1] / "fixtures" / "killable.py"
ANSWER = "Baked rye, spelt and oat."
DEEDS = {"bake rye", "bake spelt", "sell rye", "bake oat"}


class Killable:
    """The bakery in a process of its own, one crumb at a time."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(SCRIPT), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def next_crumb(self) -> str:
        """The next crumb's name; the process stands still at it."""
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def go_on(self) -> None:
        """Let it work until the next crumb."""
        assert self.process.stdin
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(timeout=30)
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe
            pipe.close()


def walk(folder: Path, *, crumbs: int) -> str | None:
    """Run to a crumb and kill there; the crumb's name, or None when it ended before."""
    folder.mkdir()
    child = Killable(folder)
    try:
        for _ in range(crumbs - 1):
            if child.next_crumb().startswith("END"):
                return None
            child.go_on()
        name = child.next_crumb()
        return None if name.startswith("END") else name
    finally:
        child.kill()


@pytest.fixture(scope="module")
def length(tmp_path_factory: pytest.TempPathFactory) -> int:
    """How many crumbs the whole run has."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    folder.mkdir()
    child, count = Killable(folder), 0
    try:
        while not child.next_crumb().startswith("END"):
            count += 1
            child.go_on()
    finally:
        child.kill()
    assert Counter(ledger(folder)) == dict.fromkeys(DEEDS, 1)
    return count


def told(call: PendingCall, folder: Path) -> dict[str, object]:
    """The answer of a person who looks into the tools' own ledger."""
    if call.kind == "approval":
        return {"approved": True}
    deed = f"{call.tool} {call.args['loaf']}"
    if deed in ledger(folder):
        return {"happened": True, "result": f"{deed}: done"}
    return {"run": True}


async def finish(bread: Bread, folder: Path) -> Outcome | None:
    """Go on after the crash as a person would, until nothing waits."""
    outcome: Outcome | None = None
    for run in await bread.recover():
        outcome = await run
    while waiting := await bread.pending():
        outcome = await bread.resume(waiting[0].checkpoint_id, told(waiting[0], folder))
    return outcome


async def check(folder: Path, crumb: str) -> None:
    async with bakery(folder) as bread:
        outcome = await finish(bread, folder)
        rows = await bread.runs()
        if not rows:
            assert crumb == "RunStart"
            return
        assert [row.status for row in rows] == ["finished"], crumb
        assert rows[0].output == ANSWER
        if outcome is not None and not isinstance(outcome, Suspended):
            assert isinstance(outcome, Finished)
            assert outcome.output == ANSWER
        assert await bread.interrupted() == []
        messages = await bread.sessions.messages("oven")
        asked = [call.id for message in messages for call in message.calls]
        answered = [p.call_id for m in messages if m.role == "tool" for p in m.parts]
        assert answered == asked
        crumbs = await bread.crumbs("last")
        numbers = [crumb.seq for crumb in crumbs]
        assert numbers == sorted(set(numbers))
        used = [tokens_of(c.usage) for c in crumbs if isinstance(c, ModelUsed)]
        bill = total_of(bills_of(rows[0]))
        assert (bill.calls, bill.usage.total) == (len(used), sum(used)), crumb
    assert Counter(ledger(folder)) == dict.fromkeys(DEEDS, 1), crumb


async def test_killed_at_any_crumb_a_run_goes_on_and_repeats_nothing(
    tmp_path: Path, length: int, full_counts: bool
) -> None:
    places = range(1, length + 1)
    if not full_counts:
        places = sorted(random.Random(7).sample(places, 9))
    for place in places:
        folder = tmp_path / f"at-{place}"
        crumb = walk(folder, crumbs=place)
        assert crumb is not None
        await check(folder, crumb)
