"""Scripts in YAML files."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import yaml

from bread_nb.base.yaml_text import read_yaml
from bread_nb.errors import BreadError
from bread_nb.providers.script import Turns, invalid

__all__ = ["read_file"]


def read_file(path: str | Path, root: Path | None = None) -> Turns:
    """The turns of a YAML file.

    Args:
        path: The file.
        root: Where a relative path is looked for as well, after the working directory.

    Raises:
        BreadError: `SCRIPT_NOT_FOUND` or `INVALID_SCRIPT`.
    """
    try:
        found: object = read_yaml(_found(Path(path), root).read_text("utf-8"))
    except OSError as error:
        raise BreadError(
            f"There is no script {str(path)!r}.",
            code="SCRIPT_NOT_FOUND",
            why=f"{error.strerror or type(error).__name__}, {_seen_from(root)}.",
            do="write the path as seen from the working directory or the project",
        ) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        why = " ".join(str(error).split())
        raise invalid(f"{path} is not YAML", f"{why}.") from None
    if not isinstance(found, list | dict):
        raise invalid(f"{path} holds no list", "a script is a YAML list of turns.")
    return cast("Turns", found)


def _found(path: Path, root: Path | None) -> Path:
    """The file in the working directory, else in the project."""
    if root is None or path.is_absolute() or path.exists():
        return path
    beside = root / path
    return beside if beside.exists() else path


def _seen_from(root: Path | None) -> str:
    here = Path.cwd()
    if root is None or root == here:
        return f"seen from {here}"
    return f"seen from {here} and from {root}"
