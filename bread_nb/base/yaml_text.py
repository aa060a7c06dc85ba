"""YAML as people write it: a key that stands twice in one mapping is an error."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import yaml

__all__ = ["read_yaml"]

_MERGE = "tag:yaml.org,2002:merge"


class _Once(yaml.constructor.BaseConstructor):
    """Refuses the second of two equal keys, where YAML itself lets it win."""

    def construct_mapping(
        self, node: yaml.MappingNode, deep: bool = False
    ) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == _MERGE:
                continue
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    problem=f"the key {key.value!r} stands there twice",
                    problem_mark=key.start_mark,
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


class _Plain(_Once, yaml.BaseLoader):
    """Every scalar is text."""


class _Typed(_Once, yaml.SafeLoader):
    """Scalars are what YAML takes them for."""


def read_yaml(text: str, *, plain: bool = False) -> object:
    """The value that a YAML text holds.

    Args:
        text: The text.
        plain: Whether every scalar stays text.

    Raises:
        yaml.YAMLError: When it is no YAML, is nested too deep, or names a key twice.
    """
    try:
        return yaml.load(text, Loader=_Plain if plain else _Typed)
    except RecursionError:
        raise yaml.YAMLError("it is nested too deep") from None
