"""Schemas for strict modes: closed where nothing is lost, left alone where not."""

from enum import Enum
from typing import Any, Literal

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
