"""`bread refresh --record`: what is kept is what the recording shows when played."""

import nbformat
import pytest
from cli.conftest import NearProject
from cli.test_eval_recording import PARROT

pytestmark = pytest.mark.kernel
TAPE = "story.cassette.jsonl"


@pytest.fixture
def aviary(project: NearProject, monkeypatch: pytest.MonkeyPatch) -> NearProject:
    monkeypatch.delenv("BREAD_MODE")
    project.write({"agents/parrot/agent.py": PARROT, "other.cassette.jsonl": ""})
    cells = ["%load_ext bread_nb", "%bread parrot hello"]
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in cells]
    )
    nbformat.write(notebook, project.root / "story.ipynb")
    return project


def test_a_recording_is_played_and_names_itself(aviary: NearProject):
    done = aviary.bread("refresh", "--record", "--yes", "story.ipynb")
    assert done.code == 0, done.err
    assert f"{TAPE}: 1 call recorded, 0 before" in done.out
    saved = nbformat.read(aviary.root / "story.ipynb", 4).cells
    assert f"replay from {TAPE}" in saved[0].outputs[0].text
    assert "HELLO" in saved[1].outputs[1].data["text/plain"]


def test_a_recorded_notebook_is_replayed_when_it_is_refreshed(aviary: NearProject):
    aviary.bread("refresh", "--record", "--yes", "story.ipynb")
    aviary.write({"agents/parrot/agent.py": PARROT.replace(".upper()", "")})
    again = aviary.bread("refresh", "story.ipynb")
    assert (again.code, again.out) == (0, "story.ipynb: nothing changed\n")
    aviary.write({"agents/parrot/agent.py": PARROT.replace("loudly", "softly")})
    failed = aviary.bread("refresh", "--check", "story.ipynb")
    assert failed.code == 1
    assert f"nearest: {TAPE}:1" in failed.err
    assert "says 'softly', recorded 'loudly'" in failed.err
