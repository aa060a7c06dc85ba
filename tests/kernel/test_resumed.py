"""A run that code goes on with is shown as what it is, beside its other cards."""

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest
from kernel.conftest import PUBLISHER, agent
from kernel.driver import Kernel, View

pytestmark = pytest.mark.kernel


def waits(page: Kernel) -> tuple[str, View]:
    """A run that waits, with somebody who looks at its card."""
    cell = page.start("%%bread publisher\nhi")
    view = page.view(page.card(cell))
    view.form()
    page.finish(cell)
    return cell, view


@pytest.mark.parametrize(
    "named", ["run.handle", "'last'", "(await b.pending())[0].checkpoint_id"]
)
def test_a_card_of_a_run_that_code_resumes_tells_its_end(page: Kernel, named: str):
    page.ok("b = Bread.load()")
    cell, first = waits(page)
    page.ok(f"run = (await b.runs())[0]; name = {named}")
    again = page.start("b.resume(name, {'approved': True})")
    second = page.view(page.card(again))
    page.finish(again)
    for view in (first, second):
        view.state("finished")
    for where in (cell, again):
        told = page.wait(
            lambda w=where: [
                p for p in page.result(w).plain if p.startswith("publisher finished")
            ],
            "the picture",
        )
        assert 'publish title="Rye": approved, done' in told[0]
    assert second.head()["agent"] == "publisher"


def test_a_resumed_run_without_a_card_is_shown_from_its_beginning(
    page: Kernel, open_kernel: Callable[..., Kernel]
):
    page.ok("%%bread publisher\nhi", watched=False)
    other = open_kernel()
    other.ok("%load_ext bread_nb\nfrom bread_nb import *\nb = Bread.load()")
    other.ok("name = (await b.pending())[0].handle")
    cell = other.start("b.resume(name, {'approved': True})")
    other.card(cell)
    other.finish(cell)
    told = other.wait(lambda: other.result(cell).plain, "the picture")
    assert 'publish title="Rye": approved, done' in told[-1]
    assert told[-1].startswith("publisher finished · ")
    assert "2 turns" in told[-1]


def test_a_resumed_run_is_called_by_its_agent_without_the_extension(
    page: Kernel, open_kernel: Callable[..., Kernel]
):
    page.ok("%%bread publisher\nhi", watched=False)
    bare = open_kernel()
    bare.ok("from bread_nb import *\nb = Bread.load()")
    bare.ok("call = (await b.pending())[0]")
    told = bare.ok("b.resume(call.handle, {'approved': True})").plain[0]
    assert told == "Run('publisher', working)"
    told = bare.ok("b.resume(call.checkpoint_id, {'approved': True})").plain[0]
    assert told == "Run(working)"


def test_a_run_that_a_cell_shows_already_is_not_drawn_there_again(page: Kernel):
    """It is over, and nobody looks: the kernel forgets it while the cell goes on."""
    code = """
        import time
        run = %bread writer hi
        watch, end = get_ipython()._bread_nb.stage.watch, time.monotonic() + 20
        while watch.known(run.id) and time.monotonic() < end: pass
        assert not watch.known(run.id)
        run
    """
    told = page.ok(dedent(code), watched=False)
    assert [line.splitlines()[0].split(" · ")[0] for line in told.plain] == [
        "writer finished"
    ]
    assert len(page.ok("run", watched=False).plain) == 1


def test_a_line_that_approves_an_edited_tool_says_why_nothing_has_run(
    page: Kernel, project: Path
):
    agent(project, "editor", PUBLISHER)
    page.ok("%%bread editor\nhi", watched=False)
    edited = PUBLISHER.replace("published {title}", "{title} is out")
    agent(project, "editor", edited)
    told = page.ok("%bread resume editor-1.a --approve", watched=False)
    assert told.plain[0].startswith("editor waits for a person: publish")
    assert told.plain[1:] == [
        "The call has not run: its tool was edited since it asked, and asks anew."
    ]
    done = page.ok("%bread resume editor-1.b --approve", watched=False)
    assert [text.partition(" · ")[0] for text in done.plain] == ["editor finished"]
