"""Tools as they are written: their names, descriptions and sources."""

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import fields

import pytest
from pydantic import BaseModel, JsonValue

from bread_nb import BreadError, ToolContext, human_tool, tool
from bread_nb.base.effects import (
    Defer,
    Net,
    Pure,
    Read,
    Shell,
    Spawn,
    Unknown,
    Write,
    effect_words,
)
from bread_nb.messages import ToolSpec
from bread_nb.tools.credentials import Credentials


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers.

    They may be negative.
    """
    return a + b


class Order(BaseModel):
    loaves: int
    to: str = "shop"


def test_a_decorated_function_is_a_tool_and_still_a_function():
    assert (add.name, add.leaf, add.perm_id) == ("add", "tool_add", "tool:add")
    assert add.description == "Add two numbers.\n\nThey may be negative."
    assert add(1, b=2) == 3
    assert isinstance(add.effect, Unknown)
    assert (add.idempotent, add.untrusted, add.is_human) == (False, False, False)
    assert add.spec == ToolSpec("tool_add", add.description, add.arguments.json)


def test_the_decorator_takes_options():
    @tool(name="sum_up", description="Sum.", effect=Pure(), idempotent=True)
    def total(values: list[int]) -> int:
        return sum(values)

    assert (total.leaf, total.description) == ("tool_sum_up", "Sum.")
    assert (total.effect, total.idempotent) == (Pure(), True)


def test_without_a_docstring_the_name_describes_it():
    assert tool(lambda: 1, name="ring_bell").description
    assert tool(Order.model_validate, name="check_it", args=Order).name == "check_it"


def test_arguments_may_come_from_a_model_or_a_json_schema():
    def place(loaves: int, to: str) -> str:
        """Place an order."""
        return f"{loaves} to {to}"

    by_model = tool(place, args=Order)
    assert by_model.arguments.json == Order.model_json_schema()
    assert by_model.arguments.validate({"loaves": "3"}) == {"loaves": 3, "to": "shop"}
    schema = {"type": "object", "properties": {"loaves": {"type": "integer"}}}
    by_schema = tool(place, args=schema)
    assert by_schema.arguments.json == schema
    assert by_schema.arguments.validate({"loaves": 3}) == {"loaves": 3}


@pytest.mark.parametrize("name", ["Add", "add-it", "1st", ""])
def test_names_are_snake_case(name: str):
    for make in (lambda: tool(lambda: 1, name=name), lambda: human_tool(name)):
        if not name and make.__code__.co_names[0] == "tool":
            continue
        with pytest.raises(BreadError) as caught:
            make()
        assert caught.value.code == "INVALID_NAME"


async def later() -> int:
    return 1


def steps():
    yield 1


async def later_steps():
    yield 1


@pytest.mark.parametrize(
    ("fn", "manner"),
    [
        (later, "async"),
        (steps, "steps"),
        (later_steps, "async_steps"),
        (lambda: 1, "sync"),
    ],
)
def test_how_a_tool_runs_is_read_off_its_function(fn: object, manner: str):
    assert tool(fn, name="work").manner == manner


def test_the_context_is_found_by_its_annotation():
    def bake(a: int, oven: "ToolContext") -> int:
        return a

    assert tool(bake).context_parameter == "oven"


def test_the_context_may_be_optional():
    def bake(a: int, oven: ToolContext | None = None) -> int:
        return a

    made = tool(bake)
    assert made.context_parameter == "oven"
    assert list(made.arguments.json["properties"]) == ["a"]


def test_a_partial_and_an_object_that_is_called_are_tools():
    def bake(loaves: int, grain: str) -> str:
        """Bake."""
        return f"{loaves} {grain}"

    class Oven:
        async def __call__(self, loaves: int) -> int:
            """Heat."""
            return loaves

    rye = tool(functools.partial(bake, grain="rye"))
    assert (rye.name, rye.description, rye.manner) == ("bake", "Bake.", "sync")
    assert list(rye.arguments.json["required"]) == ["loaves"]
    assert rye.arguments.validate({"loaves": "2"})["loaves"] == 2
    oven = tool(Oven(), name="oven")
    assert (oven.description, oven.manner) == ("Heat.", "async")
    assert list(oven.arguments.json["properties"]) == ["loaves"]


def test_a_parameter_no_model_could_give_is_refused_at_once():
    def bake(how: Callable[[int], int]) -> int:
        return how(1)

    with pytest.raises(BreadError) as caught:
        tool(bake)
    assert caught.value.code == "INVALID_TOOL"


@pytest.mark.parametrize(
    ("fn", "options"),
    [
        (later, {"effect": "write"}),
        (later, {"credentials": "OVEN_KEY"}),
        (later, {"args": int}),
        (later, {"args": {"type": "string"}}),
        (tool(later), {"name": "again"}),
        ("later", {}),
        (int, {}),
    ],
)
def test_what_would_mean_something_else_is_refused(
    fn: object, options: dict[str, object]
):
    with pytest.raises(BreadError) as caught:
        tool(fn, **options)
    assert caught.value.code == "INVALID_TOOL"


def test_a_default_that_is_no_json_is_not_told_to_the_model():
    def bake(most: float = math.inf) -> float:
        return most

    made = tool(bake)
    assert made.arguments.json["properties"] == {"most": {"type": "number"}}
    assert made.arguments.validate({}) == {"most": math.inf}


def test_a_human_tool_asks_by_default_one_question_and_takes_one_text():
    approve = human_tool("approve")
    assert (approve.leaf, approve.description) == (
        "human_approve",
        "Ask a human: approve",
    )
    assert list(approve.arguments.json["properties"]) == ["question"]
    assert approve.answer is not None
    assert approve.answer.json == {"type": "string"}
    assert approve.is_human
    with pytest.raises(BreadError) as caught:
        approve()
    assert caught.value.code == "NOT_CALLABLE"


def test_a_tools_source_changes_with_its_code():
    def versions():
        def bake() -> int:
            return 1

        yield tool(bake)

        def bake() -> int:
            return 2

        yield tool(bake)

    first, second = versions()
    again = next(versions())
    assert first.source == again.source != second.source


def post(args: Mapping[str, JsonValue]) -> str:
    """The file that a post is written to."""
    return f"posts/{args['title']}.md"


@pytest.mark.parametrize(
    ("effect", "args", "words"),
    [
        (Write(path="dest"), {"dest": "a.txt"}, "Writes a file (a.txt)."),
        (Write(path=post), {"title": "rye"}, "Writes a file (posts/rye.md)."),
        (Write(path=post), {}, "Writes a file."),
        (Read(path="src"), {}, "Reads a file."),
        (Shell(command="argv"), {"argv": ["ls"]}, "Runs a command (['ls'])."),
        (Pure(), {}, "Touches nothing outside itself."),
        (Unknown(), {}, "Nobody declared what it touches."),
    ],
)
def test_effects_in_words(effect: object, args: dict[str, object], words: str):
    assert effect_words(effect, args) == words


def copied(source: str, dest: str) -> None:
    """Copy a file."""


FILES = {"type": "object", "properties": {"dest": {"type": "string"}}}


@pytest.mark.parametrize("kind", [Shell, Read, Write, Net, Spawn, Defer])
def test_an_effect_names_an_argument_that_is_there(kind: type):
    [field] = fields(kind)
    for more in ({}, {"args": FILES}):
        with pytest.raises(BreadError) as caught:
            tool(copied, effect=kind(**{field.name: "dets"}), **more)
        assert caught.value.code == "INVALID_TOOL"
        assert f"({field.name}='dets') names none of its arguments" in caught.value.why
        assert caught.value.do == f"effect={kind.__name__}({field.name}='dest')"
        tool(copied, effect=kind(**{field.name: "dest"}), **more)
        tool(copied, effect=kind(**{field.name: len}), **more)


def test_an_effect_of_a_tool_without_arguments_is_refused_and_with_any_is_not():
    with pytest.raises(BreadError, match="as it has none"):
        tool(lambda: None, name="wipe", effect=Write(path="dest"))
    for more in (
        {"type": "object"},
        {**FILES, "additionalProperties": True},
        {**FILES, "anyOf": [{"required": ["dest"]}]},
    ):
        tool(lambda **args: None, name="wipe", effect=Write(path="any"), args=more)


def test_credentials_show_names_and_never_values():
    secrets = Credentials({"KEY": "hunter2hunter2", "GONE": None})
    assert repr(secrets) == "Credentials(KEY, GONE)"
    assert secrets["KEY"] == "hunter2hunter2"
    assert (list(secrets), len(secrets)) == (["KEY", "GONE"], 2)
    for name, code in (
        ("GONE", "CREDENTIAL_MISSING"),
        ("X", "CREDENTIAL_NOT_DECLARED"),
    ):
        with pytest.raises(BreadError) as caught:
            _ = secrets[name]
        assert caught.value.code == code
