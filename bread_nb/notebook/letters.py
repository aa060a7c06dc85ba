"""What a page may say to a card; whatever else comes is not heard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from bread_nb.base.wire import read_json
from bread_nb.errors import BreadError

__all__ = ["Action", "Bye", "Hello", "Letter", "Stay", "read_letter"]

_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Hello:
    """A view wants the whole card; `age` is how long its page has been there, in ms."""

    view: str
    age: float | None = None


@dataclass(frozen=True, slots=True)
class Bye:
    """A view is gone."""

    view: str


@dataclass(frozen=True, slots=True)
class Stay:
    """A person is at what would go soon, with pointer or focus, or has left it."""

    view: str
    here: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """A person did something: an A2UI client message, opened."""

    id: str
    name: str
    surface: str
    source: str
    context: Mapping[str, JsonValue]
    view: str | None = None

    def text(self, key: str) -> str:
        """A text in the context; empty when it is missing or something else."""
        value = self.context.get(key)
        return value if isinstance(value, str) else ""

    @property
    def exact(self) -> bool:
        """Whether the answer came as text, its numbers as the person left them."""
        return isinstance(self.context.get("exact"), str)

    def answer(self) -> JsonValue:
        """The answer; one with numbers that a page would change comes as text.

        Raises:
            BreadError: `INVALID_ANSWER` for a text that is no JSON.
        """
        exact = self.context.get("exact")
        if not isinstance(exact, str):
            return self.context.get("answer")
        try:
            return read_json(exact, unique=True)
        except ValueError as error:
            raise BreadError(
                "This answer cannot be read.", code="INVALID_ANSWER", why=f"{error}."
            ) from None


Letter = Hello | Bye | Stay | Action


def read_letter(content: JsonValue) -> Letter | None:
    """A custom message as what it means; None for one that means nothing here."""
    match content:
        case {"t": "hello", "view": str() as view} if _short(view):
            age = content.get("age")
            return Hello(view, age if isinstance(age, int | float) else None)
        case {"t": "bye", "view": str() as view}:
            return Bye(view)
        case {"t": "stay", "view": str() as view, "here": bool() as here}:
            return Stay(view, here) if _short(view) else None
        case {"t": "action", "id": str() as name, "message": dict() as message}:
            return _action(name, message, content) if _short(name) else None
        case _:
            return None


def _action(
    name: str, message: dict[str, JsonValue], content: dict[str, JsonValue]
) -> Action | None:
    match message.get("action"):
        case {
            "name": str() as deed,
            "surfaceId": str() as surface,
            "sourceComponentId": str() as source,
            "context": dict() as context,
        }:
            view = content.get("view")
            return Action(
                id=name,
                name=deed,
                surface=surface,
                source=source,
                context=context,
                view=view if isinstance(view, str) else None,
            )
        case _:
            return None


def _short(text: str) -> bool:
    return len(text) <= _LONGEST_NAME
