"""A suite that was changed is another one: no row of the old one is counted for it."""

from collections.abc import Callable

import pytest

from bread_nb.evals import crumbs, custom, judge
from bread_nb.evals.scoring import Scorer


def holds(word: str) -> Callable[[str], bool]:
    return lambda output: word in output


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda output: "rye" in output, lambda output: "oat" in output),
        (lambda output: len(output) < 5, lambda output: len(output) < 9),
        (lambda output: output.strip(), lambda output: output.lower()),
        (holds("rye"), holds("oat")),
    ],
)
@pytest.mark.parametrize("make", [custom, judge, lambda check: crumbs(check=check)])
def test_a_check_that_was_changed_is_another_scorer(
    make: Callable[..., Scorer],
    one: Callable[..., object],
    other: Callable[..., object],
):
    assert make(one).key == make(one).key
    assert make(one).key != make(other).key
