"""What a card hands out, and that an ended one stays while a person is at it."""

from pathlib import Path

import pytest
from kernel.conftest import agent
from kernel.driver import Kernel, Message, View

pytestmark = pytest.mark.kernel

PAINTER = '''
from bread_nb import Agent, Scripted, tool
from bread_nb.messages import File

@tool
def paint() -> File:
    """Paint."""
    return File.of(b"rye", name="loaf.txt", mime_type="text/plain")

agent = Agent(
    model=Scripted([{"calls": [{"name": "tool_paint"}]}, "Here."], by="history"),
    tools=[paint],
)
'''


def ended(page: Kernel, line: str) -> tuple[str, View]:
    """A cell whose run has ended, and a view on its card."""
    cell = page.start(line)
    view = page.view(page.card(cell))
    view.state("finished")
    page.finish(cell)
    return cell, view


def handed(view: View, name: str, **context: object) -> Message:
    return view.result(view.act(name, **context))


def test_the_crumbs_of_a_run_are_told_a_line_each(page: Kernel):
    _, view = ended(page, "%%bread writer\nhi")
    lines = handed(view, "crumbs")["data"].splitlines()
    assert lines[0].split()[:2] == ["1", "agent:run:start"]
    assert lines[-1].split()[1] == "agent:run:end"


def test_the_call_as_python_starts_such_a_run(page: Kernel):
    _, view = ended(page, "%%bread writer --session blog\nit's {rye}")
    source = handed(view, "python")["data"]
    assert source.splitlines() == [
        "from bread_nb import Bread",
        "",
        """await Bread.load().run('writer', "it's {rye}", session='blog')""",
    ]
    assert "finished" in page.ok(source).plain[0].lower()


def test_the_command_that_shows_a_run_does(page: Kernel):
    _, view = ended(page, "%%bread writer\nhi")
    command = handed(view, "command")["data"]
    assert command.startswith("%bread show writer-")
    assert "writer finished" in page.ok(command, watched=False).plain[0]


def test_only_files_of_the_run_are_handed_out(page: Kernel, project: Path):
    agent(project, "painter", PAINTER)
    _, view = ended(page, "%%bread painter\nhi")
    [file] = [b for b in view.look().data["b"].values() if "uri" in b]
    assert handed(view, "file", uri=file["uri"])["data"] == {
        "name": "loaf.txt",
        "mime": "text/plain",
        "base64": "cnll",
    }
    for uri in ("file:///etc/passwd", file["uri"] + "x", ""):
        refused = handed(view, "file", uri=uri)
        assert (refused["ok"], "data" in refused) == (False, False)


def test_an_ended_card_stays_while_a_person_is_at_it(page: Kernel):
    cell, view = ended(page, "%%bread writer\nhi")
    view.post({"t": "stay", "view": view.name, "here": True})
    handed(view, "command")
    page.ok("1 + 1")
    assert page.result(cell).outputs[0] != {}
    view.post({"t": "stay", "view": view.name, "here": False})
    handed(view, "command")
    page.ok("1 + 1")
    page.wait(lambda: page.result(cell).outputs[0] == {}, "the settled card")
