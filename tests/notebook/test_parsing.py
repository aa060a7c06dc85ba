"""How a `%bread` line and a cell body are read."""

import pytest

from bread_nb.errors import BreadError
from bread_nb.notebook.parsing import (
    fill_in,
    first_word,
    read_options,
    read_run,
    unquoted,
    without_marker,
)


def test_a_line_is_a_word_options_and_the_rest_as_it_stands():
    line = read_run(
        "writer",
        "--session blog --model openai:gpt-5 --with a,b --out x  {the} $rest  ",
        body=False,
    )
    assert (line.session, line.model, line.names, line.out) == (
        "blog",
        "openai:gpt-5",
        ("a", "b"),
        "x",
    )
    assert line.text == "{the} $rest  "


@pytest.mark.parametrize(
    ("rest", "text"),
    [
        ('"quoted?"', "quoted?"),
        ("'it''s'", "it''s"),
        ('"one" and two', '"one" and two'),
        ("-- --flag", "--flag"),
        ("a -- b", "a -- b"),
        ("", ""),
        ('"', '"'),
        ("--session=blog hello", "hello"),
        ("--session 'my blog' hello", "hello"),
        ("--template hello", "hello"),
    ],
)
def test_what_is_left_is_the_text(rest: str, text: str):
    assert read_run("writer", rest, body=False).text == text


def test_values_may_be_joined_by_an_equals_sign_or_quoted():
    assert read_run("w", "--session=blog x", body=False).session == "blog"
    assert read_run("w", '--session="my blog" x', body=False).session == "my blog"
    assert read_run("w", "--budget $0.50 x", body=False).budget == 0.5


@pytest.mark.parametrize(
    "rest",
    [
        "--sesion blog hi",
        "--session",
        "--session --out x",
        "--budget -1 hi",
        "--budget nan hi",
        "--budget inf hi",
        "--out a.b hi",
        "--with a,b-c hi",
    ],
)
def test_what_cannot_be_meant_is_a_usage_error(rest: str):
    with pytest.raises(BreadError) as caught:
        read_run("writer", rest, body=False)
    assert caught.value.code == "USAGE"
    assert caught.value.do


def test_an_unknown_option_names_the_nearest():
    with pytest.raises(BreadError) as caught:
        read_run("writer", "--sesion blog hi", body=False)
    assert caught.value.do == "--session"


@pytest.mark.parametrize("near", ["--budgt 1 hi", "--skil x hi"])
def test_an_option_that_is_not_available_yet_is_not_offered(near: str):
    with pytest.raises(BreadError) as caught:
        read_run("writer", near, body=False)
    assert "budget" not in str(caught.value)
    assert "--skill" not in str(caught.value)


def test_text_on_the_line_of_a_cell_is_a_usage_error():
    assert read_run("writer", "--session s", body=True).session == "s"
    with pytest.raises(BreadError, match="on the line and in the cell"):
        read_run("writer", "hello", body=True)


def test_an_option_may_take_all_that_follows():
    options = read_options(
        '--answer {"approved": true, "x": "--y"}', rest_of=["answer"]
    )
    assert options.values["answer"] == '{"approved": true, "x": "--y"}'
    assert read_options("--deny too long", rest_of=["deny"]).values["deny"] == (
        "too long"
    )
    assert read_options("--deny", rest_of=["deny"]).values["deny"] == ""


def test_the_first_word_ends_at_a_blank():
    assert first_word("  writer  hello ") == ("writer", "hello ")
    assert first_word("") == ("", "")


def test_one_pair_of_quotes_goes():
    assert unquoted("""'"both"'""") == '"both"'
    assert unquoted(' "a" ') == "a"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("# NBVAL_IGNORE_OUTPUT\nhello", "hello"),
        ("  #NBVAL_SKIP\n\nhello", "\nhello"),
        ("# NBVAL_SKIP", ""),
        ("# a heading\nhello", "# a heading\nhello"),
        ("hello\n# NBVAL_SKIP", "hello\n# NBVAL_SKIP"),
    ],
)
def test_only_a_leading_marker_is_dropped(body: str, text: str):
    assert without_marker(body) == text


def test_places_are_filled_in_once():
    values: dict[str, object] = {"a": "{{b}}", "b": 2}
    assert fill_in("{{a}} {{ b }} {a} {{ }} {{1}}", values) == (
        "{{b}} 2 {a} {{ }} {{1}}"
    )
    with pytest.raises(BreadError) as caught:
        fill_in("{{c}}", values)
    assert caught.value.code == "NAME_NOT_FOUND"
