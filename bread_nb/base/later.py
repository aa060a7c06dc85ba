"""Modules that are loaded when they are first used."""

from __future__ import annotations

from importlib import import_module

__all__ = ["Later"]


class Later:
    """A module by its name, imported at the first use of something in it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> object:
        found: object = getattr(import_module(self._name), name)
        setattr(self, name, found)
        return found
