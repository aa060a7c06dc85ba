"""A run whose kernel was killed goes on at a press, in the card that says so."""

from collections.abc import Callable
from pathlib import Path

import pytest
from kernel.conftest import agent
from kernel.driver import Kernel, View
from kernel.test_restart import KNEADER, lines

pytestmark = pytest.mark.kernel
OpenKernel = Callable[..., Kernel]


@pytest.fixture(autouse=True)
def _fresh(project: Path) -> None:
    agent(project, "kneader", KNEADER)
    for name in ("kneaded.txt", "let-it-end"):
        (project / name).unlink(missing_ok=True)


def broken_off(open_kernel: OpenKernel, project: Path) -> None:
    """A run whose kernel was killed while its tool worked."""
    first = open_kernel()
    first.ok("%load_ext bread_nb")
    cell = first.start("%%bread kneader\nhi")
    first.view(first.card(cell)).state("tools")
    first.wait(lambda: "begun" in lines(project / "kneaded.txt"), "the tool")
    first.kill()


def shown(open_kernel: OpenKernel) -> View:
    """A view on the card of the newest run, in a new kernel."""
    kernel = open_kernel()
    kernel.ok("%load_ext bread_nb")
    cell = kernel.start("%bread show last")
    view = kernel.view(kernel.card(cell))
    view.state("interrupted")
    kernel.finish(cell)
    return view


def test_a_press_goes_on_in_the_same_card(open_kernel: OpenKernel, project: Path):
    broken_off(open_kernel, project)
    view = shown(open_kernel)
    note = view.look().data["note"]
    assert note["text"].startswith("The kernel ended while this run worked.")
    assert note["button"] == "recover"
    assert view.head()["button"] is None
    assert view.result(view.act("recover"))["ok"] is True
    form = view.form()
    assert form["ask"] == "outcome"
    assert view.look().data["note"] is None
    view.answer(form, {"happened": True, "result": "by hand"})
    view.state("finished")
    assert lines(project / "kneaded.txt") == ["asked", "begun"]


def test_of_several_presses_one_counts(open_kernel: OpenKernel, project: Path):
    broken_off(open_kernel, project)
    view = shown(open_kernel)
    results = [view.result(action) for action in [view.act("recover") for _ in "abc"]]
    assert [result["ok"] for result in results].count(True) == 1
    (project / "let-it-end").touch()
    view.answer(view.form(), {"run": True})
    view.state("finished")
    assert lines(project / "kneaded.txt") == ["asked", "begun", "begun", "ended"]


def test_what_another_process_drives_is_left_to_it(
    open_kernel: OpenKernel, project: Path
):
    broken_off(open_kernel, project)
    late, quick = shown(open_kernel), shown(open_kernel)
    assert quick.result(quick.act("recover"))["ok"] is True
    quick.answer(quick.form(), {"run": True})
    quick.state("tools")
    refused = late.result(late.act("recover"))
    assert refused["ok"] is False
    assert refused["say"].startswith("Somebody else goes on with it already.")
    late.state("resuming")
    assert lines(project / "kneaded.txt") == ["asked", "begun", "begun"]


def test_a_card_shows_what_another_process_does_with_its_run(
    open_kernel: OpenKernel, project: Path
):
    broken_off(open_kernel, project)
    late, quick = shown(open_kernel), shown(open_kernel)
    assert quick.result(quick.act("recover"))["ok"] is True
    quick.form()
    late.state("waiting")
    late.form()
    quick.answer(quick.form(), {"happened": True, "result": "by hand"})
    quick.state("finished")
    late.state("finished")
    assert late.forms() == []


def test_the_question_what_happened_names_the_credentials(
    open_kernel: OpenKernel, project: Path
):
    source = KNEADER.replace("@tool\n", "@tool(credentials=['OVEN_KEY'])\n")
    agent(project, "kneader", source)
    keyed = lambda: open_kernel(OVEN_KEY="k-123456")  # noqa: E731
    broken_off(keyed, project)
    view = shown(keyed)
    view.act("recover")
    assert view.form()["hint"] == "It could use the credentials OVEN_KEY."
    assert "k-123456" not in repr(view.heard())
    assert view.result(view.act("end"))["ok"] is True


def test_an_interrupted_run_can_be_ended(open_kernel: OpenKernel, project: Path):
    broken_off(open_kernel, project)
    view = shown(open_kernel)
    assert view.result(view.act("end"))["ok"] is True
    view.state("stopped")
    assert lines(project / "kneaded.txt") == ["asked", "begun"]
