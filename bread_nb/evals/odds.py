"""What numbers of passes can be trusted with: intervals, pass@k, paired comparison."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["interval", "mcnemar", "pass_at", "spread"]

_Z = 1.959963984540054


def interval(passed: int, total: int) -> tuple[float, float]:
    """Where the true pass rate lies with 95 % confidence (Wilson's interval)."""
    if total == 0:
        return 0.0, 1.0
    share = passed / total
    scale = 1 + _Z**2 / total
    middle = (share + _Z**2 / (2 * total)) / scale
    half = _Z / scale * math.sqrt(share * (1 - share) / total + _Z**2 / (4 * total**2))
    return max(0.0, middle - half), min(1.0, middle + half)


def spread(shares: Sequence[float]) -> tuple[float, float]:
    """The same for cases that were run several times: their runs are no news alone.

    Args:
        shares: The share of passed runs of each case.
    """
    count = len(shares)
    if count < 2:
        return 0.0, 1.0
    mean = sum(shares) / count
    error = math.sqrt(sum((s - mean) ** 2 for s in shares) / (count - 1) / count)
    if error == 0:
        return interval(round(mean * count), count)
    return max(0.0, mean - _Z * error), min(1.0, mean + _Z * error)


def pass_at(k: int, passed: int, total: int) -> float:
    """The chance that at least one of `k` runs passes, when `passed` of `total` did."""
    if k > total:
        k = total
    if total - passed < k:
        return 1.0
    return 1.0 - math.comb(total - passed, k) / math.comb(total, k)


def mcnemar(gained: int, lost: int) -> float:
    """The chance of so uneven a change if nothing had changed (exact, two-sided)."""
    changed = gained + lost
    if changed == 0:
        return 1.0
    tail = sum(math.comb(changed, i) for i in range(min(gained, lost) + 1))
    return min(1.0, 2 * tail / 2**changed)
