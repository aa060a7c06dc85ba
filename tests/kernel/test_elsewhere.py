"""A question that another kernel answers: the card says so, in words for people."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from kernel.driver import Kernel, View
from kernel.test_inbox import inbox, kitchen, opened, rows
from kernel.test_restart import lines

__all__ = ["kitchen", "opened"]

pytestmark = pytest.mark.kernel

LONG_ID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}")


def shown(kernel: Kernel) -> View:
    cell = kernel.start("%bread show last")
    view = kernel.view(kernel.card(cell))
    view.form()
    kernel.finish(cell)
    return view


def test_a_press_that_comes_too_late_is_answered_by_handle_and_once(
    opened: Callable[[], Kernel], kitchen: Path
):
    first, second = opened(), opened()
    first.ok("%%bread publisher\none")
    view = shown(second)
    form = view.form()
    first.ok("%bread resume publisher-1 --approve")
    said = [view.result(view.answer(form, {"approved": True})) for _ in range(2)]
    assert [s["ok"] for s in said] == [False, False]
    for words in (s["say"] for s in said):
        assert not LONG_ID.search(words)
        assert "Publisher-1" not in words
    view.state("finished")
    assert view.forms() == []
    assert lines(kitchen / "published.txt") == ["Rye"]


def test_a_card_in_another_kernel_follows_the_answer(
    opened: Callable[[], Kernel], kitchen: Path
):
    first, second = opened(), opened()
    first.ok("%%bread publisher\none")
    view = shown(second)
    _, listed = inbox(second)
    first.ok("%bread resume publisher-1 --approve")
    view.state("finished")
    listed.until(lambda v: [r["state"] for r in rows(v)] != ["open"], "the grey row")
    assert listed.forms() == view.forms() == []
