"""A project with a few scripted agents, and one kernel in it for each test file."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kernel.driver import Kernel

WRITER = """
from bread_nb import Agent, Scripted

agent = Agent(model=Scripted(["Bread is **good**."], repeat_last=True))
"""
PUBLISHER = '''
from pathlib import Path
from bread_nb import Agent, Permissions, Scripted, tool

@tool
def publish(title: str, loud: bool = False) -> str:
    """Publish a post."""
    with Path("published.txt").open("a") as file:
        file.write(f"{title}\\\\n")
    return f"published {title}"

CALL = {"text": "I will publish it.",
        "calls": [{"name": "tool_publish", "args": {"title": "Rye"}}]}

def count(request):
    with Path("asked.txt").open("a") as file:
        file.write(f"{len(request.messages)}\\\\n")

def first(request):
    count(request)
    return CALL

def second(request):
    count(request)
    return "It is out."

agent = Agent(
    model=Scripted([first, second], by="history"),
    tools=[publish],
    permissions=Permissions(ask=["tool:publish"]),
)
'''
BAKER = """
from pydantic import BaseModel
from bread_nb import Agent, Scripted

class Order(BaseModel):
    topic: str
    loaves: int

agent = Agent(
    model=Scripted([lambda request: request.messages[-1].text], repeat_last=True),
    input_schema=Order,
)
"""


def agent(project: Path, name: str, source: str, prompt: str = "") -> None:
    """Write an agent's folder."""
    folder = project / "agents" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "agent.py").write_text(source.replace("\\\\n", "\\n"))
    if prompt:
        (folder / "prompt.md").write_text(prompt)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with agents."""
    folder = tmp_path_factory.mktemp("project")
    agent(folder, "writer", WRITER, "You write.")
    agent(folder, "publisher", PUBLISHER)
    agent(folder, "baker", BAKER)
    return folder


@pytest.fixture(scope="module")
def open_kernel(project: Path) -> Iterator[Callable[..., Kernel]]:
    """Starts kernels in the project; all are ended with the test file."""
    started: list[Kernel] = []

    def start(folder: Path = project, **env: str) -> Kernel:
        started.append(Kernel(folder, **env))
        return started[-1]

    yield start
    for kernel in started:
        kernel.close()


@pytest.fixture(scope="module")
def page(open_kernel: Callable[..., Kernel]) -> Kernel:
    """The file's kernel, with the extension loaded."""
    kernel = open_kernel()
    kernel.ok("%load_ext bread_nb")
    kernel.ok("import asyncio, threading; from bread_nb import *")
    return kernel
