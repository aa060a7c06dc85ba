"""JSON Schema to fields, and answers back."""

from json import loads

import pytest
from pydantic import BaseModel

from bread_nb.a2ui.forms import fields_of
from bread_nb.a2ui.replies import check_answer, read_answer


def one(part: dict, value=None, *, required: bool = False, **root):
    schema = {"type": "object", "properties": {"x": part}, **root}
    if required:
        schema["required"] = ["x"]
    (field,) = fields_of(schema, {} if value is None else {"x": value})
    return field


@pytest.mark.parametrize(
    ("part", "kind", "hint"),
    [
        ({"type": "string"}, "text", "text"),
        ({"type": "string", "maxLength": 5000}, "area", "text"),
        ({"type": "string", "format": "password"}, "secret", "secret"),
        ({"type": "string", "writeOnly": True}, "secret", "secret"),
        ({"type": "number"}, "number", "number"),
        (
            {"type": "integer", "minimum": 0, "maximum": 5},
            "integer",
            "whole number, 0 to 5",
        ),
        (
            {"type": "integer", "exclusiveMinimum": 0},
            "integer",
            "whole number, 1 or more",
        ),
        ({"type": "number", "maximum": 1.5}, "number", "number, 1.5 or less"),
        ({"type": "boolean"}, "boolean", "yes or no"),
        ({"enum": ["plain", "warm", "cold"]}, "enum", "one of 3"),
        ({"const": 1}, "enum", "one choice"),
        ({"type": "array", "items": {"type": "string"}}, "list", "list"),
        ({"type": "array", "items": {"type": "object"}}, "json", "JSON"),
        ({"type": "array"}, "json", "JSON"),
        ({"type": "object"}, "json", "JSON"),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}},
            "object",
            "group",
        ),
        (
            {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "union",
            "one of several kinds",
        ),
        ({"oneOf": [{"const": 1}, {"const": 2}]}, "union", "one of several kinds"),
        ({"type": ["string", "integer"]}, "union", "one of several kinds"),
        ({"type": "null"}, "null", "nothing"),
        ({}, "json", "JSON"),
        ({"$ref": "#/$defs/nowhere"}, "json", "JSON"),
    ],
)
def test_every_kind_of_schema_has_a_field(part, kind, hint):
    field = one(part)
    assert (field["kind"], field["hint"]) == (kind, hint)


def test_a_field_that_is_required_says_so():
    field = one({"type": "string"}, required=True)
    assert (field["required"], field["hint"]) == (True, "text, required")


def test_a_text_of_several_lines_gets_an_area():
    assert one({"type": "string"}, "a\nb")["kind"] == "area"


def test_a_value_nobody_gave_is_absent_and_a_default_is_not():
    assert "value" not in one({"type": "string"})
    assert one({"type": "integer", "default": 3})["value"] == 3
    assert one({"type": "boolean"}, False)["value"] is False


def test_a_secret_never_goes_to_the_page():
    field = one({"type": "string", "format": "password"}, "hunter2")
    assert "value" not in field
    (named,) = fields_of(
        {"type": "object", "properties": {"api_key": {"type": "string"}}},
        {"api_key": "sk-1"},
    )
    assert (named["kind"], "value" in named) == ("secret", False)


def test_a_list_of_scalars_has_a_field_for_an_item():
    field = one({"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1}, ["a"])
    assert field["item"]["kind"] == "enum"
    assert (field["item"]["path"], field["min"], field["value"]) == ("/x/-", 1, ["a"])


def test_deeper_than_two_levels_is_json():
    class Leaf(BaseModel):
        name: str

    class Branch(BaseModel):
        leaf: Leaf

    class Tree(BaseModel):
        branch: Branch

    class Wood(BaseModel):
        tree: Tree

    (tree,) = fields_of(Wood.model_json_schema())
    (branch,) = tree["fields"]
    assert (tree["kind"], branch["kind"]) == ("object", "object")
    assert [field["kind"] for field in branch["fields"]] == ["json"]
    assert branch["fields"][0]["path"] == "/tree/branch/leaf"


def test_a_schema_that_holds_itself_ends():
    class Node(BaseModel):
        name: str
        next: "Node | None" = None

    kinds = [field["kind"] for field in fields_of(Node.model_json_schema())]
    assert kinds == ["text", "object"]


def test_an_optional_value_is_one_that_may_be_left_out():
    class Post(BaseModel):
        mood: str | None = None

    (field,) = fields_of(Post.model_json_schema())
    assert (field["kind"], field["required"]) == ("text", False)
    (null,) = fields_of(Post.model_json_schema(), {"mood": None})
    assert (null["kind"], null["value"]) == ("union", None)


def test_the_kind_of_a_union_that_fits_gets_the_value():
    field = one({"anyOf": [{"type": "string"}, {"type": "integer"}]}, 3, required=True)
    text, whole = field["variants"]
    assert ("value" in text["field"], whole["field"]["value"]) == (False, 3)


def test_a_schema_that_is_no_object_is_one_field_without_a_name():
    (field,) = fields_of({"type": "boolean"})
    assert (field["path"], field["key"], field["kind"]) == ("", "", "boolean")
    assert field["label"] == "answer"


def test_names_with_slashes_are_pointers():
    schema = {"type": "object", "properties": {"a/b~c": {"type": "string"}}}
    assert fields_of(schema)[0]["path"] == "/a~1b~0c"


SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["title", "retries"],
    "properties": {
        "title": {"type": "string", "minLength": 1, "maxLength": 5},
        "retries": {"type": "integer", "minimum": 0, "maximum": 5},
        "mood": {"enum": ["plain", "warm"]},
        "notify": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
        "to": {"type": "object", "required": ["a"], "properties": {"a": {}}},
        "when": {"anyOf": [{"type": "string"}, {"type": "number", "minimum": 3}]},
        "token": {"type": "string", "format": "password"},
    },
}


def problems(value: object) -> list[tuple[str, str]]:
    return [(p.path, p.text) for p in check_answer(SCHEMA, value)]


GOOD = {"title": "Rye", "retries": 2}


@pytest.mark.parametrize(
    ("change", "path", "text"),
    [
        ({"retries": 9}, "/retries", "Must be 5 or less."),
        ({"retries": -1}, "/retries", "Must be 0 or more."),
        ({"retries": 1.5}, "/retries", "This is not a whole number."),
        ({"retries": True}, "/retries", "This is not a whole number."),
        ({"title": ""}, "/title", "Needs a value."),
        ({"title": "too long"}, "/title", "May have at most 5 characters."),
        ({"title": 3}, "/title", "Must be text."),
        ({"mood": "blue"}, "/mood", "Must be one of the choices."),
        ({"notify": "yes"}, "/notify", "Must be yes or no."),
        ({"tags": ["a", 1]}, "/tags/1", "Must be text."),
        ({"tags": ["a", "b", "c"]}, "/tags", "May have at most 2 items."),
        ({"to": {}}, "/to/a", "Needs a value."),
        ({"when": 2}, "/when", "Must be text."),
        ({"odd": 1}, "/odd", "There is no such argument."),
    ],
)
def test_what_does_not_fit_is_told_at_its_field(change, path, text):
    assert problems({**GOOD, **change}) == [(path, text)]


def test_an_answer_that_fits_has_no_problems():
    assert problems({**GOOD, "when": 3, "to": {"a": None}, "tags": []}) == []
    assert problems({}) == [
        ("/title", "Needs a value."),
        ("/retries", "Needs a value."),
    ]


def test_numbers_that_come_as_text_are_read():
    value, wrong = read_answer(SCHEMA, {"title": "Rye", "retries": "4"})
    assert (value, wrong) == ({"title": "Rye", "retries": 4}, [])
    value, wrong = read_answer(SCHEMA, {"title": "Rye", "retries": "four"})
    assert [p.to_wire() for p in wrong] == [
        {"path": "/retries", "text": "This is not a whole number."}
    ]


def test_a_secret_nobody_typed_again_is_kept():
    value, wrong = read_answer(SCHEMA, dict(GOOD), {**GOOD, "token": "hunter2"})
    assert (value["token"], wrong) == ("hunter2", [])
    replaced, _ = read_answer(
        SCHEMA, {**GOOD, "token": "new"}, {**GOOD, "token": "hunter2"}
    )
    assert replaced["token"] == "new"


def test_numbers_that_a_page_would_change_come_as_text_too():
    big = 2**53 + 1
    schema = {
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "rate": {"type": "number"},
            "ids": {"type": "array", "items": {"type": "integer"}},
            "one": {"enum": [big, 1]},
            "near": {"type": "integer"},
            "half": {"type": "number"},
            "on": {"type": "boolean"},
        },
    }
    lossy = {"id": big, "rate": 1.0, "ids": [1, -big], "one": big}
    plain = {"near": 2**53 - 1, "half": 0.5, "on": True}
    fields = {f["key"]: f for f in fields_of(schema, {**lossy, **plain})}
    told = {key: f["exact"] for key, f in fields.items() if "exact" in f}
    assert {key: loads(text) for key, text in told.items()} == lossy
    assert told["rate"] == "1.0"
    assert [o.get("exact") for o in fields["one"]["options"]] == [str(big), None]
