"""A model whose calls are recorded, or replayed in its place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from bread_nb.base.redact import Redactor, environment_secrets
from bread_nb.errors import BreadError, ProviderError, TimeoutError
from bread_nb.providers.asked import asked_of, key_of
from bread_nb.providers.deck import Deck
from bread_nb.providers.masks import masked_deltas, masked_error
from bread_nb.providers.model import ChatModel, Delta, Finish, ModelRequest, Wrapper
from bread_nb.providers.tape import Recording, read_deltas, written_deltas

__all__ = ["Taped"]


class Taped(Wrapper):
    """A model round a model: what it says is recorded, or comes from a recording.

    In mode live it is not there at all. The model inside is only called when the mode
    asks for it, so that a replay needs neither its key nor its package.

    Args:
        inner: The model.
        deck: Where recordings are looked for and kept.
        path: The cassette; None leaves it to the deck.
        redactor: Masks the secrets in what is recorded.
        settings: Those that the model was described with.
    """

    def __init__(
        self,
        inner: ChatModel,
        deck: Deck,
        *,
        path: Path | None = None,
        redactor: Redactor | None = None,
        settings: Mapping[str, JsonValue] | None = None,
    ) -> None:
        super().__init__(inner)
        self.deck = deck
        self.path = path
        self.settings = dict(settings or {})
        self._redactor = redactor

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """Play the recording of this request, or ask the model, as the mode says.

        Raises:
            BreadError: `REPLAY_MISS`, naming the nearest recording.
        """
        match self.deck.mode.name:
            case "live":
                return self.inner.stream(request)
            case "record":
                return self._record(request)
            case mode:
                asked = self._asked(request)
                found = self.deck.find(key_of(asked), self.path)
                if found is not None:
                    return _play(found)
                if mode == "auto":
                    return self.inner.stream(request)
                return self._missing(request, asked)

    async def _missing(
        self, request: ModelRequest, asked: dict[str, JsonValue]
    ) -> AsyncIterator[Delta]:
        """What becomes of a request that has no recording."""
        raise self.deck.miss(asked, self.path)
        yield Finish(None)

    def _asked(self, request: ModelRequest) -> dict[str, JsonValue]:
        return asked_of(request, self.name, self._masks(), self.settings)

    def _masks(self) -> Redactor:
        redactor = self._redactor or Redactor()
        redactor.learn(*environment_secrets())
        return redactor

    async def _record(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """Stream what the model says; it is written before its end is told.

        A stream that is given up in the middle leaves no recording.
        """
        said: list[Delta] = []
        ends: list[Delta] = []
        stream = cast("AsyncGenerator[Delta]", self.inner.stream(request))
        try:
            async with aclosing(stream) as deltas:
                async for delta in deltas:
                    said.append(delta)
                    if ends or isinstance(delta, Finish):
                        ends.append(delta)
                    else:
                        yield delta
        except (ProviderError, TimeoutError) as error:
            self._keep(request, said, error)
            raise
        self._keep(request, said)
        for delta in ends:
            yield delta

    def _keep(
        self, request: ModelRequest, said: list[Delta], error: BreadError | None = None
    ) -> None:
        masks = self._masks()
        asked = asked_of(request, self.name, masks, self.settings)
        answer = written_deltas(masked_deltas(said, masks))
        if error is not None:
            answer.append({"error": masked_error(error, masks)})
        recording = Recording(
            key=key_of(asked), model=self.name, asked=asked, answer=answer
        )
        self.deck.keep(recording, self.path)


async def _play(recording: Recording) -> AsyncIterator[Delta]:
    """Stream a recording piece by piece, without its pauses."""
    try:
        for delta in read_deltas(recording.answer):
            yield delta
            # Others get their turn, as they do while a model thinks.
            await asyncio.sleep(0)
    except (KeyError, TypeError, ValueError) as error:
        raise BreadError(
            f"{recording.place} cannot be played.",
            code="CASSETTE_BROKEN",
            why=f"{error}.",
            do="record it again",
        ) from None
