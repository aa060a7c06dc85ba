"""The lines of a cassette: whatever a model streams comes back as it was."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from bread_nb.base.redact import Redactor
from bread_nb.errors import (
    BreadError,
    CircuitOpenError,
    FallbackError,
    ProviderError,
    TimeoutError,
    ValidationError,
)
from bread_nb.messages import Native, Price, Usage
from bread_nb.providers.masks import masked_deltas
from bread_nb.providers.model import (
    CallEnd,
    CallFragment,
    CallStart,
    Delta,
    FileChunk,
    Finish,
    NativeBlock,
    ReasoningChunk,
    ReasoningEnd,
    SessionReport,
    TextChunk,
    UsageReport,
)
from bread_nb.providers.tape import (
    read_deltas,
    read_error,
    to_line,
    written_deltas,
    written_error,
)

texts = st.text(st.characters(codec="utf-8"), max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | texts,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
    ),
    max_leaves=8,
)
natives = st.builds(Native, texts, texts, values)
indexes = st.integers(0, 2)
counts = st.integers(0, 10**9)
usages = st.builds(Usage, counts, counts, counts, counts, counts)
prices = st.builds(Price, st.floats(0, 1e6), texts, st.sampled_from(["USD", "EUR"]))
deltas = st.one_of(
    st.builds(TextChunk, texts),
    st.builds(ReasoningChunk, texts),
    st.builds(ReasoningEnd, st.none() | natives),
    st.builds(NativeBlock, natives),
    st.builds(CallStart, indexes, texts, texts),
    st.builds(CallFragment, indexes, texts),
    st.builds(CallEnd, indexes, st.none() | natives),
    st.builds(FileChunk, st.binary(max_size=40), texts),
    st.builds(UsageReport, usages, st.none() | prices),
    st.builds(SessionReport, usages, st.none() | prices, counts),
    st.builds(Finish, st.sampled_from([None, "end_turn", "tool_use"]), texts),
)


def through_a_line(said: Sequence[Delta]) -> list[Delta]:
    """The deltas, written as a line of a file and read again."""
    line = to_line({"answer": written_deltas(said)})
    assert "\n" not in line
    read = json.loads(line.encode().decode())
    assert to_line(read) == line
    return list(read_deltas(read["answer"]))


@given(st.lists(deltas, max_size=20))
def test_any_sequence_of_deltas_survives_the_tape(said: list[Delta]):
    said = [*(CallStart(number, "", "") for number in range(3)), *said]
    assert through_a_line(said) == said


@given(st.lists(deltas, max_size=20))
def test_without_a_secret_the_masks_change_nothing(said: list[Delta]):
    redactor = Redactor(["a-secret-that-no-text-holds"])
    masked = masked_deltas(said, redactor)
    assert [d for d in masked if not isinstance(d, CallFragment)] == [
        d for d in said if not isinstance(d, CallFragment)
    ]


def test_pieces_of_a_kind_share_one_event_and_keep_their_boundaries():
    said = [TextChunk("Rye "), TextChunk(""), TextChunk("bread"), Finish("end_turn")]
    assert written_deltas(said) == [
        {"text": ["Rye ", "", "bread"]},
        {"finish": {"stop_reason": "end_turn"}},
    ]
    assert through_a_line(said) == said


def test_half_a_character_survives():
    said = [TextChunk("\ud83d"), TextChunk("\ude00"), TextChunk("é\u2028")]
    assert through_a_line(said) == said


def test_a_line_is_readable_and_its_keys_are_sorted():
    line = to_line({"b": "größer", "a": 1})
    assert line == '{"a":1,"b":"größer"}'


@pytest.mark.parametrize(
    "event",
    [
        {"arguments": ["{}"], "index": 3},
        {"call_end": {"index": 0}},
        {"usage": {"usage": {"input": "12"}}},
        {"usage": {"usage": {"output": -1}}},
        {"error": {"type": "ProviderError", "what": "No.", "retry_after": "soon"}},
        {"text": "no list"},
        7,
    ],
)
def test_an_event_that_was_edited_into_nonsense_is_none(event: JsonValue):
    with pytest.raises(ValueError, match=r"is no|ends|and no"):
        list(read_deltas([event]))


def test_errors_come_back_as_what_they_were():
    lost = ProviderError(
        "It is overloaded.",
        code="MODEL_OVERLOADED",
        status=529,
        retry_after=2.0,
        why="it said so.",
        do="wait",
        retryable=True,
        context={"try": 1},
    )
    lost.exhausted = True
    wrong = ValidationError("It does not fit.", problems=["a: too long"])
    several = FallbackError([("a:b", lost), ("c:d", wrong)])
    late = TimeoutError("Too slow.", retryable=True)
    closed = CircuitOpenError("It is left alone.", seconds=9.5)
    for error in (lost, wrong, several, late, closed, BreadError("x")):
        again = read_error(json.loads(to_line(written_error(error))))
        assert type(again) is type(error)
        assert again.replayed
        assert again.lines() == error.lines()
        assert written_error(again) == written_error(error)


def test_a_secret_in_pieces_is_masked_wherever_it_is():
    secret = "sk-made-up-0123456789abcdef"
    redactor = Redactor([secret])
    head, tail = secret[:9], secret[9:]
    said = [
        TextChunk(f"key {head}"),
        UsageReport(Usage(1)),
        TextChunk(f"{tail} end"),
        ReasoningChunk(head),
        ReasoningChunk(tail),
        ReasoningEnd(Native("p", "m", {"x": secret})),
        CallStart(0, "c", "t"),
        CallFragment(0, f'{{"a": "{head}'),
        CallFragment(0, f'{tail}", "password": "hunter2"}}'),
        CallEnd(0),
        FileChunk(f"file {secret}".encode(), "text/plain"),
        Finish("tool_use"),
    ]
    line = to_line(written_deltas(masked_deltas(said, redactor)))
    assert secret not in line
    assert head not in line
    assert tail not in line
    assert "hunter2" not in line
    [file] = [d for d in masked_deltas(said, redactor) if isinstance(d, FileChunk)]
    assert file.data == b"file ****"


def test_a_signed_block_that_looks_like_a_key_keeps_its_bytes():
    signed = Native("p", "m", {"signature": "AKIA1234567890ABCDEF"})
    [kept] = masked_deltas([NativeBlock(signed)], Redactor())
    assert kept == NativeBlock(signed)
