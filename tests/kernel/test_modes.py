"""Recording and replaying in real kernels: cards, clicks, stores, clocks."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from kernel.conftest import PUBLISHER, WRITER, agent
from kernel.driver import Kernel, kernel

pytestmark = pytest.mark.kernel

# Models that are recorded, although a script tells them what to say.
REAL = "\nclass Model(Scripted):\n    is_script = False\n\nagent = Agent("
TAPE = "story.cassette.jsonl"
FACTS = [
    "from bread_nb import Bread",
    "run = Bread.load().run('writer', 'hi')\nrun.result(10).text",
    "print(run.id, [c.timestamp for c in run.crumbs][:3])",
    "%bread runs",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, source in (("writer", WRITER), ("publisher", PUBLISHER)):
        real = source.replace("Scripted(", "Model(", 1).replace("agent = Agent(", REAL)
        assert "Model(" in real.partition(REAL)[2]
        agent(tmp_path, name, real)
    return tmp_path


@pytest.fixture
def live(folder: Path) -> Iterator[Kernel]:
    """A kernel of the folder in mode live."""
    with kernel(folder) as page:
        page.ok("%load_ext bread_nb")
        yield page


def published(folder: Path) -> list[str]:
    path = folder / "published.txt"
    return path.read_text().splitlines() if path.exists() else []


def final(page: Kernel, msg_id: str) -> dict[str, str]:
    """The picture in a cell, once it tells of a run that finished."""

    def drawn() -> dict[str, str] | None:
        for output in page.result(msg_id).outputs:
            if " finished" in output.get("text/plain", "").partition("\n")[0]:
                return output
        return None

    return page.wait(drawn, "the final picture")


def test_a_click_is_recorded_and_replayed_into_the_same_picture(
    folder: Path, live: Kernel
):
    live.ok("%bread mode record story")
    cell = live.start("%%bread publisher\nhi")
    view = live.view(live.card(cell))
    view.answer(view.form(), {"approved": True})
    view.state("finished")
    recorded = final(live, cell)
    assert view.head()["recording"] is True
    assert published(folder) == ["Rye"]
    with kernel(folder, BREAD_MODE="replay") as page:
        page.ok("%load_ext bread_nb")
        cell = page.start("%%bread publisher\nhi")
        view = page.view(page.card(cell))
        view.state("finished")
        page.finish(cell)
        assert final(page, cell) == recorded
        assert view.head()["replayed"] is True
        assert view.head()["recording"] is False
        assert page.ok("%bread pending").plain == ["No run waits for you."]
    assert published(folder) == ["Rye"]


def test_a_cell_that_answered_answers_again(folder: Path, live: Kernel):
    cells = ["%%bread publisher\nhi", "%bread resume last --approve"]
    live.ok("%bread mode record story")
    recorded = [live.ok(cell, watched=False).plain for cell in cells]
    live.ok("%bread mode replay")
    replayed = [live.ok(cell, watched=False).plain for cell in cells]
    assert replayed == recorded
    assert published(folder) == ["Rye"]
    live.ok(cells[0], watched=False)
    other = live.run("%bread resume last --deny No.", watched=False)
    assert "[REPLAY_MISS]" in other.told


def test_ids_and_times_are_the_same_in_every_replay(folder: Path, live: Kernel):
    live.ok("%bread mode record story")
    for cell in FACTS:
        live.ok(cell)
    told = []
    for _ in range(2):
        with kernel(folder, BREAD_MODE="replay") as page:
            page.ok("%load_ext bread_nb")
            results = [page.ok(cell) for cell in FACTS]
            told.append([(r.stdout, r.plain) for r in results])
    assert told[0] == told[1]
    assert "writer-1" in told[0][3][1][0]
    assert "1767268800000" in told[0][2][0]


def test_what_is_replayed_has_a_store_of_its_own(folder: Path, live: Kernel):
    live.ok("%bread writer hi")
    live.ok("%bread mode record story")
    assert "No run" in live.ok("%bread runs").plain[0]
    live.ok("%bread writer hi")
    live.ok("%bread mode replay")
    live.ok("%bread writer hi")
    assert "writer-1" in live.ok("%bread runs").plain[0]
    live.ok("%bread mode live")
    assert live.ok("%bread runs").plain[0].count("writer-") == 1


def test_the_mode_is_told_with_its_files(folder: Path, live: Kernel):
    assert live.ok("%bread mode").plain == [
        "live: models are called. Said by BREAD_MODE."
    ]
    told = live.ok("%bread mode record story").plain[0]
    assert told.splitlines() == [
        "record: models are called, and what they say is recorded.",
        f"Into {TAPE}, which begins anew with the first thing recorded.",
    ]
    live.ok("%bread writer hi")
    assert live.ok("%bread mode replay").plain[0].splitlines() == [
        "replay: no model is called; recordings answer.",
        f"{TAPE}: 1 call",
    ]
    told = live.run("%bread mode reply").told
    assert "There is no mode 'reply'. [USAGE]" in told
    assert "[USAGE]" in live.run("%bread mode live story").told
    miss = live.run("%bread writer something else")
    assert "Not in the recording. [REPLAY_MISS]" in miss.told
    assert "says 'something else', recorded 'hi'" in miss.told
    mend = "%bread mode record story"
    assert f"{mend}, run all cells, look at the diff; or %bread mode live" in miss.told
    live.ok(mend)
    for text in ("hi", "something else"):
        live.ok(f"%bread writer {text}")
    live.ok("%bread mode replay")
    for text in ("hi", "something else"):
        live.ok(f"%bread writer {text}")


def test_a_session_that_records_begins_its_cassette_anew(folder: Path, live: Kernel):
    tape = folder / TAPE
    for text in ("one", "two"):
        with kernel(folder, BREAD_MODE="record", BREAD_CASSETTE="story") as page:
            page.ok("%load_ext bread_nb")
            page.ok(f"%bread writer {text}")
            page.ok("%reload_ext bread_nb")
            page.ok(f"%bread writer {text} more")
        lines = tape.read_text("utf-8").splitlines()
        assert len(lines) == 2
        assert all(f'"user":"{text}' in line for line in lines)


def test_loading_names_the_cassette_that_answers(folder: Path):
    (folder / TAPE).write_text("")
    with kernel(folder, BREAD_MODE="auto") as page:
        assert page.ok("%load_ext bread_nb").stdout == (
            "bread 0.1.0: 2 agents (publisher, writer) · "
            f"replay from {TAPE} · %bread help\n"
        )


def test_a_recording_without_a_name_takes_the_notebooks(folder: Path):
    with kernel(folder, BREAD_MODE="record", JPY_SESSION_NAME="/a/my.ipynb") as page:
        page.ok("%load_ext bread_nb")
        page.ok("%bread writer hi")
    assert (folder / "my.cassette.jsonl").exists()
    with kernel(folder, BREAD_MODE="record", JPY_SESSION_NAME="") as page:
        page.ok("%load_ext bread_nb")
        assert "[CASSETTE_UNNAMED]" in page.run("%bread writer hi").told
