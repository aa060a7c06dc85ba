"""Objects handed to a run, and what the model is told of them."""

import pandas
import pytest

from bread_nb.errors import BreadError
from bread_nb.notebook.given import describe, look_up


class Frame:
    shape = (120, 2)
    columns = ("flour", "water")
    dtypes = ("int64", "float64")

    def head(self, rows: int) -> str:
        return f"{rows} rows"


class Shy(Frame):
    def head(self, rows: int) -> str:
        raise TypeError("no")


def test_a_frame_is_told_with_shape_columns_and_five_rows():
    assert describe({"sales": Frame()}) == (
        "`sales` is there for the tools: a Frame, 120 x 2. "
        "Columns: flour int64, water float64.\nFirst rows:\n5 rows"
    )


def test_anything_else_is_told_by_name_and_type():
    assert describe({"a": 1, "b": Shy()}) == (
        "`a` is there for the tools: a int.\n\n`b` is there for the tools: a Shy."
    )


def test_secrets_in_the_rows_are_masked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")

    class Leaky(Frame):
        def head(self, rows: int) -> str:
            return "key sk-0123456789abcdef"

    assert "sk-0123456789abcdef" not in describe({"leaky": Leaky()})


def test_columns_that_hold_secrets_by_their_name_are_left_out_of_the_rows():
    users = pandas.DataFrame({"user": ["ann"], "password": ["hunter2hunter2"]})
    told = describe({"users": users})
    assert "ann" in told
    assert "password" in told.partition("First rows")[0]
    assert "hunter2" not in told


def test_a_missing_name_names_the_nearest_and_the_next_step():
    with pytest.raises(BreadError) as caught:
        look_up(["sale"], {"sales": 1})
    assert caught.value.code == "NAME_NOT_FOUND"
    assert "'sales' is near" in caught.value.why
