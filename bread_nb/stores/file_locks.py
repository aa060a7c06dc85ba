"""Who holds a lock on a file, where the system tells."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

__all__ = ["lock_holder"]

_LOCKS = Path("/proc/locks")


def lock_holder(paths: Iterable[Path]) -> int | None:
    """The other process that holds a write lock on one of the files, if it is known."""
    try:
        files = {path.stat().st_ino for path in paths if path.exists()}
        lines = _LOCKS.read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        words = line.split()
        if len(words) == 8 and words[3] == "WRITE":
            inode = words[5].rpartition(":")[2]
            if inode.isdigit() and int(inode) in files:
                pid = int(words[4])
                return pid if pid > 0 and pid != os.getpid() else None
    return None
