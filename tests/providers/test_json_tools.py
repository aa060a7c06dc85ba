"""Models without tools of their own, which call in JSON."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from fixtures.journey import finished
from fixtures.model_play import calls_of, end_of, play, text_of
from fixtures.model_server import ModelServer, Reply
from fixtures.more_wire import lines, ndjson
from fixtures.wire import chunk, pieces, sse

from bread_nb import Agent, Bread, Scripted, tool
from bread_nb.errors import BreadError
from bread_nb.messages import (
    Message,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    assistant,
    user,
)
from bread_nb.providers.catalog import resolve
from bread_nb.providers.json_replies import read_calls
from bread_nb.providers.json_tools import JsonTools
from bread_nb.providers.model import Delta, Finish, Model, ModelRequest, TextChunk
from bread_nb.stores.in_memory import InMemoryStore

WEIGH = ToolSpec(
    "weigh",
    "Weigh.",
    {
        "type": "object",
        "properties": {"load": {"$ref": "#/$defs/Load"}},
        "required": ["load"],
        "$defs": {
            "Load": {
                "type": "object",
                "properties": {"grams": {"type": "integer"}},
                "required": ["grams"],
            }
        },
    },
)
BELL = ToolSpec("bell", "Ring.", {})


class Oven:
    """A model that says these pieces of text, whatever it is asked."""

    name = "oven:1"
    free = True

    def __init__(self, texts: Sequence[str], stop: str = "end_turn") -> None:
        self.texts, self.stop = texts, stop
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest):
        self.requests.append(request)
        for text in self.texts:
            yield TextChunk(text)
        yield Finish(self.stop)  # pyright: ignore[reportArgumentType]

    async def aclose(self) -> None:
        return None


async def said(texts: Sequence[str] | str, stop: str = "end_turn", **fields: object):
    """The deltas of a reply, and the request it answers."""
    oven = Oven([texts] if isinstance(texts, str) else texts, stop)
    asked = {"messages": (user("x"),), "tools": (WEIGH, BELL)} | fields
    deltas = await play(JsonTools(oven), ModelRequest(model="", **asked))
    return deltas, oven.requests[0]


CALL = '{"name": "weigh", "arguments": {"load": {"grams": 1}}}'


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"\n  {CALL}\n",
        f"```json\n{CALL}\n```",
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"[{CALL}]",
        '{"type": "function", "function": ' + CALL + "}",
        CALL.replace("arguments", "parameters"),
        json.dumps({"name": "weigh", "arguments": '{"load": {"grams": 1}}'}),
    ],
)
async def test_a_call_is_read_in_every_dress(text: str):
    for cut in pieces(text.encode()).values():
        deltas, _ = await said([piece.decode() for piece in cut])
        ((identifier, name, arguments),) = calls_of(deltas)
        assert identifier
        assert (name, json.loads(arguments)) == ("weigh", {"load": {"grams": 1}})
        assert text_of(deltas).strip() == ""
        assert end_of(deltas).stop_reason == "tool_use"


async def test_several_calls_in_one_reply_have_ids_of_their_own():
    deltas, _ = await said(f'[{CALL}, {{"name": "bell", "arguments": {{}}}}]')
    first, second = calls_of(deltas)
    assert (first[1], second[1], second[2]) == ("weigh", "bell", "{}")
    assert first[0] != second[0]


async def test_words_before_a_call_are_words():
    deltas, _ = await said(["I we", "igh it.\n", "```json\n" + CALL, "\n```"])
    assert text_of(deltas) == "I weigh it."
    assert [name for _, name, _ in calls_of(deltas)] == ["weigh"]


async def test_an_answer_streams_as_it_comes_out_of_its_json():
    text = 'Brot 🍞, "rye"\\n\tété'
    whole = json.dumps({"name": "answer", "arguments": {"text": text}})
    for cut in pieces(whole.encode()).values():
        deltas, _ = await said([piece.decode() for piece in cut])
        assert text_of(deltas) == text
        assert end_of(deltas).stop_reason == "end_turn"
        assert calls_of(deltas) == []
    early = [d for d in (await said(list(whole)))[0] if isinstance(d, TextChunk)]
    assert len(early) > len(text) / 2


@pytest.mark.parametrize(
    "text",
    [
        "Plain words.",
        "Words {with} braces, and [more].",
        '{"loaf": "rye", "name": "Anna"}',
        "[1, 2]",
        "```python\nprint()\n```",
        "{oven",
    ],
)
async def test_what_is_no_call_is_words(text: str):
    deltas, _ = await said(text)
    assert text_of(deltas) == text
    assert end_of(deltas) == Finish("end_turn")


@pytest.mark.parametrize("stop", ["end_turn", "max_tokens"])
@pytest.mark.parametrize("left", range(30, len(CALL)))
async def test_a_call_that_is_cut_never_has_whole_arguments(left: int, stop: str):
    deltas, _ = await said(CALL[:left], stop)
    for _, name, arguments in calls_of(deltas):
        assert name == "weigh"
        with pytest.raises(json.JSONDecodeError):
            json.loads(arguments)
    assert end_of(deltas).stop_reason in ("max_tokens", "tool_use", "end_turn")


async def test_a_reply_is_held_to_a_schema_of_the_tools_and_the_answer():
    _, request = await said(CALL, system="Bake.")
    schema: Any = request.output_schema
    assert request.tools == ()
    assert schema["properties"]["name"]["enum"] == ["weigh", "bell", "answer"]
    assert schema["$defs"]["0_Load"]["required"] == ["grams"]
    first = schema["properties"]["arguments"]["anyOf"][0]
    assert first["properties"]["load"] == {"$ref": "#/$defs/0_Load"}
    assert request.system.startswith("Bake.\n\nYou have tools.")
    assert "Weigh." in request.system


@pytest.mark.parametrize(
    ("choice", "names"), [("required", ["weigh", "bell"]), ("bell", ["bell"])]
)
async def test_a_forced_call_leaves_no_way_to_answer(choice: str, names: list[str]):
    _, request = await said(CALL, tool_choice=choice)
    schema: Any = request.output_schema
    assert schema["properties"]["name"]["enum"] == names
    assert request.tool_choice is None


async def test_an_answer_of_a_schema_is_its_value():
    wanted = {"type": "array", "items": {"type": "string"}}
    reply = '{"name": "answer", "arguments": {"value": ["rye", "spelt"]}}'
    deltas, request = await said(reply, output_schema=wanted)
    assert json.loads(text_of(deltas)) == ["rye", "spelt"]
    schema: Any = request.output_schema
    assert (
        schema["properties"]["arguments"]["anyOf"][2]["properties"]["value"] == wanted
    )
    deltas, _ = await said('["rye"]', output_schema=wanted)
    assert text_of(deltas) == '["rye"]'


async def test_the_conversation_is_told_in_words_by_turns():
    history = (
        user("Weigh"),
        assistant(Text("I weigh."), ToolCall("c1", "weigh", {"load": {"grams": 1}})),
        Message("tool", (ToolResult("c1", "weigh", "1 g"),)),
        user("And?"),
    )
    _, request = await said("ok", messages=history)
    assert [m.role for m in request.messages] == ["user", "assistant", "user"]
    assert request.messages[0] is history[0]
    assert request.messages[1].text.endswith(
        '{"name":"weigh","arguments":{"load":{"grams":1}}}'
    )
    assert request.messages[2].text == "Result of weigh: 1 g\n\n\nAnd?"
    _, request = await said("ok", messages=history, tools=())
    assert request.messages[1].calls == ()
    assert request.output_schema is None


@pytest.mark.parametrize("dialect", ["openai", "ollama"])
async def test_a_setting_gives_any_model_tools(dialect: str):
    rung: list[int] = []

    @tool
    def bell(times: int) -> str:
        """Ring."""
        rung.append(times)
        return "rang"

    texts = [
        '{"name": "tool_bell", "arguments": {"times": 2}}',
        '{"name": "answer", "arguments": {"text": "It rang."}}',
    ]
    if dialect == "openai":
        replies = [
            Reply([sse(chunk({"content": t}), chunk(finish_reason="stop"))])
            for t in texts
        ]
    else:
        replies = [ndjson(lines({"content": text})) for text in texts]
    async with ModelServer(*replies) as server:
        model = Model(f"{dialect}:oven-1", server.url, settings={"tools": "json"})
        bread = Bread({"b": Agent(model=model, tools=[bell])}, store=InMemoryStore())
        outcome = await finished(bread, bread.run("b", "go"))
        await bread.close()
    assert (outcome.text, rung) == ("It rang.", [2])
    bodies = [seen.body for seen in server.seen]
    assert not any("tools" in body for body in bodies)
    held = bodies[0].get("response_format") or bodies[0]["format"]
    assert "tool_bell" in json.dumps(held)


async def test_a_model_of_a_factory_gets_tools_by_the_same_setting():
    script = Scripted([CALL])
    model = resolve(
        Model("mine:1", settings={"tools": "json"}), {"mine": lambda _: script}
    )
    request = ModelRequest(model="", messages=(user("x"),), tools=(WEIGH,))
    deltas: list[Delta] = await play(model, request)
    assert [name for _, name, _ in calls_of(deltas)] == ["weigh"]
    assert "tools" not in script.requests[0].settings


@pytest.mark.local_model
@pytest.mark.timeout(300)
async def test_a_small_real_model_calls_a_tool_in_json_and_answers():
    heated: list[int] = []

    @tool
    def heat(degrees: int) -> str:
        """Heat the oven to this temperature."""
        heated.append(degrees)
        return f"The oven is at {degrees} degrees."

    model = Model("local:smollm2-135m", settings={"tools": "json"})
    agent = Agent(model=model, tools=[heat], steps=4)
    async with Bread({"b": agent}, store=InMemoryStore()) as bread:
        outcome = await bread.run("b", "Heat the oven to 220 degrees.")
    assert all(isinstance(degrees, int) for degrees in heated)
    assert "{" not in outcome.text
    assert outcome.metrics.turns <= 4


def test_a_text_that_calls_nothing_has_no_calls():
    assert read_calls("") is None
    assert read_calls("null") is None
    assert read_calls("[]") is None


async def test_a_fault_passes():
    model = JsonTools(Scripted([{"error": 529}]))
    with pytest.raises(BreadError):
        await play(model, ModelRequest(model="", messages=(user("x"),), tools=(BELL,)))
