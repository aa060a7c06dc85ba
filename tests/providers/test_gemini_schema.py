"""Schemas in the words of Gemini: nothing it refuses, and nothing narrower."""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import Annotated, Any, Literal

import pytest
from fixtures.api_rules import gemini_schema_faults
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter

from bread_nb.providers.fitting import object_schema
from bread_nb.providers.gemini_schema import fit


class Flour(StrEnum):
    RYE = "rye"
    SPELT = "spelt"


class Grams(Enum):
    HALF = 500
    WHOLE = 1000


class Crumb(BaseModel):
    name: str
    inside: list[Crumb] = []


class Rye(BaseModel):
    kind: Literal["rye"]
    hours: int = Field(gt=0, le=48)


class Spelt(BaseModel):
    kind: Literal["spelt"]
    note: str | None = None


def of(kind: object) -> dict[str, Any]:
    """A type's schema, fitted; nothing in it is refused."""
    fitted = fit(TypeAdapter(kind).json_schema()).schema
    assert list(gemini_schema_faults(fitted)) == []
    return fitted


def test_a_choice_of_words_has_a_type_and_no_const():
    assert of(Literal["rye"]) == {"type": "string", "enum": ["rye"]}
    assert of(Literal["rye", "spelt"]) == {"type": "string", "enum": ["rye", "spelt"]}
    assert of(Flour)["enum"] == ["rye", "spelt"]


def test_none_is_shown_as_nullable():
    assert of(str | None) == {"type": "string", "nullable": True}
    assert of(Literal["rye", None]) == {
        "type": "string",
        "enum": ["rye"],
        "nullable": True,
    }
    assert of(int | str | None) == {
        "anyOf": [
            {"type": "integer", "nullable": True},
            {"type": "string", "nullable": True},
        ]
    }
    assert fit({"type": ["string", "null"]}).schema == of(str | None)


def test_a_choice_of_numbers_is_told_in_words_within_bounds():
    assert of(Grams) == {
        "type": "integer",
        "minimum": 500,
        "maximum": 1000,
        "description": "One of: 500, 1000.",
        "title": "Grams",
    }
    assert of(Literal["", "rye"]) == {
        "type": "string",
        "description": 'One of: "", "rye".',
    }


def test_keywords_go_at_every_depth_and_a_property_named_like_one_stays():
    deep: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "additionalProperties": False,
        "propertyNames": {"pattern": "^[a-z]+$"},
        "default": {},
        "properties": {"default": {"type": "string", "default": "rye"}},
        "required": ["default", "gone"],
    }
    for _ in range(3):
        deep = {
            "type": "object",
            "additionalProperties": False,
            "properties": {"inner": {"type": "array", "items": deep, "default": []}},
            "required": ["inner"],
        }
    found = fit(deep).schema
    assert list(gemini_schema_faults(found)) == []
    for _ in range(3):
        found = found["properties"]["inner"]["items"]  # pyright: ignore[reportArgumentType, reportCallIssue, reportIndexIssue]
    assert found == {
        "type": "object",
        "properties": {"default": {"type": "string"}},
        "required": ["default"],
    }


def test_references_are_followed_and_a_type_that_holds_itself_is_cut():
    fitted = fit(Crumb.model_json_schema())
    assert fitted.narrow
    inner = {
        "type": "object",
        "title": "Crumb",
        "properties": {
            "name": {"type": "string", "title": "Name"},
            "inside": {
                "type": "array",
                "title": "Inside",
                "items": {"type": "object", "description": "Again a Crumb."},
            },
        },
        "required": ["name"],
    }
    assert fitted.schema == inner


@pytest.mark.parametrize("word", ["allOf", "anyOf"])
def test_a_schema_that_leads_round_in_a_ring_is_cut(word: str):
    inner: dict[str, Any] = {word: [{"$ref": "#/$defs/Crumb"}]}
    crumb = {"type": "object", "properties": {"inside": inner}}
    for schema in (
        {"$ref": "#/$defs/Crumb", "$defs": {"Crumb": crumb}},
        {word: [{"$ref": "#"}]},
    ):
        for one in (schema, object_schema(schema)):
            assert list(gemini_schema_faults(fit(one).schema)) == []


def test_a_tagged_union_is_a_union_and_bounds_stay():
    tagged = of(Annotated[Rye | Spelt, Field(discriminator="kind")])
    rye, spelt = tagged["anyOf"]
    hours = {"type": "integer", "title": "Hours", "minimum": 1, "maximum": 48}
    assert rye["properties"]["hours"] == hours
    assert spelt["properties"]["note"]["nullable"] is True


def test_a_description_of_a_union_is_told_in_each_of_its_branches():
    field: Any = Annotated[int | str, Field(description="grams or words")]
    assert of(field) == {
        "anyOf": [
            {"type": "integer", "description": "grams or words"},
            {"type": "string", "description": "grams or words"},
        ]
    }


def test_conditions_and_parts_become_one_object():
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "oneOf": [
            {"properties": {"b": {"type": "string"}}, "required": ["b"]},
            {"properties": {"c": {"type": "string"}}},
        ],
    }
    first, second = fit(schema).schema["anyOf"]  # pyright: ignore[reportGeneralTypeIssues]
    assert list(first["properties"]) == ["a", "b"]  # pyright: ignore[reportArgumentType, reportCallIssue, reportIndexIssue]
    assert list(second["properties"]) == ["a", "c"]  # pyright: ignore[reportArgumentType, reportCallIssue, reportIndexIssue]
    schema["oneOf"] = [{"required": ["a"]}, {"not": {"required": ["a"]}}]
    assert fit(schema).schema == {
        "type": "object",
        "properties": {"a": {"type": "string"}},
    }


@pytest.mark.parametrize(
    ("kind", "narrow"),
    [
        (Rye, False),
        (list[Rye], False),
        (dict[str, int], True),
        (Any, True),
        (list[Any], True),
        (tuple[int, str], True),
        (Crumb, True),
    ],
)
def test_it_is_known_what_cannot_be_said(kind: object, narrow: bool):
    schema = TypeAdapter(kind).json_schema()
    assert fit(schema).narrow == narrow
    assert list(gemini_schema_faults(fit(schema).schema)) == []


WORDS = ("type", "const", "enum", "default", "properties", "items", "anyOf", "oneOf")
LEAVES = st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab", max_size=2)
KINDS = ("string", "number", "integer", "boolean", "array", "object", "null", "odd")


def grown(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(children, max_size=3)
    named = st.dictionaries(st.sampled_from([*WORDS, "a"]), children, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(KINDS) | st.lists(st.sampled_from(KINDS)),
            "const": LEAVES,
            "enum": st.lists(LEAVES | st.just([1]), max_size=3),
            "properties": named,
            "required": st.lists(st.sampled_from(WORDS), max_size=2),
            "items": children,
            "prefixItems": several,
            "anyOf": several,
            "oneOf": several,
            "allOf": several,
            "$ref": st.sampled_from(["#", "#/properties/a", "#/anyOf", "#/gone"]),
            "additionalProperties": children | st.booleans(),
            "format": st.sampled_from(["date-time", "uuid"]),
            "exclusiveMinimum": st.integers(0, 5),
            "description": st.just("A loaf."),
            "$comment": st.just("x"),
        },
    )


@given(st.recursive(st.booleans() | st.just({}), grown, max_leaves=8))
def test_whatever_a_schema_holds_nothing_that_is_sent_is_refused(schema: object):
    if isinstance(schema, dict):
        assert list(gemini_schema_faults(fit(schema).schema)) == []
