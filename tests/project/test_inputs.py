"""What a person types becomes an input: literal text, or a mapping where one is due."""

import pytest
from pydantic import BaseModel

from bread_nb import Agent, BreadError
from bread_nb.project.inputs import read_input


class Order(BaseModel):
    topic: str
    loaves: int = 1
    hot: bool = False


FOREIGN = {
    "type": "object",
    "properties": {
        "topic": {"type": "string"},
        "loaves": {"type": "integer"},
        "share": {"type": "number"},
        "hot": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["topic"],
}


def read(text: str, schema: object = Order) -> object:
    agent = Agent(model="scripted:x", input_schema=schema)
    return agent.accepts.validate(read_input("writer", agent, text))


@pytest.mark.parametrize("text", ["{a: b}", "topic: rye", "- x", "%$5 {}", "'", "no"])
def test_an_agent_that_takes_text_gets_it_as_it_is(text: str):
    assert read(text, str) == text


@pytest.mark.parametrize(
    "text",
    [
        "topic: no\nloaves: 3\nhot: yes",
        '{"topic": "no", "loaves": 3, "hot": true}',
        "{topic: no, loaves: '3', hot: on}",
    ],
)
def test_a_mapping_may_be_yaml_or_json_and_its_words_stay_words(text: str):
    assert read(text) == Order(topic="no", loaves=3, hot=True)


@pytest.mark.parametrize("topic", ["1e3", "007", "null", "2026-11-30", "~", "0x1F"])
def test_what_yaml_would_turn_into_something_else_stays_text(topic: str):
    assert read(f"topic: {topic}") == Order(topic=topic)


def test_a_key_that_the_schema_does_not_know_is_what_its_model_says():
    class Strict(Order, extra="forbid"):
        """An order that takes nothing else."""

    typo = "topic: rye\nlofes: 3"
    assert read(typo) == Order(topic="rye", loaves=1)
    with pytest.raises(BreadError, match="lofes"):
        read(typo, Strict)


def test_a_json_schema_gets_numbers_where_it_asks_for_them():
    text = "topic: 12\nloaves: 3\nshare: 0.5\nhot: true\ntags: [1, 2]"
    wanted = {"topic": "12", "loaves": 3, "share": 0.5, "hot": True, "tags": [1, 2]}
    assert read(text, FOREIGN) == wanted


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("write about rye", "it is text, and a mapping is wanted."),
        (
            "topic: rye\nloaves: 2\ntopic: oat",
            "line 3: the key 'topic' stands there twice",
        ),
        ('{"topic": "rye", "topic": "oat"}', "line 1: the key 'topic' stands there"),
        ("topic: rye\nmore:\n  a: 1\n  a: 2", "line 4: the key 'a' stands there twice"),
        ("topic: [", "it is no YAML: line 1: expected the node content"),
        ('{"topic": ' + "[" * 5000 + "]" * 5000 + "}", "it is no YAML: it is nested"),
    ],
)
def test_where_a_mapping_is_due_other_text_is_refused_with_an_example(
    text: str, why: str
):
    with pytest.raises(BreadError) as caught:
        read(text)
    error = caught.value
    assert (error.code, error.what) == (
        "INVALID_INPUT",
        "The input does not fit writer.",
    )
    assert error.why.startswith(why.rstrip("."))
    assert error.do.startswith("topic: …")
    assert "writer takes: topic text, loaves whole number" in error.do
