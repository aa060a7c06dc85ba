"""A model that is left alone for a while after it failed several times in a row."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Callable
from typing import cast

from bread_nb.errors import BreadError, CircuitOpenError, Halt
from bread_nb.providers.catalog import Named, resolve
from bread_nb.providers.circuit import Circuit, State, verdict_on
from bread_nb.providers.model import (
    ChatModel,
    Delta,
    Finish,
    Lookup,
    ModelRequest,
    Wrapper,
)
from bread_nb.providers.wrapping import Source, refused, streamed, tell_fault

__all__ = ["CircuitBreaker"]


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
        if type(failures) is not int or failures < 1 or not reset_after >= 0:
            raise refused(
                f"CircuitBreaker(failures={failures}, reset_after={reset_after})",
                "failures is a whole number from 1, reset_after is seconds.",
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
        failed: BreadError | None = None
        try:
            async for delta in streamed(self.inner, request):
                yield delta
            healthy = True
        except Halt:
            raise
        except BreadError as error:
            failed, healthy = error, verdict_on(error)
            raise
        finally:
            if isinstance(delta, Finish):
                healthy = True
            before = circuit.state
            limit = self.failures
            circuit.leave(
                generation, failed, healthy=healthy, limit=limit, change=change
            )

    def bound(self, lookup: Lookup) -> ChatModel:
        """The same with its model looked up, sharing its state by its key."""
        bound, circuit = super().bound(lookup), self._circuit
        if self._shared:
            circuit = lookup.shared(f"circuit {self.key}", circuit)
        if circuit is self._circuit:
            return bound
        if bound is self:
            bound = copy.copy(self)
        cast("CircuitBreaker", bound)._circuit = circuit
        return bound

    def _open(self, left: float) -> CircuitOpenError:
        times, last = self._circuit.failures, self._circuit.last
        why = f"it failed {times} times in a row, at last: {last}"
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
            tell_fault(request, fault, "on_change")


def _place(model: ChatModel) -> str:
    """A model's name and address, without the secrets that an address may hold."""
    address = model.described.base_url if isinstance(model, Named) else None
    if not address:
        return model.name
    before, _, rest = address.partition("?")[0].rpartition("@")
    scheme = f"{before.partition('://')[0]}://" if before else ""
    return f"{model.name} at {scheme}{rest}"
