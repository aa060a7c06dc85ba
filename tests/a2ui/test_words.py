"""One catalogue for the kernel and the page."""

import json
import re
from pathlib import Path

from bread_nb.a2ui.figures import age, cap, clock, money, seconds, size
from bread_nb.a2ui.words import phrase, say

ROOM = Path(__file__).resolve().parents[2] / "bread_nb" / "a2ui"
WORDS = json.loads((ROOM / "words.json").read_text())
PLACE = re.compile(r"\{([a-z_]+)\}")


def forms(entry: object) -> list[str]:
    return [entry] if isinstance(entry, str) else list(entry.values())


def test_every_sentence_of_the_kernel_can_be_said():
    for key, entry in WORDS["kernel"].items():
        assert isinstance(entry, str) or set(entry) == {"one", "other"}, key
        names = {name for form in forms(entry) for name in PLACE.findall(form)}
        for number in (1, 2):
            places = {name: number if name == "n" else "x" for name in names | {"n"}}
            assert "{" not in say(key, places), key
            assert "".join(piece.text for piece in phrase(key, places)), key


def test_every_sentence_that_is_asked_for_is_in_the_catalogue_and_the_reverse():
    source = "\n".join(path.read_text() for path in sorted(ROOM.glob("*.py")))
    exact = set(re.findall(r"""["']([a-z][a-zA-Z_]+)["']""", source))
    families = tuple(re.findall(r'f"([a-z_]+_)\{', source))
    unknown = {
        key
        for key in re.findall(r'(?:say|phrase)\(\s*"([a-zA-Z_]+)"', source)
        if key not in WORDS["kernel"]
    }
    unused = {
        key
        for key in WORDS["kernel"]
        if key not in exact and not key.startswith(families)
    }
    assert (unknown, unused) == (set(), set())


def test_a_number_picks_its_form_and_is_set_in_thousands():
    assert (say("calls", {"n": 1}), say("calls", {"n": 2310})) == (
        "1 call",
        "2,310 calls",
    )


def test_what_is_put_into_a_sentence_is_never_read_as_its_marks():
    pieces = phrase("picture_head", {"agent": "**x** {state} `y`", "state": "`z`"})
    assert [(piece.text, piece.style) for piece in pieces] == [
        ("**x** {state} `y`", "strong"),
        (" ", ""),
        ("`z`", ""),
    ]


def test_figures_are_written_one_way():
    assert [clock(n) for n in (0, 14_000, 3_729_000)] == ["0:00", "0:14", "1:02:09"]
    assert [seconds(n) for n in (0, 240, 14_300, 64_000)] == [
        "0.0 s",
        "0.2 s",
        "14 s",
        "1:04",
    ]
    assert [age(n) for n in (0, 720_000, 10_800_000, 86_400_000, 400_000_000)] == [
        "now",
        "12 min",
        "3 h",
        "1 day",
        "4 days",
    ]
    assert [money(n) for n in (0.0121, 0.412, 1.02)] == ["$0.0121", "$0.412", "$1.02"]
    assert [cap(n) for n in (1, 0.5, 0.125)] == ["$1.00", "$0.50", "$0.125"]
    assert [money(1.5, name) for name in ("EUR", "CHF")] == ["€1.50", "CHF 1.50"]
    assert [size(n) for n in (812, 41_200, 1_234_567)] == ["812 B", "41 kB", "1.2 MB"]
