"""From a model's name to the model.

A name is looked up among the agent's providers, then the project's, then those
built in. Nothing is looked up, and no key or extra is asked for, before the model is
called.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TypeAlias, TypeVar, cast
from weakref import ref

from pydantic import JsonValue

from bread_nb.base.redact import Redactor
from bread_nb.base.wire import canonical
from bread_nb.errors import BreadError, closest
from bread_nb.providers.deck import Deck
from bread_nb.providers.model import (
    ChatModel,
    Delta,
    Model,
    ModelRequest,
    Wrapper,
    closing,
    split_name,
)
from bread_nb.providers.pace import merged
from bread_nb.providers.rates import Rates
from bread_nb.providers.taped import is_script, keys_within, through

__all__ = ["Catalog", "Factory", "Named", "known_providers", "resolve"]

T = TypeVar("T")
Factory: TypeAlias = Callable[[str], ChatModel | Awaitable[ChatModel]]
Factories: TypeAlias = Mapping[str, Factory]

_BUILT_IN = {
    "anthropic": ("bread_nb.providers.anthropic", "Anthropic"),
    "clipipe": ("bread_nb.providers.clipipe", "from_description"),
    "gemini": ("bread_nb.providers.gemini", "Gemini"),
    "local": ("bread_nb.providers.local", "Local"),
    "ollama": ("bread_nb.providers.ollama", "Ollama"),
    "openai": ("bread_nb.providers.openai", "OpenAI"),
    "responses": ("bread_nb.providers.responses", "Responses"),
    "scripted": ("bread_nb.providers.scripted", "from_description"),
}
_FREE = frozenset({"local", "scripted", "ollama"})


def resolve(model: str | Model | ChatModel, *providers: Factories) -> ChatModel:
    """The model that `model` names, or itself when it is one.

    Args:
        model: `provider:model`, a description, or any model object.
        *providers: Factories by provider name, the first mapping asked first.

    Raises:
        BreadError: `INVALID_MODEL` when it is neither.
    """
    if isinstance(model, str):
        model = Model(model)
    if isinstance(model, Model):
        return Named(model, *providers)
    given = cast("object", model)
    if isinstance(given, ChatModel):
        return given
    raise BreadError(
        f"{given!r} is no model.",
        code="INVALID_MODEL",
        why="a model has name, free, stream and aclose.",
        do='for example "anthropic:claude-opus-4-8" or Scripted(["Hello"])',
    )


def known_providers(*providers: Factories) -> list[str]:
    """The names of all providers there are, sorted."""
    return sorted({*_BUILT_IN, *(name for each in providers for name in each)})


class Named:
    """A model by its description, made when it is first called.

    Args:
        described: What was asked for.
        *providers: Factories by provider name, the first mapping asked first.
        shared: What wrappers share by a key.
    """

    def __init__(
        self,
        described: Model,
        *providers: Factories,
        shared: dict[str, object] | None = None,
    ) -> None:
        self.name = described.name
        self.described = described
        self._providers = providers
        self._shared = shared
        self._provider, self._model_id = split_name(described.name)
        self._made: ChatModel | None = None

    @property
    def made(self) -> ChatModel | None:
        """The model itself, once it was called."""
        return self._made

    @property
    def is_script(self) -> bool:
        """Whether it plays a script; what a factory makes is known once it is made."""
        if self._made is not None:
            return is_script(self._made)
        return self._provider == "scripted" and self._factory() is None

    @property
    def foreign(self) -> bool:
        """Whether a factory of the project or the agent makes it."""
        return self._factory() is not None

    @property
    def free(self) -> bool:
        """Whether calls cost nothing; what a factory makes may be free as well."""
        if self._made is not None:
            return self._made.free
        return self._provider in _FREE and self._factory() is None

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """Ask the model, made now if it was not made before.

        Raises:
            BreadError: `UNKNOWN_PROVIDER`, `NOT_AVAILABLE` or `INVALID_MODEL`.
        """
        if self._made is not None:
            return self._made.stream(self._filled(request))
        return self._first(request)

    async def aclose(self) -> None:
        """Close the model, if it was made."""
        made, self._made = self._made, None
        if made is not None:
            await made.aclose()

    async def make(self) -> ChatModel:
        """The model itself, made now if it was not made before; it is not called.

        Raises:
            BreadError: As for `stream`.
        """
        factory = self._factory()
        if factory is None:
            made = self._built_in()
        else:
            made = factory(self._model_id)
            if inspect.isawaitable(made):
                made = await made
        if self._made is None:
            found = self._looked_up(_checked(made, self.name))
            self._made = _with_tools(found) if _in_json(self.described) else found
        return self._made

    async def _first(self, request: ModelRequest) -> AsyncIterator[Delta]:
        made = await self.make()
        stream = made.stream(self._filled(request))
        async with closing(stream) as deltas:
            async for delta in deltas:
                yield delta

    def _looked_up(self, made: ChatModel) -> ChatModel:
        """A wrapper that a factory made, its names looked up where this one was."""
        if not isinstance(made, Wrapper):
            return made

        def resolved(described: Model) -> ChatModel:
            return Named(described, *self._providers, shared=self._shared)

        return made.bound(_Lookup(resolved, self._shared))

    def _filled(self, request: ModelRequest) -> ModelRequest:
        """The request with the settings a factory was not told of."""
        if not self.described.settings or self._factory() is None:
            return request
        return replace(
            request, settings=merged(self.described.settings, request.settings)
        )

    def _factory(self) -> Factory | None:
        for each in self._providers:
            if self._provider in each:
                described = self.described
                if described.base_url or described.api_key or described.client:
                    raise _only_a_name(self._provider)
                return each[self._provider]
        return None

    def _built_in(self) -> ChatModel:
        place = _BUILT_IN.get(self._provider)
        if place is None:
            raise _unknown(self._provider, known_providers(*self._providers))
        module, name = place
        make = cast("Callable[..., ChatModel]", getattr(import_module(module), name))
        described = self.described
        if self._provider == "scripted":
            return make(described, (self._shared or {}).get("root"))
        if _in_json(described):
            rest = {k: v for k, v in described.settings.items() if k != "tools"}
            described = replace(described, settings=rest)
        return make(described)


def _in_json(described: Model) -> bool:
    """Whether the model has no tools of its own and calls them in JSON."""
    return described.settings.get("tools") == "json"


def _with_tools(model: ChatModel) -> ChatModel:
    module = import_module("bread_nb.providers.json_tools")
    return cast("Callable[[ChatModel], ChatModel]", module.JsonTools)(model)


class _Lookup:
    """The names and the shared things of one project, for wrappers."""

    def __init__(
        self,
        resolved: Callable[[Model], ChatModel],
        shared: dict[str, object] | None,
    ) -> None:
        self._resolved = resolved
        self._shared = {} if shared is None else shared

    def find(self, model: ChatModel) -> ChatModel:
        """The model that a name stands for here; others as they are."""
        if isinstance(model, Named):
            return self._resolved(model.described)
        return model.bound(self) if isinstance(model, Wrapper) else model

    def shared(self, key: str, made: T) -> T:
        """What was shared under `key` first."""
        return cast("T", self._shared.setdefault(key, made))


@dataclass(frozen=True, slots=True)
class _Bound:
    """A wrapper with its names looked up, until the wrapper itself is gone."""

    of: ref[Wrapper]
    providers: Factories | None
    model: ChatModel


class Catalog:
    """The models of one project: each is made once, and all are closed together.

    Args:
        providers: The project's factories by provider name.
        rates: What the project pays for models, by `provider:model`.
        deck: The recordings of this process, and the mode.
        redactor: Masks the secrets in what is recorded.
        root: The project's folder, where scripts are looked for as well.
    """

    def __init__(
        self,
        providers: Factories | None = None,
        *,
        rates: Mapping[str, Rates] | None = None,
        deck: Deck | None = None,
        redactor: Redactor | None = None,
        root: Path | None = None,
    ) -> None:
        self._providers = dict(providers or {})
        self.rates = dict(rates or {})
        self.deck = deck or Deck()
        self._redactor = redactor or Redactor()
        self._models: dict[tuple[str | int | None, ...], Named] = {}
        self._shared: dict[str, object] = {
            "deck": self.deck,
            "redactor": self._redactor,
            "rates": self.rates,
            "root": root,
        }
        self._bound: dict[int, _Bound] = {}

    def resolve(
        self, model: str | Model | ChatModel, providers: Factories | None = None
    ) -> ChatModel:
        """The model that `model` names; `providers` are the agent's, asked first.

        Raises:
            BreadError: `INVALID_MODEL` when it names none; `INVALID_MODE` or
                `RECORD_REFUSED`.
        """
        found = self._find(model, providers)
        return through(found, self.deck, self._redactor, self.rates)

    def heed(self, model: str | Model | ChatModel) -> None:
        """Mask the secrets that a model was described with from now on."""
        if not isinstance(model, str):
            self._redactor.learn(*keys_within(model))

    def _find(
        self, model: str | Model | ChatModel, providers: Factories | None
    ) -> ChatModel:
        if isinstance(model, Wrapper):
            return self._of_wrapper(model, providers)
        if not isinstance(model, str | Model):
            return resolve(model)
        described = Model(model) if isinstance(model, str) else model
        own = providers or {}
        provider = split_name(described.name)[0]
        key = (
            described.name,
            described.base_url,
            described.api_key,
            id(described.client) if described.client is not None else None,
            canonical(dict(described.settings)),
            str(described.rates),
            id(own.get(provider) or self._providers.get(provider)),
        )
        if key not in self._models:
            providers_here = (own, self._providers)
            self.heed(described)
            self._models[key] = Named(described, *providers_here, shared=self._shared)
        return self._models[key]

    def _of_wrapper(self, model: Wrapper, providers: Factories | None) -> ChatModel:
        """A wrapper with its names looked up; what it knows is kept between calls."""
        key = id(model)
        known = self._bound.get(key)
        if known is None or known.providers is not providers:

            def resolved(described: Model) -> ChatModel:
                return self._find(described, providers)

            forget = ref(model, lambda _: self._bound.pop(key, None))
            found = model.bound(_Lookup(resolved, self._shared))
            known = self._bound[key] = _Bound(forget, providers, found)
        return known.model

    async def aclose(self) -> None:
        """Close every model that was made; it may be called twice."""
        models, self._models = self._models, {}
        self._bound.clear()
        for model in models.values():
            await model.aclose()


def _checked(made: object, name: str) -> ChatModel:
    if isinstance(made, ChatModel):
        return made
    raise BreadError(
        f"The factory for {name} gave no model.",
        code="INVALID_MODEL",
        why=f"it gave {made!r}; a model has name, free, stream and aclose.",
        do="return a model from it, for example Scripted([...])",
    )


def _only_a_name(provider: str) -> BreadError:
    return BreadError(
        f"base_url, api_key and client mean nothing to the provider {provider}.",
        code="INVALID_MODEL",
        why="it comes from providers=, and its factory is given the model id alone.",
        do="leave them out, or give them to the model inside the factory",
    )


def _unknown(provider: str, known: list[str]) -> BreadError:
    near, names = closest(provider, known), ", ".join(known)
    do = (
        f"did you mean {near}:…?" if near else f"name one of {names}, or add providers="
    )
    return BreadError(
        f"There is no provider {provider!r}.",
        code="UNKNOWN_PROVIDER",
        why=f"the providers are {names}.",
        do=f"did you mean {near}:…?" if near else do,
        context={"provider": provider, "known": cast("JsonValue", known)},
    )
