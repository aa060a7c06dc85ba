"""Text in pieces is masked as the whole text is, wherever it was cut."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bread_nb.base.redact import MASK, Redactor
from bread_nb.base.text_mask import TextMask

KEY = "CANARY-7f3a9b2c4d5e6f708192a3b4c5d6e7f8"
ODD = "p/ss+w:rd with = signs"
SECRETS = [
    KEY,
    ODD,
    "sk-ant-0123456789abcdef0123",
    "AIza0123456789abcdef0123456789",
    "ghp_0123456789abcdef0123456789",
    "xoxb-0123456789-abcdef",
    "AKIA0123456789ABCDEF",
    "github_pat_0123456789abcdefghij_0123456789",
    "hf_0123456789abcdefghij0123456789abcd",
    "gsk_0123456789abcdefghij0123456789abcd",
    "sk_live_0123456789abcdefghij",
    "nvapi-0123456789abcdefghij0123456789abcd",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
]
WORDS = ["Bread is good", "task-", "bearer", "e", "s", "A", "sk-", "eyJ.", "-", "🍞"]
PIECES = st.sampled_from(
    [*SECRETS, KEY[:8], KEY[:7], ODD[:12], "Bearer abcdefgh.ijkl", *WORDS]
)
BETWEEN = st.sampled_from([" ", "\n", '"', "=", ": "])


def shown(pieces: list[str]) -> str:
    mask = TextMask(Redactor([KEY, ODD]))
    return "".join([*map(mask.feed, pieces), mask.end()])


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_a_secret_is_masked_however_it_is_cut(secret: str, size: int):
    text = f"The key is {secret} and no other."
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert shown(pieces) == f"The key is {MASK} and no other."


@given(st.lists(st.tuples(BETWEEN, PIECES)), st.lists(st.integers(0, 400)))
def test_any_text_is_masked_as_a_whole(parts: list[tuple[str, str]], cuts: list[int]):
    text = "".join(map("".join, parts))
    places = [0, *sorted(cut for cut in cuts if cut < len(text)), len(text)]
    pieces = [text[a:b] for a, b in pairwise(places)]
    assert shown(pieces) == Redactor([KEY, ODD]).text(text)


def test_a_known_secret_is_masked_in_the_middle_of_a_word():
    assert shown([*f"pre{KEY}"]) == f"pre{MASK}"


def test_ordinary_text_is_held_back_by_a_few_characters_at_most():
    mask = TextMask(Redactor([KEY]))
    text = "Some bakers ask-around: Bread, eggs and seeds. " * 20
    behind = 0
    for at, letter in enumerate(text):
        behind += 1 - len(mask.feed(letter))
        assert behind <= 12, text[: at + 1]


def test_a_word_without_end_does_not_pile_up():
    mask = TextMask(Redactor())
    told = "".join(mask.feed("y" * 100) for _ in range(10))
    assert told == "y" * 1000
    assert mask.feed(" sk-") == " "
    assert MASK in "".join(mask.feed("y" * 1000) for _ in range(20))
