"""A model whose calls are recorded, or replayed in its place."""

from __future__ import annotations

import asyncio
import re
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Mapping,
)
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from pydantic import JsonValue

from bread_nb.base.redact import Redactor, environment_secrets
from bread_nb.errors import BreadError, CircuitOpenError, ProviderError, TimeoutError
from bread_nb.providers.asked import asked_of, key_of
from bread_nb.providers.deck import Deck
from bread_nb.providers.keys import secrets_of
from bread_nb.providers.masks import masked_deltas, masked_error
from bread_nb.providers.model import (
    CallStart,
    ChatModel,
    Delta,
    Finish,
    Model,
    ModelRequest,
    Wrapper,
    closing,
)
from bread_nb.providers.prices import stamped
from bread_nb.providers.rates import Rates
from bread_nb.providers.tape import Recording, read_deltas, written_deltas

__all__ = ["Taped", "is_script", "keys_within", "through"]

Stream: TypeAlias = AsyncIterator[Delta]

_OUR_ID = re.compile("call_[0-9a-f]{32}")


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
        rates: What the project pays for models; a recording keeps its price.
    """

    def __init__(
        self,
        inner: ChatModel,
        deck: Deck,
        *,
        path: Path | None = None,
        redactor: Redactor | None = None,
        settings: Mapping[str, JsonValue] | None = None,
        rates: Mapping[str, Rates] | None = None,
    ) -> None:
        super().__init__(inner)
        self.rates = rates
        self.deck = self.told = deck
        self.path = path
        self.settings = dict(settings or {})
        self._redactor = redactor

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """Play the recording of this request, or ask the model, as the mode says.

        Raises:
            BreadError: `REPLAY_MISS`, naming the nearest recording.
        """
        match self.deck.mode.name:
            case "live" | "record" as mode:
                self.told.answered(request.run_id, played=False)
                live = mode == "live"
                return self.inner.stream(request) if live else self._record(request)
            case mode:
                asked = self._asked(request)
                found = self.deck.find(key_of(asked), self.path)
                self.told.answered(request.run_id, played=found is not None)
                if found is not None:
                    return _play(found)
                if mode == "auto":
                    return self.inner.stream(request)
                return self._missing(request, asked)

    @property
    def _make(self) -> Callable[[], Awaitable[ChatModel]] | None:
        """How the model inside comes to be, where that is only known when asked."""
        return getattr(self.inner, "make", None)

    async def _missing(
        self, request: ModelRequest, asked: dict[str, JsonValue]
    ) -> AsyncIterator[Delta]:
        """What becomes of a request that has no recording.

        A factory may give a script, which needs none; it is asked only now.
        """
        make = self._make
        if make is None or not getattr(self.inner, "foreign", False):
            raise self.deck.miss(asked, self.path)
        made = await make()
        if not is_script(made) and not _unheard_of(made, self.deck):
            raise self.deck.miss(asked, self.path)
        async with closing(self.inner.stream(request)) as deltas:
            async for delta in deltas:
                yield delta

    def _asked(self, request: ModelRequest) -> dict[str, JsonValue]:
        return asked_of(request, self.name, self._masks(), self.settings)

    def _masks(self) -> Redactor:
        redactor = self._redactor or Redactor()
        redactor.learn(*environment_secrets(), *keys_within(self.inner))
        return redactor

    async def _record(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """Stream what the model says; it is written before its end is told.

        A stream that is given up in the middle leaves no recording.

        Raises:
            BreadError: `CASSETTE_UNNAMED`.
        """
        await self._check_name()
        said: list[Delta] = []
        ends: list[Delta] = []
        try:
            async with closing(self.inner.stream(request)) as deltas:
                async for delta in deltas:
                    said.append(delta)
                    if ends or isinstance(delta, Finish):
                        ends.append(delta)
                    else:
                        yield delta
        except (ProviderError, TimeoutError, CircuitOpenError) as error:
            self._keep(request, await stamped(self.inner, said, self.rates), error)
            raise
        self._keep(request, await stamped(self.inner, said, self.rates))
        for delta in ends:
            yield delta

    async def _check_name(self) -> None:
        """Refuse what would have no cassette, before anything is paid for."""
        make = self._make
        inner = self.inner if make is None else await make()
        if self.path is None and not is_script(inner):
            self.deck.target()

    def _keep(
        self, request: ModelRequest, said: list[Delta], error: BreadError | None = None
    ) -> None:
        if self.path is None and is_script(self.inner):
            return
        masks = self._masks()
        asked = asked_of(request, self.name, masks, self.settings)
        answer = written_deltas(masked_deltas(map(_numbered, said), masks))
        if error is not None:
            answer.append({"error": masked_error(error, masks)})
        recording = Recording(
            key=key_of(asked),
            model=self.name,
            asked=asked,
            answer=answer,
            decided=self.told.decided(request.run_id) if self.path is None else (),
        )
        self.deck.keep(recording, self.path)
        self.deck.recorded.add(request.run_id)


def through(
    model: ChatModel,
    deck: Deck,
    redactor: Redactor | None,
    rates: Mapping[str, Rates] | None = None,
) -> ChatModel:
    """A model as the mode has it called; live it is itself.

    A script is its own recording, and so is a model all of whose parts have a
    `Cassette` round them.
    """
    mode = deck.mode
    if mode.name == "live" or is_script(model) or _all_taped(model):
        return model
    if mode.name == "auto" and not deck.has_recordings():
        return model
    if mode.implied and _unheard_of(model, deck):
        return model
    settings = _settings(model)
    return Taped(model, deck, redactor=redactor, settings=settings, rates=rates)


def is_script(model: ChatModel) -> bool:
    """Whether nothing but scripts answers."""
    if getattr(model, "is_script", False):
        return True
    inside = _inside(model)
    return bool(inside) and all(map(is_script, inside))


def _all_taped(model: ChatModel) -> bool:
    inside = _inside(model)
    return isinstance(model, Taped) or (bool(inside) and all(map(_all_taped, inside)))


def _unheard_of(model: ChatModel, deck: Deck) -> bool:
    """A model made in code, in a place where nothing was ever recorded.

    It may be the double of a test. One with a name is a service; it is never called
    because a mode was only concluded.
    """
    return deck.mode.implied and not _names_service(model) and not deck.has_recordings()


def _names_service(model: ChatModel) -> bool:
    inside = _inside(model)
    return hasattr(model, "described") or any(map(_names_service, inside))


def _inside(model: ChatModel) -> tuple[ChatModel, ...]:
    several: tuple[ChatModel, ...] | None = getattr(model, "models", None)
    if isinstance(model, Wrapper):
        return several or (model.inner,)
    return ()


def keys_within(model: Model | ChatModel) -> list[str]:
    """The secrets that a model, and those inside of it, were described with."""
    if isinstance(model, Model):
        return secrets_of(model)
    described: object = getattr(model, "described", None)
    own = secrets_of(described) if isinstance(described, Model) else []
    return [*own, *(each for part in _inside(model) for each in keys_within(part))]


def _settings(model: ChatModel) -> dict[str, JsonValue]:
    """What a model was described with; of several, each by its name."""
    inside = _inside(model)
    if len(inside) > 1:
        found: dict[str, JsonValue] = {m.name: _settings(m) for m in inside}
        return {name: value for name, value in found.items() if value}
    if inside:
        return _settings(inside[0])
    described: object = getattr(model, "described", None)
    return dict(described.settings) if isinstance(described, Model) else {}


def _numbered(delta: Delta) -> Delta:
    """A call whose id we made gets one that is the same in every recording.

    Whoever reads the stream makes it unique in its conversation.
    """
    if isinstance(delta, CallStart) and _OUR_ID.fullmatch(delta.id):
        return replace(delta, id=f"call_{delta.index + 1}")
    return delta


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
