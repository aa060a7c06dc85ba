"""Where a person sits at a terminal: questions are typed, tricks are made visible."""

import os
import pty
import subprocess
import sys
import threading

from cli.conftest import ledger
from fixtures.projects import SECONDS, Project


def test_a_call_is_shown_and_answered_by_typing(apart: Project):
    assert apart.bread("run", "publisher", "Go.").code == 3
    ours, theirs = pty.openpty()
    os.write(ours, b"yes\n")
    done = subprocess.run(
        apart.command("resume", "publisher-1"),
        cwd=apart.root,
        env=apart.environment(),
        stdin=theirs,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    os.close(theirs)
    os.close(ours)
    assert (done.returncode, done.stdout) == (0, "It is out.\n")
    assert done.stderr.splitlines() == [
        "publisher-1.a  Let publisher run publish?",
        "  Nobody declared what it touches. Asked because: ask tool:publish",
        "  title: Rye",
        "  token: ••••",
        "Approve? yes, or why not> ",
    ]
    assert ledger(apart) == ["Rye"]


def test_a_models_text_cannot_steer_the_terminal(apart: Project):
    apart.write({"script.yaml": '- "red \\e[31m and \\b back"\n'})
    assert shown_on_a_terminal(apart, "run", "writer", "x") == (
        "red ⟦U+001B⟧[31m and ⟦U+0008⟧ back\r\n"
    )
    assert apart.bread("run", "writer", "x").out == "red \x1b[31m and \b back\n"


def shown_on_a_terminal(project: Project, *arguments: str) -> str:
    """What a command writes to a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        project.command(*arguments),
        cwd=project.root,
        env=project.environment(),
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    ) as process:
        os.close(theirs)
        bound = threading.Timer(SECONDS, process.kill)
        bound.start()
        pieces: list[bytes] = []
        try:
            while piece := _read(ours):
                pieces.append(piece)
        finally:
            bound.cancel()
            os.close(ours)
    return b"".join(pieces).decode()


def _read(terminal: int) -> bytes:
    """A piece of what was written; nothing once the other side has closed."""
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""


def test_the_command_is_there_as_a_module_of_this_python(apart: Project):
    done = subprocess.run(
        [sys.executable, "-m", "bread_nb", "agents"],
        cwd=apart.root,
        env=apart.environment(),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, apart.bread("agents").out)
