"""The border to a user's code: what it may raise, and what it may import.

Modules of the project outside an agent's folder are imported in the usual way, once.
`Helpers` remembers which ones came in while agents were loaded, so that they can be
read again.
"""

from __future__ import annotations

import importlib
import sys
import sysconfig
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

__all__ = ["USER_FAULTS", "Helpers", "open_border"]

USER_FAULTS = (Exception, SystemExit)
_OURS = __name__.partition(".")[0]


@contextmanager
def open_border(root: Path) -> Generator[None]:
    """Let code in the block import the project's modules, as a script there could.

    No bytecode is written meanwhile: two edits within a second, of equal length, would
    not be told apart by it.
    """
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    importlib.invalidate_caches()
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


class Helpers:
    """The project's own modules that came in while its agents were loaded."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._names: set[str] = set()

    @contextmanager
    def watched(self) -> Generator[None]:
        """Remember what the block imports."""
        before = set(sys.modules)
        try:
            with open_border(self._root):
                yield
        finally:
            fresh = set(sys.modules) - before
            self._names |= {n for n in fresh if self._is_own(n, sys.modules.get(n))}

    def forget(self) -> None:
        """Take them out of `sys.modules`, so that they are read again."""
        names, self._names = self._names, set()
        for name in names:
            sys.modules.pop(name, None)

    def _is_own(self, name: str, module: ModuleType | None) -> bool:
        if module is None or name.partition(".")[0] == _OURS:
            return False
        spec = module.__spec__
        places = list(spec.submodule_search_locations or ()) if spec else []
        file = getattr(module, "__file__", None)
        places += [file] if isinstance(file, str) else []
        return any(self._is_inside(Path(place)) for place in places)

    def _is_inside(self, place: Path) -> bool:
        installed = {Path(p) for p in sysconfig.get_paths().values()}
        if any(place.is_relative_to(p) for p in installed):
            return False
        if {"site-packages", "dist-packages"} & set(place.parts):
            return False
        return place.is_relative_to(self._root)
