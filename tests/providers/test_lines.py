"""Bytes into events, and halved characters into whole ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bread_nb.providers.lines import Halves, LineReader, SseReader, parse_json, whole

EVENTS = (
    b": a comment\n\nevent: add\ndata: one\n\n"
    b"data:two\ndata: three\nid: 7\nretry: 10\n\n"
    b"\n\ndata: pain \xf0\x9f\x8d\x9e\n\nnonsense\ndata\n\n"
)
DATA = [b"one", b"two\nthree", "pain 🍞".encode()]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_events_are_the_same_however_the_bytes_are_cut(end: bytes, size: int):
    body = EVENTS.replace(b"\n", end)
    reader = SseReader()
    found = [
        event
        for at in range(0, len(body), size)
        for event in reader.feed(body[at : at + size])
    ]
    assert found + reader.rest() == DATA


def test_a_last_event_without_an_empty_line_is_the_rest():
    reader = SseReader()
    assert reader.feed(b"data: {}") == []
    assert reader.rest() == [b"{}"]


def test_a_line_of_a_megabyte_is_one_event():
    reader = SseReader()
    long = b"x" * 1_000_000
    found = reader.feed(b"data: ")
    for at in range(0, len(long), 65_536):
        found += reader.feed(long[at : at + 65_536])
    assert found + reader.feed(b"\n\n") == [long]


@pytest.mark.parametrize("size", [1, 4, 1000])
def test_a_byte_order_mark_is_no_part_of_the_first_event(size: int):
    body = b"\xef\xbb\xbfdata: one\n\ndata: two\n\n"
    reader = SseReader()
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    assert [e for piece in pieces for e in reader.feed(piece)] == [b"one", b"two"]


@pytest.mark.parametrize("reader", [SseReader(), LineReader()])
def test_the_pieces_of_a_long_line_are_put_together_once(
    reader: SseReader | LineReader,
):
    class Piece(bytes):
        """Tells of each time that its bytes are copied into others."""

        copied = 0

        def __radd__(self, other: bytes) -> bytes:
            Piece.copied += 1
            return bytes(other) + bytes(self)

    for _ in range(100):
        assert reader.feed(Piece(b"x" * 100)) == []
    assert Piece.copied == 0
    reader.feed(b"\n")


def test_lines_of_json_may_be_cut_anywhere():
    reader = LineReader()
    found = [e for byte in b'{"a":1}\n\n{"b"' for e in reader.feed(bytes([byte]))]
    assert found + reader.feed(b":2}") + reader.rest() == [b'{"a":1}', b'{"b":2}']


def test_two_halves_of_a_character_are_joined():
    halves = Halves()
    assert [halves.join("pain \ud83c"), halves.join("\udf5e!"), halves.end()] == [
        "pain ",
        "🍞!",
        "",
    ]


def test_a_lone_half_becomes_the_replacement_character():
    halves = Halves()
    assert halves.join("a\udf5eb") == "a\ufffdb"
    assert halves.join("c\ud83c") == "c"
    assert halves.join("d") == "\ufffdd"
    assert halves.join("\ud83c") == ""
    assert halves.end() == "\ufffd"


@given(st.text(), st.data())
def test_text_cut_at_any_code_unit_comes_out_whole(text: str, data: st.DataObject):
    units = text.encode("utf-16-le", "surrogatepass")
    cut = 2 * data.draw(st.integers(0, len(units) // 2))
    halves = Halves()
    first, second = (
        part.decode("utf-16-le", "surrogatepass") for part in (units[:cut], units[cut:])
    )
    assert halves.join(first) + halves.join(second) + halves.end() == whole(text)


def test_json_with_a_halved_character_is_read():
    assert parse_json(b'{"text": "\\ud83c"}') == {"text": "\ud83c"}
