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
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeAlias, cast

from bread_nb.base.redact import Redactor, environment_secrets
from bread_nb.base.retry import TRANSIENT, RetryPolicy, retrying_stream
from bread_nb.errors import (
    BreadError,
    CircuitOpenError,
    FallbackError,
    Halt,
    words_of,
)
from bread_nb.messages import Price
from bread_nb.providers.catalog import Named, resolve
from bread_nb.providers.circuit import Circuit, State, verdict_on
from bread_nb.providers.model import (
    ChatModel,
    Delta,
    Finish,
    Lookup,
    Model,
    ModelRequest,
    Restart,
    TextChunk,
    UsageReport,
    Wrapper,
)

__all__ = ["CircuitBreaker", "Fallback", "Retrying"]

Source: TypeAlias = str | Model | ChatModel
Decision: TypeAlias = Callable[[BreadError, int], bool | Awaitable[bool]]
Told: TypeAlias = Callable[[BreadError, str, str], object]

_LOG = logging.getLogger("bread_nb")
_WRONG = frozenset(
    {
        "CASSETTE_BROKEN",
        "CASSETTE_UNNAMED",
        "CASSETTE_UNWRITABLE",
        "CASSETTE_BROKEN",
        "INVALID_AGENT",
        "INVALID_INPUT",
        "INVALID_MODEL",
        "INVALID_SCHEMA",
        "INVALID_SETTING",
        "REPLAY_MISS",
        "REPLAY_MISS",
        "UNKNOWN_PROVIDER",
    }
)


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
            return _streamed(self.inner, request if number == 1 else numbered)

        return retrying_stream(attempt, self._again)

    def _again(self, error: BreadError, attempt: int) -> tuple[float, Delta] | None:
        tries = self.policy.attempts
        if attempt >= tries or _untouched(error) or not self.policy.covers(error):
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
            raise _refused(
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
                async for delta in _streamed(model, request):
                    words = type(delta) is TextChunk
                    yield delta if words else self._marked(delta, index)
                return
            except BreadError as error:
                if _untouched(error):
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
            _tell_fault(request, fault, "on_fallback")


class CircuitBreaker(Wrapper):
    """A model that is left alone for a while after it failed several times in a row.

    Then one call is let through as a trial: when it is answered all may call again,
    when it fails the wait begins anew. Breakers of one project that have the same key
    know of each other's failures.

    Args:
        model: A name, a description or any model.
        failures: Failures in a row after which it is left alone. A request that the
            service refuses as wrong is none.
        reset_after: Seconds until the trial.
        key: What it shares its state by; by default the model's name and address. A
            model object shares with nobody unless a key is given.
        on_change: Told of the key and of both states, `closed`, `open` or
            `half-open`. What it raises is a fault that ends nothing.

    Raises:
        BreadError: `INVALID_MODEL` for figures that make no sense.
    """

    def __init__(
        self,
        model: Source,
        *,
        failures: int = 5,
        reset_after: float = 60.0,
        key: str | None = None,
        on_change: Callable[[str, State, State], object] | None = None,
    ) -> None:
        if failures < 1 or not reset_after >= 0:
            raise _refused(
                f"CircuitBreaker(failures={failures}, reset_after={reset_after})",
                "failures is 1 or more, reset_after is seconds.",
                "CircuitBreaker(model, failures=5, reset_after=60)",
            )
        super().__init__(resolve(model))
        self.failures = failures
        self.reset_after = reset_after
        self.key = key or _place(self.inner)
        self._shared = key is not None or isinstance(self.inner, Named)
        self._on_change = on_change
        self._circuit = Circuit()

    @property
    def state(self) -> State:
        """Whether calls go through: `closed`, `open`, or `half-open` for a trial."""
        return self._circuit.state

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """What the model streams.

        Raises:
            CircuitOpenError: Without asking it, while it is left alone.
        """

        def change(state: State) -> None:
            nonlocal before
            before, was = state, before
            self._changed(was, state, request)

        circuit = self._circuit
        before: State = circuit.state
        left = circuit.seconds_left(self.reset_after)
        if left is not None:
            raise self._open(left)
        generation, healthy = circuit.enter(change), None
        delta: Delta | None = None
        try:
            async for delta in _streamed(self.inner, request):
                yield delta
            healthy = True
        except Halt:
            raise
        except BreadError as error:
            healthy = verdict_on(error)
            raise
        finally:
            if isinstance(delta, Finish):
                healthy = True
            before = circuit.state
            circuit.leave(generation, healthy, limit=self.failures, change=change)

    def bound(self, lookup: Lookup) -> ChatModel:
        """The same with its model looked up, sharing its state by its key."""
        circuit = lookup.shared(self.key, self._circuit) if self._shared else None
        bound = super().bound(lookup)
        if circuit is None or circuit is self._circuit:
            return bound
        if bound is self:
            bound = copy.copy(self)
        cast("CircuitBreaker", bound)._circuit = circuit
        return bound

    def _open(self, left: float) -> CircuitOpenError:
        why = f"it failed {self._circuit.failures} times in a row"
        when = (
            f"a call goes through in {left:.0f} s" if left else "a trial is under way"
        )
        return CircuitOpenError(
            f"{self.name} is left alone for now.",
            seconds=left,
            why=f"{why}; {when}.",
            do="wait, or put another model behind it: Fallback([...])",
            context={"key": self.key},
        )

    def _changed(self, was: State, state: State, request: ModelRequest) -> None:
        if self._on_change is None:
            return
        try:
            self._on_change(self.key, was, state)
        except Halt:
            raise
        except Exception as fault:  # noqa: BLE001
            _tell_fault(request, fault, "on_change")


async def _streamed(
    model: ChatModel, request: ModelRequest
) -> AsyncGenerator[Delta, None]:
    """What a model streams; whatever it raises is a `BreadError`."""
    model_id = model.name.partition(":")[2] or model.name
    stream: AsyncIterator[Delta] | None = None
    try:
        stream = model.stream(replace(request, model=model_id))
        async for delta in stream:
            yield delta
    except BreadError:
        raise
    except Exception as error:
        secrets = Redactor(environment_secrets())
        raise BreadError(
            f"{model.name} raised {type(error).__name__}.",
            why=secrets.text(words_of(error)),
            do="look at the code of this model",
        ) from error
    finally:
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()


def _untouched(error: BreadError) -> bool:
    """Whether asking again, or asking another model, is out of the question."""
    return isinstance(error, Halt) or error.acted or error.code in _WRONG


def _place(model: ChatModel) -> str:
    address = model.described.base_url if isinstance(model, Named) else None
    return f"{model.name} at {address}" if address else model.name


def _tell_fault(request: ModelRequest, error: Exception, source: str) -> None:
    if request.fault is not None:
        request.fault(error, source)
    else:
        _LOG.warning("%s failed: %s", source, type(error).__name__)


def _refused(what: str, why: str, do: str) -> BreadError:
    return BreadError(f"{what} is no model.", code="INVALID_MODEL", why=why, do=do)
