"""Values as a person must be able to judge them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bread_nb.a2ui.values import (
    arg_of,
    args_of,
    changes,
    one_line,
    preview,
    value_of,
    visible,
)


def test_nothing_in_a_command_is_invisible():
    command = "ls\u202e\u200b\x1b[2K" + " " * 400 + "rm -rf /\ttab\nline"
    value = value_of(command)
    assert value["segments"] == [
        "ls",
        {"esc": "U+202E"},
        {"esc": "U+200B"},
        {"esc": "U+001B"},
        "[2K",
        {"blanks": 400},
        "rm -rf /\ttab\nline",
    ]
    assert (value["escapes"], value["lines"], value["cut"]) == (3, 2, False)
    assert visible(command) == (
        "ls⟦U+202E⟧⟦U+200B⟧⟦U+001B⟧[2K⟦400 spaces⟧rm -rf /\ttab\nline"
    )


@pytest.mark.parametrize(
    "hidden",
    ["\u2066", "\u00ad", "\ufeff", "\u3164", "\U000e0041", "\ufe01", "\r", "\x85"],
)
def test_each_kind_of_hidden_character_is_shown(hidden):
    assert visible(f"a{hidden}b") == f"a⟦U+{ord(hidden):04X}⟧b"


@pytest.mark.parametrize(
    "plain", ["👩‍💻", "❤️", "naïve", "日本語", "שלום", "a b\u00a0c"]
)
def test_writing_of_every_kind_and_emoji_stay_as_they_are(plain):
    assert visible(plain) == plain


def test_a_joiner_between_letters_is_shown():
    assert visible("pay\u200dpal") == "pay⟦U+200D⟧pal"


@given(st.text())
def test_the_segments_of_a_value_hold_every_character(text):
    value = value_of(text)
    back = ""
    for segment in value["segments"]:
        if isinstance(segment, str):
            back += segment
        elif "esc" in segment:
            back += chr(int(segment["esc"][2:], 16))
        else:
            back += " " * segment["blanks"]
    assert len(back) == len(text.replace("\r\n", "\n"))
    assert [c for c in back if not c.isspace()] == [c for c in text if not c.isspace()]


def test_a_huge_value_keeps_its_head_and_its_tail_and_says_so():
    value = value_of("a" * 200_000 + "b" * 200_000)
    assert (value["cut"], value["chars"]) == (True, 400_000)
    head, note, tail = value["segments"]
    assert (head[0], tail[-1]) == ("a", "b")
    assert note == "\n… 145,000 characters left out …\n"


def test_a_preview_holds_whole_arguments_up_to_80_characters():
    assert preview({"frame": "sales", "columns": ["flour", "water"]}) == (
        'frame="sales", columns=["flour","water"]'
    )
    assert preview({"title": "Rye", "body": "# Rye\r\n\nline"}) == (
        'title="Rye", body="# Rye⏎⏎line"'
    )
    assert preview({}) == ""
    long = preview({"body": "x" * 500})
    assert (len(long), long[:8], long[-2:]) == (77, 'body="xx', '…"')


def test_a_preview_never_leaves_an_argument_out_in_silence():
    spread = preview({"content": "y\n" * 300, "path": "a.txt", "mode": "w"})
    assert spread.startswith('content="y⏎y⏎')
    assert spread.endswith('…", path="a.txt", mode="w"')
    assert len(spread) <= 80
    many = preview({f"k{n}": "v" * 12 for n in range(12)})
    assert many.count("k") == 4
    assert many.endswith('", …')
    assert len(preview({"n": list(range(100))})) <= 80


def test_a_long_value_on_one_line_says_how_much_there_is():
    assert one_line("Rye") == '"Rye"'
    assert one_line("# Rye\n" + "a\n" * 311) == '"# Rye …" (312 lines)'
    assert one_line("x" * 1204).endswith('x …" (1,204 characters)')
    assert one_line({"n": 1}) == '{"n": 1}'


def test_secrets_are_masked_at_every_depth():
    (login,) = args_of({"login": {"user": "ann", "password": "hunter2"}})
    assert login["value"]["segments"] == ['{"user": "ann", "password": "••••"}']
    token = arg_of("api_key", "sk-123")
    assert (token["flag"], token["value"]["segments"]) == ("secret", ["•••• (set)"])
    assert "hunter2" not in preview({"password": "hunter2"})


@pytest.mark.parametrize("levels", [13, 60, 100, 300])
def test_no_secret_is_too_deep_to_be_masked(levels):
    deep, listed = {"apiKey": "hunter2"}, [{"cookie": "hunter2"}]
    for _ in range(levels):
        deep, listed = {"a": deep}, [listed]
    assert "hunter2" not in str(args_of({"deep": deep, "listed": listed}))


def test_a_command_is_shown_one_item_a_line():
    command = arg_of("argv", ["rm", "-rf", "a b"])
    assert command["flag"] == "argv"
    assert [item["segments"] for item in command["items"]] == [["rm"], ["-rf"], ["a b"]]


def test_arguments_stand_in_schema_order_with_defaults_and_strangers_marked():
    schema = {"properties": {"a": {}, "b": {"default": 2}, "c": {}}}
    found = args_of({"z": 1, "c": 3, "a": 1}, schema)
    assert [(arg["key"], arg["flag"]) for arg in found] == [
        ("a", None),
        ("b", "default"),
        ("c", None),
        ("z", "unknown"),
    ]


def test_changes_name_what_went_and_what_came():
    assert changes({"a": 1, "b": "x\ny"}, {"a": 1, "b": "x\nz", "c": True}) == [
        {"op": " ", "text": "b: x"},
        {"op": "-", "text": "y"},
        {"op": "+", "text": "z"},
        {"op": "+", "text": "c: true"},
    ]
