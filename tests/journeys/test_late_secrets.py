"""Secrets that come into the environment while Bread is there already."""

import pytest
from fixtures.journey import call, calls, finished, results
from fixtures.model_server import ModelServer
from fixtures.ovens import OVENS
from journeys.conftest import MakeBread

from bread_nb import Agent, Fallback, Model, Scripted, tool
from bread_nb.crumbs import to_wire
from bread_nb.stores.records import Call, message_log

PASSWORD = "made-up-pa55word-of-the-baker"
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


async def test_what_only_looks_like_a_key_is_masked_where_it_is_shown_and_kept_exact(
    make_bread: MakeBread, monkeypatch: pytest.MonkeyPatch
):
    made = "sk-" + "Ab3" * 12
    monkeypatch.setenv("OVEN_API_KEY", KEY)

    @tool
    def order_key(known: bool) -> str:
        """Make a key, or tell the one that there is."""
        return KEY if known else made

    asked = calls(call("tool_order_key", known=False), call("tool_order_key", known=1))
    model = Scripted([asked, f"The key is {made}."])
    bread = make_bread({"baker": Agent(model=model, tools=[order_key])})
    run = bread.run("baker", "go")
    outcome = await finished(bread, run)
    assert list(results(outcome).values()) == [made, "••••"]
    assert outcome.text == f"The key is {made}."
    shown = str([to_wire(crumb) for crumb in await bread.crumbs("last")])
    assert made[:8] not in shown
    assert KEY[:8] not in shown
    rows = await bread.store.query(Call, {"run_id": outcome.run_id})
    assert [row.result for row in rows] == [made, "••••"]
    log = await bread.store.read(message_log(outcome.session_id))
    assert KEY[:8] not in str(log)


@pytest.mark.parametrize("inside", [False, True], ids=["alone", "in a fallback"])
async def test_a_key_that_a_model_was_described_with_is_masked_when_it_is_repeated(
    make_bread: MakeBread, inside: bool
):
    said = OVENS[0].reply(f"The key is {KEY}, the password {PASSWORD}.")
    async with ModelServer(said) as server:
        url = server.url.replace("http://", f"http://baker:{PASSWORD}@")
        model = Model("openai:oven-1", base_url=url, api_key=KEY)
        agent = Agent(model=Fallback([model]) if inside else model)
        bread = make_bread({"baker": agent})
        run = bread.run("baker", f"My key is {KEY}.")
        await finished(bread, run)
    shown = str([to_wire(crumb) for crumb in run.crumbs])
    assert "The key is ••••, the password ••••." in shown
    assert KEY[:8] not in shown
    assert PASSWORD[:8] not in shown
