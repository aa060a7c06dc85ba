"""Scripts and terminals: who owns the loop, and what blocks where it must not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

WRITER = """
from bread_nb import Agent, Scripted

agent = Agent(model=Scripted(["Bread is **good**."], repeat_last=True))
"""
SCRIPT = """
import asyncio, sys
from bread_nb import Bread, BreadError

run = asyncio.run
bread = Bread.load()
print(bread.run("writer", "hi").result().text)

async def inside():
    print((await bread.run("writer", "hi")).text)
    try:
        bread.run("writer", "hi").result()
    except BreadError as error:
        print(error)

asyncio.run(inside())
print(bread.run("writer", "hi").result().text)
print(asyncio.run is run, "nest_asyncio" in sys.modules)
"""
PICTURE = "writer finished · scripted · 1 turn · 0 calls · 6 tokens\nBread is **good**."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with one agent."""
    (tmp_path / "agents" / "writer").mkdir(parents=True)
    (tmp_path / "agents" / "writer" / "agent.py").write_text(WRITER)
    return tmp_path


def said(folder: Path, *arguments: str) -> str:
    """What a Python process in the project prints."""
    own = {"IPYTHONDIR": str(folder / "ipython"), "TERM": "dumb", "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, **own},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_script_blocks_awaits_and_is_told_where_it_would_block(folder: Path):
    lines = said(folder, "-c", SCRIPT).splitlines()
    good = "Bread is **good**."
    assert [lines[0], lines[1], lines[-2], lines[-1]] == [
        good,
        good,
        good,
        "True False",
    ]
    error = "\n".join(lines[2:-2])
    assert "[WOULD_BLOCK]" in error
    assert "await" in error


@pytest.mark.parametrize(
    "cell",
    [
        "%%bread writer\nhi",
        "%bread writer hi",
        "bread = get_ipython() and __import__('bread_nb').Bread.load()\n"
        "%bread writer hi\n"
        "assert (await bread.run('writer', 'hi')).text == 'Bread is **good**.'\n"
        "assert bread.run('writer', 'hi').result().text == 'Bread is **good**.'",
    ],
    ids=["a cell", "a line", "await and result"],
)
def test_the_same_cell_works_in_a_terminal(folder: Path, cell: str):
    ipython = ("-m", "IPython", "--no-banner", "--colors=NoColor", "--ext=bread_nb")
    assert PICTURE in said(folder, *ipython, "-c", cell)
