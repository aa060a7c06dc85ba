"""Schemas for strict modes: closed where nothing is lost, left alone where not."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from bread_nb.providers.fitting import object_schema, strict


class Flour(Enum):
    RYE = "rye"
    SPELT = "spelt"


class Loaf(BaseModel):
    name: str = Field(min_length=1)
    flour: Flour
    kind: Literal["rye"]
    grams: int | None = Field(ge=1)
    parts: list[str]


class Loose(BaseModel):
    temp: int
    note: str | None = None


class Open(BaseModel):
    temp: int
    extra: dict[str, Any]


class Rye(BaseModel):
    kind: Literal["rye"]
    sour: int


class Spelt(BaseModel):
    kind: Literal["spelt"]
    note: str


class Tray(BaseModel):
    flour: Flour = Field(description="which flour")
    loaf: Annotated[Rye | Spelt, Field(discriminator="kind")]


class Crumb(BaseModel):
    name: str
    inside: list[Crumb]


def test_a_full_model_qualifies_and_every_object_is_closed():
    closed = strict(Loaf.model_json_schema(), all_required=True)
    assert closed is not None
    assert closed["additionalProperties"] is False
    assert "minLength" not in str(closed)
    assert "minimum" not in str(closed)
    assert "'enum': ['rye', 'spelt']" in str(closed)


def test_optional_properties_qualify_only_where_the_mode_has_them():
    schema = Loose.model_json_schema()
    assert strict(schema, all_required=True) is None
    closed = strict(schema, all_required=False)
    assert closed is not None
    assert "default" not in str(closed)
    assert closed["required"] == ["temp"]


@pytest.mark.parametrize("all_required", [True, False])
@pytest.mark.parametrize(
    "schema",
    [
        Open.model_json_schema(),
        {"type": "string"},
        {"type": "object", "properties": {}},
        {"type": "object", "properties": {"a": {"oneOf": [{"type": "string"}]}}},
        {"type": "object", "properties": {"a": True}},
        {"type": "object", "properties": {"a": {"type": "object"}}, "required": ["a"]},
    ],
)
def test_what_cannot_be_closed_does_not_qualify(
    schema: dict[str, Any], all_required: bool
):
    assert strict(schema, all_required=all_required) is None


def test_a_property_named_like_a_keyword_stays():
    schema = {
        "type": "object",
        "properties": {"default": {"type": "string"}, "minLength": {"type": "string"}},
        "required": ["default", "minLength"],
    }
    closed = strict(schema, all_required=True)
    assert closed is not None
    assert closed["properties"] == schema["properties"]


def test_a_tool_without_parameters_is_an_empty_object():
    assert object_schema({}) == {"type": "object", "properties": {}}
    assert object_schema({"type": "object"}) == {"type": "object", "properties": {}}


def test_a_tagged_union_qualifies_and_a_reference_stands_alone():
    closed = strict(Tray.model_json_schema(), all_required=True)
    assert closed is not None
    assert closed["properties"] == {
        "flour": {"anyOf": [{"$ref": "#/$defs/Flour"}], "description": "which flour"},
        "loaf": {
            "anyOf": [{"$ref": "#/$defs/Rye"}, {"$ref": "#/$defs/Spelt"}],
            "title": "Loaf",
        },
    }


def test_a_type_that_holds_itself_qualifies():
    closed = strict(Crumb.model_json_schema(), all_required=True)
    assert closed is not None
    assert closed["type"] == "object"
    assert closed["properties"]["inside"]["items"] == {"$ref": "#/$defs/Crumb"}  # pyright: ignore[reportArgumentType, reportCallIssue, reportIndexIssue]


def test_a_tools_union_becomes_one_object_that_takes_each_of_its_objects():
    schema: dict[str, Any] = {
        "$defs": {"Rye": Rye.model_json_schema()},
        "oneOf": [{"$ref": "#/$defs/Rye"}, Spelt.model_json_schema()],
    }
    fitted = object_schema(schema)
    assert (fitted["type"], fitted["required"]) == ("object", ["kind"])
    assert not fitted.keys() & {"oneOf", "anyOf", "allOf"}
    properties: Any = fitted["properties"]
    assert set(properties) == {"kind", "sour", "note"}
    assert [k["const"] for k in properties["kind"]["anyOf"]] == ["rye", "spelt"]


def test_conditions_beside_a_tools_properties_are_left_to_the_check():
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    }
    assert object_schema(schema) == {
        "type": "object",
        "properties": schema["properties"],
    }


def test_a_tools_parts_are_joined_and_references_at_the_top_followed():
    schema: dict[str, Any] = {
        "$ref": "#/$defs/Tray",
        "$defs": {
            "Base": {
                "type": "object",
                "properties": {"a": {"type": "string"}},
                "required": ["a"],
            },
            "Tray": {
                "allOf": [{"$ref": "#/$defs/Base"}],
                "properties": {"b": {"type": "integer"}},
                "required": ["b"],
            },
        },
    }
    fitted = object_schema(schema)
    assert fitted["properties"] == {"a": {"type": "string"}, "b": {"type": "integer"}}
    assert (fitted["type"], fitted["required"]) == ("object", ["a", "b"])
    assert not fitted.keys() & {"$ref", "allOf"}


@pytest.mark.parametrize("reference", ["#/$defs/Gone", "elsewhere.json", "#/$defs/A"])
def test_a_reference_that_leads_nowhere_is_an_object_all_the_same(reference: str):
    schema: dict[str, Any] = {"$ref": reference, "$defs": {"A": {"$ref": "#/$defs/A"}}}
    assert object_schema(schema)["type"] == "object"
