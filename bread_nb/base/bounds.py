"""Numbers that somebody gives: in their bounds, or refused where they are written."""

from __future__ import annotations

import math

__all__ = ["fits"]


def fits(value: object, least: float, most: float = math.inf) -> bool:
    """Whether it is a number in bounds; NaN, truth values and texts are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return least <= value <= most
