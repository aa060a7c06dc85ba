"""Ids and the one clock.

Everything that needs a time or an id asks here, so that a test or a replay can
pin both.
"""

from __future__ import annotations

import os
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

__all__ = ["frozen", "monotonic", "new_id", "now_ms", "pinned", "short"]


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


_TAIL = (1 << 74) - 1
_NOON = 1_767_268_800_000  # noon of the first day of 2026, UTC


@dataclass(slots=True)
class _Maker:
    """Makes ids that grow, those of one millisecond too."""

    ms: int = -1
    tail: int = 0
    gate: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self) -> str:
        ms = now_ms() & ((1 << 48) - 1)
        with self.gate:
            if ms == self.ms:
                self.tail = (self.tail + 1) & _TAIL
            else:
                self.ms, self.tail = ms, int.from_bytes(os.urandom(10)) & (_TAIL >> 1)
            tail = self.tail
        value = ms << 80 | 0x7 << 76 | (tail >> 62) << 64
        value |= 0x2 << 62 | tail & ((1 << 62) - 1)
        text = f"{value:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


@dataclass(slots=True)
class _Source:
    clock: Callable[[], int] = _wall_ms
    make: Callable[[], str] = field(default_factory=_Maker)


_SOURCE = _Source()


def now_ms() -> int:
    """Milliseconds since 1970, from the clock that tests and replays can pin."""
    return _SOURCE.clock()


def monotonic() -> float:
    """Seconds that only grow, for durations and leases."""
    return time.monotonic()


def new_id() -> str:
    """A UUID of version 7: unique, and sorted by the time it was made."""
    return _SOURCE.make()


def short(identifier: str) -> str:
    """The last eight characters: enough to tell ids of one project apart."""
    return identifier[-8:]


@contextmanager
def frozen(at_ms: int = _NOON) -> Generator[None]:
    """Stand still at one moment; ids count up, each thread's by themselves.

    What a thread makes then does not depend on what others make meanwhile.
    """
    before = (_SOURCE.clock, _SOURCE.make)
    gate, counts = threading.Lock(), Counter[str]()

    def make() -> str:
        name = threading.current_thread().name
        with gate:
            counts[name] += 1
            number = counts[name]
        head, place = f"{at_ms:012x}", zlib.crc32(name.encode())
        return f"{head[:8]}-{head[8:]}-7000-8{place & 0xFFF:03x}-{number:012x}"

    _SOURCE.clock, _SOURCE.make = lambda: at_ms, make
    try:
        yield
    finally:
        _SOURCE.clock, _SOURCE.make = before


@contextmanager
def pinned(start_ms: int = 0, step_ms: int = 1) -> Generator[None]:
    """Count ids and milliseconds up from a fixed start while the block runs."""
    before = (_SOURCE.clock, _SOURCE.make)
    ticks = iter(range(start_ms, 1 << 60, step_ms))
    numbers = iter(range(1, 1 << 60))
    _SOURCE.clock = lambda: next(ticks)
    _SOURCE.make = lambda: f"00000000-0000-7000-8000-{next(numbers):012x}"
    try:
        yield
    finally:
        _SOURCE.clock, _SOURCE.make = before
