"""JSON values, their one canonical text, and the casing of the wire."""

import itertools
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from bread_nb.base.wire import (
    camel,
    canonical,
    dumps,
    fingerprint,
    json_safe,
    read_json,
    snake,
)


def nested(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


def endless() -> list[object]:
    value: list[object] = []
    value.append(value)
    return value


class Grain(Enum):
    RYE = "rye"


class Loaf(BaseModel):
    name: str
    grain: Grain = Grain.RYE


class Odd(Mapping[str, int]):
    def __getitem__(self, key: str) -> int:
        return 1

    def __iter__(self):
        return iter("a")

    def __len__(self) -> int:
        return 1


class Scalar:
    """As numpy's scalars are: no dimensions and one item."""

    shape = ()

    def item(self) -> float:
        return 1.5


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Loaf(name="x"), {"name": "x", "grain": "rye"}),
        ([Loaf(name="x")], [{"name": "x", "grain": "rye"}]),
        (Grain.RYE, "rye"),
        ((1, 2), [1, 2]),
        (frozenset({3}), [3]),
        (Odd(), {"a": 1}),
        ({True: 1, 2: 3, None: 4}, {"true": 1, "2": 3, "null": 4}),
        (Scalar(), 1.5),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00Z"),
        (Decimal("1.50"), "1.50"),
        (Path("a/b"), "a/b"),
        ("\ud83c\udf5e", "🍞"),
        ("a\ud800", "a\ufffd"),
        ({"a\ud800": 1}, {"a\ufffd": 1}),
        (map(str, [1]), ["1"]),
        (nested(100), nested(100)),
    ],
)
def test_what_has_a_json_form(value: object, plain: object):
    assert json_safe(value) == plain


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (float("nan"), "nan"),
        ([float("inf")], "inf"),
        (b"x", "bytes"),
        (object(), "object"),
        ({(1, 2): 3}, "tuple"),
        ({"deep": [{"er": bytearray()}]}, "bytearray"),
        (nested(101), "100 levels"),
        (endless(), "100 levels"),
        ({"from": itertools.count()}, "iterator"),
        ([10**5000], "digits"),
    ],
)
def test_what_has_none_is_named(value: object, named: str):
    with pytest.raises(TypeError, match=named):
        json_safe(value)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(json_values)
def test_plain_json_stays_as_it_is(value: object):
    assert json_safe(value) == value


@given(st.dictionaries(st.text(), st.integers()))
def test_equal_values_have_one_canonical_text(value: dict[str, int]):
    turned = dict(reversed(value.items()))
    assert canonical(value) == canonical(turned)
    assert fingerprint(value) == fingerprint(turned)


def test_numbers_that_are_no_json_are_refused():
    for write in (dumps, canonical):
        with pytest.raises(ValueError, match="JSON"):
            write(float("nan"))


@given(st.from_regex(r"[a-z]+(_[a-z]+)*", fullmatch=True))
def test_casing_goes_both_ways(name: str):
    assert snake(camel(name)) == name


def test_casing_by_example():
    assert camel("tool_call_id") == "toolCallId"
    assert snake("sessionId") == "session_id"


def test_what_a_model_wrote_as_json_is_read():
    assert read_json('{"a": [1.5, null]}') == {"a": [1.5, None]}


@pytest.mark.parametrize(
    "text",
    [
        "NaN",
        '{"a": -Infinity}',
        "1e999",
        "[" * 101 + "]" * 101,
        '{"a":' * 101 + "1" + "}" * 101,
        "[" * 100_000,
        "9" * 5000,
        "",
    ],
)
def test_what_no_store_could_keep_is_no_json(text: str):
    with pytest.raises(ValueError, match=r"."):
        read_json(text)
