"""Secrets that come into the environment while Bread is there already."""

import pytest
from fixtures.journey import call, calls, finished, results
from journeys.conftest import MakeBread

from bread_nb import Agent, Scripted, tool
from bread_nb.crumbs import to_wire

KEY = "CANARY-7f3a9b2c4d5e6f708192a3b4c5d6e7f8"


async def test_a_key_that_is_set_later_is_masked_too(
    make_bread: MakeBread, monkeypatch: pytest.MonkeyPatch
):
    @tool
    def burn() -> str:
        """Burn."""
        raise ValueError(f"refused: {KEY}")

    bread = make_bread(
        {
            "baker": Agent(
                model=Scripted([calls(call("tool_burn")), "done"]), tools=[burn]
            )
        }
    )
    monkeypatch.setenv("OVEN_API_KEY", KEY)
    run = bread.run("baker", "go")
    outcome = await finished(bread, run)
    assert KEY[:8] not in str(results(outcome))
    assert KEY[:8] not in str([to_wire(crumb) for crumb in run.crumbs])
