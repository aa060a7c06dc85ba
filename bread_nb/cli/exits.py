"""Exit codes of `bread`."""

from __future__ import annotations

__all__ = ["FAULT", "FINISHED", "INTERRUPTED", "STOPPED", "USAGE", "WAITING"]

FINISHED = 0
FAULT = 1
USAGE = 2
WAITING = 3
STOPPED = 4
INTERRUPTED = 130
