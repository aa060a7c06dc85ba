"""Signatures and types become schemas, and values are checked against them."""

import asyncio
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from bread_nb import BreadError, ToolContext, tool
from bread_nb.base.schema import Schema, arguments_of
from bread_nb.errors import ValidationError


class Grain(StrEnum):
    RYE = "rye"
    OAT = "oat"


class Loaf(BaseModel):
    """A loaf."""

    name: str
    grams: int = Field(500, ge=1, description="its weight")


@dataclass
class Slice:
    mm: float


class Plan(TypedDict):
    loaves: list[Loaf]


def schema_of(fn: object) -> dict[str, Any]:
    return arguments_of(fn, skip=frozenset()).json


def test_a_signature_is_a_closed_object():
    def bake(name: str, grams: int = 500, note: str | None = None) -> str: ...

    assert schema_of(bake) == {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "name": {"type": "string"},
            "grams": {"type": "integer", "default": 500},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        },
        "required": ["name"],
    }


def test_no_parameters_are_an_empty_object():
    def bell() -> str: ...

    empty = {"type": "object", "additionalProperties": False, "properties": {}}
    assert schema_of(bell) == empty
    assert arguments_of(bell, skip=frozenset()).validate({}) == {}


def test_literals_enums_and_bounds_are_in_the_schema():
    def bake(
        one: Literal["rye"],
        some: Literal["rye", "oat"],
        grain: Grain,
        count: Annotated[int, Field(ge=1, le=9, description="how many")],
        plan: Plan | None = None,
    ) -> str: ...

    found = schema_of(bake)["properties"]
    assert found["one"]["const"] == "rye"
    assert found["some"]["enum"] == ["rye", "oat"]
    assert found["count"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 9,
        "description": "how many",
    }
    assert found["grain"] == {"$ref": "#/$defs/Grain"}


def test_values_become_the_types_of_the_signature():
    def bake(grain: Grain, loaf: Loaf, cuts: list[Slice], count: int = 2) -> str: ...

    args = {"grain": "rye", "loaf": {"name": "x"}, "cuts": [{"mm": 9}]}
    assert arguments_of(bake, skip=frozenset()).validate(args) == {
        "grain": Grain.RYE,
        "loaf": Loaf(name="x", grams=500),
        "cuts": [Slice(9.0)],
        "count": 2,
    }


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ({}, "count: is missing"),
        ({"count": "many"}, "count: 'many' is not a whole number"),
        ({"count": 1.5}, "count: 1.5 is not a whole number"),
        ({"count": 0}, "count: must be 1 or more"),
        ({"count": 1, "grain": "spelt"}, "grain: 'spelt' is not 'rye' or 'oat'"),
        ({"count": 1, "cnt": 2}, "cnt: is not a field here"),
        ({"count": 1, "loaf": {"grams": "x"}}, "loaf.name: is missing"),
        ({"count": 1, "loaf": 3}, "loaf: 3 is not a mapping"),
        ({"count": 1, "names": "x"}, "names: 'x' is not a list"),
        ("rye", "'rye' is not a mapping"),
    ],
)
def test_what_does_not_fit_is_said_in_a_line(args: object, problem: str):
    def bake(
        count: Annotated[int, Field(ge=1)],
        grain: Grain = Grain.RYE,
        loaf: Loaf | None = None,
        names: list[str] = [],  # noqa: B006 - a default as users write it
    ) -> str: ...

    with pytest.raises(ValidationError) as caught:
        arguments_of(bake, skip=frozenset()).validate(args)
    assert problem in caught.value.problems


def test_string_annotations_are_read_where_the_function_was_written():
    cell = """
from __future__ import annotations
from typing import Annotated, Literal, Optional
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

class Dough(BaseModel):
    water: float

def knead(
    minutes: Annotated[int, Field(ge=1)],
    by: Optional[Literal["hand", "machine"]] = None,
    dough: Dough | None = None,
) -> str:
    return f"{minutes} {by} {dough!r}"
"""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(cell, names)
    knead = tool(names["knead"])
    old = names["Dough"]
    exec("class Dough(BaseModel):\n    flour: str\n", names)
    assert knead.arguments.json["properties"]["minutes"] == {
        "type": "integer",
        "minimum": 1,
    }
    args = {"minutes": "3", "by": "hand", "dough": {"water": 0.7}}
    values = knead.arguments.validate(args)
    assert values == {"minutes": 3, "by": "hand", "dough": old(water=0.7)}
    for bad in ({"minutes": 0}, {"minutes": 1, "by": "foot"}):
        with pytest.raises(ValidationError):
            knead.arguments.validate(bad)


def test_string_annotations_are_read_inside_a_function_too():
    class Inner(BaseModel):
        x: int

    def bake(inner: "Inner", maybe: "int | None" = None) -> str: ...

    made = arguments_of(bake, skip=frozenset())
    assert made.validate({"inner": {"x": "1"}})["inner"] == Inner(x=1)


def test_parameters_may_have_the_names_of_pydantic_methods():
    def odd(schema: str, json: int, copy: bool, model_config: str = "x") -> str: ...

    args = {"schema": "s", "json": 1, "copy": True}
    assert arguments_of(odd, skip=frozenset()).validate(args) == {
        **args,
        "model_config": "x",
    }


def test_a_parameter_may_begin_with_an_underscore():
    def odd(_hidden: int, __very: int = 2) -> str: ...

    found = arguments_of(odd, skip=frozenset()).validate({"_hidden": 1})
    assert found == {"_hidden": 1, "__very": 2}


def star(*names: str) -> str: ...
def stars(**names: str) -> str: ...
def positional(name: str, /) -> str: ...
def strange(lock: asyncio.Lock) -> str: ...
def unknown(loaf: "NoSuchLoaf") -> str: ...  # noqa: F821 - a name there is not


@pytest.mark.parametrize("fn", [star, stars, positional, strange, unknown])
def test_parameters_that_cannot_be_described_are_refused(fn: object):
    with pytest.raises(BreadError) as caught:
        tool(fn)
    assert caught.value.code == "INVALID_TOOL"
    assert fn.__name__ in caught.value.what
    assert caught.value.do


@pytest.mark.parametrize(
    ("source", "value", "fits"),
    [
        (int, 3, 3),
        (str, "x", "x"),
        (Loaf, {"name": "x"}, Loaf(name="x")),
        (Slice, {"mm": 1}, Slice(1.0)),
        (list[int], ["1"], [1]),
        (int | None, None, None),
        ({"type": "string", "minLength": 2}, "ab", "ab"),
        ({}, {"a": 1}, {"a": 1}),
    ],
)
def test_any_type_or_json_schema_may_describe_a_value(
    source: object, value: object, fits: object
):
    assert Schema(source).validate(value) == fits


def test_a_json_schema_says_where_a_value_does_not_fit():
    schema = Schema(
        {
            "type": "object",
            "properties": {"loaves": {"type": "array", "items": {"type": "integer"}}},
            "required": ["name"],
        }
    )
    with pytest.raises(ValidationError) as caught:
        schema.validate({"loaves": [1, "two"]})
    assert caught.value.problems == [
        "'name' is a required property",
        "loaves.1: 'two' is not of type 'integer'",
    ]


@pytest.mark.parametrize("source", [object(), asyncio.Lock, {"type": "no such"}])
def test_what_is_no_schema_is_refused(source: object):
    with pytest.raises(BreadError) as caught:
        Schema(source)
    assert caught.value.code == "INVALID_SCHEMA"


def test_a_type_in_a_few_words():
    words = {
        str: "text",
        int: "whole number",
        Loaf: "name text, grams whole number",
        Literal["a", "b"]: 'one of "a", "b"',
        list[int]: "list",
    }
    assert {kind: Schema(kind).describe() for kind in words} == words


def test_a_context_is_not_the_callers_to_give():
    @tool
    def bake(name: str, context: ToolContext) -> str:
        """Bake."""
        return name

    assert list(bake.arguments.json["properties"]) == ["name"]
    assert bake.context_parameter == "context"
