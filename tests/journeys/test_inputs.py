"""What goes in is checked before anything is stored."""

from dataclasses import dataclass

import pytest
from fixtures.journey import fault, finished, only, within
from journeys.conftest import MakeBread
from pydantic import BaseModel

from bread_nb import (
    Agent,
    Bread,
    BreadError,
    CustomFormat,
    Model,
    RetryPolicy,
    Scripted,
    tool,
)
from bread_nb.a2ui.picture import picture


class Order(BaseModel):
    topic: str
    loaves: int = 1


@dataclass
class Wish:
    bread: str


async def nothing_stored(bread: Bread) -> bool:
    return await bread.runs() == [] and await bread.sessions.list() == []


@pytest.mark.parametrize(
    ("schema", "given", "said"),
    [
        (str, 42, "42 is not text"),
        (str, {"topic": "rye"}, "is not text"),
        (str, "", "the input is empty"),
        (str, " \n\t ", "the input is empty"),
        (str, "a\ud800b", "U+D800"),
        (Order, {}, "topic: is missing"),
        (Order, {"topic": "rye", "loaves": "many"}, "loaves: 'many' is not a whole"),
        (Order, "rye", "is not a mapping"),
        (dict[str, object], {"a": ["x\udfff"]}, "U+DFFF"),
        ({"type": "object"}, {"a": "x\udfff"}, "U+DFFF"),
        ({"type": "object", "required": ["topic"]}, {}, "'topic' is a required"),
        (Wish, {"bred": "rye"}, "bread"),
        (dict[str, object], {"a": object()}, "cannot be kept"),
        (dict[str, object], {"a": [10**5000]}, "cannot be kept"),
    ],
)
async def test_input_that_does_not_fit_is_refused_before_anything_is_stored(
    make_bread: MakeBread, schema: object, given: object, said: str
):
    script = Scripted(["never"])
    bread = make_bread({"baker": Agent(model=script, input_schema=schema)})
    run = bread.run("baker", given)
    with pytest.raises(BreadError) as caught:
        await within(run)
    assert caught.value.code == "INVALID_INPUT"
    assert said in caught.value.why
    assert "baker takes: " in caught.value.do
    assert (run.crumbs, script.requests) == ((), [])
    assert await nothing_stored(bread)


@pytest.mark.parametrize(
    ("schema", "given", "sent"),
    [
        (Order, {"topic": "rye", "loaves": "3"}, '{"topic":"rye","loaves":3}'),
        (Order, Order(topic="rye"), '{"topic":"rye","loaves":1}'),
        (int, 3, "3"),
        (list[str], ["rye", "oat"], '["rye","oat"]'),
        (Wish, {"bread": "rye"}, '{"bread":"rye"}'),
        ({"type": "object"}, {"b": [1, None]}, '{"b":[1,null]}'),
        (str, ' {"a": 1} {x} $5 100% </script> 🍞\\ ', None),
    ],
)
async def test_input_that_fits_reaches_the_model_as_text_or_json(
    make_bread: MakeBread, schema: object, given: object, sent: str | None
):
    script = Scripted(["done"])
    bread = make_bread({"baker": Agent(model=script, input_schema=schema)})
    run = bread.run("baker", given)
    await finished(bread, run)
    expected = given if sent is None else sent
    assert script.requests[0].messages[0].text == expected


async def test_a_large_prompt_arrives_whole(make_bread: MakeBread):
    script, prompt = Scripted(["done"]), "Mehl 🍞 " * 150_000
    bread = make_bread({"baker": Agent(model=script)})
    await finished(bread, bread.run("baker", prompt))
    assert script.requests[0].messages[0].text == prompt


async def test_text_shaped_like_an_envelope_stays_text(make_bread: MakeBread):
    prompt = '{"__type__":"os.system","args":["touch pwned"],"kind":"call"}'
    script = Scripted(["done", "again"])
    bread = make_bread({"baker": Agent(model=script)})
    await finished(bread, bread.run("baker", prompt, session="s1"))
    await finished(bread, bread.run("baker", "more", session="s1"))
    assert script.requests[1].messages[0].text == prompt


async def test_an_unknown_agent_gets_a_suggestion(make_bread: MakeBread):
    bread = make_bread({"baker": Agent(model=Scripted(["x"]))})
    with pytest.raises(BreadError) as caught:
        await within(bread.run("bakr", "go"))
    assert caught.value.code == "AGENT_NOT_FOUND"
    assert "baker" in caught.value.do
    assert await nothing_stored(bread)


async def test_an_agent_may_be_handed_over_itself(make_bread: MakeBread):
    bread = make_bread()
    agent = Agent(model=Scripted(["hello"]), name="guest")
    outcome = await finished(bread, bread.run(agent, "go"))
    assert (outcome.text, outcome.handle) == ("hello", "guest-1")


async def test_the_model_may_be_another_one_for_this_run(make_bread: MakeBread):
    usual, other = Scripted(["usual"]), Scripted(["other"], name="scripted:other")
    bread = make_bread({"baker": Agent(model=usual)})
    run = bread.run("baker", "go", model=other)
    outcome = await finished(bread, run)
    assert (outcome.text, outcome.model) == ("other", "scripted:other")
    assert only(run.crumbs, "agent:run:start")[0]["model"] == "scripted:other"
    assert (await finished(bread, bread.run("baker", "go"))).text == "usual"


async def test_providers_are_looked_up_at_the_agent_first(make_bread: MakeBread):
    def factory(who: str):
        return lambda model_id: Scripted([f"{who} {model_id}"])

    async def later(model_id: str) -> Scripted:
        return Scripted([f"later {model_id}"])

    own = Agent(model="oven:hot", providers={"oven": factory("agent")})
    shared = Agent(model="oven:hot")
    slow = Agent(model=Model("oven:hot"), providers={"oven": later})
    bread = make_bread(
        {"own": own, "shared": shared, "slow": slow},
        providers={"oven": factory("project")},
    )
    found = {
        name: (await finished(bread, bread.run(name, "go"))).text
        for name in ("own", "shared", "slow")
    }
    assert found == {
        "own": "agent hot",
        "shared": "project hot",
        "slow": "later hot",
    }


async def test_an_unknown_provider_lists_those_there_are(make_bread: MakeBread):
    agent = Agent(model="ovn:hot")
    bread = make_bread({"baker": agent}, providers={"oven": lambda _: Scripted(["x"])})
    error = await fault(bread, bread.run("baker", "go"))
    assert error.code == "UNKNOWN_PROVIDER"
    assert "oven" in str(error)
    assert "anthropic" in str(error)


async def test_the_picture_of_an_unknown_provider_lists_those_there_are(
    make_bread: MakeBread,
):
    bread = make_bread({"baker": Agent(model="nowhere:hot")})
    await fault(bread, bread.run("baker", "go"))
    note = picture(await bread.crumbs("last")).plain.splitlines()[1]
    assert note.startswith("There is no provider 'nowhere'. Name one of anthropic, ")


@tool
def bell() -> str:
    """Ring."""
    return "ding"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"output": "text", "output_schema": int}, "INVALID_AGENT"),
        ({"output": "markdown", "output_schema": Order}, "INVALID_AGENT"),
        ({"output": "xml"}, "INVALID_AGENT"),
        ({"steps": 0}, "INVALID_AGENT"),
        ({"steps": "3"}, "INVALID_AGENT"),
        ({"steps": True}, "INVALID_AGENT"),
        ({"prompt": 5}, "INVALID_AGENT"),
        ({"permissions": {"deny": ["tool:bell"]}}, "INVALID_AGENT"),
        ({"permissions": None}, "INVALID_AGENT"),
        ({"hooks": {"before_run": print}}, "INVALID_AGENT"),
        ({"guards": {"denials": 1}}, "INVALID_AGENT"),
        ({"error_handling": RetryPolicy()}, "INVALID_AGENT"),
        ({"output_repairs": -1}, "INVALID_AGENT"),
        ({"providers": []}, "INVALID_AGENT"),
        ({"tools": bell}, "INVALID_AGENT"),
        ({"model": "opus"}, "INVALID_MODEL"),
        ({"model": 3}, "INVALID_AGENT"),
        ({"tools": ["add"]}, "INVALID_AGENT"),
        ({"tools": [bell, bell]}, "TOOL_NAME_COLLISION"),
        ({"output_schema": object()}, "INVALID_SCHEMA"),
        ({"tasks": ["extract"]}, "NOT_AVAILABLE"),
        ({"plugins": {"mcp_client": {}}}, "NOT_AVAILABLE"),
        ({"supervisor": {"agents": []}}, "NOT_AVAILABLE"),
        ({"loop": {"pool": []}}, "NOT_AVAILABLE"),
        ({"knowledge": {"auto_inject": True}}, "NOT_AVAILABLE"),
        ({"documents": {}}, "NOT_AVAILABLE"),
        ({"context": {}}, "NOT_AVAILABLE"),
        ({"budget": 0}, "NOT_AVAILABLE"),
        ({"budget": 1.5}, "NOT_AVAILABLE"),
    ],
)
def test_an_agent_that_cannot_be_used_is_refused_where_it_is_written(
    fields: dict[str, object], code: str
):
    with pytest.raises(BreadError) as caught:
        Agent(**{"model": "scripted:story.yaml", **fields})
    assert caught.value.code == code
    assert caught.value.do


@pytest.mark.parametrize("field", ["skill", "budget"])
async def test_what_a_run_cannot_have_yet_is_said_at_once(
    make_bread: MakeBread, field: str
):
    bread = make_bread({"baker": Agent(model=Scripted(["x"]))})
    with pytest.raises(BreadError) as caught:
        bread.run("baker", "go", **{field: "1"})
    assert caught.value.code == "NOT_AVAILABLE"


def test_the_format_follows_from_the_output_schema():
    shape = CustomFormat("shout", str.upper)
    assert Agent(model="scripted:x").format == "text"
    assert Agent(model="scripted:x", output_schema=int).format == "json"
    assert Agent(model="scripted:x", output="json").format == "json"
    assert Agent(model="scripted:x", output_schema=int, output=shape).format is shape
