"""Names and ids that every service takes."""

import re

from hypothesis import given
from hypothesis import strategies as st

from bread_nb.messages import ToolCall, ToolSpec, assistant
from bread_nb.providers.naming import CallIds, originals, wire_id, wire_name

LONG = "artisan-bakery__stock.levels/by warehouse and day of week, all of them"


@given(st.text(min_size=1))
def test_every_name_is_sent_in_a_form_all_services_take(name: str):
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", wire_name(name))
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,40}", wire_id(name))


def test_a_fitting_name_is_sent_as_it_is():
    assert wire_name("tool_add") == "tool_add"
    assert wire_id("toolu_01-A") == "toolu_01-A"


def test_a_long_name_is_the_same_in_every_run_and_leads_back():
    sent = "artisan-bakery__stock_levels_by_warehouse_and_day_of_b4143abbdb"
    assert wire_name(LONG) == sent
    assert originals([ToolSpec(LONG, "", {})]) == {wire_name(LONG): LONG}
    assert wire_name(LONG) != wire_name(f"{LONG}!")


def test_ids_are_unique_in_their_conversation():
    ids = CallIds([assistant(ToolCall("call_0", "shell"))])
    assert ids.unique("call_9") == "call_9"
    assert ids.unique("call_0") == "call_0_2"
    assert ids.unique("call_0") == "call_0_3"
    made = [ids.unique(None), ids.unique("")]
    assert len(set(made)) == 2
    assert all(re.fullmatch(r"call_[0-9a-f]{32}", name) for name in made)
