"""The kernel 'Python (bread)': this Python, with the extension loaded at the start."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import cast

from jupyter_core.paths import jupyter_data_dir, jupyter_path

from bread_nb.errors import BreadError

__all__ = ["check_kernel", "install_kernel", "kernel_folder", "remove_kernel"]

NAME = "bread"
TITLE = "Python (bread)"

_EXTENSION = "--IPKernelApp.extensions=bread_nb"
_FILE = "kernel.json"
_PACKAGE = "bread-nb"


def kernel_folder(prefix: str | None) -> Path:
    """Where the kernel is kept: below a prefix, or for this user when None."""
    if prefix is None:
        return Path(jupyter_data_dir()) / "kernels" / NAME
    return Path(prefix).absolute() / "share" / "jupyter" / "kernels" / NAME


def install_kernel(folder: Path) -> Path:
    """Write the kernel's file; the file.

    Raises:
        BreadError: `KERNEL_UNWRITABLE`.
    """
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {
        "argv": [*command, _EXTENSION],
        "display_name": TITLE,
        "language": "python",
        "metadata": {"debugger": True},
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _copy_logos(folder)
        (folder / _FILE).write_text(f"{json.dumps(spec, indent=1)}\n", "utf-8")
    except OSError as error:
        raise BreadError(
            f"The kernel cannot be written to {folder}.",
            code="KERNEL_UNWRITABLE",
            why=f"{error.strerror or type(error).__name__}.",
            do="bread install --user, or --prefix with a folder of yours",
        ) from None
    return folder / _FILE


def remove_kernel(folder: Path) -> bool:
    """Delete the kernel; False when there was none."""
    if not folder.is_dir():
        return False
    shutil.rmtree(folder)
    return True


def check_kernel() -> str:
    """What the installed kernel starts, when that is this version of the package.

    Raises:
        BreadError: `KERNEL_MISSING` or `KERNEL_STALE`.
    """
    places = (Path(place) / NAME / _FILE for place in jupyter_path("kernels"))
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise BreadError(
            f"The kernel {TITLE!r} is not installed.",
            code="KERNEL_MISSING",
            why="no folder that Jupyter looks in has it.",
            do="bread install",
        )
    argv = _argv(found)
    ours = version(_PACKAGE)
    if not argv or _EXTENSION not in argv or _version_in(argv[0]) != ours:
        runs = argv[0] if argv else "nothing"
        raise BreadError(
            f"The kernel {TITLE!r} does not start this package.",
            code="KERNEL_STALE",
            why=f"{found} runs {runs}, which has not {_PACKAGE} {ours}.",
            do="bread install",
        )
    return f"{TITLE} starts {argv[0]}, {_PACKAGE} {ours}."


def _argv(file: Path) -> list[str]:
    try:
        spec = cast("dict[str, list[object]]", json.loads(file.read_text("utf-8")))
        return [str(word) for word in spec["argv"]]
    except (OSError, ValueError, TypeError, KeyError):
        return []


def _version_in(python: str) -> str:
    if python == sys.executable:
        return version(_PACKAGE)
    asked = f"from importlib.metadata import version; print(version({_PACKAGE!r}))"
    try:
        done = subprocess.run(
            [python, "-c", asked],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


def _copy_logos(folder: Path) -> None:
    """The logos of the Python kernel, which is what this kernel is."""
    spec = find_spec("ipykernel")
    for place in (spec and spec.submodule_search_locations) or ():
        for logo in (Path(place) / "resources").glob("logo-*"):
            shutil.copyfile(logo, folder / logo.name)
