"""Whole runs in each dialect: what a tool is offered as, and what it is given."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

import pytest
from fixtures.api_rules import gemini_schema_faults
from fixtures.journey import finished
from fixtures.model_server import ModelServer, Reply
from fixtures.more_wire import (
    answered,
    call_pieces,
    candidate,
    completed,
    created,
    items,
    lines,
    ndjson,
    parts,
    told,
)
from fixtures.wire import call_block, chunk, messages, said, sse, start, stop
from fixtures.wire import text_block as words_block

from bread_nb import Agent, Bread, tool
from bread_nb.providers.model import Model
from bread_nb.stores.in_memory import InMemoryStore

Asked = Sequence[tuple[str, str | None]]


@dataclass(frozen=True)
class Dialect:
    """A dialect: how its service asks for calls, and how it names a tool's schema."""

    model: str
    calling: Callable[[Asked], Reply]
    saying: Callable[[], Reply]
    tools: Callable[[Mapping[str, Any]], list[Any]]
    schema: str = "parameters"

    def offered(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The schema of each tool by the name it was sent under."""
        return {each["name"]: each[self.schema] for each in self.tools(body)}


def chat_calls(asked: Asked) -> Reply:
    pieces = [
        {"index": n, "id": f"c{n}", "function": {"name": name, "arguments": text}}
        for n, (name, text) in enumerate(asked)
    ]
    for piece in pieces:
        if piece["function"]["arguments"] is None:  # pyright: ignore[reportIndexIssue]
            del piece["function"]["arguments"]  # pyright: ignore[reportIndexIssue]
    end = chunk(finish_reason="tool_calls")
    return Reply([sse(*(chunk({"tool_calls": [p]}) for p in pieces), end)])


def messages_calls(asked: Asked) -> Reply:
    events = [
        event
        for n, (name, text) in enumerate(asked)
        for event in call_block(n, name, *([] if text is None else [text]))
    ]
    return Reply([messages(start(), *events, *stop("tool_use"))])


def responses_calls(asked: Asked) -> Reply:
    events = [
        event
        for n, (name, text) in enumerate(asked)
        for event in call_pieces(n, name, text or "", call_id=f"c{n}", id=f"fc{n}")
    ]
    return Reply([items(created(), *events, completed())])


def gemini_calls(asked: Asked) -> Reply:
    called = [
        {"name": name} | ({} if text is None else {"args": json.loads(text or "null")})
        for name, text in asked
    ]
    parted = [{"functionCall": call, "thoughtSignature": "S"} for call in called]
    return Reply([parts(candidate(parted, "STOP"))])


def ollama_calls(asked: Asked) -> Reply:
    called = [
        {"name": name}
        | ({} if text is None else {"arguments": text and json.loads(text)})
        for name, text in asked
    ]
    return ndjson(lines({"tool_calls": [{"function": call} for call in called]}))


DIALECTS = [
    Dialect(
        "openai:oven-1",
        chat_calls,
        lambda: Reply([said("done")]),
        lambda body: [each["function"] for each in body["tools"]],
    ),
    Dialect(
        "anthropic:oven-1",
        messages_calls,
        lambda: Reply([messages(start(), *words_block(0, "done"), *stop())]),
        lambda body: body["tools"],
        "input_schema",
    ),
    Dialect(
        "responses:oven-1",
        responses_calls,
        lambda: Reply([answered("done")]),
        lambda body: body["tools"],
    ),
    Dialect(
        "gemini:gemini-3-oven",
        gemini_calls,
        lambda: Reply([told("done")]),
        lambda body: body["tools"][0]["functionDeclarations"],
    ),
    Dialect(
        "ollama:oven-1",
        ollama_calls,
        lambda: ndjson(lines({"content": "done"})),
        lambda body: [each["function"] for each in body["tools"]],
    ),
]

each = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda d: d.model)


async def run(dialect: Dialect, agent: dict[str, Any], asked: Asked) -> dict[str, Any]:
    """The schemas that tools were offered with, once the calls have run."""
    async with ModelServer(dialect.calling(asked), dialect.saying()) as server:
        model = Model(dialect.model, base_url=server.url, api_key="made-up")
        bread = Bread({"baker": Agent(model=model, **agent)}, store=InMemoryStore())
        outcome = await finished(bread, bread.run("baker", "go"))
        await bread.close()
    assert outcome.text == "done"
    assert len(server.seen) == 2
    return dialect.offered(server.seen[0].body)


class Flour(Enum):
    RYE = "rye"
    SPELT = "spelt"


@each
async def test_a_choice_reaches_the_tool_as_the_type_it_asked_for(dialect: Dialect):
    seen: list[object] = []

    @tool
    def bake(
        kind: Literal["loaf"], flour: Flour, note: str | None, size: Literal["s", "l"]
    ) -> str:
        """Bake."""
        seen.append((kind, flour, note, size))
        return "baked"

    text = '{"kind":"loaf","flour":"spelt","note":null,"size":"l"}'
    offered = await run(dialect, {"tools": [bake]}, [("tool_bake", text)])
    assert seen == [("loaf", Flour.SPELT, None, "l")]
    (schema,) = offered.values()
    assert set(schema["required"]) == {"kind", "flour", "note", "size"}
    if dialect.model.startswith("gemini"):
        assert list(gemini_schema_faults(schema)) == []
        assert schema["properties"]["note"]["nullable"] is True
        assert schema["properties"]["kind"]["enum"] == ["loaf"]


@each
async def test_a_tool_without_parameters_runs_however_none_are_written(
    dialect: Dialect,
):
    rung: list[bool] = []

    @tool
    def bell() -> str:
        """Ring."""
        rung.append(True)
        return "rang"

    asked = [("tool_bell", ""), ("tool_bell", "{}"), ("tool_bell", None)]
    offered = await run(dialect, {"tools": [bell]}, asked)
    assert rung == [True] * 3
    schema = offered["tool_bell"]
    assert (schema["type"], schema["properties"]) == ("object", {})


@each
async def test_optional_and_open_parameters_change_nothing_a_tool_accepts(
    dialect: Dialect,
):
    seen: list[object] = []

    @tool
    def bake(temp: int, note: str | None = None, extra: dict[str, Any] = {}) -> str:  # noqa: B006
        """Bake."""
        seen.append((temp, note, extra))
        return "baked"

    asked = [
        ("tool_bake", '{"temp":200}'),
        ("tool_bake", '{"temp":210,"note":"hot","extra":{"steam":[1,true]}}'),
    ]
    offered = await run(dialect, {"tools": [bake]}, asked)
    assert sorted(seen, key=str) == [
        (200, None, {}),
        (210, "hot", {"steam": [1, True]}),
    ]
    assert offered["tool_bake"]["required"] == ["temp"]
    assert set(offered["tool_bake"]["properties"]) == {"temp", "note", "extra"}
