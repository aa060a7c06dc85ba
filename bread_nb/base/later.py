"""Modules, and names of a package, that are loaded when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module

__all__ = ["Later", "names_of"]


class Later:
    """A module by its name, imported at the first use of something in it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> object:
        found: object = getattr(import_module(self._name), name)
        setattr(self, name, found)
        return found


def names_of(
    package: str, homes: Mapping[str, Iterable[str]]
) -> Callable[[str], object]:
    """The `__getattr__` of a package whose names are loaded when they are first used.

    Args:
        package: The package's name.
        homes: The names that each of its modules has.
    """
    modules = {name: home for home, names in homes.items() for name in names}

    def load(name: str) -> object:
        home = modules.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{home}"), name)

    return load
