"""Cassettes as files: whole lines, whatever several processes do to them at once."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bread_nb.errors import BreadError
from bread_nb.providers.asked import key_of
from bread_nb.providers.shelf import (
    SUFFIX,
    Shelf,
    append,
    cassettes,
    read_lines,
    rewrite,
)
from bread_nb.providers.tape import Recording
from bread_nb.providers.tending import prune

WRITER = """
import sys
from pathlib import Path
from bread_nb.providers.shelf import append
path, name, filler = Path(sys.argv[1]), sys.argv[2], "y" * 9000
for number in range(100):
    append(path, '{"n":"%s-%d","x":"%s"}' % (name, number, filler))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / f"a{SUFFIX}"


def test_two_processes_write_whole_lines_while_a_third_rewrites(path: Path):
    command = [sys.executable, "-c", WRITER, str(path)]
    writers = [subprocess.Popen([*command, name]) for name in ("one", "two")]
    while any(writer.poll() is None for writer in writers):
        rewrite(path, lambda lines: [line.text for line in lines])
    assert [writer.wait(30) for writer in writers] == [0, 0]
    names = [str(line.value["n"]) for line in read_lines(path)]
    assert sorted(names) == sorted(
        f"{w}-{n}" for w in ("one", "two") for n in range(100)
    )
    for writer in ("one", "two"):
        own = [name for name in names if name.startswith(writer)]
        assert own == [f"{writer}-{n}" for n in range(100)]
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_line_that_was_never_finished_does_not_count(path: Path):
    path.write_text('{"n":1}\n{"n":2,"text":"cut o')
    assert [line.value for line in read_lines(path)] == [{"n": 1}]
    append(path, '{"n":3}')
    assert [line.value for line in read_lines(path)] == [{"n": 1}, {"n": 3}]


def test_a_last_line_that_an_editor_left_without_an_end_counts_and_stays(path: Path):
    path.write_text('{"n":1}\n{"n":2}')
    assert [line.value for line in read_lines(path)] == [{"n": 1}, {"n": 2}]
    append(path, '{"n":3}')
    assert path.read_text() == '{"n":1}\n{"n":2}\n{"n":3}\n'


def test_a_mark_at_the_front_and_other_line_ends_change_nothing(path: Path):
    path.write_bytes(b'\xef\xbb\xbf{"n":1}\r\n{"n":2}\r\n')
    assert [line.value for line in read_lines(path)] == [{"n": 1}, {"n": 2}]
    rewrite(path, lambda lines: [line.text.strip() for line in lines])
    assert path.read_bytes() == b'{"n":1}\n{"n":2}\n'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("<<<<<<< HEAD\n", "it is a mark of a merge."),
        ("{oops}\n", "it is no JSON."),
        ("[1]\n", "it is no JSON object."),
    ],
)
def test_a_broken_line_is_named(path: Path, text: str, why: str):
    path.write_text('{"n":1}\n' + text)
    with pytest.raises(BreadError) as caught:
        read_lines(path)
    assert caught.value.code == "CASSETTE_BROKEN"
    assert caught.value.what == f"Line 2 of {path.name} is no recording."
    assert caught.value.why == why
    recorded = Recording(key=key_of({}), model="m", asked={}, answer=[]).line()
    path.write_text(f"{recorded}\n{text}")
    assert prune(path).broken == 1
    assert path.read_text() == f"{recorded}\n"


@pytest.mark.parametrize("text", ['{"n":1}\n', "{\n}\n", "a,b\n1,2\n", "[]"])
def test_a_file_without_a_recording_is_not_emptied(path: Path, text: str):
    path.write_text(text)
    with pytest.raises(BreadError) as caught:
        prune(path)
    assert caught.value.code == "CASSETTE_BROKEN"
    assert caught.value.what == f"{path.name} holds no recording."
    assert path.read_text() == text


def test_a_shelf_sees_what_others_write(path: Path):
    shelf = Shelf(path)
    assert shelf.lines() == []
    append(path, json.dumps({"kind": "call", "key": "k"}))
    assert len(shelf.of_key("call", "k")) == 1
    append(path, json.dumps({"kind": "call", "key": "k"}))
    assert len(shelf.of_key("call", "k")) == 2
    path.unlink()
    assert shelf.of_key("call", "k") == []


def test_a_folder_that_cannot_be_written_says_so(tmp_path: Path):
    with pytest.raises(BreadError) as caught:
        append(tmp_path / "nosuch" / f"a{SUFFIX}", "{}")
    assert caught.value.code == "CASSETTE_UNWRITABLE"


def test_cassettes_are_found_by_their_names(tmp_path: Path):
    for name in ("b", "a"):
        (tmp_path / f"{name}{SUFFIX}").touch()
    (tmp_path / "notes.jsonl").touch()
    assert [p.name for p in cassettes(tmp_path)] == [f"a{SUFFIX}", f"b{SUFFIX}"]
    assert cassettes(tmp_path / "nosuch") == []
