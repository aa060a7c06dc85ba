"""A call on one line: what is left out of it leaves a mark."""

import pytest
from a2ui.told import Told
from hypothesis import given
from hypothesis import strategies as st

from bread_nb.a2ui.picture import picture
from bread_nb.a2ui.values import fits, preview

HIDING = "ls" + " " * 400 + "&& rm -rf /"


def test_what_stands_behind_a_run_of_blanks_is_shown():
    assert preview({"cmd": HIDING}) == 'cmd="ls⟦400 spaces⟧&& rm -rf /"'


def test_the_line_of_a_waiting_call_ends_where_its_arguments_end():
    plain = picture(Told("cook").start().ask("1", "sh", cmd=HIDING).crumbs).plain
    assert 'sh cmd="ls⟦400 spaces⟧&& rm -rf /". Answer with' in plain


@pytest.mark.parametrize("blanks", [157, 2_000, 200_000])
def test_a_count_of_blanks_is_the_count_of_all_of_them(blanks):
    shown = preview({"cmd": "ls" + " " * blanks + "rm"})
    assert shown == f'cmd="ls⟦{blanks:,} spaces⟧rm"'
    assert preview({"cmd": ["ls", " " * blanks]}) == (
        f'cmd=["ls","⟦{blanks:,} spaces⟧"]'
    )


def test_a_cut_never_stands_inside_a_mark():
    shown = preview({"cmd": "ls" + "\u200b" * 200 + "rm"})
    assert shown.endswith('⟦U+200B⟧…"')


@given(st.text(alphabet='a \t\n\u200b\u2028⟦"\\', max_size=400))
def test_a_line_is_whole_or_ends_in_an_ellipsis(text):
    shown = preview({"cmd": text, "n": 1})
    assert "\n" not in shown
    assert fits({"cmd": text, "n": 1}) or "…" in shown
    assert shown.count('"') >= 2


def test_a_name_of_an_argument_cannot_pass_for_another_argument():
    assert preview({'safe=true, note="x", cmd': "rm"}) == (
        '"safe=true, note=\\"x\\", cmd"="rm"'
    )
