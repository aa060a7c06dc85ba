"""Modules that need a package which not everybody has installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from bread_nb.errors import BreadError

__all__ = ["needed"]


def needed(module: str, missing: BreadError) -> Any:  # noqa: ANN401
    """A module, imported now.

    Raises:
        BreadError: `missing`, when what the module needs is not installed.
    """
    try:
        return import_module(module)
    except ImportError:
        raise missing from None
