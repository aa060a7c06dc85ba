"""Wrappers round a model for when it fails: `Retrying`, `Fallback`, `CircuitBreaker`.

They read in the order in which it happens, from the outside in:

    Fallback([CircuitBreaker(Retrying("anthropic:…")), "ollama:qwen3"])

asks the first model again as its policy says, counts what is left of that against the
breaker, and goes to the second when the first is out or its breaker is open. One rule
holds for all: a `Halt`, a cancellation, a request that is wrong in itself, and a turn
whose calls have already run pass through untouched. What was streamed before a try
failed is dropped by a `Restart`.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from bread_nb.base.retry import TRANSIENT, RetryPolicy, retrying_stream
from bread_nb.errors import BreadError, FallbackError, Halt
from bread_nb.messages import Price
from bread_nb.providers.breaker import CircuitBreaker
from bread_nb.providers.catalog import resolve
from bread_nb.providers.model import (
    ChatModel,
    Delta,
    Finish,
    Lookup,
    ModelRequest,
    Restart,
    TextChunk,
    UsageReport,
    Wrapper,
)
from bread_nb.providers.wrapping import (
    Source,
    refused,
    streamed,
    tell_fault,
    untouched,
)

__all__ = ["CircuitBreaker", "Fallback", "Retrying"]

Decision: TypeAlias = Callable[[BreadError, int], bool | Awaitable[bool]]
Told: TypeAlias = Callable[[BreadError, str, str], object]


class Retrying(Wrapper):
    """A model that is asked again when it fails.

    The engine's own retry of passing faults does not come on top of it.

    Args:
        model: A name, a description or any model.
        policy: How often and how long; by default passing faults are tried twice more.
    """

    def __init__(self, model: Source, policy: RetryPolicy | None = None) -> None:
        super().__init__(resolve(model))
        self.policy = policy or TRANSIENT

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """What the model streams, with a `Restart` before each further try.

        Raises:
            BreadError: The last failure.
        """

        def attempt(number: int) -> AsyncGenerator[Delta, None]:
            numbered = replace(request, attempt=request.attempt + number - 1)
            return streamed(self.inner, request if number == 1 else numbered)

        return retrying_stream(attempt, self._again)

    def _again(self, error: BreadError, attempt: int) -> tuple[float, Delta] | None:
        tries = self.policy.attempts
        if attempt >= tries or untouched(error) or not self.policy.covers(error):
            error.exhausted = True
            return None
        wait = self.policy.delay(attempt, error)
        return wait, Restart(error, attempt, tries, wait)


class Fallback(Wrapper):
    """Several models, asked in turn until one answers.

    It has the name of the first one. What another one answers carries its own name.

    Args:
        models: Names, descriptions or models, the first one asked first.
        should_fallback: Asked with the error and the index of the model that failed
            whether the next one is asked; not asked about the last one. By default
            each failure leads to the next model.
        on_fallback: Told of the error and of the names of both models. What it
            raises is a fault that ends nothing, except for a `Halt`.

    Raises:
        BreadError: `INVALID_MODEL` when there is none, or something that is no model.
    """

    def __init__(
        self,
        models: Sequence[Source],
        *,
        should_fallback: Decision | None = None,
        on_fallback: Told | None = None,
    ) -> None:
        if isinstance(models, str) or not models:
            raise refused(
                f"Fallback({models!r})",
                "it asks the models of a list in turn, and needs one at least.",
                'Fallback(["anthropic:claude-opus-4-8", "ollama:qwen3"])',
            )
        self.models = tuple(map(resolve, models))
        super().__init__(self.models[0])
        self._should = should_fallback
        self._told = on_fallback

    @property
    def free(self) -> bool:
        """Whether none of the models costs anything."""
        return all(model.free for model in self.models)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """What the first model streams that does not fail.

        Raises:
            FallbackError: When all failed.
            BreadError: The failure that `should_fallback` lets out.
        """
        failures: list[tuple[str, BreadError]] = []
        for index, model in enumerate(self.models):
            try:
                async for delta in streamed(model, request):
                    words = type(delta) is TextChunk
                    yield delta if words else self._marked(delta, index)
                return
            except BreadError as error:
                if untouched(error):
                    raise
                failures.append((model.name, error))
                if not await self._goes_on(error, index):
                    raise
            if index + 1 < len(self.models):
                following = self.models[index + 1].name
                await self._tell(failures[-1], following, request)
                restart = Restart(failures[-1][1], index + 1, len(self.models))
                yield replace(restart, model=following)
        raise FallbackError(failures)

    async def aclose(self) -> None:
        """Close all the models."""
        for model in self.models:
            await model.aclose()

    def bound(self, lookup: Lookup) -> ChatModel:
        """The same with all its models looked up."""
        found = tuple(map(lookup.find, self.models))
        if all(new is old for new, old in zip(found, self.models, strict=True)):
            return self
        bound = copy.copy(self)
        bound.models, bound.inner = found, found[0]
        return bound

    def _marked(self, delta: Delta, index: int) -> Delta:
        """A delta that says who answered, and that it cost nothing if so."""
        model = self.models[index]
        match delta:
            case Finish(name=None) if index:
                return replace(delta, name=model.name)
            case UsageReport(price=None) if model.free and not self.free:
                return replace(delta, price=Price(0.0, "free"))
            case _:
                return delta

    async def _goes_on(self, error: BreadError, index: int) -> bool:
        if self._should is None or index + 1 == len(self.models):
            return True
        answer = self._should(error, index)
        return bool(await answer if inspect.isawaitable(answer) else answer)

    async def _tell(
        self, failure: tuple[str, BreadError], following: str, request: ModelRequest
    ) -> None:
        if self._told is None:
            return
        name, error = failure
        try:
            answer = self._told(error, name, following)
            if inspect.isawaitable(answer):
                await answer
        except Halt:
            raise
        except Exception as fault:  # noqa: BLE001
            tell_fault(request, fault, "on_fallback")
