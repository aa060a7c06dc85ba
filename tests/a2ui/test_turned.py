"""What turns the direction of a text cannot hide what an answer says."""

from a2ui.told import Told

from bread_nb.a2ui.picture import picture


def test_the_picture_writes_out_what_turns_the_direction():
    told = Told("analyst").start().text("Open invoice\u202ecod.exe, a\u2066b.")
    drawn = picture(told.end("Open invoice\u202ecod.exe, a\u2066b.").crumbs)
    for text in (drawn.plain, drawn.markdown, drawn.html):
        assert "Open invoice⟦U+202E⟧cod.exe, a⟦U+2066⟧b." in text


def test_marks_that_only_order_letters_stay_as_they_are():
    words = "שלום\u200f, ‎رغيف👩\u200d🍳"
    assert words in picture(Told("baker").start().text(words).end(words).crumbs).plain
