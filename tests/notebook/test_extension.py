"""Loading, reloading and unloading in a terminal's shell, which has no widgets."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

from bread_nb import Agent, Bread, BreadError, Run, Scripted

WRITER = """
from bread_nb import Agent, Scripted

agent = Agent(model=Scripted(["Bread is **good**."], repeat_last=True))
"""


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[InteractiveShell]:
    """A shell in a project with one agent; the extension is unloaded afterwards."""
    (tmp_path / "agents" / "writer").mkdir(parents=True)
    (tmp_path / "agents" / "writer" / "agent.py").write_text(WRITER)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    shell = InteractiveShell()
    InteractiveShell._instance = shell
    yield shell
    shell.run_line_magic("unload_ext", "bread_nb")
    shell.history_manager.end_session()
    InteractiveShell.clear_instance()


def engine_threads() -> int:
    return sum(t.name == "bread-engine" for t in threading.enumerate())


def test_loading_greets_and_starts_nothing(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
):
    shell.run_line_magic("load_ext", "bread_nb")
    assert capsys.readouterr().out == "bread 0.1.0: 1 agent (writer) · %bread help\n"
    assert engine_threads() == 0


def test_a_terminal_gets_plain_lines(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
):
    shell.run_line_magic("load_ext", "bread_nb")
    capsys.readouterr()
    run = shell.run_cell_magic("bread", "writer", "hi\n")
    assert isinstance(run, Run)
    assert capsys.readouterr().out == (
        "writer finished · scripted · 1 turn · 0 calls · 6 tokens\nBread is **good**.\n"
    )
    assert engine_threads() == 1


def test_bread_load_gives_the_instance_of_the_magics(shell: InteractiveShell):
    shell.run_line_magic("load_ext", "bread_nb")
    bread = Bread.load()
    assert Bread.load() is bread
    shell.run_line_magic("bread", "writer hi")
    assert bread.run("writer", "hi").result(10).text == "Bread is **good**."


def test_reloading_leaves_one_engine_and_one_of_everything(shell: InteractiveShell):
    shell.run_line_magic("load_ext", "bread_nb")
    matchers = len(shell.Completer.custom_matchers)
    for _ in range(3):
        shell.run_line_magic("bread", "writer hi")
        shell.run_line_magic("reload_ext", "bread_nb")
    shell.run_line_magic("bread", "writer hi")
    assert engine_threads() == 1
    assert len(shell.Completer.custom_matchers) == matchers
    assert len(shell.events.callbacks["pre_run_cell"]) == 1


def test_unloading_takes_everything_away(shell: InteractiveShell):
    shell.run_line_magic("load_ext", "bread_nb")
    shell.run_line_magic("bread", "writer hi")
    shell.run_line_magic("unload_ext", "bread_nb")
    assert shell.find_line_magic("bread") is None
    assert shell.find_cell_magic("bread") is None
    assert shell.events.callbacks["pre_run_cell"] == []
    assert (Bread.shared, Bread.common_home, Run.display, Run.hold) == (None,) * 4
    assert engine_threads() == 0
    shell.run_line_magic("load_ext", "bread_nb")


def test_wrong_use_raises_an_ordinary_error(shell: InteractiveShell):
    shell.run_line_magic("load_ext", "bread_nb")
    with pytest.raises(BreadError, match="USAGE"):
        shell.run_line_magic("bread", "writer --nosuch hi")


def test_agents_in_code_run_on_the_engine_too(shell: InteractiveShell):
    shell.run_line_magic("load_ext", "bread_nb")
    shell.user_ns["mine"] = Agent(model=Scripted(["mine"], repeat_last=True))
    shell.run_line_magic("bread", "mine --out x hi")
    assert shell.user_ns["x"].text == "mine"
    bread = Bread({"own": Agent(model=Scripted(["own"]))}, store="memory:")
    assert bread.run("own", "hi").result(10).text == "own"


def offered(shell: InteractiveShell, text: str) -> list[str]:
    """The completions of ours at the end of a text."""
    with provisionalcompleter():
        found = list(shell.Completer.completions(text, len(text)))
    return [c.text for c in found if c.type == "bread"]


def test_completions_come_on_the_first_line_alone(shell: InteractiveShell):
    shell.run_line_magic("load_ext", "bread_nb")
    assert offered(shell, "%%bread wri") == ["writer"]
    assert offered(shell, "%bread pend") == ["pending"]
    assert offered(shell, "%%bread writer\n%bread pend") == []
