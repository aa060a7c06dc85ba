"""Folders that are made when something is first kept in them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

__all__ = ["make_folder", "shown_path"]

_OURS = ".bread"


def make_folder(folder: Path) -> None:
    """Make a folder and those above it; `.bread` keeps itself out of version control.

    Raises:
        OSError: When it cannot be made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for place in (folder, *folder.parents):
        if place.name == _OURS:
            with suppress(FileExistsError), (place / ".gitignore").open("x") as file:
                file.write("*\n")
            return


def shown_path(path: Path, root: Path) -> str:
    """A path as a person knows it: from the project's folder on, where it is inside."""
    try:
        return path.relative_to(root).as_posix()
    except ValueError:
        return str(path)
