"""What a call was asked to do can be read in full in the saved file."""

from textwrap import indent

from a2ui.told import Told

from bread_nb.a2ui.picture import picture

BODY = "# Rye for beginners\n\nRye flour drinks more water than wheat: stir, wait."
LONG = "Rye flour drinks more water than wheat. " * 3 + "Bake it dark."
BLOCK = f'title: "Rye"\nbody:\n{indent(BODY, "  ")}'


def published(**args: str) -> Told:
    told = Told("publisher").start().ask("1", "publish", **args)
    return told.answer("1", {"approved": True}).done("1", "publish", "published")


def test_a_call_whose_line_has_no_room_unfolds_to_its_arguments():
    html = picture(published(title="Rye", body=BODY).end("Out.").crumbs).html
    assert f"</summary>\n<pre>{BLOCK}</pre>\n<pre>published</pre>\n</details>" in html


def test_the_same_stands_below_the_line_in_markdown():
    markdown = picture(published(title="Rye", body=BODY).end("Out.").crumbs).markdown
    below = indent(f"```text\n{BLOCK}\n```", "  ")
    assert f": approved, done\n{below}\n\nOut." in markdown


def test_a_call_whose_line_says_all_is_not_told_twice():
    pictured = picture(published(title="Rye", body="Short.").end("Out.").crumbs)
    assert pictured.html.count("Short.") == pictured.markdown.count("Short.") == 1


def test_what_waits_is_shown_whole_up_to_the_measure_of_a_value():
    asked = Told("publisher").start().ask("1", "publish", title="Rye", body=LONG)
    html = picture(asked.crumbs).html
    assert f'<pre>publish\n  title: "Rye"\n  body:\n    {LONG}</pre>' in html


def test_a_longer_argument_is_its_beginning_and_how_much_there_is():
    body = "x\n" * 500
    html = picture(published(title="Rye", body=body).end("Out.").crumbs).html
    assert '<pre>title: "Rye"\nbody:  "x …" (500 lines)</pre>' in html


def test_edited_arguments_are_shown_as_the_change_and_once():
    told = Told("publisher").start().ask("1", "publish", title="Rye", body=LONG)
    changed = {"approved": True, "args": {"title": "Wheat", "body": LONG}}
    told.answer("1", changed)
    told.done("1", "publish", "published")
    assert "<pre>title:" not in picture(told.end("Out.").crumbs).html
