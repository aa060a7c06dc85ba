"""`Cassette`: a model with a recording of its own beside it."""

from __future__ import annotations

import copy
from pathlib import Path

from pydantic import JsonValue

from bread_nb.base.redact import Redactor
from bread_nb.providers.catalog import resolve
from bread_nb.providers.deck import Deck
from bread_nb.providers.model import ChatModel, Lookup, Model
from bread_nb.providers.modes import ModeName
from bread_nb.providers.taped import Taped

__all__ = ["Cassette"]


class Cassette(Taped):
    """A model whose calls are recorded in one file, and replayed from it.

    Every model has this without asking, in the cassettes of the working directory. This
    one says which file it is, and may say the mode.

    Args:
        model: A model, its name or its description.
        path: The file, for example `answers.cassette.jsonl`.
        mode: `live`, `record`, `replay` or `auto`; `BREAD_MODE` decides when None.

    Raises:
        BreadError: `INVALID_MODE`, or `RECORD_REFUSED` in CI.
    """

    def __init__(
        self,
        model: str | Model | ChatModel,
        path: str | Path,
        *,
        mode: ModeName | None = None,
    ) -> None:
        deck = Deck()
        if mode is not None:
            deck.choose(mode, said_by="Cassette(mode=)")
        settings: dict[str, JsonValue] = {}
        if isinstance(model, Model):
            settings = dict(model.settings)
        super().__init__(
            resolve(model),
            deck,
            path=Path(path),
            redactor=Redactor(),
            settings=settings,
        )

    def bound(self, lookup: Lookup) -> ChatModel:
        """The same with its model looked up, in the mode of the project."""
        bound = copy.copy(self)
        bound.inner = lookup.find(self.inner)
        bound.told = lookup.shared("deck", self.deck)
        if self.deck.chosen is None:
            bound.deck = bound.told
        bound._redactor = lookup.shared("redactor", self._redactor)
        bound.rates = lookup.shared("rates", self.rates)
        return bound

    def __repr__(self) -> str:
        return f"Cassette({self.name!r}, {str(self.path)!r})"
