"""Modules that need a package which not everybody has installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from bread_nb.errors import BreadError

__all__ = ["for_notebooks", "needed"]


def needed(module: str, missing: BreadError) -> Any:  # noqa: ANN401
    """A module, imported now.

    Raises:
        BreadError: `missing`, when what the module needs is not installed.
    """
    try:
        return import_module(module)
    except ImportError:
        raise missing from None


def for_notebooks(module: str) -> Any:  # noqa: ANN401
    """A module that runs notebooks, imported now.

    Raises:
        BreadError: `MISSING_EXTRA` without nbclient and nbformat.
    """
    missing = BreadError(
        "Running notebooks needs nbclient.",
        code="MISSING_EXTRA",
        why="nbclient or nbformat is not installed.",
        do='pip install "bread-nb[test]"',
    )
    return needed(module, missing)
