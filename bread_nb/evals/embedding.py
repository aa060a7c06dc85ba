"""Nearness in meaning, by word embeddings that lie in their package: no network."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, cast

import wordllama  # pyright: ignore[reportMissingImports]

__all__ = ["nearness"]


def nearness(first: str, second: str) -> float:
    """How near two texts are in meaning, from 0 to 1."""
    return min(1.0, max(0.0, float(_model().similarity(first, second))))


@functools.cache
def _model() -> Any:  # noqa: ANN401
    # Its own loader looks for the tokenizer on the network unless told where it lies.
    package = cast("Any", wordllama)
    home = Path(package.__file__).parent
    return package.WordLlama.load(cache_dir=home, disable_download=True)
