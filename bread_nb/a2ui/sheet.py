"""Keeps an A2UI surface in step with a story: what changed goes out, once.

A `Pen` says how things are drawn; the sheet remembers what was sent and makes protocol
messages of the difference. Text that grows is told as what was added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from pydantic import JsonValue

from bread_nb.a2ui.blocks import Block, Prose, Turn
from bread_nb.a2ui.checks import reachable
from bread_nb.a2ui.telling import Changes, Telling
from bread_nb.a2ui.values import sound

__all__ = ["Delta", "Drawn", "Pen", "Sheet", "Version"]

Json = dict[str, JsonValue]
Version = Literal["v0.9", "v1.0"]

MOST_COMPONENTS = 1000
_VOLATILE = ("elapsed_ms", "since_ms")


@dataclass(frozen=True, slots=True)
class Drawn:
    """A block drawn: its components, the first its own, and their data."""

    components: list[Json]
    value: Json


class Pen(Protocol):
    """How a story looks in the components of one catalogue."""

    catalog: str
    trail: bool
    grows: bool

    def written(self, text: str) -> str:
        """The text of prose as the other side gets it, where it cannot grow."""
        ...

    def root(self, children: list[JsonValue]) -> list[Json]:
        """The component `root` and whatever stands beside its turns."""
        ...

    def turn(self, turn: Turn, children: list[JsonValue]) -> Drawn:
        """A turn that holds its blocks."""
        ...

    def block(self, story: Telling, block: Block) -> Drawn:
        """A block; the text of prose is added by the sheet, as `text`."""
        ...

    def aged(self, block: Block, value: Json) -> Json:
        """A value as it is now, for somebody who sees it for the first time."""
        ...

    def top(self, story: Telling) -> Json:
        """The values at the top of the data model."""
        ...


@dataclass(slots=True)
class Delta:
    """What goes out: protocol messages, then text to put at the end of strings."""

    messages: list[Json]
    append: list[tuple[str, str]]


@dataclass(slots=True)
class _Text:
    pieces: int = 0
    held: str = ""


class Sheet:
    """One surface and what the other side knows of it.

    Args:
        story: The run that is drawn.
        surface: The surface's id.
        pen: How it is drawn.
        version: The protocol's version.
    """

    def __init__(
        self, story: Telling, surface: str, pen: Pen, *, version: Version = "v0.9"
    ) -> None:
        self.story = story
        self.surface = surface
        self.pen = pen
        self.version = version
        self._components: dict[str, Json] = {}
        self._values: dict[str, Json] = {}
        self._top: Json = {}
        self._texts: dict[str, _Text] = {}
        self._turns = -1
        self._fresh: dict[str, Json] = {}
        self._sets: list[tuple[str, JsonValue]] = []
        self._drops: list[str] = []
        self._append: list[tuple[str, str]] = []

    # -- what goes out ---------------------------------------------------------

    def drain(self) -> Delta:
        """The difference to what went out before."""
        changes = self.story.take_changes()
        self._gather(changes)
        self._draw_turns(changes)
        if self.pen.trail:
            for place, mark in changes.marks.items():
                shown: Json = {"k": mark.kind, "n": mark.n, "words": mark.words}
                self._sets.append((f"/trail/{place}", shown))
        if changes.head or not self._top:
            self._draw_top()
        messages = self._components_messages(list(self._fresh.values()))
        messages += [self._data(path) for path in self._drops]
        messages += [self._data(path, value) for path, value in self._sets]
        delta = Delta(messages, self._append)
        self._fresh, self._sets, self._drops, self._append = {}, [], [], []
        return delta

    def whole(self) -> list[Json]:
        """Everything from the start; from now on differences count from here."""
        self.drain()
        blocks: Json = {}
        for turn in self.story.turns:
            for block in turn.blocks:
                value = self.pen.aged(block, self._values[block.id])
                if isinstance(block, Prose):
                    value = {**value, "text": self._text(block)}
                blocks[block.id] = value
        values: Json = {**self.pen.top(self.story), "b": blocks}
        values["turns"] = {t.id: self._values[t.id] for t in self.story.turns}
        if self.pen.trail:
            marks = self.story.trail
            values["trail"] = [{"k": m.kind, "n": m.n, "words": m.words} for m in marks]
        start: Json = {"surfaceId": self.surface, "catalogId": self.pen.catalog}
        message: Json = {"version": self.version, "createSurface": start}
        data: Json = {"surfaceId": self.surface, "value": values}
        return [
            message,
            *self._components_messages(reachable(self._components)),
            {"version": self.version, "updateDataModel": data},
        ]

    # -- drawing ---------------------------------------------------------------

    def _gather(self, changes: Changes) -> None:
        blocks = dict(changes.blocks)
        if self.story.tail is not None:
            blocks[self.story.tail.id] = self.story.tail
        if changes.forms:
            for form in self.story.open_forms.values():
                blocks[form.id] = form
        for block_id in changes.gone:
            blocks.pop(block_id, None)
            self._texts.pop(block_id, None)
            if self._values.pop(block_id, None) is not None:
                self._drops.append(f"/b/{block_id}")
        for block in blocks.values():
            self._draw_block(block)

    def _draw_block(self, block: Block) -> None:
        drawn = self.pen.block(self.story, block)
        self._draw(drawn.components)
        known = self._values.get(block.id)
        self._values[block.id] = drawn.value
        path = f"/b/{block.id}"
        if known is None:
            value = drawn.value
            if isinstance(block, Prose):
                self._added(block)
                value = {**value, "text": self._text(block)}
            self._sets.append((path, value))
            return
        for key, value in drawn.value.items():
            if key not in known or known[key] != value:
                self._sets.append((f"{path}/{key}", value))
        if isinstance(block, Prose) and (added := self._added(block)):
            if self.pen.grows:
                self._append.append((f"{path}/text", added))
            else:
                self._sets.append((f"{path}/text", self._text(block)))

    def _added(self, block: Prose) -> str:
        """What came since the last time; half a character waits for its other half."""
        text = self._texts.setdefault(block.id, _Text())
        added = text.held + "".join(block.pieces[text.pieces :])
        text.pieces, text.held = len(block.pieces), ""
        if added and "\ud800" <= added[-1] <= "\udbff" and not block.done:
            text.held, added = added[-1], added[:-1]
        return sound(added)

    def _text(self, block: Prose) -> str:
        held = self._texts[block.id].held
        whole = block.text
        text = sound(whole[: len(whole) - len(held)] if held else whole)
        return text if self.pen.grows else self.pen.written(text)

    def _draw_turns(self, changes: Changes) -> None:
        for turn in changes.turns.values():
            children: list[JsonValue] = [block.id for block in turn.blocks]
            drawn = self.pen.turn(turn, children)
            self._draw(drawn.components)
            if self._values.get(turn.id) != drawn.value:
                self._values[turn.id] = drawn.value
                self._sets.append((f"/turns/{turn.id}", drawn.value))
        if len(self.story.turns) != self._turns:
            self._turns = len(self.story.turns)
            self._draw(self.pen.root([turn.id for turn in self.story.turns]))

    def _draw_top(self) -> None:
        for key, value in self.pen.top(self.story).items():
            if key not in self._top or _steady(self._top[key]) != _steady(value):
                self._sets.append((f"/{key}", value))
                self._top[key] = value

    def _draw(self, components: list[Json]) -> None:
        for component in components:
            name = str(component["id"])
            if self._components.get(name) != component:
                self._components[name] = self._fresh[name] = component

    # -- messages --------------------------------------------------------------

    def _components_messages(self, components: list[Json]) -> list[Json]:
        messages: list[Json] = []
        for start in range(0, len(components), MOST_COMPONENTS):
            some: list[JsonValue] = [*components[start : start + MOST_COMPONENTS]]
            update: Json = {"surfaceId": self.surface, "components": some}
            messages.append({"version": self.version, "updateComponents": update})
        return messages

    def _data(self, path: str, *value: JsonValue) -> Json:
        update: Json = {"surfaceId": self.surface, "path": path}
        if value:
            update["value"] = value[0]
        elif self.version == "v1.0":
            update["value"] = None
        return {"version": self.version, "updateDataModel": update}


def _steady(value: JsonValue) -> JsonValue:
    """A value without the figures that change by themselves."""
    if not isinstance(value, dict):
        return value
    return {k: v for k, v in value.items() if k not in _VOLATILE}
