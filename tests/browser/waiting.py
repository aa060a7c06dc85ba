"""Bounded waiting for what happens outside the page."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

POLL_SECONDS = 0.02


def eventually(look: Callable[[], T | None], seconds: float, what: str) -> T:
    """What `look` finds once it finds something; an assertion after that long."""
    limit = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < limit, f"{seconds:g} s went by before {what}"
        time.sleep(POLL_SECONDS)
    return found
