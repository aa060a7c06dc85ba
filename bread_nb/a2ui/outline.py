"""The story of a run in the order and the measure of its picture.

One outline is written three times: as html, as markdown and as plain text. It holds no
id, clock, duration, size, host or address, so equal runs give equal outlines.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from textwrap import indent

from pydantic import JsonValue

from bread_nb.a2ui.blocks import Call, FileMade, Form, Row, Turn, tool_name
from bread_nb.a2ui.endings import ending
from bread_nb.a2ui.telling import Telling
from bread_nb.a2ui.values import (
    changes,
    fits,
    flat,
    masked,
    named,
    one_line,
    preview,
    sound,
    text_of,
    titled,
    unturned,
    visible,
)
from bread_nb.a2ui.words import Piece, phrase, say
from bread_nb.crumbs import RunEnd

__all__ = ["Item", "Outline", "arguments", "outline", "shortened"]

VALUE_LINES = 20
VALUE_CHARS = 2000
LINE_CHARS = 80
MOST_AGENTS = 20
DEEPEST = 3
ALIKE = 5


@dataclass(slots=True, kw_only=True)
class Item:
    """One line of the story, what is behind it, and what is inside it.

    `first` is what markdown and plain text add to the line of a failed call, `asked` a
    call's arguments where the line has no room for them.
    """

    pieces: list[Piece]
    asked: str = ""
    body: str = ""
    diff: list[JsonValue] = field(default_factory=list[JsonValue])
    first: str = ""
    inside: list[Item] = field(default_factory=list["Item"])


@dataclass(slots=True, kw_only=True)
class Outline:
    """What the picture of a run says."""

    head: list[Piece]
    facts: list[str]
    note: str = ""
    items: list[Item] = field(default_factory=list[Item])
    files: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    text: str = ""
    data: str = ""
    waits: list[str] = field(default_factory=list[str])
    folded: bool = False


def outline(story: Telling) -> Outline:
    """The outline of a run, waiting, ended or on its way."""
    asked = list(story.open_forms.values())
    text, data = _answer(story)
    whole = Outline(head=[], facts=[], text=text, data=data)
    whole.files = _files(story)
    if any(form.crumb.kind == "outcome" for form in asked):
        _interrupted(whole, story, asked)
    elif asked and not story.ended:
        _waiting(whole, story, asked)
    else:
        _other(whole, story)
    return whole


def _other(whole: Outline, story: Telling) -> None:
    if story.ended or story.state == "interrupted":
        words = ending(story)
        state = words.head
        whole.note = flat(" ".join(words.note.split("\n")))
        if story.state == "interrupted":
            whole.note = say("picture_interrupted")
    else:
        state = say("head_working")
    whole.head = phrase("picture_head", {"agent": _name(story), "state": state})
    whole.facts = [*_facts(story), _calls(story), *_spent(story)]
    whole.items = _items(story)


def _interrupted(whole: Outline, story: Telling, asked: list[Form]) -> None:
    state = say("head_interrupted")
    whole.head = phrase("picture_head", {"agent": _name(story), "state": state})
    whole.facts = [*_facts(story), _calls(story), *_spent(story)]
    crumb = next(f.crumb for f in asked if f.crumb.kind == "outcome")
    call = f"{named(tool_name(crumb.tool_name))} {preview(crumb.args)}".rstrip()
    number = sum(form.crumb.kind == "outcome" for form in asked)
    key = "picture_outcome" if number == 1 else "picture_outcomes"
    whole.note = say(key, {"call": call, "n": number - 1})
    whole.items = _items(story)


def _waiting(whole: Outline, story: Telling, asked: list[Form]) -> None:
    crumb = asked[0].crumb
    places: dict[str, str | int] = {
        "agent": _name(story),
        "tool": named(tool_name(crumb.tool_name)) or say("asked_bound"),
        "args": preview(crumb.args),
        "n": len(asked) - 1,
    }
    one = ("picture_waiting", "picture_waiting_bare")
    more = ("picture_waiting_more", "picture_waiting_bare_more")
    keys = one if len(asked) == 1 else more
    whole.head = phrase(keys[not places["args"]], places)
    done = sum(call.state == "done" for call in story.every_call())
    calls = ", ".join([say("calls_done", {"n": done}), *_mishaps(story)])
    whole.facts = [*_facts(story), calls, *_spent(story)]
    whole.items = [item for call, item in _listed(story) if _telling(call)]
    whole.waits = [_asked(form) for form in asked]
    whole.folded = True


def _telling(block: Call | Row | None) -> bool:
    """While a run waits, calls that simply ended well are only counted."""
    if not isinstance(block, Call):
        return block is None or block.what == "agent"
    if block.state == "waiting":
        return False
    return block.state != "done" or block.decision is not None


def _asked(form: Form) -> str:
    """A waiting call and its arguments."""
    crumb = form.crumb
    lines = [named(tool_name(crumb.tool_name)) or say("asked_bound")]
    args = crumb.args if isinstance(crumb.args, dict) else {}
    if crumb.prompt and crumb.prompt not in args.values():
        lines[0] += f": {one_line(crumb.prompt)}"
    return "\n".join([*lines, *(indent(line, "  ") for line in arguments(args))])


def arguments(args: dict[str, JsonValue]) -> list[str]:
    """Arguments, each beginning a line, their colons aligned.

    What is longer stands whole below its name, or as its beginning when it is longer
    than a value may be.
    """
    lines: list[str] = []
    width = max((len(named(key)) for key in args), default=0) + 1
    for key, value in args.items():
        name, shown = f"{named(key)}:", masked(key, value)
        text = visible(text_of(shown)).rstrip("\n")
        long = len(text) > LINE_CHARS or "\n" in text
        if long and shortened(text) == text:
            lines += [name, indent(text, "  ")]
        else:
            lines.append(f"{name.ljust(width)} {one_line(shown)}")
    return lines


def _behind(args: JsonValue) -> str:
    """The arguments of a call whose line does not show all of them."""
    if fits(args):
        return ""
    if isinstance(args, dict):
        return "\n".join(arguments(args))
    return shortened(visible(text_of(args)))


# -- the line of facts -------------------------------------------------------------


def _name(story: Telling) -> str:
    return titled(story.agent) or say("agent_nameless")


def _facts(story: Telling) -> list[str]:
    model = story.model or story.model_asked
    turns = say("turns", {"n": _turns(story)})
    return [titled(model), turns] if model else [turns]


def _turns(story: Telling) -> int:
    """The turns that the model began; one that it was asked for twice is one."""
    begun = [t for t in story.turns if t.mark is not None or t.blocks]
    counted = {turn.number for turn in begun if turn.number is not None}
    cut = sum(turn.number is None for turn in begun)
    return max(len(counted) + cut, 0 if isinstance(story.end, RunEnd) else 1)


def _calls(story: Telling) -> str:
    number = len(story.every_call())
    return ", ".join([say("calls", {"n": number}), *_mishaps(story)])


def _mishaps(story: Telling) -> list[str]:
    calls = story.every_call()
    kinds = Counter(call.state for call in calls)
    unknown = sum(call.outcome_unknown for call in calls)
    counted = [
        ("calls_failed", kinds["failed"]),
        ("calls_denied", kinds["denied"]),
        ("calls_cut", kinds["cut"]),
        ("calls_unknown", unknown),
    ]
    return [say(key, {"n": number}) for key, number in counted if number]


def _spent(story: Telling) -> list[str]:
    known = (story.spending.token_words(), story.spending.cost_kept())
    return [words for words in known if words]


# -- calls, sub-agents and files ---------------------------------------------------


def _items(story: Telling, depth: int = 1) -> list[Item]:
    return [item for _, item in _listed(story, depth)]


def _listed(story: Telling, depth: int = 1) -> list[tuple[Call | Row | None, Item]]:
    listed: list[tuple[Call | Row | None, Item]] = []
    agents = rest = 0
    for group in _groups(story.turns):
        first = group[0]
        if isinstance(first, Call):
            listed.append((first, _call(first)))
        elif first.what == "agent" and agents >= MOST_AGENTS:
            rest += len(group)
        else:
            rows = [row for row in group if isinstance(row, Row)]
            alike = len(rows) > ALIKE
            agents += (1 if alike else len(rows)) if first.what == "agent" else 0
            if alike:
                listed.append((first, _alike(story, rows, depth)))
            else:
                listed += [(row, _row(story, row, depth)) for row in rows]
    if rest:
        listed.append((None, Item(pieces=phrase("more_agents", {"n": rest}))))
    return listed


def _groups(turns: list[Turn]) -> list[list[Call] | list[Row]]:
    """Calls one by one; sub-agents of one name that stand together as one group."""
    groups: list[list[Call] | list[Row]] = []
    open_rows: list[Row] | None = None
    for turn in turns:
        for block in turn.blocks:
            if isinstance(block, Call):
                groups.append([block])
                open_rows = None
            elif isinstance(block, Row):
                alike = open_rows is not None and open_rows[0].name == block.name
                if alike and open_rows is not None and block.what == "agent":
                    open_rows.append(block)
                else:
                    open_rows = [block]
                    groups.append(open_rows)
    return groups


def _call(call: Call) -> Item:
    state, first = _fate(call)
    args = preview(call.args)
    key = "item_call" if args else "item_call_bare"
    places = {"tool": named(call.name), "args": args, "state": state}
    body = ""
    if call.error is not None and call.state in ("failed", "cut"):
        body = shortened(visible(call.error.message))
    elif call.returned and call.result is not None and call.state == "done":
        body = shortened(visible(text_of(masked("", call.result))))
    diff = changes(call.asked, call.args) if call.changed else []
    asked = "" if diff else _behind(call.args)
    pieces = phrase(key, places)
    return Item(pieces=pieces, asked=asked, body=body, diff=diff, first=first)


def _fate(call: Call) -> tuple[str, str]:
    """What became of a call, and what a line of text adds to it."""
    state = say("item_unknown" if call.outcome_unknown else f"item_{call.state}")
    first = ""
    if call.error is not None and call.state in ("failed", "cut"):
        first = visible(call.error.message.strip().partition("\n")[0])
    if call.state == "denied":
        return visible(call.decision or state), ""
    if call.state == "done" and call.decision in (say("answered"), say("happened")):
        return call.decision or state, ""
    if call.decision is not None and call.state in ("done", "failed", "cut"):
        state = say("item_decided", {"decision": call.decision, "state": state})
    return state, first


def _row(story: Telling, row: Row, depth: int) -> Item:
    child = story.stories.get(row.key)
    body = shortened(visible(text_of(row.output))) if row.returned else ""
    if child is None or row.what != "agent":
        places = {"name": titled(row.name), "state": say(f"row_{row.state}")}
        first = flat(row.failure or "")
        return Item(pieces=phrase("item_row", places), body=body, first=first)
    state = _child_state(row, child)
    places = {"name": titled(row.name), "state": state, "calls": _calls(child)}
    item = Item(pieces=phrase("item_agent", places), first=flat(row.failure or ""))
    if depth < DEEPEST:
        item.inside = _items(child, depth + 1)
    item.body = body
    return item


def _child_state(row: Row, child: Telling) -> str:
    if child.ended or child.state == "interrupted":
        return ending(child).head
    return say("row_waits" if row.state == "waiting" else f"row_{row.state}")


def _alike(story: Telling, rows: list[Row], depth: int) -> Item:
    """Many sub-agents of one name: counted, those that failed or wait listed."""
    counted = Counter(row.state for row in rows)
    parts = [
        say(f"alike_{state}", {"n": counted[state]})
        for state in ("done", "running", "failed", "denied", "cut", "waiting")
        if counted[state]
    ]
    places: dict[str, str | int] = {
        "name": titled(rows[0].name),
        "n": len(rows),
        "counts": ", ".join(parts),
    }
    item = Item(pieces=phrase("item_alike", places))
    told = [row for row in rows if row.state in ("failed", "waiting")]
    item.inside = [_row(story, row, depth + 1) for row in told[:MOST_AGENTS]]
    return item


def _files(story: Telling) -> list[tuple[str, str]]:
    made = [b for t in story.turns for b in t.blocks if isinstance(b, FileMade)]
    return [(titled(f.name or ""), titled(f.mime)) for f in made]


# -- the answer --------------------------------------------------------------------


def _answer(story: Telling) -> tuple[str, str]:
    """The answer as markdown, or as data when it is no text."""
    output = story.end.output if isinstance(story.end, RunEnd) else None
    if isinstance(output, str) and output.strip():
        return unturned(sound(output)), ""
    if isinstance(output, dict | list) and not _is_file(output):
        return "", visible(text_of(output))
    return _last_text(story), ""


def _is_file(output: JsonValue) -> bool:
    return isinstance(output, dict) and output.get("kind") == "file"


def _last_text(story: Telling) -> str:
    for turn in reversed(story.turns):
        if text := turn.text.strip():
            return unturned(sound(text))
    return ""


def shortened(text: str, lines: int = VALUE_LINES, chars: int = VALUE_CHARS) -> str:
    """The beginning of a value, and how much of it is left out."""
    text = text.rstrip("\n")
    every = text.split("\n")
    kept = "\n".join(every[:lines])
    if len(kept) > chars:
        left_out = say("left_out", {"n": len(text) - chars})
        return f"{kept[:chars]}\n{left_out}"
    if len(every) > lines:
        return f"{kept}\n{say('lines_left_out', {'n': len(every) - lines})}"
    return kept
