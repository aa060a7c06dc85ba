"""YAML that people write: a key counts once."""

import pytest
import yaml

from bread_nb.base.yaml_text import read_yaml


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize(
    ("text", "line"),
    [("a: 1\na: 2", 2), ("- b: 1\n- a:\n    b: 1\n    b: 2", 4), ("{a: 1, a: 1}", 1)],
)
def test_a_key_that_stands_twice_is_an_error_with_its_line(
    text: str, line: int, plain: bool
):
    with pytest.raises(yaml.MarkedYAMLError, match="stands there twice") as caught:
        read_yaml(text, plain=plain)
    assert caught.value.problem_mark is not None
    assert caught.value.problem_mark.line + 1 == line


def test_what_is_merged_in_may_be_given_anew():
    text = "- &base {a: 1, b: 2}\n- {<<: *base, b: 3}"
    assert read_yaml(text) == [{"a": 1, "b": 2}, {"a": 1, "b": 3}]


def test_plain_scalars_stay_text():
    assert read_yaml("a: no\nb: 1e3", plain=True) == {"a": "no", "b": "1e3"}
    assert read_yaml("a: no") == {"a": False}
