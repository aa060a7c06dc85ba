"""What a small model is asked: one tool, forced first, its fields constrained."""

from enum import Enum
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from bread_nb.messages import (
    File,
    Message,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    assistant,
    user,
)
from bread_nb.providers.grammar import arguments_grammar, sentences
from bread_nb.providers.local_protocol import Step, shape, with_grammar
from bread_nb.providers.shots import argument_shots, closing


class Column(Enum):
    PRICE = "price"
    WEIGHT = "weight"
    AGE = "age"


class Mean(BaseModel):
    column: Column


class Post(BaseModel):
    title: str
    body: str


class Sum(BaseModel):
    a: int
    b: int


def tool(name: str, model: type[BaseModel] | None = None, told: str = "") -> ToolSpec:
    schema: dict[str, Any] = model.model_json_schema() if model else {}
    return ToolSpec(name, told, schema)


MEAN = tool("tool_column_mean", Mean, "The mean of a column.")
POST = tool("tool_publish", Post)
BELL = tool("tool_bell")


def called(spec: ToolSpec, content: Any = 31.5, *, failed: bool = False):  # noqa: ANN401
    """A call of a tool and its result."""
    result = ToolResult("c", spec.name, content, failed)
    return assistant(ToolCall("c", spec.name)), Message("tool", (result,))


def said(step: Step) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in step.messages]


def test_the_first_tool_without_a_result_is_called():
    question = user("What is the mean price?")
    assert shape((question,), (MEAN, POST)).tool is MEAN
    assert shape((question, *called(MEAN)), (MEAN, POST)).tool is POST
    done = (question, *called(MEAN), *called(POST))
    assert shape(done, (MEAN, POST)).tool is None


def test_a_new_question_begins_again_with_the_first_tool():
    before = (user("x"), *called(MEAN), assistant(Text("31.5.")))
    assert shape((*before, user("And the weight?")), (MEAN,)).tool is MEAN


def test_a_named_tool_is_called_whatever_came_before():
    asked = (user("x"), *called(POST))
    assert shape(asked, (MEAN, POST), choice="tool_publish").tool is POST
    assert shape(asked, (MEAN, POST), choice="required").tool is MEAN
    assert shape(asked, (POST,), choice="required").tool is None


def test_a_tool_without_parameters_needs_no_answer():
    step = shape((user("Ring"),), (BELL,))
    assert (step.tool, step.fixed) == (BELL, "{}")


def test_examples_of_an_enum_come_forwards_and_backwards_in_other_words():
    shots = argument_shots(MEAN)
    names = [answer for _, answer in shots]
    assert names == [
        f'{{"column":"{n}"}}'
        for n in ("price", "weight", "age", "age", "weight", "price")
    ]
    assert len({question for question, _ in shots}) == 6
    assert shots[0][0] == "What is the column mean of price?"
    step = shape((user("Mean age?"),), (MEAN,))
    assert said(step)[-1] == ("user", "Mean age?")
    assert [role for role, _ in said(step)[:4]] == ["user", "assistant"] * 2
    assert "The mean of a column." in step.system


def test_examples_of_the_schema_come_before_made_ones():
    class City(BaseModel):
        city: Annotated[str, Field(examples=["Paris", "Oslo"])]

    shots = argument_shots(tool("tool_weather", City))
    assert [a for _, a in shots] == [
        f'{{"city":"{n}"}}' for n in ("Paris", "Oslo", "Oslo", "Paris")
    ]

    class Whole(BaseModel):
        model_config = {"json_schema_extra": {"examples": [{"a": 1, "b": 2}]}}
        a: int
        b: int

    assert argument_shots(tool("tool_add", Whole))[0] == (
        "What is the add of a 1 and b 2?",
        '{"a":1,"b":2}',
    )


def test_a_title_stays_beside_its_text():
    for _, answer in argument_shots(POST):
        title, _, body = answer.partition('","body":"')
        assert title.partition(":")[2].strip('"').split()[0][:5].lower() in body.lower()


def test_numbers_in_one_example_differ():
    assert [answer for _, answer in argument_shots(tool("tool_add", Sum))][:2] == [
        '{"a":3,"b":12}',
        '{"a":12,"b":7}',
    ]


def grammar(spec: ToolSpec, question: str) -> dict[str, str]:
    """The rules of a tool's grammar by name."""
    made = arguments_grammar(spec.parameters, question)
    assert made is not None
    return dict(line.split(" ::= ", 1) for line in made.splitlines())


def test_an_enum_is_a_choice_of_its_names():
    rules = grammar(MEAN, "x")
    assert rules["root"] == r'"{" "\"column\":" v0 "}"'
    assert rules["v0"] == r'"\"price\"" | "\"weight\"" | "\"age\""'


def test_a_long_text_is_two_sentences_and_its_title_the_models_own():
    rules = grammar(POST, 'Publish "rye"')
    assert rules["v0"] == r'"\"" c{1,60} e "\""'
    assert rules["v1"] == r'"\"" s " " s "\""'
    assert rules["s"] == r"""[A-Z] [A-Za-z0-9 ',-]{20,200} ".\""""[:-2] + '"'


def test_free_text_is_what_the_question_quotes_or_a_stretch_of_its_words():
    class Count(BaseModel):
        text: str

    spec = tool("tool_word_count", Count)
    assert grammar(spec, "Words in \"Rye \\ spelt\" and 'x'?")["v0"] == (
        r'"\"Rye \\\\ spelt\"" | "\"x\""'
    )
    rules = grammar(spec, "Weather in Oslo?")
    assert rules["v0"] == r'"\"" (w0 | w1 | w2) "\""'
    assert rules["w1"] == r'"in" | "in " w2'
    assert rules["w2"] == r'"Oslo" | "Oslo?"'


def test_numbers_are_those_of_the_question():
    spec = tool("tool_add", Sum)
    assert grammar(spec, "Add 12 to -3, or 4.5")["v0"] == '"12" | "-3"'
    assert grammar(spec, "Add them")["v0"] == "i"


def test_a_nested_schema_has_no_grammar_of_ours_and_goes_to_the_server():
    class Nested(BaseModel):
        loaf: Mean

    spec = tool("tool_bake", Nested)
    assert arguments_grammar(spec.parameters, "x") is None
    assert "response_format" in shape((user("x"),), (spec,)).settings


def test_only_required_fields_are_asked_for():
    class Some(BaseModel):
        column: Column
        note: str | None = None

    assert "note" not in grammar(tool("t", Some), "x")["root"]


@pytest.mark.parametrize(
    ("content", "failed", "line", "example"),
    [
        (31.5, False, "Tool result: column mean = 31.5", "The average price is 31.5."),
        (
            "sent",
            False,
            "Tool result: column mean = sent",
            "The letter to Ada is sent.",
        ),
        ("page 9 of it", False, "Tool result: page 9 of it", "The result is: blue."),
        (
            {"sky": "clear", "celsius": 21},
            False,
            "Tool result: sky = clear, celsius = 21",
            "Ada is on duty until noon.",
        ),
        (
            "denied: no",
            True,
            "Tool failed: denied: no",
            "It was not done: denied by you.",
        ),
    ],
)
def test_the_closing_examples_are_of_the_outcome_that_happened(
    content: Any,  # noqa: ANN401
    failed: bool,
    line: str,
    example: str,
):
    step = shape((user("Why?"), *called(MEAN, content, failed=failed)), (MEAN,))
    assert said(step)[-1] == ("user", f"Why?\n{line}")
    assert example in [text for role, text in said(step) if role == "assistant"]
    assert step.settings["stop"] == ["\n"]


def test_a_long_result_is_cut_for_the_closing():
    *_, (asked, _) = closing("Why?", [ToolResult("c", "tool_read", "word " * 500)])
    assert len(asked) < 320


def test_a_plain_question_is_asked_with_the_words_of_the_conversation():
    talk = (user("Hi"), *called(MEAN), assistant(Text("31.5.")), user("Thanks"))
    step = shape(talk, (), system="Bake.")
    assert step.system == "Bake."
    assert said(step) == [("user", "Hi"), ("assistant", "31.5."), ("user", "Thanks")]


def test_an_answer_of_a_schema_is_held_to_it():
    for asked in ((user("x"),), (user("x"), *called(MEAN))):
        step = shape(
            asked, (MEAN,) if len(asked) > 1 else (), schema={"type": "object"}
        )
        wanted: Any = step.settings["response_format"]
        assert wanted["json_schema"]["schema"] == {"type": "object"}


def test_grammars_of_sentences_have_names():
    assert with_grammar({"grammar": "two_sentences"})["grammar"] == sentences(
        "two_sentences"
    )
    assert str(sentences("two_sentences")).startswith('root ::= s " " s\n')
    assert with_grammar({"grammar": "root ::= x"}) == {"grammar": "root ::= x"}
    assert with_grammar({}) == {"repeat_penalty": 1.1}


def test_a_file_is_its_name_to_a_model_that_cannot_see():
    picture = File("blob:1", "image/png", "loaf.png")
    step = shape((user("", picture), assistant(Text("A loaf.")), user("Of what?")), ())
    assert [message.text for message in step.messages] == [
        *("[file loaf.png (image/png)]", "A loaf.", "Of what?")
    ]
