"""A surface of fixed components: what changed goes out, once, and the whole on request.

A run has a `Sheet`, which tells text as it grows. What has only figures and rows, such
as the inbox, says what it looks like now, and the board finds out what is new in that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from pydantic import JsonValue

from bread_nb.a2ui.card import CATALOG

__all__ = ["Board", "Json"]

Json = dict[str, JsonValue]


class Board(ABC):
    """A surface and what the page knows of it.

    `places` are there in the data model also when nothing is in them, `volatile` are
    the figures that change by themselves: alone they are no news.

    Args:
        surface: The surface's id.
    """

    places: ClassVar[tuple[str, ...]] = ()
    volatile: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, surface: str) -> None:
        self.surface = surface
        self.seq = 0
        self._components: dict[str, Json] = {}
        self._values: dict[str, JsonValue] = {}

    @abstractmethod
    def drawn(self) -> tuple[dict[str, Json], dict[str, JsonValue]]:
        """What it looks like now: components by id, and values by path."""

    def frame(self) -> Json | None:
        """What changed since the last frame, or None."""
        components, values = self.drawn()
        changed = [c for k, c in components.items() if self._components.get(k) != c]
        sets = [
            (path, value) for path, value in values.items() if self._new(path, value)
        ]
        self._components, self._values = components, values
        if not changed and not sets:
            return None
        self.seq += 1
        messages = [self._updated(path, value) for path, value in sets]
        if changed:
            messages.insert(0, self._shaped(changed))
        return {"t": "frame", "seq": self.seq, "messages": [*messages], "append": []}

    def snapshot(self) -> Json:
        """The whole of it; the next frame counts from here."""
        self.frame()
        start: Json = {"surfaceId": self.surface, "catalogId": CATALOG}
        data: Json = {"surfaceId": self.surface, "value": self._nested()}
        messages: list[JsonValue] = [
            {"version": "v0.9", "createSurface": start},
            self._shaped([*self._components.values()]),
            {"version": "v0.9", "updateDataModel": data},
        ]
        return {"t": "snapshot", "seq": self.seq, "messages": messages}

    def _nested(self) -> Json:
        """The values by path, `/head` or `/rows/a`, as one data model."""
        held: dict[str, Json] = {place: {} for place in self.places}
        top: Json = {}
        for path, value in self._values.items():
            _, place, *rest = path.split("/")
            if rest:
                held.setdefault(place, {})[rest[0]] = value
            else:
                top[place] = value
        return {**top, **held}

    def _new(self, path: str, value: JsonValue) -> bool:
        if path not in self._values:
            return True
        return self._steady(self._values[path]) != self._steady(value)

    def _steady(self, value: JsonValue) -> JsonValue:
        """A value without the figures that change by themselves."""
        if not isinstance(value, dict) or not self.volatile:
            return value
        return {k: v for k, v in value.items() if k not in self.volatile}

    def _shaped(self, components: list[Json]) -> Json:
        update: Json = {"surfaceId": self.surface, "components": [*components]}
        return {"version": "v0.9", "updateComponents": update}

    def _updated(self, path: str, value: JsonValue) -> Json:
        update: Json = {"surfaceId": self.surface, "path": path, "value": value}
        return {"version": "v0.9", "updateDataModel": update}
