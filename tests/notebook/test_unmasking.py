"""Edited arguments get their secrets back, or a problem; never a mask."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bread_nb.base.redact import MASK, Redactor
from bread_nb.notebook.unmasking import unmasked

ONE, TWO = "first-secret-0123456789", "other-secret-9876543210"
MASKS = Redactor([ONE, TWO])
SEEN = {
    "headers": {"Authorization": MASK, "Accept": "a"},
    "cmd": f"curl -H 'x: {MASK}' a.example",
    "both": f"{MASK} for a, {MASK} for b",
    "hosts": [{"token": MASK, "host": "a"}, {"token": MASK, "host": "b"}],
    "keys": [MASK, MASK],
}
KEPT = {
    "headers": {"Authorization": ONE, "Accept": "a"},
    "cmd": f"curl -H 'x: {ONE}' a.example",
    "both": f"{ONE} for a, {TWO} for b",
    "hosts": [{"token": ONE, "host": "a"}, {"token": TWO, "host": "b"}],
    "keys": [ONE, TWO],
}


def edited(**changes: object) -> tuple[object, list[str]]:
    """The changed arguments as they would run, and where something is unclear."""
    value, problems = unmasked({**SEEN, **changes}, SEEN, KEPT)
    assert isinstance(value, dict)
    for name in KEPT.keys() - changes.keys():
        assert value[name] == KEPT[name]
    [name] = changes
    return value[name], [problem.path for problem in problems]


def test_the_page_sees_these_arguments_masked():
    assert MASKS.value(KEPT) == SEEN


@pytest.mark.parametrize(
    ("name", "sent", "runs"),
    [
        (
            "headers",
            {"Authorization": MASK, "Accept": "b"},
            {"Authorization": ONE, "Accept": "b"},
        ),
        ("headers", {"Accept": "b"}, {"Accept": "b"}),
        ("headers", {"Authorization": "new"}, {"Authorization": "new"}),
        ("cmd", f"wget -H 'x: {MASK}' b.example", f"wget -H 'x: {ONE}' b.example"),
        ("cmd", "curl a.example", "curl a.example"),
        ("both", f"{MASK} for a, {MASK} for c", f"{ONE} for a, {TWO} for c"),
        ("both", f"so {MASK} for a, {MASK} for b", f"so {ONE} for a, {TWO} for b"),
        ("hosts", [{"token": MASK, "host": "b"}], [{"token": TWO, "host": "b"}]),
        (
            "hosts",
            [{"token": MASK, "host": "b"}, {"token": MASK, "host": "z"}],
            [{"token": TWO, "host": "b"}, {"token": ONE, "host": "z"}],
        ),
        ("keys", [MASK, MASK, "more"], [ONE, TWO, "more"]),
    ],
)
def test_a_mask_stands_for_what_it_covered(name, sent, runs):
    assert edited(**{name: sent}) == (runs, [])


@pytest.mark.parametrize(
    ("name", "sent", "where"),
    [
        ("headers", {"X-Other": MASK, "Accept": "a"}, "/headers/X-Other"),
        ("headers", f"Authorization: {MASK}", "/headers"),
        ("both", f"{MASK} for b, {MASK} for a", "/both"),
        ("both", f"{MASK} for b", "/both"),
        ("hosts", [{"token": MASK, "host": "c"}], "/hosts/0"),
        ("keys", [MASK], "/keys/0"),
        ("title", f"see {MASK}", "/title"),
    ],
)
def test_a_mask_that_could_be_any_secret_is_a_problem_at_its_place(name, sent, where):
    assert edited(**{name: sent})[1] == [where]


def test_dots_that_the_model_wrote_itself_are_text():
    args = {"title": f"{MASK} stars", "body": "x"}
    sent = {"title": f"five {MASK} stars", "body": MASK}
    assert unmasked(sent, args, args) == (sent, [])


def test_a_name_that_is_a_secret_comes_back_too():
    kept = {ONE: "a", "b": 1}
    seen = MASKS.value(kept)
    assert unmasked({**seen, "b": 2}, seen, kept) == ({ONE: "a", "b": 2}, [])


parts = st.sampled_from([ONE, TWO, "a", " ", "b", MASK])
texts = st.lists(parts, max_size=6).map("".join)
values = st.recursive(
    texts | st.integers() | st.booleans(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "token"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(values)
def test_what_nobody_touched_is_exactly_what_was_asked_for(kept):
    assert unmasked(MASKS.value(kept), MASKS.value(kept), kept) == (kept, [])


@given(st.dictionaries(st.sampled_from("abc"), values), values)
def test_no_mask_of_a_secret_reaches_the_tool(kept, sent):
    kept = {name: value for name, value in kept.items() if MASK not in str(value)}
    seen = MASKS.value(kept)
    value, problems = unmasked({**seen, "a": MASKS.value(sent)}, seen, kept)
    assert seen == kept or problems or MASK not in str(value)
