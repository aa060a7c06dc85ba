"""A secret that a model made a name of is masked like any other."""

import pytest
from fixtures.journey import call, calls, finished
from journeys.conftest import MakeBread

from bread_nb import Agent, Permissions, Scripted, tool
from bread_nb.a2ui.picture import picture
from bread_nb.base.effects import Shell
from bread_nb.crumbs import HumanRequired, ToolCalled, ToolFailed, to_wire

KEY = "CANARYke-zzz0123456789abcdef0123456789ab"
LIKE_A_KEY = "sk-" + "Ab3" * 12


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OVEN_API_KEY", KEY)


@pytest.mark.parametrize("secret", [KEY, LIKE_A_KEY])
async def test_a_secret_as_the_name_of_a_tool_is_nowhere(
    make_bread: MakeBread, secret: str
):
    asked = calls(call(f"tool_{secret}"), call(secret))
    bread = make_bread({"baker": Agent(model=Scripted([asked, "done"]))})
    run = bread.run("baker", "go")
    outcome = await finished(bread, run)
    drawn = picture(run.crumbs)
    shown = f"{[to_wire(crumb) for crumb in run.crumbs]} {drawn} {outcome.messages}"
    assert secret[:8] not in shown
    assert "tool_••••" in shown


async def test_two_calls_whose_ids_are_secrets_stay_two_and_tell_neither(
    make_bread: MakeBread,
):
    @tool
    def bake(kg: int) -> str:
        """Bake."""
        return f"baked {kg}"

    made = [{**call("tool_bake", kg=kg), "id": f"{KEY[:20]}{kg}"} for kg in (1, 2)]
    agent = Agent(model=Scripted([calls(*made), "done"]), tools=[bake])
    bread = make_bread({"baker": agent})
    run = bread.run("baker", "go")
    await finished(bread, run)
    started = [c.tool_call_id for c in run.crumbs if isinstance(c, ToolCalled)]
    assert started == ["••••", "••••_2"]
    assert "2 calls" in picture(run.crumbs).plain
    assert KEY[:8] not in str([to_wire(crumb) for crumb in run.crumbs])


async def test_arguments_whose_names_are_secrets_are_all_shown(make_bread: MakeBread):
    given = {KEY: "a", f"{KEY[:20]}x": "rm -rf /", LIKE_A_KEY: "c"}
    asked = calls(call("tool_nothing", **given))
    bread = make_bread({"baker": Agent(model=Scripted([asked, "done"]))})
    run = bread.run("baker", "go")
    await finished(bread, run)
    [called] = [crumb for crumb in run.crumbs if isinstance(crumb, ToolCalled)]
    assert called.args == {"••••": "a", "•••• 2": "rm -rf /", "•••• 3": "c"}


async def test_the_words_for_what_a_call_does_hold_no_secret(make_bread: MakeBread):
    @tool(effect=Shell(command="cmd"))
    def sh(cmd: str) -> str:
        """Run."""
        return cmd

    asked = calls(call("tool_sh", cmd=f"curl -H 'x: {KEY}'"))
    agent = Agent(
        model=Scripted([asked, "done"]),
        tools=[sh],
        permissions=Permissions(ask=["tool:sh"]),
    )
    run = make_bread({"baker": agent}).run("baker", "go")
    await run
    [asked_for] = [crumb for crumb in run.crumbs if isinstance(crumb, HumanRequired)]
    assert asked_for.effect is not None
    assert "••••" in asked_for.effect
    assert KEY[:8] not in str(to_wire(asked_for))


async def test_the_name_of_a_tool_on_offer_is_no_secret(
    make_bread: MakeBread, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("DATABASE_PASSWORD", "tool_database_password")

    @tool
    def database_query() -> str:
        """Ask the database."""
        raise ValueError("no")

    model = Scripted([calls(call("tool_database_query")), "done"])
    bread = make_bread({"baker": Agent(model=model, tools=[database_query])})
    run = bread.run("baker", "go")
    await finished(bread, run)
    names = [crumb.tool_name for crumb in run.crumbs if isinstance(crumb, ToolFailed)]
    assert names == ["tool_database_query"]
