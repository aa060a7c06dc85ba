"""What a `%bread eval` line asks for."""

import pytest

from bread_nb import BreadError
from bread_nb.notebook.eval_line import EvalLine, read_eval


def test_paths_and_options_come_in_any_order():
    asked = read_eval(
        "writer --model openai:gpt-5 --repeat 3 'my evals/a.yaml::rye' --concurrency=4"
        " --budget $0.50 --tag short --tag=long --pass-rate 0.9"
        ' --baseline="old one.json" --out report security'
    )
    assert asked == EvalLine(
        paths=["writer", "my evals/a.yaml::rye", "security"],
        tags=["short", "long"],
        model="openai:gpt-5",
        repeat=3,
        concurrency=4,
        budget=0.5,
        pass_rate=0.9,
        baseline="old one.json",
        out="report",
    )


def test_nothing_is_everything_as_it_is():
    assert read_eval("  \n") == EvalLine()


def test_after_two_dashes_all_is_a_path():
    assert read_eval("a -- --b 'c d'").paths == ["a", "--b", "c d"]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("--mdoel x", "There is no option --mdoel."),
        ("--model", "--model needs a value."),
        ("--model --repeat 3", "--model needs a value."),
        ("--repeat three", "--repeat three is no such number."),
        ("--concurrency 0", "--concurrency 0 is no such number."),
        ("--pass-rate nan", "--pass-rate nan is no such number."),
        ("--pass-rate 1.5", "--pass-rate 1.5 is no such number."),
        ("--budget much", "--budget much is no amount."),
        ("--budget 0", "--budget 0 is no amount."),
        ("--budget nan", "--budget nan is no amount."),
        ("--out 2x", "--out 2x is no name."),
    ],
)
def test_what_cannot_be_meant_is_said(line: str, what: str):
    with pytest.raises(BreadError) as caught:
        read_eval(line)
    assert (caught.value.code, caught.value.what) == ("USAGE", what)
    assert caught.value.do
