"""A name that a model made up is shown as a name and can be nothing else."""

import json
from collections.abc import Iterator

import pytest
from a2ui.told import Told
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from bread_nb import crumbs as c
from bread_nb.a2ui import messages
from bread_nb.a2ui.picture import picture, working_picture
from bread_nb.a2ui.story import Story
from bread_nb.a2ui.views import Facts, block_view, head_view, mark_view
from bread_nb.project.showing import crumb_line

EAGER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
EAGER.validateLink = lambda _: True
IMAGE = "![i](https://collector.example/p?d=1)"
NAMES = [
    f"` {IMAGE} <img src=https://c.example/z>",
    f"``` {IMAGE} `` <img src=https://c.example/z>",
    f"\\` {IMAGE}",
    f"x\n\n{IMAGE}\n\n<script>x</script>",
    'x: done\n  publish title="Rye": approved, done\n  y',
    "x\r\n# big\r| a | b |\u2028- z",
    "**\n<https://c.example/z>\n[r]: https://c.example/ref",
    "a\u202eb\u200b\x1b[2K" + " " * 400 + "c",
    "x" * 5_000,
]
pieces = ["`", "``", "\n", "\n\n", "\r", "![i](u)", "<img src=u>", "[a](u)", "**", "_"]
made_up = st.lists(st.sampled_from([*pieces, "\\", " ", "|", "# ", "- ", "a"]))
FIELDS = ["tool", "agent", "model", "key", "file", "mime", "step", "stop"]


def told(name: str, field: str) -> list[c.Crumb]:
    """A run in which something has this name; an argument's fits on the line."""
    names = dict.fromkeys(FIELDS, "plain") | {field: name}
    names["key"] = names["key"][:40]
    run = Told(names["agent"], model=names["model"]).start()
    run.call("1", names["tool"], **{names["key"]: 1}).failed("1", names["tool"], "No.")
    run.say(c.StepStart, pipeline_id="p", step_index=0, agent_id=names["step"])
    file = {"name": names["file"], "mime_type": names["mime"]}
    run.say(c.FileGenerated, uri="blob:1", **file).used(1)
    return run.end("Done.", stop_reason=f"stuck:tool_{names['stop']}").crumbs


def feared(tokens: list[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type in ("image", "html_inline", "html_block", "link_open"):
            yield f"{token.type} {token.content}"
        yield from feared(token.children or [])


def shape(tokens: list[Token]) -> list[str]:
    """The blocks of a markdown text, whatever is written in them."""
    return [token.type for token in tokens if token.type != "inline"]


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_the_saved_picture_has_the_same_lines_and_blocks_whatever_the_name(field, name):
    plain, drawn = picture(told("plain", field)), picture(told(name, field))
    assert drawn.plain.count("\n") == plain.plain.count("\n")
    assert not set(drawn.plain) & set("\r\u2028\u202e\u200b\x1b")
    tokens = EAGER.parse(drawn.markdown)
    assert list(feared(tokens)) == []
    assert shape(tokens) == shape(EAGER.parse(plain.markdown))
    assert drawn.html.count("\n") == plain.html.count("\n")
    assert "<img" not in drawn.html
    assert len(drawn.plain) < 1_500


@given(made_up, st.sampled_from(FIELDS))
def test_no_name_leaves_its_place_in_the_markdown(parts, field):
    name = "".join(parts)
    tokens = EAGER.parse(picture(told(f"a{name}", field)).markdown)
    assert list(feared(tokens)) == []
    assert shape(tokens) == shape(EAGER.parse(picture(told("a", field)).markdown))


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_another_renderer_of_markdown_finds_nothing_to_load_either(name):
    mistune = pytest.importorskip("mistune")
    render = mistune.create_markdown(escape=False)
    for field in FIELDS:
        assert "<img" not in render(picture(told(name, field)).markdown)


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_the_picture_of_a_run_at_work_or_waiting_is_no_way_out_either(name):
    asked = Told("cook").start().ask("1", name, **{name: "x"})
    killed = Told("cook").start().ask("1", name, "outcome", **{name: "x"})
    drawn = [picture(asked.crumbs), picture(killed.crumbs), working_picture(name)]
    for one in drawn:
        assert list(feared(EAGER.parse(one.markdown))) == []
        assert not set(one.plain) & set("\r\u2028\u202e\u200b\x1b")
    assert picture(asked.crumbs).plain.count("\n") == 1


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_name_on_the_card_is_one_line_in_which_nothing_is_invisible(field, name):
    story = Story.of(told(name, field))
    shown = [block_view(b)[1] for turn in story.turns for b in turn.blocks]
    shown += [mark_view(mark) for mark in story.trail]
    shown.append(head_view(story, Facts(live=False), story.at))
    text = json.dumps(shown, ensure_ascii=False)
    assert not set(text) & set("\u2028\u202e\u200b\x1b")
    for word in ("\\n", "\\r", "\\u001b"):
        assert word not in text


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_client_of_the_basic_catalogue_gets_nothing_that_loads(name):
    for field in FIELDS:
        for message in messages(told(name, field)):
            for text in texts(message.get("updateDataModel", {})):
                assert list(feared(EAGER.parse(text))) == []


def texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_crumb_is_one_line_in_the_terminal_whatever_its_names(name):
    for field in FIELDS:
        for line in map(crumb_line, told(name, field)):
            assert not set(line) & set("\n\r\u2028\u202e\u200b\x1b")


def test_a_name_that_is_no_word_stands_in_quotes():
    drawn = picture(told('publish title="Rye"', "tool"))
    assert '\n  "publish title=\\"Rye\\"" plain=1: failed: No.' in drawn.plain
    assert '- `"publish title=\\"Rye\\""` plain=1: failed: No.' in drawn.markdown
    assert "\n  publish plain=1: failed" in picture(told("publish", "tool")).plain
