"""A run in the basic catalogue of A2UI, for clients that do not know our own.

One surface a run. Text is sent whole, since the protocol has no way to add to it, so
a stretch of deltas makes one message. Version 1.0 is a moving candidate: it is offered
as the schemas of `@a2ui/web_core` 0.11.0 have it, and only when asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from pydantic import JsonValue

from bread_nb.a2ui.blocks import Block, Call, FileMade, Form, Prose, Row, Turn
from bread_nb.a2ui.card import surface_id
from bread_nb.a2ui.outline import shortened
from bread_nb.a2ui.prose import fence, markdown_text, safe_markdown
from bread_nb.a2ui.questions import Extras, form_view
from bread_nb.a2ui.sheet import Drawn, Sheet, Version
from bread_nb.a2ui.story import Story
from bread_nb.a2ui.telling import Telling
from bread_nb.a2ui.values import (
    masked,
    named,
    one_line,
    sound,
    text_of,
    titled,
    visible,
)
from bread_nb.a2ui.views import Facts, block_view, error_view, head_view, note_view
from bread_nb.a2ui.views import turn_view as turn_figures
from bread_nb.a2ui.words import say
from bread_nb.crumbs import Crumb, ReasoningDelta, RunStart, TextDelta
from bread_nb.errors import BreadError

__all__ = ["messages"]

Json = dict[str, JsonValue]

_CATALOG = "https://a2ui.org/specification/{}/catalogs/basic/catalog.json"
_FIELD_VARIANTS = {
    "area": "longText",
    "json": "longText",
    "number": "number",
    "integer": "number",
    "secret": "obscured",
}


def messages(
    crumbs: Iterable[Crumb], *, version: Version = "v0.9", surface: str | None = None
) -> list[Json]:
    """The protocol messages that show these crumbs in the basic catalogue.

    Args:
        crumbs: The crumbs of a run, from its first on; those of several runs give a
            surface each.
        version: `v0.9`, or `v1.0` as the candidate of web_core 0.11.0 has it.
        surface: The id of the surface; made from the run's id when None.

    Raises:
        BreadError: `A2UI_VERSION` for another version.
    """
    if version not in ("v0.9", "v1.0"):
        raise BreadError(
            f"A2UI {version} is not spoken here.",
            code="A2UI_VERSION",
            why="the versions are v0.9 and, as a candidate, v1.0.",
            do='messages(crumbs, version="v0.9")',
        )
    out: list[Json] = []
    shown: dict[str, _Shown] = {}
    current: _Shown | None = None
    for crumb in crumbs:
        mine = shown.get(crumb.run_id)
        if mine is None:
            if current is None or _stands_alone(crumb, current):
                number = len({id(s) for s in shown.values()}) + 1
                name = surface_id(crumb.run_id) if surface is None else surface
                if surface is not None and number > 1:
                    name = f"{surface}_{number}"
                mine = _Shown(name, version)
            else:
                mine = current
            shown[crumb.run_id] = mine
        if current is not None and mine is not current:
            out += current.rest()
        current = mine
        out += mine.accept(crumb)
    return out + (current.rest() if current is not None else [])


def _stands_alone(crumb: Crumb, current: _Shown) -> bool:
    """Whether a run stands beside the one before, and is no part of it."""
    return isinstance(crumb, RunStart) and current.story.ended


class _Shown:
    """A run and its surface."""

    def __init__(self, surface: str, version: Version) -> None:
        self.story = Story()
        self.sheet = Sheet(self.story, surface, _BasicPen(version), version=version)
        self.begun = False

    def accept(self, crumb: Crumb) -> list[Json]:
        """The messages for one more crumb; those for text come with the next one."""
        self.story.accept(crumb)
        if not self.begun:
            self.begun = True
            return self.sheet.whole()
        if isinstance(crumb, TextDelta | ReasoningDelta):
            return []
        return self.rest()

    def rest(self) -> list[Json]:
        """The messages for what has not been shown yet."""
        return self.sheet.drain().messages


class _BasicPen:
    """Draws a story with Text, Card, Column, Row, Button, TextField and CheckBox."""

    trail = False
    grows = False

    def __init__(self, version: Version) -> None:
        self.catalog = _CATALOG.format(version.replace(".", "_"))

    def written(self, text: str) -> str:
        """Markdown in which nothing loads by itself or leads to a script."""
        return safe_markdown(text)

    def root(self, children: list[JsonValue]) -> list[Json]:
        """A column: what the run is doing, its turns, what comes next."""
        whole: Json = {"id": "root", "component": "Column"}
        whole["children"] = ["head", *children, "foot"]
        head = _text("head", "/head", caption=True)
        return [whole, head, _text("foot", "/foot")]

    def turn(self, turn: Turn, children: list[JsonValue]) -> Drawn:
        """A column of the turn's blocks."""
        column: Json = {"id": turn.id, "component": "Column", "children": children}
        return Drawn([column], turn_figures(turn))

    def aged(self, block: Block, value: Json) -> Json:
        """The value itself: nothing here counts the time."""
        return value

    def top(self, story: Telling) -> Json:
        """The header as one line, and the note or the error at the foot."""
        view = head_view(story, Facts(live=False), story.at)
        words = [f"{view['agent']}: {view['word']}", view["model"]]
        shown = [markdown_text(visible(str(word))) for word in words if word]
        end = error_view(story) or note_view(story) or {}
        lines = [
            str(end[k]) for k in ("title", "what", "why", "text", "do") if end.get(k)
        ]
        return {"head": " · ".join(shown), "foot": markdown_text("\n".join(lines))}

    def block(self, story: Telling, block: Block) -> Drawn:
        """A block in basic components."""
        path = f"/b/{block.id}"
        match block:
            case Prose():
                caption = not block.spoken
                return Drawn([_text(block.id, f"{path}/text", caption=caption)], {})
            case Call() | Row():
                return _titled(block.id, *_called(block))
            case FileMade():
                return _file(block)
            case Form():
                _, view = form_view(story, block, Extras())
                return _form(block, view)
            case _:
                kind, value = block_view(block)
                words = str(value.get("words") or "")
                if kind == "Unsupported":
                    words = say("unsupported", {"kind": str(value["kind"])})
                text = _text(block.id, f"{path}/words", caption=True)
                return Drawn([text], {"words": markdown_text(visible(words))})


def _text(name: str, path: str, *, caption: bool = False) -> Json:
    text: Json = {"id": name, "component": "Text", "text": {"path": path}}
    if caption:
        text["variant"] = "caption"
    return text


def _titled(name: str, title: str, detail: str) -> Drawn:
    """A card with a title and what is behind it."""
    value: Json = {"title": title, "detail": detail}
    texts = [_text(f"{name}_{part}", f"/b/{name}/{part}") for part in value]
    return Drawn([*_card(name, texts), *texts], value)


def _called(block: Call | Row) -> tuple[str, str]:
    _, view = block_view(block)
    state = view["decision"] or view["word"]
    title = f"**{markdown_text(str(view['tool']))}** "
    title += markdown_text(f"{view['preview']}: {state}".removeprefix(": "))
    error = view["error"]
    if isinstance(error, dict):
        detail = str(error["what"])
    elif block.returned:
        output = block.result if isinstance(block, Call) else block.output
        detail = text_of(masked("", output))
    else:
        detail = str(view["progress"] or "")
    return title, fence(shortened(visible(detail))) if detail else ""


def _file(block: FileMade) -> Drawn:
    name = block.id
    places = {"name": titled(block.name or ""), "mime": titled(block.mime)}
    words = say("picture_file" if block.name else "picture_file_bare", places)
    value: Json = {"words": markdown_text(words)}
    if not block.uri.startswith(("https://", "http://")):
        return Drawn([_text(name, f"/b/{name}/words")], value)
    opened: Json = {"call": "openUrl", "args": {"url": block.uri}}
    button: Json = {"id": name, "component": "Button", "child": f"{name}_words"}
    button.update(variant="borderless", action={"functionCall": opened})
    return Drawn([button, _text(f"{name}_words", f"/b/{name}/words")], value)


# -- forms -------------------------------------------------------------------------


def _form(block: Form, view: Json) -> Drawn:
    """A question: what is asked, fields, and a button for each answer."""
    name = block.id
    value: Json = {"title": markdown_text(visible(str(view["title"])))}
    if view["state"] == "settled":
        value["end"] = markdown_text(visible(str(view["end"])))
        parts = [_text(f"{name}_{key}", f"/b/{name}/{key}") for key in value]
        return Drawn([*_card(name, parts), *parts], value)
    value["why"] = markdown_text(visible(_reason(view)))
    value["args"] = _arguments(block)
    parts = [_text(f"{name}_{key}", f"/b/{name}/{key}") for key in value]
    fields, held = _fields(block, view)
    row, buttons = _buttons(block, view, held)
    parts += [*fields, row]
    return Drawn([*_card(name, parts), *parts, *buttons], {**value, **held})


def _card(name: str, parts: list[Json]) -> list[Json]:
    card: Json = {"id": name, "component": "Card", "child": f"{name}_all"}
    column: Json = {"id": f"{name}_all", "component": "Column"}
    column["children"] = [part["id"] for part in parts]
    return [card, column]


def _reason(view: Json) -> str:
    words = [view["why"], view["prompt"], view["quote"]]
    if view["rule"]:
        words.append(say("asked_because", {"rule": str(view["rule"])}))
    return "\n".join(str(word) for word in words if word)


def _arguments(block: Form) -> str:
    args = block.crumb.args
    if not isinstance(args, dict):
        return ""
    lines = [
        f"{named(key)}: {one_line(masked(key, value))}" for key, value in args.items()
    ]
    return fence("\n".join(lines)) if lines else ""


def _fields(block: Form, view: Json) -> tuple[list[Json], Json]:
    name, kind = block.id, block.crumb.kind
    if kind == "approval":
        label = say("reason_label")
        return [_text_field(f"{name}_reason", label, f"/b/{name}/reason")], {
            "reason": ""
        }
    if kind == "outcome":
        label = say("result_label")
        return [_text_field(f"{name}_result", label, f"/b/{name}/result")], {
            "result": ""
        }
    fields: list[Json] = []
    held: Json = {}
    for at, field in enumerate(cast("list[Json]", view["fields"])):
        key = f"answer{at}"
        path = f"/b/{name}/{key}"
        label = visible(f"{field['label']} ({field['hint']})")
        if field["kind"] == "boolean":
            box: Json = {"id": f"{name}_{key}", "component": "CheckBox"}
            box.update(label=label, value={"path": path})
            fields.append(box)
            held[key] = field.get("value") is True
            continue
        variant = _FIELD_VARIANTS.get(str(field["kind"]), "shortText")
        fields.append({**_text_field(f"{name}_{key}", label, path), "variant": variant})
        given = field.get("value")
        held[key] = "" if given is None else sound(text_of(given))
    return fields, held


def _text_field(name: str, label: str, path: str) -> Json:
    field: Json = {"id": name, "component": "TextField", "label": label}
    field["value"] = {"path": path}
    return field


def _buttons(block: Form, view: Json, held: Json) -> tuple[Json, list[Json]]:
    """One button for each answer; its context names the checkpoint and the answer."""
    name = block.id
    bound: Json = {key: {"path": f"/b/{name}/{key}"} for key in held}
    match block.crumb.kind:
        case "approval":
            answers: list[tuple[str, Json]] = [
                ("approve", {"approved": True}),
                ("deny", {"approved": False, **bound}),
            ]
        case "outcome":
            happened: Json = {"happened": True, **bound}
            answers = [("happened", happened), ("run", {"run": True})]
            answers.append(("failed", {"failed": True}))
        case "halt":
            answers = [("raise", {"approved": True, **bound})]
            answers.append(("end", {"terminate": True}))
        case "input":
            keys = [str(f["key"]) for f in cast("list[Json]", view["fields"])]
            given: Json = {
                f"answer_{key}" if key else "answer": value
                for key, value in zip(keys, bound.values(), strict=True)
            }
            answers = [("send", given), ("decline", {"declined": True})]
    shown: Json = {"checkpoint": view["checkpoint"], "shown": view["shown"]}
    parts: list[Json] = []
    for key, answer in answers:
        event: Json = {"name": "answer", "context": {**shown, **answer}}
        button: Json = {"id": f"{name}_{key}", "component": "Button"}
        button.update(child=f"{name}_{key}_label", action={"event": event})
        label: Json = {"id": f"{name}_{key}_label", "component": "Text"}
        parts += [button, {**label, "text": say(f"button_{key}")}]
    row: Json = {"id": f"{name}_row", "component": "Row"}
    row["children"] = [p["id"] for p in parts if p["component"] == "Button"]
    return row, parts
