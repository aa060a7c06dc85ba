"""The inbox in a real kernel: rows with forms, answered here, elsewhere, or not yet."""

from collections.abc import Callable
from pathlib import Path

import pytest
from kernel.conftest import agent
from kernel.driver import BOUND, Kernel, View
from kernel.test_interrupted import broken_off
from kernel.test_restart import KNEADER, lines

pytestmark = pytest.mark.kernel
OpenKernel = Callable[..., Kernel]


@pytest.fixture
def kitchen(tmp_path: Path) -> Path:
    """A project of one test alone."""
    from kernel.conftest import PUBLISHER

    agent(tmp_path, "publisher", PUBLISHER)
    return tmp_path


@pytest.fixture
def opened(open_kernel: OpenKernel, kitchen: Path) -> Callable[[], Kernel]:
    def one() -> Kernel:
        kernel = open_kernel(kitchen)
        kernel.ok("%load_ext bread_nb")
        return kernel

    return one


def inbox(kernel: Kernel) -> tuple[str, View]:
    """A cell with the inbox, and a view on it."""
    cell = kernel.start("%bread pending")
    view = kernel.view(kernel.card(cell))
    view.until(lambda v: v.data.get("rows"), "the rows")
    kernel.finish(cell)
    return cell, view


def rows(view: View) -> list[dict]:
    found = view.look().data["rows"]
    order = view.components["root"]["children"]
    return [{**found[key], "id": key} for key in order]


def test_one_row_a_call_oldest_first_and_a_row_unfolds_into_its_form(
    opened: Callable[[], Kernel], kitchen: Path
):
    kernel = opened()
    for title in ("one", "two --session blog\n2", "three"):
        kernel.ok(f"%%bread publisher{title[3:] if ' ' in title else ''}\n{title}")
    cell, view = inbox(kernel)
    assert view.data["head"]["title"] == "3 calls wait"
    first, second, third = rows(view)
    assert [r["run"] for r in rows(view)] == [f"publisher-{n}" for n in (1, 2, 3)]
    assert (first["ask"], first["preview"]) == ("publish", 'title="Rye"')
    assert (second["session"], first["session"]) == ("blog", "")
    assert (first["asked"], first["did"]) == ("one", "model, publish")
    assert first["said"] == "I will publish it."
    assert first["cost"] == "no charge (scripted)"
    assert [r["unfolded"] for r in (first, second, third)] == [True, False, False]
    assert [form["id"] for form in view.forms()] == [f"f_{first['id']}"]
    assert view.result(view.act("unfold", third["id"]))["ok"] is True
    view.until(lambda v: len(v.forms()) == 2, "the second form")
    listed = kernel.result(cell)
    assert "form above" in listed.plain[0]
    html = listed.outputs[1]["text/html"]
    assert html.startswith("<details><summary>3 calls wait</summary>")


def test_an_answer_in_a_row_goes_on_in_a_card_below_the_rows(
    opened: Callable[[], Kernel], kitchen: Path
):
    kernel = opened()
    kernel.ok("%%bread publisher\none")
    kernel.ok("%%bread publisher\ntwo")
    cell, view = inbox(kernel)
    form = view.form()
    assert view.result(view.answer(form, {"approved": True}))["ok"] is True
    settled = view.until(
        lambda v: [r for r in rows(v) if r["state"] == "settled"], "the settled row"
    )[0]
    assert (settled["run"], settled["end"]) == ("publisher-1", "Approved")
    view.until(lambda v: rows(v)[0]["word"] == "Finished", "what became of it")
    assert view.data["head"]["title"] == "1 call waits"
    again = view.result(view.answer(form, {"approved": True}))
    assert (again["ok"], again["say"]) == (False, "Approved")
    kernel.wait(
        lambda: [p for p in kernel.result(cell).plain if "finished" in p],
        "the picture below the rows",
    )
    assert lines(kitchen / "published.txt") == ["Rye"]


def test_a_row_answered_by_another_process_is_greyed_and_then_gone(
    opened: Callable[[], Kernel], kitchen: Path
):
    kernel, other = opened(), opened()
    kernel.ok("%%bread publisher\none")
    _, view = inbox(kernel)
    form = view.form()
    other.ok("%bread resume publisher-1 --deny not now")
    [row] = view.until(
        lambda v: [r for r in rows(v) if r["state"] == "settled"], "the grey row"
    )
    assert row["end"].startswith("Denied: not now")
    assert view.data["head"]["title"] == "No run waits for you."
    late = view.result(view.answer(form, {"approved": True}))
    assert late["ok"] is False
    assert late["say"].startswith("Denied: not now")
    view.until(lambda v: rows(v)[0]["state"] == "gone", "the end of it")
    assert lines(kitchen / "published.txt") == []


def test_a_question_that_comes_later_is_a_row_at_the_end(
    opened: Callable[[], Kernel],
):
    kernel, other = opened(), opened()
    kernel.ok("%%bread publisher\none")
    _, view = inbox(kernel)
    other.ok("%%bread publisher\ntwo")
    view.until(lambda v: len(rows(v)) == 2, "the second row")
    assert [r["run"] for r in rows(view)] == ["publisher-1", "publisher-2"]


def test_an_interrupted_run_is_a_row_that_goes_on_at_a_press(
    open_kernel: OpenKernel, opened: Callable[[], Kernel], kitchen: Path
):
    agent(kitchen, "kneader", KNEADER)
    broken_off(lambda: open_kernel(kitchen), kitchen)
    kernel = opened()
    cell, view = inbox(kernel)
    [row] = rows(view)
    assert view.data["head"]["title"] == "1 run was interrupted"
    assert (row["kind"], row["run"]) == ("interrupted", "kneader-1")
    assert row["note"].startswith("The kernel ended while this run worked.")
    assert view.result(view.act("recover", row["id"]))["ok"] is True
    view.until(lambda v: len(rows(v)) == 2, "the question what happened")
    asked = rows(view)[1]
    assert (asked["ask"], asked["kind"]) == ("did it happen? knead", "did it happen?")
    view.act("unfold", asked["id"])
    view.answer(view.form(), {"happened": True, "result": "by hand"})
    kernel.wait(
        lambda: [p for p in kernel.result(cell).plain if "kneader finished" in p],
        "the picture",
    )


def test_an_inbox_that_nobody_looks_at_gives_way_to_the_list(
    opened: Callable[[], Kernel],
):
    kernel = opened()
    kernel.ok("%%bread publisher\none")
    cell = kernel.start("%bread pending")
    kernel.finish(cell)
    settled = "the settled inbox"
    kernel.wait(lambda: kernel.result(cell).outputs[0] == {}, settled, 3 * BOUND)
    kernel.wait(
        lambda: "--approve | --deny" in kernel.result(cell).plain[0], "how to answer"
    )
