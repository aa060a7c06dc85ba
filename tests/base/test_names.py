"""The grammar of selectors and the names of tools."""

import pytest

from bread_nb import BreadError, leaf_name, perm_id
from bread_nb.base.names import Origin, Selector, check_name

READ = Origin("tool", "read_file")
CITE = Origin("skill", "cite", "deep_research")
FLUSH = Origin("plugin", "flush", "fs")
INGEST = Origin("core", "doc_ingest")
EXTRACT = Origin("task", "doc_extract")
APPROVE = Origin("human", "approve")
ALL = (READ, CITE, FLUSH, INGEST, EXTRACT, APPROVE)


@pytest.mark.parametrize(
    ("origin", "leaf", "permission"),
    [
        (READ, "tool_read_file", "tool:read_file"),
        (CITE, "skill_deep_research_cite", "skill:deep_research/cite"),
        (FLUSH, "plugin_fs_flush", "plugin:fs/flush"),
        (
            Origin("plugin", "fs__read", "mcp_client"),
            "plugin_mcp_client_fs__read",
            "plugin:mcp_client/fs__read",
        ),
        (INGEST, "core_doc_ingest", "core:doc_ingest"),
        (EXTRACT, "task_doc_extract", "task:doc_extract"),
        (APPROVE, "human_approve", "human:approve"),
    ],
)
def test_names_of_an_origin(origin: Origin, leaf: str, permission: str):
    assert (leaf_name(origin), perm_id(origin)) == (leaf, permission)


@pytest.mark.parametrize("scope", ["skill", "plugin"])
def test_what_is_brought_needs_who_brought_it(scope: str):
    for make in (leaf_name, perm_id):
        with pytest.raises(BreadError) as caught:
            make(Origin(scope, "read"))
        assert caught.value.code == "INVALID_NAME"


@pytest.mark.parametrize(
    ("selector", "matched"),
    [
        ("tool:*", {READ}),
        ("tool:read_file", {READ}),
        ("tool:read_*", {READ}),
        ("tool:*_file", {READ}),
        ("tool:r*d_*le", {READ}),
        ("tool:read_file*", {READ}),
        ("tool:*read_file", {READ}),
        ("tool:**", {READ}),
        ("tool:read", set()),
        ("tool:ead_file", set()),
        ("tool:read_file_2", set()),
        ("skill:*", {CITE}),
        ("skill:deep_research/*", {CITE}),
        ("skill:*/cite", {CITE}),
        ("skill:deep_*/c*", {CITE}),
        ("skill:deep/cite", set()),
        ("plugin:*", {FLUSH}),
        ("plugin:fs/flush", {FLUSH}),
        ("plugin:*/flush", {FLUSH}),
        ("plugin:mcp_*/read_*", set()),
        ("core:*", {INGEST}),
        ("core:doc_*", {INGEST}),
        ("core:core_doc_ingest", set()),
        ("task:*", {EXTRACT}),
        ("task:doc_extract", {EXTRACT}),
    ],
)
def test_what_a_selector_matches(selector: str, matched: set[Origin]):
    parsed = Selector.parse(selector)
    assert {origin for origin in ALL if parsed.matches(origin)} == matched


@pytest.mark.parametrize(
    ("selector", "why"),
    [
        ("*", "a selector is scope:name"),
        ("", "a selector is scope:name"),
        ("read_file", "a selector is scope:name"),
        ("mpc:*", "the scopes are tool, skill, task, plugin, core"),
        (":read", "the scopes are"),
        ("Tool:read", "the scopes are"),
        ("human:approve", "human tools are always available"),
        ("human:*", "human tools are always available"),
        ("tool:", "may hold a-z"),
        ("tool:has-dash", "may hold a-z"),
        ("tool:Bad", "may hold a-z"),
        ("tool:1st", "may hold a-z"),
        ("tool:_x", "may hold a-z"),
        ("tool:a b", "may hold a-z"),
        ("tool:a\n", "may hold a-z"),
        ("tool:a.b", "may hold a-z"),
        ("tool:filesystem/read", "may hold a-z"),
        ("tool:tool:read", "may hold a-z"),
        ("core:doc/ingest", "may hold a-z"),
        ("task:a/b", "may hold a-z"),
        ("plugin:filesystem", "a plugin selector is plugin:id/name"),
        ("skill:cite", "a skill selector is skill:id/name"),
        ("plugin:a/b/c", "may hold a-z"),
        ("plugin:/b", "may hold a-z"),
        ("plugin:a/", "may hold a-z"),
        ("plugin:Bad/read", "may hold a-z"),
        ("plugin:filesystem/Bad", "may hold a-z"),
    ],
)
def test_what_is_no_selector(selector: str, why: str):
    with pytest.raises(BreadError) as caught:
        Selector.parse(selector)
    assert caught.value.code == "INVALID_PERMISSION"
    assert why in caught.value.why
    assert caught.value.context == {"selector": selector}


@pytest.mark.parametrize("name", ["a", "read_file", "a1", "a__b", "x_"])
def test_names_that_will_do(name: str):
    assert check_name(name, "tool") == name


@pytest.mark.parametrize(
    ("name", "better"),
    [
        ("Read", "'read'"),
        ("read-file", "'read_file'"),
        ("1st", "'t_1st'"),
        ("", "'t'"),
        ("brot größe", "'brot_gr_e'"),
        ("_x", "'x'"),
        ("a\n", "'a'"),
    ],
)
def test_names_that_will_not_do_come_with_one_that_does(name: str, better: str):
    with pytest.raises(BreadError) as caught:
        check_name(name, "tool")
    assert (caught.value.code, caught.value.context) == (
        "INVALID_NAME",
        {"kind": "tool", "value": name},
    )
    assert better in caught.value.do
