"""Totals of what was spent, and the lists they are shown in."""

import time
from collections.abc import Iterator

import pytest
from pydantic import JsonValue

from bread_nb import Bread, BreadError
from bread_nb.a2ui.figures import sparkline
from bread_nb.base.ids import pinned
from bread_nb.messages import Price, Usage
from bread_nb.project.listing import list_costs
from bread_nb.runtime.bills import bills_of, total_of, with_call
from bread_nb.stores.in_memory import InMemoryStore
from bread_nb.stores.records import RunRow

NOON = 1_796_126_400_000  # 2026-12-01 12:00 UTC
HOUR = 3_600_000
DAY = 24 * HOUR
SOME = Usage(input=100, output=10)


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    with pinned(NOON):
        yield
    monkeypatch.undo()
    time.tzset()


def run(
    handle: str,
    usd: float | None = 0.01,
    *,
    at: int = NOON,
    model: str = "openai:gpt-5",
    usage: Usage = SOME,
    source: str = "rates",
    **fields: JsonValue,
) -> RunRow:
    """A run with one model call."""
    row = RunRow(
        id=f"id-{handle}",
        session_id=str(fields.pop("session_id", f"s-{handle}")),
        agent_id=handle.rpartition("-")[0],
        handle=handle,
        created_at=at,
        updated_at=at,
    ).model_copy(update=fields)
    price = None if usd is None else Price(usd, source)
    return row.model_copy(update=with_call(row, model, usage, price, at=at))


async def project(*rows: RunRow) -> Bread:
    store = InMemoryStore()
    for row in rows:
        await store.put(row)
    return Bread({}, store=store)


async def costs(bread: Bread, by: str, days: int | None = None) -> dict[str, object]:
    found = await bread.costs(by, days=days)  # type: ignore[arg-type]
    return {each.name: each.cost for each in found}


def test_calls_of_one_model_in_a_quarter_of_an_hour_are_one_bill():
    row = run("baker-1", 0.7)
    for usd, at in ((0.1, NOON + 1000), (0.2, NOON + HOUR)):
        more = with_call(row, "openai:gpt-5", Usage(1, 1), Price(usd, "rates"), at=at)
        row = row.model_copy(update=more)
    assert [(b.at, b.calls, b.spent["USD"]) for b in bills_of(row)] == [
        (NOON, 2, 0.8),
        (NOON + HOUR, 1, 0.2),
    ]
    assert total_of(bills_of(row)).cost == 1.0
    assert row.usage["input"] == 102


def test_a_run_of_a_time_without_bills_is_priced_by_nobody():
    row = run("baker-1").model_copy(update={"bills": [], "turn": 3})
    total = total_of(bills_of(row))
    assert (total.calls, total.unpriced, total.cost) == (3, 3, None)
    assert total.usage == Usage(input=100, output=10)


async def test_costs_are_added_up_in_each_way():
    bread = await project(
        run("baker-1", 0.01, session_id="blog", at=NOON - DAY),
        run("baker-2", 0.02, session_id="blog", model="anthropic:bun"),
        run("clerk-1", 0.04, root="id-baker-2"),
        run("judge-1", 0.08, root="id-clerk-0"),
    )
    assert await costs(bread, "run") == {
        "judge-1": 0.08,
        "clerk-1": 0.04,
        "baker-2": 0.02,
        "baker-1": 0.01,
    }
    families = {"judge-1": 0.08, "baker-2": 0.06, "baker-1": 0.01}
    assert await costs(bread, "family") == families
    assert (await costs(bread, "session"))["blog"] == 0.03
    agents = {"judge": 0.08, "clerk": 0.04, "baker": 0.03}
    assert await costs(bread, "agent") == agents
    assert await costs(bread, "model") == {"openai:gpt-5": 0.13, "anthropic:bun": 0.02}
    assert await costs(bread, "day") == {"2026-12-01": 0.14, "2026-11-30": 0.01}
    assert await costs(bread, "day", 1) == {"2026-12-01": 0.14}


async def test_a_day_begins_where_this_runs(monkeypatch: pytest.MonkeyPatch):
    bread = await project(run("a-1", at=NOON - 3 * HOUR), run("b-1", at=NOON))
    monkeypatch.setenv("TZ", "Pacific/Auckland")  # 13 hours ahead
    time.tzset()
    assert await costs(bread, "day") == {"2026-12-02": 0.01, "2026-12-01": 0.01}
    assert await costs(bread, "run", 1) == {"b-1": 0.01}
    assert await costs(bread, "run", 2) == {"b-1": 0.01, "a-1": 0.01}


async def test_what_is_not_known_is_no_part_of_a_sum_and_the_sum_says_so():
    bread = await project(run("baker-1", 0.01), run("baker-2", None), run("x-1", None))
    baker, other = await bread.costs("agent")
    assert (baker.cost, baker.unpriced_calls, baker.calls) == (0.01, 1, 2)
    assert (other.cost, other.unpriced_calls) == (None, 1)
    assert baker.tokens == Usage(input=200, output=20)
    assert repr(baker) == "Costs('baker', 2 runs, 2 calls, >= $0.0100)"
    assert repr(other) == "Costs('x', 1 run, 1 call, unknown)"


async def test_an_unknown_way_is_told_the_ways():
    with pytest.raises(BreadError) as caught:
        await costs(await project(), "modle")
    assert (caught.value.code, caught.value.do) == ("USAGE", "%bread cost --by model")


async def test_the_list_shows_families_of_today_and_their_last_runs():
    earlier = [
        run(f"analyst-{n}", None if n == 2 else n / 100, at=NOON - DAY + n, cell="c1")
        for n in range(1, 4)
    ]
    other = run("analyst-9", 9.0, at=NOON - DAY, cell="c2")
    bread = await project(
        *earlier,
        other,
        run("analyst-4", 0.0164, cell="c1", usage=Usage(input=2000, output=310)),
        run("publisher-2", None, at=NOON - 1),
        run("clerk-1", 0.0, at=NOON - 2, source="free"),
    )
    assert (await list_costs(bread)).plain.splitlines() == [
        "run family  calls  tokens  cost       last 12 runs",
        "analyst     1      2,310   $0.0164    ▃▯█▅",
        "publisher   1      110     unknown    ▯",
        "clerk       1      110     no charge  ▁",
        "total at least $0.0164",
    ]
    table = await list_costs(bread, by="agent", days=None)
    assert table.plain.splitlines() == [
        "agent      runs  calls  tokens  cost",
        "analyst    5     5      2,750   at least $9.06",
        "clerk      1     1      110     no charge",
        "publisher  1     1      110     unknown",
        "total at least $9.06",
    ]
    assert table.html.startswith("<table><caption>cost so far</caption>")


async def test_nothing_spent_says_so():
    assert (await list_costs(await project())).plain == "No model was called today."
    free = await project(run("clerk-1", 0.0, source="free"))
    assert (await list_costs(free)).plain.splitlines()[-1] == "no charge"


def test_a_sparkline_never_draws_unknown_as_nothing():
    assert sparkline([0.0, None, 1.0, 0.5]) == "▁▯█▅"
    assert sparkline([None, None]) == "▯▯"
    assert sparkline([0.0]) == "▁"
    assert sparkline([]) == ""
