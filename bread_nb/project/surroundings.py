"""What bread_nb runs in: Python, the kernel, the widget's bundle, the front ends."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import Literal

__all__ = ["Finding", "front_end", "installation", "packages"]

Level = Literal["ok", "warn", "bad"]

_BUNDLE = re.compile(r"bread_nb\.widget\.(\d[0-9A-Za-z.+-]*)")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at, and what to do when it is not in order."""

    level: Level
    what: str
    do: str | None = None


@dataclass(frozen=True, slots=True)
class _Package:
    """A package of the notebook.

    `oldest` is the first version that does all, `lacks` what those before it cannot
    do; only one that is `needed` is missed.
    """

    name: str
    called: str
    oldest: tuple[int, int]
    lacks: str
    needed: bool = False


_KERNEL = _Package(
    "ipykernel", "ipykernel", (7, 0), "Stop and forms answer after the cell", True
)
_PAGES = (
    _Package("ipywidgets", "ipywidgets", (8, 1), "cards are not drawn", True),
    _Package("anywidget", "anywidget", (0, 9), "cards are not drawn", True),
    _Package("jupyterlab", "JupyterLab", (4, 4), "Stop works by interrupt"),
    _Package("notebook", "Notebook", (7, 4), "Stop works by interrupt"),
)


def installation() -> Iterator[Finding]:
    """Python, the kernel and the widget's bundle: what is well on one line."""
    well = [f"Python {_short(platform.python_version())}"]
    ill: list[Finding] = []
    found = _looked_at(_KERNEL)
    if isinstance(found, str):
        well.append(found)
    else:
        ill += [found] if found else []
    ours = version("bread-nb")
    built = _bundle_version(ours)
    if built == ours:
        well.append(f"widget bundle {built} = package")
    elif built is None:
        what = "the widget bundle is missing: runs go on in text"
        ill.append(Finding("warn", what, "pip install --force-reinstall bread-nb"))
    else:
        what = f"widget bundle {built}, package {ours}"
        ill.append(Finding("warn", what, "pip install -U bread-nb, reload the page"))
    yield Finding("ok", ", ".join(well))
    yield from ill


def packages() -> Iterator[Finding]:
    """The widget packages and the pages there are, with what each cannot do."""
    looked = [_looked_at(package) for package in _PAGES]
    well = [found for found in looked if isinstance(found, str)]
    if well:
        yield Finding("ok", ", ".join(well))
    yield from (found for found in looked if isinstance(found, Finding))
    classic = _number("nbclassic")
    if classic is not None:
        what = f"nbclassic {_short(classic)} has no subshells: Stop works by interrupt"
        yield Finding("ok", what)


def _looked_at(package: _Package) -> str | Finding | None:
    """Name and number of a package, or what is wrong with it; None for no matter."""
    number = _number(package.name)
    if number is None:
        if not package.needed:
            return None
        what = f"{package.called} is not there"
        return Finding("warn", what, f"pip install {package.name}")
    parts = [int(digits) for digits in re.findall(r"\d+", number)[:2]]
    if tuple([*parts, 0, 0][:2]) >= package.oldest:
        return f"{package.called} {_short(number)}"
    wanted = ".".join(map(str, package.oldest)).removesuffix(".0")
    what = f"{package.called} {_short(number)}: {package.lacks}"
    return Finding("warn", what, f'pip install -U "{package.name}>={wanted}", restart')


def _number(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _short(number: str) -> str:
    return ".".join(number.split(".")[:2])


def _bundle_version(ours: str) -> str | None:
    bundle = files("bread_nb") / "notebook" / "static" / "widget.js"
    if not bundle.is_file():
        return None
    text = bundle.read_text(encoding="utf-8")
    found = _BUNDLE.search(text)
    if found is not None:
        return found[1].rstrip(".")
    return ours if f'"{ours}"' in text else "of another version"


def front_end() -> Iterator[Finding]:
    """What the program that shows the notebook cannot do."""
    if sys.platform == "emscripten":
        what = "Python in the browser has no threads and no processes: runs block"
        yield Finding("warn", what, "use a kernel of your own machine, or Binder")
        return
    if "ipykernel" not in sys.modules:
        return
    by_interrupt = "use the interrupt button to stop a cell"
    if _marked("VSCODE_"):
        yield Finding(
            "warn", "VS Code has no subshells: Stop works by interrupt", by_interrupt
        )
    if _marked("COLAB_"):
        yield Finding(
            "warn", "Colab has no subshells: Stop works by interrupt", by_interrupt
        )
        yield Finding(
            "warn",
            "Colab draws cards only when it is told to",
            "from google.colab import output; output.enable_custom_widget_manager()",
        )


def _marked(beginning: str) -> bool:
    return any(key.startswith(beginning) for key in os.environ)
