"""Secrets are masked while JSON is being written, however it is cut."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bread_nb.base.piece_mask import PieceMask
from bread_nb.base.redact import MASK

ARGS = {
    "headers": {"Authorization": "Bearer CANARY", "accept": "text/plain"},
    "parts": [{"apiKey": "CANARY"}, {"cookie": 's=CANARY \\" } ]'}],
    "private_key": {"pem": ["CANARY", 1, {"bits": 2048}], "ok": True},
    "token": 12345,
    "path": 'a "quoted" {loaf}: [1, 2]',
    "count": 3,
}
MASKED = {
    "headers": {"Authorization": MASK, "accept": "text/plain"},
    "parts": [{"apiKey": MASK}, {"cookie": MASK}],
    "private_key": {"pem": [MASK, MASK, {"bits": MASK}], "ok": MASK},
    "token": MASK,
    "path": 'a "quoted" {loaf}: [1, 2]',
    "count": 3,
}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("width", [1, 2, 7, 10_000])
def test_what_comes_out_is_json_with_the_secrets_masked(width: int, indent: int | None):
    text, mask = json.dumps(ARGS, indent=indent), PieceMask()
    pieces = [text[at : at + width] for at in range(0, len(text), width)]
    assert json.loads("".join(map(mask.feed, pieces))) == MASKED


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text('ab\\"é{[:,'), inner),
)


@given(json_values, st.integers(1, 9))
def test_json_without_secret_names_passes_unchanged(value: object, width: int):
    text, mask = json.dumps(value), PieceMask()
    pieces = [text[at : at + width] for at in range(0, len(text), width)]
    assert "".join(map(mask.feed, pieces)) == text


@given(st.text('"\\{}[]:, a1token', max_size=60))
def test_text_that_is_no_json_never_fails(text: str):
    PieceMask().feed(text)
