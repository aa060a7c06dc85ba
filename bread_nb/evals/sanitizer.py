"""Where the patterns for nbval are: `python -m bread_nb.evals.sanitizer` says it."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["PATTERNS"]

PATTERNS = Path(__file__).with_name("nbval.cfg")

if __name__ == "__main__":
    sys.stdout.write(f"{PATTERNS}\n")
