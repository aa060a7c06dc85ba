"""Suites that could hold nothing are refused where they are written."""

import pytest

from bread_nb import BreadError
from bread_nb.evals import Case, Suite, contains, exact


@pytest.mark.parametrize(
    "cases",
    [
        [Case("rye", "?", scorers=[exact("Rye")]), Case("oats", "?", expected="Oats")],
        [{"id": "oats", "question": "?", "answer": "Oats"}],
    ],
)
def test_a_case_that_is_held_against_nothing_is_refused_by_name(cases: object):
    with pytest.raises(BreadError, match="oats of baker is held against nothing") as no:
        Suite("baker", cases)
    assert no.value.code == "INVALID_SUITE"
    assert Suite("baker", cases, scorers=[contains()])


@pytest.mark.parametrize("times", [0, -1, 2.5, float("nan"), True, "3"])
def test_a_case_is_run_a_whole_number_of_times(times: int):
    suite = Suite("baker", [Case("rye", "?")], scorers=[exact("Rye")])
    for make in (
        lambda: Case("rye", "?", repeat=times),
        lambda: Suite("baker", [Case("rye", "?")], scorers=[exact("")], repeat=times),
        lambda: suite.repeated(times),
    ):
        with pytest.raises(BreadError) as caught:
            make()
        assert caught.value.code == "INVALID_SUITE"
