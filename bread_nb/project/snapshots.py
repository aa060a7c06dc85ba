"""A folder as it was at one moment, imported as a package of its own.

Code runs from the very bytes that were hashed: never from cached bytecode, never from a
file that changed in between. Each package has a private name that is used once, so that
two versions never share a module. A version that is still in use can import its own
modules even after a newer one has taken its place.
"""

from __future__ import annotations

import hashlib
import importlib
import linecache
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.abc import ExecutionLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import decode_source, spec_from_file_location
from itertools import count
from pathlib import Path
from types import CodeType, ModuleType
from weakref import WeakValueDictionary

from bread_nb.base.wire import fingerprint

__all__ = ["Package", "Snapshot", "take_snapshot"]

_READ_WHOLE = (".py", ".md")
_LARGE = 1 << 20
_NUMBERS = count(1)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Snapshot:
    """The files of a folder at one moment.

    `marks` has a hash for each file (size and time for data over 1 MB), `texts` the
    bytes of those that are code or prose.
    """

    folder: Path
    marks: Mapping[str, str]
    texts: Mapping[str, bytes]
    digest: str

    def text(self, name: str) -> str:
        """A file as text.

        Raises:
            UnicodeDecodeError: When it is not UTF-8.
        """
        return self.texts[name].decode("utf-8-sig").replace("\r\n", "\n")

    def changes_from(self, before: Snapshot) -> list[str]:
        """The files that are new, gone or different since another snapshot."""
        names = {**before.marks, **self.marks}
        return sorted(n for n in names if before.marks.get(n) != self.marks.get(n))


def take_snapshot(folder: Path) -> Snapshot:
    """Read a folder; hidden files, backups and bytecode are no part of it.

    Raises:
        OSError: When code or prose in it cannot be read.
    """
    marks: dict[str, str] = {}
    texts: dict[str, bytes] = {}
    for path in sorted(_files(folder)):
        name = path.relative_to(folder).as_posix()
        try:
            if path.suffix in _READ_WHOLE:
                texts[name] = path.read_bytes()
                marks[name] = hashlib.sha256(texts[name]).hexdigest()
            else:
                marks[name] = _mark(path)
        except FileNotFoundError:
            continue
    return Snapshot(folder, marks, texts, fingerprint([folder.name, dict(marks)]))


def _files(folder: Path) -> Iterator[Path]:
    seen: set[str] = set()
    for place, folders, names in os.walk(folder, followlinks=True):
        real = os.path.realpath(place)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = [name for name in folders if not _private(name)]
        paths = (Path(place, name) for name in names if not _private(name))
        yield from (path for path in paths if path.is_file())


def _private(name: str) -> bool:
    return name.startswith(".") or name.endswith(("~", ".pyc")) or name == "__pycache__"


def _mark(path: Path) -> str:
    found = path.stat()
    if found.st_size <= _LARGE:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    return f"{found.st_size} bytes at {found.st_mtime_ns}"


class Package:
    """A snapshot under a name of its own, importable while this object lives."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.name = f"_bread_{snapshot.folder.name}_{next(_NUMBERS)}"
        _finder().snapshots[self.name] = snapshot

    def load(self, module: str) -> ModuleType:
        """Import one of its modules, such as `tools.draft`.

        Raises:
            Exception: Whatever the module's code raises.
        """
        for name in self.snapshot.texts:
            linecache.cache.pop(str(self.snapshot.folder / name), None)
        return importlib.import_module(f"{self.name}.{module}")

    def drop(self) -> None:
        """Take its modules out of `sys.modules`."""
        for name in tuple(sys.modules):
            if name == self.name or name.startswith(f"{self.name}."):
                sys.modules.pop(name, None)


class _Finder(MetaPathFinder):
    """Finds the modules of snapshots that somebody still holds."""

    def __init__(self) -> None:
        self.snapshots: WeakValueDictionary[str, Snapshot] = WeakValueDictionary()

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """The spec of a snapshot's module; None for everybody else's."""
        package, _, rest = fullname.partition(".")
        snapshot = self.snapshots.get(package)
        return None if snapshot is None else _spec(snapshot, fullname, rest)


class _Loader(ExecutionLoader):
    """Runs one module from the bytes of a snapshot, which it keeps in use."""

    def __init__(self, snapshot: Snapshot, file: str, *, package: bool) -> None:
        self._snapshot = snapshot
        self._file = file
        self._package = package

    def is_package(self, fullname: str) -> bool:
        """Whether the module is a folder."""
        return self._package

    def get_filename(self, fullname: str) -> str:
        """Where the module's text is on disk, if it is still there."""
        return str(self._snapshot.folder / self._file)

    def get_source(self, fullname: str) -> str:
        """The module's text as it was hashed."""
        return decode_source(self._snapshot.texts.get(self._file, b""))

    def get_code(self, fullname: str) -> CodeType:
        """The module's code, compiled from the bytes that were hashed."""
        source = self._snapshot.texts.get(self._file, b"")
        return compile(source, self.get_filename(fullname), "exec", dont_inherit=True)


def _spec(snapshot: Snapshot, fullname: str, rest: str) -> ModuleSpec | None:
    where = rest.replace(".", "/")
    inside = f"{where}/" if where else ""
    init = f"{inside}__init__.py"
    folder = [str(snapshot.folder / where)]
    if init in snapshot.texts:
        loader = _Loader(snapshot, init, package=True)
        return spec_from_file_location(
            fullname,
            loader.get_filename(fullname),
            loader=loader,
            submodule_search_locations=folder,
        )
    if where and f"{where}.py" in snapshot.texts:
        loader = _Loader(snapshot, f"{where}.py", package=False)
        path = loader.get_filename(fullname)
        return spec_from_file_location(fullname, path, loader=loader)
    if where and not any(_is_code(name, inside) for name in snapshot.texts):
        return None
    spec = ModuleSpec(fullname, _Loader(snapshot, init, package=True), is_package=True)
    spec.submodule_search_locations = folder
    return spec


def _is_code(name: str, inside: str) -> bool:
    return name.startswith(inside) and name.endswith(".py")


def _finder() -> _Finder:
    for finder in sys.meta_path:
        if isinstance(finder, _Finder):
            return finder
    made = _Finder()
    sys.meta_path.insert(0, made)
    return made
