"""Run notebooks again and keep what they show, and their recordings when asked to.

What is recorded is played back at once, and what the notebook shows then is what is
kept: it is what everybody else will see. Nothing is written before the whole notebook
has run without a fault and the changes were agreed to; what is written replaces the old
file in one step.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import nbformat

from bread_nb.errors import BreadError
from bread_nb.evals.notebooks import Difference, NotebookRun, strip

__all__ = ["Refreshed", "refresh"]

_CASSETTE = ".cassette.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshed:
    """A notebook that was run again, not written yet.

    Args:
        path: The notebook.
        text: Its file as it would be.
        differences: What its cells show otherwise than the file says.
        cassette: The recording as it would be; None when nothing was recorded.
        calls: How many calls of models were recorded, and how many were before.
    """

    path: Path
    text: str
    differences: tuple[Difference, ...]
    cassette: str | None = None
    calls: tuple[int, int] = (0, 0)

    @property
    def changed(self) -> bool:
        """Whether writing it would change anything."""
        if self.path.read_text("utf-8") != self.text:
            return True
        return self.cassette is not None and self.cassette != _read(self.tape)

    @property
    def tape(self) -> Path:
        """Where its recording is."""
        return self.path.with_name(f"{self.path.stem}{_CASSETTE}")

    def lines(self) -> Iterator[str]:
        """What would change, as a person reads it."""
        for difference in self.differences:
            yield f"{self.path.name}, cell {difference.cell}"
            yield from difference.lines
        if self.cassette is not None and self.cassette != _read(self.tape):
            now, before = self.calls
            noun = "call" if now == 1 else "calls"
            yield f"{self.tape.name}: {now} {noun} recorded, {before} before"
        elif not self.differences and self.changed:
            yield f"{self.path.name}: only what nobody sees (widgets, timings, counts)"

    def write(self) -> None:
        """Write the notebook, and its recording if there is one."""
        if self.cassette is not None:
            _replace(self.tape, self.cassette)
        _replace(self.path, self.text)


def refresh(path: Path, *, record: bool = False, kernel: str = "python3") -> Refreshed:
    """Run a notebook from top to bottom, in a kernel of its own.

    Args:
        path: The notebook.
        record: Whether models are called and recorded; else they are replayed from the
            notebook's recording. Without one, or with `BREAD_MODE`, it is as that says.
        kernel: The kernelspec to run it with.

    Raises:
        BreadError: `NOTEBOOK_UNREADABLE`, or `CELL_FAILED` for the first cell that
            raises; then the file is as it was.
    """
    with tempfile.TemporaryDirectory() as folder:
        tape = Path(folder) / f"{path.stem}{_CASSETTE}"
        if record:
            _ran(path, kernel, _environment(path, "record", tape))
            run = _ran(path, kernel, _environment(path, "replay", tape))
        else:
            recorded = path.with_name(tape.name).is_file()
            run = _ran(path, kernel, _environment(path, "replay" if recorded else ""))
        found = (run.compare(index) for index, _ in run.cells())
        return Refreshed(
            path=path,
            text=_text(run, anew=record),
            differences=tuple(each for each in found if each is not None),
            cassette=_read(tape) or None,
            calls=(_calls(tape), _calls(path.with_name(tape.name))),
        )


def _ran(path: Path, kernel: str, environment: dict[str, str]) -> NotebookRun:
    try:
        run = NotebookRun(path, kernel=kernel)
    except (OSError, ValueError, nbformat.ValidationError) as error:
        raise BreadError(
            f"{path.name} is no notebook that can be read.",
            code="NOTEBOOK_UNREADABLE",
            why=f"{error}",
            do="bread refresh notebooks/01-first-run.ipynb",
        ) from None
    run.begin(environment)
    try:
        for index, _ in run.cells():
            run.run(index)
    finally:
        run.end()
    return run


def _environment(path: Path, mode: str, tape: Path | None = None) -> dict[str, str]:
    """The variables of a kernel that knows its notebook, as one of JupyterLab does."""
    known = {**os.environ, "JPY_SESSION_NAME": str(path)}
    if tape is None:
        return {**({"BREAD_MODE": mode} if mode else {}), **known}
    return {**known, "BREAD_MODE": mode, "BREAD_CASSETTE": str(tape)}


def _text(run: NotebookRun, *, anew: bool) -> str:
    """The notebook as it is kept: no widgets, no timings, the kernel it had.

    What may show anything keeps what it shows, unless it is recorded anew.
    """
    notebook = run.notebook
    if not anew:
        run.keep_free_outputs()
    strip(notebook)
    saved = cast("dict[str, Any]", run.saved.metadata)
    kept = {name: saved[name] for name in saved if name != "widgets"}
    kept["language_info"] = {"name": "python"}
    notebook.metadata = cast("Any", nbformat).from_dict(kept)
    return f"{cast('Any', nbformat).writes(notebook)}\n"


def _read(path: Path) -> str:
    return path.read_text("utf-8") if path.is_file() else ""


def _calls(path: Path) -> int:
    return sum(line.startswith('{"answer":') for line in _read(path).splitlines())


def _replace(path: Path, text: str) -> None:
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(text, "utf-8")
    fresh.replace(path)
