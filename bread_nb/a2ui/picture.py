"""The static picture of a run: html, markdown and plain text, the same bytes each time.

It is a pure function of the recorded crumbs. The html has a closed set of tags, no
class, style, id, image or script, and one block a line; it is safe without a sanitiser.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from textwrap import indent

from pydantic import JsonValue

from bread_nb.a2ui.outline import Item, Outline, outline
from bread_nb.a2ui.prose import (
    fence,
    markdown_html,
    markdown_text,
    safe_markdown,
    text_html,
    unmath,
)
from bread_nb.a2ui.story import Story
from bread_nb.a2ui.values import flat
from bread_nb.a2ui.words import Piece, phrase, say
from bread_nb.crumbs import Crumb

__all__ = ["Picture", "picture", "working_picture"]

ANSWER_WHOLE = 200_000
ANSWER_HEAD = 150_000
ANSWER_TAIL = 20_000
ITEMS = 64_000
PLAIN = 4_000
PLAIN_ITEMS = 2_000


@dataclass(frozen=True, slots=True)
class Picture:
    """What a notebook keeps of a run."""

    plain: str
    markdown: str
    html: str


def picture(told: Story | Iterable[Crumb]) -> Picture:
    """The picture of a story, or of the crumbs that tell it."""
    story = told if isinstance(told, Story) else Story.of(told)
    whole = outline(story)
    parts = _answer_parts(whole.text)
    return Picture(_plain(whole), _markdown(whole, parts), _html(whole, parts))


def working_picture(agent: str) -> Picture:
    """What stays of a run if nobody draws its end: no figures, for they go on."""
    head = phrase("picture_working", {"agent": agent or say("agent_nameless")})
    html = "\n".join(_spaced([f"<p>{_html_pieces(head)}</p>"]))
    return Picture(_plain_pieces(head), _md_pieces(head), html)


def _answer_parts(text: str) -> tuple[str, str, str]:
    """The answer, or its head, what is left out, and its tail."""
    if len(text) <= ANSWER_WHOLE:
        return text, "", ""
    left_out = len(text) - ANSWER_HEAD - ANSWER_TAIL
    note = say("answer_left_out", {"n": left_out})
    return text[:ANSWER_HEAD], note, text[-ANSWER_TAIL:]


# -- html --------------------------------------------------------------------------


def _html(whole: Outline, parts: tuple[str, str, str]) -> str:
    facts = " · ".join(whole.facts)
    head = _html_pieces(whole.head)
    if whole.folded:
        lines = [f"<p>{text_html(facts)}</p>", *_html_items(whole)]
        lines += [*_html_files(whole), *_html_answer(whole, parts)]
        lines += [f"<pre>{_pre(text)}</pre>" for text in whole.waits]
        start = f"<details><summary>{head}</summary>"
        return "\n".join(_spaced([start, *lines])) + "</details>"
    lines = [f"<p>{head} · {text_html(facts)}</p>"]
    if whole.note:
        lines.append(f"<p>{text_html(whole.note)}</p>")
    lines += _html_items(whole) + _html_files(whole) + _html_answer(whole, parts)
    return "\n".join(_spaced(lines))


def _spaced(lines: Iterable[str]) -> list[str]:
    return [unmath(line) for line in lines]


def _html_pieces(pieces: Iterable[Piece]) -> str:
    return "".join(map(_html_piece, pieces))


def _html_piece(piece: Piece) -> str:
    text = text_html(flat(piece.text))
    return f"<{piece.style}>{text}</{piece.style}>" if piece.style else text


def _pre(text: str) -> str:
    """Text for a `pre`; a first line break in one would be swallowed."""
    return ("\n" if text.startswith("\n") else "") + text_html(text)


def _html_items(whole: Outline) -> list[str]:
    lines: list[str] = []
    room = ITEMS
    for at, item in enumerate(whole.items):
        shown = _html_item(item)
        room -= sum(map(len, shown))
        if room < 0:
            more = say("more_calls", {"n": len(whole.items) - at})
            return [*lines, f"<p>{more}</p>"]
        lines += shown
    return lines


def _html_item(item: Item) -> list[str]:
    head = _html_pieces(item.pieces)
    body = _html_diff(item.diff)
    texts = filter(None, (item.asked, item.body or item.first))
    body += [f"<pre>{_pre(text)}</pre>" for text in texts]
    if not body and not item.inside:
        return [f"<p>{head}</p>"]
    inside = [line for inner in item.inside for line in _html_item(inner)]
    start = f"<details><summary>{head}</summary>"
    if not inside and len(body) == 1:
        return [f"{start}{body[0]}</details>"]
    return [start, *inside, *body, "</details>"]


def _html_diff(diff: list[JsonValue]) -> list[str]:
    lines: list[str] = []
    tags = {"-": "del", "+": "ins"}
    for line in diff:
        match line:
            case {"op": str() as op, "text": str() as text}:
                shown = text_html(text)
                tag = tags.get(op)
                lines.append(f"<{tag}>{shown}</{tag}>" if tag else shown)
            case _:
                continue
    joined = "\n".join(lines)
    return [f"<pre>{joined}</pre>"] if lines else []


def _html_files(whole: Outline) -> list[str]:
    return [f"<p>{text_html(_file(file))}</p>" for file in whole.files]


def _file(file: tuple[str, str]) -> str:
    name, mime = file
    if name:
        return say("picture_file", {"name": name, "mime": mime})
    return say("picture_file_bare", {"mime": mime})


def _html_answer(whole: Outline, parts: tuple[str, str, str]) -> list[str]:
    if whole.data:
        return [f"<pre>{_pre(_data(whole))}</pre>"]
    head, note, tail = parts
    lines = markdown_html(head)
    if note:
        lines += [f"<p>{text_html(note)}</p>", *markdown_html(tail)]
    return lines


def _data(whole: Outline) -> str:
    head, note, tail = _answer_parts(whole.data)
    return f"{head}\n{note}\n{tail}" if note else head


# -- markdown ----------------------------------------------------------------------


def _markdown(whole: Outline, parts: tuple[str, str, str]) -> str:
    head = _md_pieces(whole.head)
    facts = markdown_text(" · ".join(whole.facts))
    blocks = [head, facts] if whole.folded else [f"{head} · {facts}"]
    if whole.note:
        blocks.append(markdown_text(whole.note))
    if items := _md_items(whole):
        blocks.append(items)
    blocks += [markdown_text(_file(file)) for file in whole.files]
    blocks += _md_answer(whole, parts)
    blocks += [fence(text, "text") for text in whole.waits]
    return "\n\n".join(blocks)


def _md_pieces(pieces: Iterable[Piece]) -> str:
    return "".join(_md_piece(piece) for piece in pieces)


def _md_piece(piece: Piece) -> str:
    text = flat(piece.text)
    if piece.style == "strong":
        return f"**{markdown_text(text)}**"
    return _md_code(text) if piece.style == "code" else markdown_text(text)


def _md_code(text: str) -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    marks = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{marks}{pad}{text}{pad}{marks}"


def _md_items(whole: Outline) -> str:
    lines: list[str] = []
    room = ITEMS
    for at, item in enumerate(whole.items):
        shown = _md_item(item, 0)
        room -= sum(map(len, shown))
        if room < 0:
            more = say("more_calls", {"n": len(whole.items) - at})
            return "\n".join([*lines, f"- {more}"])
        lines += shown
    return "\n".join(lines)


def _md_item(item: Item, depth: int) -> list[str]:
    text = _md_pieces(item.pieces)
    if item.first:
        text += markdown_text(f": {item.first}")
    behind: list[str] = []
    if item.asked:
        behind.append(indent(fence(item.asked, "text"), "  " * (depth + 1)))
    inside = [line for inner in item.inside for line in _md_item(inner, depth + 1)]
    return [f"{'  ' * depth}- {text}", *behind, *inside]


def _md_answer(whole: Outline, parts: tuple[str, str, str]) -> list[str]:
    if whole.data:
        return [fence(_data(whole), "json")]
    head, note, tail = parts
    if note:
        return [safe_markdown(head), note, safe_markdown(tail)]
    return [safe_markdown(head)] if head else []


# -- plain text --------------------------------------------------------------------


def _plain(whole: Outline) -> str:
    head = _plain_pieces(whole.head)
    facts = " · ".join(whole.facts)
    lines = [head, facts] if whole.folded else [f"{head} · {facts}"]
    if whole.note:
        lines.append(whole.note)
    lines += _plain_items(whole)
    for name, mime in whole.files:
        key = "plain_file" if name else "plain_file_bare"
        lines.append(f"  {say(key, {'name': name, 'mime': mime})}")
    answer = whole.data or whole.text
    room = PLAIN - sum(len(line) + 1 for line in lines)
    if len(answer) > room:
        note = say("answer_left_out", {"n": 0})
        kept = max(room - len(note) - 12, 0)
        left_out = say("answer_left_out", {"n": len(answer) - kept})
        answer = f"{answer[:kept]}\n{left_out}" if kept else left_out
    if answer:
        lines.append(answer)
    return "\n".join(lines)


def _plain_pieces(pieces: Iterable[Piece]) -> str:
    return "".join(flat(piece.text) for piece in pieces)


def _plain_items(whole: Outline) -> list[str]:
    lines: list[str] = []
    room = PLAIN_ITEMS
    for at, item in enumerate(whole.items):
        shown = _plain_item(item, 1)
        room -= sum(map(len, shown))
        if room < 0:
            more = phrase("more_calls", {"n": len(whole.items) - at})
            return [*lines, f"  {_plain_pieces(more)}"]
        lines += shown
    return lines


def _plain_item(item: Item, depth: int) -> list[str]:
    text = _plain_pieces(item.pieces)
    if item.first:
        text += f": {item.first}"
    inside = [line for inner in item.inside for line in _plain_item(inner, depth + 1)]
    return [f"{'  ' * depth}{text}", *inside]
