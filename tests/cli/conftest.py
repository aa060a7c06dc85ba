"""A project with a publisher that asks before it publishes, and a plain writer."""

from pathlib import Path

import pytest
from fixtures.projects import Project

SCRIPT = """
    - deltas: ["The post ", "is ready."]
      calls: [{name: tool_publish, args: {title: Rye, token: s3cret}}]
    - "It is out."
"""
PUBLISHER = """
    from bread_nb import Agent, Permissions

    agent = Agent(model="scripted:publish.yaml",
                  permissions=Permissions(ask=["tool:publish"]))
"""
PUBLISH = """
    from pathlib import Path

    from bread_nb import tool

    LEDGER = Path(__file__).parents[3] / "ledger.txt"

    @tool
    def publish(title: str, token: str = "") -> str:
        "Publish a post."
        with LEDGER.open("a") as ledger:
            ledger.write(title + chr(10))
        return "published " + title
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path.resolve())
    made.agent("publisher", PUBLISHER, tools__publish=PUBLISH)
    made.agent("writer")
    made.write({"publish.yaml": SCRIPT, "script.yaml": "- A loaf of rye.\n"})
    return made


def ledger(project: Project) -> list[str]:
    """What was really published."""
    path = project.root / "ledger.txt"
    return path.read_text().splitlines() if path.exists() else []
