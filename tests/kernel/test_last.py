"""`last` in a cell: the last run of this kernel, whatever other processes run."""

from pathlib import Path

import pytest
from fixtures.projects import Project
from kernel.driver import Kernel

pytestmark = pytest.mark.kernel


@pytest.fixture
def another(project: Path) -> Project:
    """The same project as another process sees it."""
    return Project(project)


def published(project: Path) -> list[str]:
    path = project / "published.txt"
    return path.read_text().split() if path.exists() else []


def test_another_process_s_question_is_not_the_last_here(
    page: Kernel, project: Path, another: Project
):
    page.ok("%%bread writer\nhi")
    assert another.bread("run", "publisher", "hi").code == 3
    refused = page.run("%bread resume last --approve")
    assert refused.told.splitlines() == [
        "writer-1 does not wait. [CHECKPOINT_NOT_FOUND]",
        "  why  it is finished; publisher-1.a (publish) waits for a person.",
        "  do   %bread resume publisher-1.a",
    ]
    by_hand = page.run("await Bread.load().resume('last', {'approved': True})")
    assert by_hand.told.startswith("writer-1 does not wait.")
    assert published(project) == []
    shown = page.ok("%bread show last", watched=False)
    assert shown.plain[0].startswith("writer finished")
    assert another.bread("resume", "publisher-1", "--deny").code == 0


def test_of_two_questions_last_is_that_of_this_kernel(
    page: Kernel, project: Path, another: Project
):
    page.ok("%%bread publisher\nhi", watched=False)
    assert another.bread("run", "publisher", "hi").code == 3
    done = page.ok("%bread resume last --approve", watched=False)
    assert 'publish title="Rye": approved, done' in done.plain[0]
    assert published(project) == ["Rye"]
    waiting = another.bread("pending").out
    assert "publisher-3.a" in waiting
    assert "publisher-2.a" not in waiting
