"""What Tab offers on a `%bread` line."""

from pathlib import Path

import pytest

from bread_nb.notebook.completion import Known, complete

KNOWN = Known(
    agents=lambda: ["writer", "publisher"], handles=lambda: ["writer-2", "writer-1"]
)


@pytest.mark.parametrize(
    ("line", "offers"),
    [
        ("%%bread wri", ["writer"]),
        ("%bread re", ["resume", "recover", "reload"]),
        ("  %bread p", ["publisher", "pending"]),
        ("%bread show wri", ["writer-2", "writer-1"]),
        (
            "%bread resume ",
            ["writer-2", "writer-1", "last", "--approve", "--deny", "--answer"],
        ),
        ("%bread resume last --a", ["--approve", "--answer"]),
        ("%bread writer --s", ["--session"]),
        ("%bread writer --b", []),
        ("%bread runs ", ["--all"]),
        ("%bread eval wri", ["writer"]),
        ("%bread eval writer --b", ["--budget", "--baseline"]),
    ],
)
def test_a_line_is_completed(line: str, offers: list[str]):
    assert complete(line, KNOWN) == offers


@pytest.mark.parametrize("line", ["%time wri", "bread wri", "%bread writer hel", "x"])
def test_what_is_not_ours_is_left_alone(line: str):
    assert complete(line, KNOWN) is None


def test_an_empty_line_offers_everything():
    offers = complete("%bread ", KNOWN)
    assert offers is not None
    assert {"writer", "pending", "help"} <= set(offers)


def test_an_eval_is_completed_with_agents_folders_and_files_of_suites(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    for name in ("evals/style.yaml", "evals/notes.txt", "wheat.py", ".hidden.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    offers = ["writer", "publisher", "evals/", "wheat.py"]
    assert complete("%bread eval ", KNOWN) == offers
    assert complete("%bread eval evals/", KNOWN) == ["evals/style.yaml"]
    assert complete("%bread eval nowhere/", KNOWN) == []
