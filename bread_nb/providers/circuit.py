"""Whether a service is worth asking: closed, open, or half open for one trial.

Only a fault of the service counts against it. One that refuses a request has answered,
and whoever leaves early, is halted or has no key has learned nothing about it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from bread_nb.base.ids import monotonic
from bread_nb.errors import BreadError, ProviderError, TimeoutError

__all__ = ["Circuit", "State", "verdict_on"]

State = Literal["closed", "open", "half-open"]


@dataclass(slots=True)
class Circuit:
    """What is known of one service.

    Each change of state begins a new generation; what a call of an older one learned
    comes too late to count.
    """

    state: State = "closed"
    failures: int = 0
    last: str = ""
    opened: float = 0.0
    trying: bool = False
    generation: int = 0

    def seconds_left(self, reset_after: float) -> float | None:
        """Seconds until a call may go through; None when one may now."""
        if self.state == "closed":
            return None
        left = max(0.0, self.opened + reset_after - monotonic())
        return left if left or self.trying else None

    def enter(self, change: Callable[[State], None]) -> int:
        """Let a call through that `seconds_left` allows; the generation it is of."""
        if self.state != "closed":
            self.trying = True
            if self.state == "open":
                self._turn("half-open", change)
        return self.generation

    def leave(
        self,
        generation: int,
        error: BreadError | None,
        *,
        healthy: bool | None,
        limit: int,
        change: Callable[[State], None],
    ) -> None:
        """Take in what a call learned.

        Args:
            generation: What `enter` gave.
            error: What it ended with, if with any.
            healthy: Whether the service answered; None when that is not known.
            limit: Failures in a row that open the circuit.
            change: Told of the state that begins.
        """
        if generation != self.generation:
            return
        self.trying = False
        if healthy is True:
            self.failures = 0
            if self.state != "closed":
                self._turn("closed", change)
        elif healthy is False:
            self.failures += 1
            self.last = f"{error.what} [{error.code}]" if error else ""
            if self.state != "closed" or self.failures >= limit:
                self.opened = monotonic()
                self._turn("open", change)

    def _turn(self, state: State, change: Callable[[State], None]) -> None:
        self.state = state
        self.generation += 1
        change(state)


def verdict_on(error: BreadError) -> bool | None:
    """Whether the service answered, for all that an error tells."""
    if isinstance(error, TimeoutError) or error.retryable:
        return False
    return True if isinstance(error, ProviderError) and error.status else None
