"""Tables as they are found: every shape is a suite, or one error that says why not."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from evals.conftest import Evaluate, answering

from bread_nb import BreadError
from bread_nb.evals import Case, Suite, contains, exact
from bread_nb.evals.report import Report
from bread_nb.evals.scoring import Scorer


def of(table: object) -> Suite:
    return Suite(answering(lambda asked: asked), table, scorers=[exact()])


def told(report: Report) -> Mapping[str, str]:
    return {row.case: row.status for row in report.rows}


def test_a_file_that_cannot_be_read_is_one_error_that_says_why(tmp_path: Path):
    table = tmp_path / "table.csv"
    table.write_bytes("question,answer\nbr\xf8d,x\n".encode("latin-1"))
    with pytest.raises(BreadError, match=r"table\.csv is not UTF-8"):
        of(table)


async def test_a_cell_may_be_longer_than_a_csv_reader_likes(
    tmp_path: Path, evaluated: Evaluate
):
    table = tmp_path / "table.csv"
    table.write_text(f"question,answer\n{'x' * 200_000},{'x' * 200_000}\n")
    assert (await evaluated(of(table))).passed == 1


async def test_cells_of_a_frame_may_be_of_any_type(evaluated: Evaluate):
    pandas = pytest.importorskip("pandas")
    numpy = pytest.importorskip("numpy")
    frame = pandas.DataFrame(
        {
            "id": [0, 1, 2],
            "question": ["[1,2]", "7", "2026-12-01T00:00:00"],
            "answer": [numpy.array([1, 2]), 7.0, pandas.Timestamp("2026-12-01")],
        }
    )
    report = await evaluated(of(frame))
    assert told(report) == {"0": "passed", "1": "passed", "2": "passed"}


async def test_an_empty_cell_says_nothing_of_what_is_right(evaluated: Evaluate):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"question": ["null", "b"], "answer": [None, "b"]})
    report = await evaluated(of(frame))
    assert told(report) == {"row-1": "broken", "row-2": "passed"}


def test_a_series_is_no_table():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(BreadError, match="Series is no table"):
        of(pandas.Series(["a"], name="question"))


async def test_names_that_tell_no_rows_apart_are_not_their_names(
    evaluated: Evaluate,
):
    rows = [
        {"name": "Ann", "id": 7, "question": "a", "answer": "a"},
        {"name": "Ann", "id": 8, "question": "b", "answer": "b"},
    ]
    assert told(await evaluated(of(rows))) == {"7": "passed", "8": "passed"}


async def test_a_column_may_begin_in_a_later_row(evaluated: Evaluate):
    rows = [{"question": "a"}, {"question": "b", "answer": "b"}]
    report = await evaluated(of(rows))
    assert told(report) == {"row-1": "broken", "row-2": "passed"}


async def test_messages_and_several_right_answers_are_read_as_openai_has_them(
    evaluated: Evaluate,
):
    system = {"role": "system", "content": "Echo."}
    rows = [
        {"input": [system, {"role": "user", "content": "hi"}], "ideal": "Echo.\n\nhi"},
        {"input": [{"role": "user", "content": "yes"}], "ideal": ["yes", "yeah"]},
        {"input": [{"role": "user", "content": "no"}], "ideal": ["yes", "yeah"]},
    ]
    report = await evaluated(of(rows))
    assert list(told(report).values()) == ["passed", "passed", "failed"]


@pytest.mark.parametrize("nothing", ["", [], ["rye", ""]])
async def test_an_empty_text_is_in_every_answer_and_breaks_its_row(
    evaluated: Evaluate, nothing: object
):
    case = Case("one", "rye", expected=nothing, scorers=[contains()])
    report = await evaluated(Suite(answering(lambda asked: asked), [case]))
    assert report.rows[0].status == "broken"
    assert "an empty text is in every answer" in report.rows[0].why


@pytest.mark.parametrize("scorer", [exact(), contains()])
@pytest.mark.parametrize("cell", ["", '" "'])
async def test_an_empty_cell_of_a_file_is_no_expectation(
    evaluated: Evaluate, tmp_path: Path, scorer: Scorer, cell: str
):
    table = tmp_path / "rows.csv"
    table.write_text(f"question,answer\nrye,rye\noats,{cell}\n")
    report = await evaluated(
        Suite(answering(lambda asked: asked), table, scorers=[scorer])
    )
    assert [row.status for row in report.rows] == ["passed", "broken"]
    assert "neither the scorer nor the case has an expected" in report.rows[1].why
