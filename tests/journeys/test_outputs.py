"""What comes out fits the output schema, or the run says so."""

import json
from dataclasses import dataclass

import pytest
from fixtures.journey import call, calls, fault, finished, only, texts
from journeys.conftest import MakeBread
from pydantic import BaseModel, Field

from bread_nb import Agent, CustomFormat, Scripted, tool
from bread_nb.errors import ValidationError


class Loaf(BaseModel):
    name: str
    grams: int = Field(ge=1)


@dataclass
class Slice:
    mm: float


@tool
def weigh(name: str) -> int:
    """Weigh a loaf."""
    return 500


LOAF = '{"name": "rye", "grams": 500}'


@pytest.mark.parametrize("output", ["text", "markdown"])
async def test_text_is_what_the_model_said_last(make_bread: MakeBread, output: str):
    turns = [calls(call("tool_weigh", name="rye"), text="Weighing."), "# 500 *g*"]
    agent = Agent(model=Scripted(turns), output=output, tools=[weigh])
    bread = make_bread({"baker": agent})
    outcome = await finished(bread, bread.run("baker", "go"))
    assert (outcome.output, outcome.text) == ("# 500 *g*", "# 500 *g*")


async def test_json_may_use_tools_and_becomes_the_type(make_bread: MakeBread):
    script = Scripted([calls(call("tool_weigh", name="rye")), LOAF])
    agent = Agent(model=script, output_schema=Loaf, tools=[weigh], prompt="You weigh.")
    bread = make_bread({"baker": agent})
    run = bread.run("baker", "go")
    outcome = await finished(bread, run)
    assert outcome.output == Loaf(name="rye", grams=500)
    assert only(run.crumbs, "agent:run:end")[0]["output"] == json.loads(LOAF)
    request = script.requests[0]
    assert request.output_schema == Loaf.model_json_schema()
    assert request.system.startswith("You weigh.\n\nYour final answer is one JSON")
    assert [spec.name for spec in request.tools] == ["tool_weigh"]


@pytest.mark.parametrize(
    ("schema", "said", "output"),
    [
        (Loaf, f"```json\n{LOAF}\n```", Loaf(name="rye", grams=500)),
        (int, " 42 ", 42),
        (list[int], "[1, 2]", [1, 2]),
        (Slice, '{"mm": 9}', Slice(9.0)),
        (dict[str, int], '{"a": 1}', {"a": 1}),
        ({"type": "object", "required": ["a"]}, '{"a": null}', {"a": None}),
        (str, '"quoted"', "quoted"),
    ],
)
async def test_json_is_read_into_any_schema(
    make_bread: MakeBread, schema: object, said: str, output: object
):
    agent = Agent(model=Scripted([said]), output="json", output_schema=schema)
    bread = make_bread({"baker": agent})
    assert (await finished(bread, bread.run("baker", "go"))).output == output


async def test_an_answer_that_does_not_fit_is_asked_for_once_more(
    make_bread: MakeBread,
):
    script = Scripted(['{"name": "rye", "grams": 0}', LOAF])
    agent = Agent(model=script, output_schema=Loaf)
    bread = make_bread({"baker": agent})
    outcome = await finished(bread, bread.run("baker", "go"))
    assert outcome.output == Loaf(name="rye", grams=500)
    [_, answer, repair] = script.requests[1].messages
    assert answer.text == '{"name": "rye", "grams": 0}'
    assert repair.role == "user"
    assert "grams: must be 1 or more" in repair.text
    assert outcome.metrics.turns == 2


async def test_a_key_that_stands_twice_in_an_answer_is_asked_for_once_more(
    make_bread: MakeBread,
):
    script = Scripted(['{"name": "rye", "grams": 1, "grams": 500}', LOAF])
    agent = Agent(model=script, output_schema=Loaf)
    bread = make_bread({"baker": agent})
    outcome = await finished(bread, bread.run("baker", "go"))
    assert outcome.output == Loaf(name="rye", grams=500)
    assert "the key 'grams' stands there twice" in script.requests[1].messages[-1].text


async def test_after_the_repairs_the_run_fails_and_keeps_the_text(
    make_bread: MakeBread,
):
    script = Scripted(["no loaf", "still none"])
    bread = make_bread({"baker": Agent(model=script, output_schema=Loaf)})
    run = bread.run("baker", "go", session="s1")
    error = await fault(bread, run)
    assert isinstance(error, ValidationError)
    assert (error.code, error.context["text"]) == ("INVALID_OUTPUT", "still none")
    assert "not JSON" in error.problems[0]
    assert (await bread.find_run("last")).text == "still none"
    said = texts(await bread.sessions.messages("s1"))
    assert said[-1] == ("assistant", "still none")
    assert only(run.crumbs, "agent:error")[0]["error"]["code"] == "INVALID_OUTPUT"


@pytest.mark.parametrize(("repairs", "asked"), [(0, 1), (3, 4)])
async def test_how_often_it_is_asked_again_can_be_said(
    make_bread: MakeBread, repairs: int, asked: int
):
    script = Scripted(["no"], repeat_last=True)
    agent = Agent(model=script, output_schema=Loaf, output_repairs=repairs)
    bread = make_bread({"baker": agent})
    assert (await fault(bread, bread.run("baker", "go"))).code == "INVALID_OUTPUT"
    assert len(script.requests) == asked


async def test_a_custom_format_makes_the_output_of_the_text(make_bread: MakeBread):
    lines = CustomFormat("lines", str.splitlines)
    agent = Agent(model=Scripted(["a\nb"]), output=lines, output_schema=list[str])
    bread = make_bread({"baker": agent})
    run = bread.run("baker", "go")
    outcome = await finished(bread, run)
    assert (outcome.output, outcome.text) == (["a", "b"], "a\nb")
    deltas = only(run.crumbs, "text:delta")
    assert "".join(crumb["delta"] for crumb in deltas) == "a\nb"


async def test_a_format_that_cannot_read_the_answer_asks_again(make_bread: MakeBread):
    number = CustomFormat("number", int)
    script = Scripted(["twelve", "12"])
    bread = make_bread({"baker": Agent(model=script, output=number, output_schema=int)})
    outcome = await finished(bread, bread.run("baker", "go"))
    assert outcome.output == 12
    assert "number: ValueError" in script.requests[1].messages[-1].text


async def test_a_format_whose_output_is_another_type_does_not_fit(
    make_bread: MakeBread,
):
    odd = CustomFormat("odd", lambda raw: {"raw": raw})
    agent = Agent(
        model=Scripted(["x"]), output=odd, output_schema=int, output_repairs=0
    )
    bread = make_bread({"baker": agent})
    error = await fault(bread, bread.run("baker", "go"))
    assert (error.code, error.context["text"]) == ("INVALID_OUTPUT", "x")


async def test_the_raw_answer_stays_in_the_history(make_bread: MakeBread):
    script = Scripted([f"```json\n{LOAF}\n```", "7"])
    bread = make_bread({"baker": Agent(model=script, output_schema=Loaf)})
    await finished(bread, bread.run("baker", "go", session="s1"))
    kept = await bread.sessions.messages("s1")
    assert kept[-1].text == f"```json\n{LOAF}\n```"
