"""Notebooks as tests: each code cell run again and its output held against the saved.

What differs from run to run by nature (widgets, images, timings) is left out of the
comparison, everything else is held to the letter.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from bread_nb.errors import BreadError

__all__ = [
    "Difference",
    "NotebookRun",
    "differences",
    "read_notebook",
    "shown",
    "strip",
]

Cell = Mapping[str, Any]

_WIDGET = "application/vnd.jupyter.widget-view+json"
_LEFT_OUT = (_WIDGET, "image/png", "image/jpeg")
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_SECONDS = 600
_SKIPPED = "nbval-skip"
_FREE = "nbval-ignore-output"
_RAISES = ("raises-exception", "nbval-raises-exception")


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What a cell shows now that it did not show, and the other way round."""

    cell: int
    lines: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.lines)


class NotebookRun:
    """A notebook in a kernel of its own, run cell by cell.

    Args:
        path: The notebook; its folder is the kernel's.
        kernel: The kernelspec to run it with; the notebook's own by default.
        seconds: The longest that one cell may take.
    """

    def __init__(
        self, path: Path, *, kernel: str = "python3", seconds: int = _SECONDS
    ) -> None:
        self.path = path
        self.saved = read_notebook(path)
        self.notebook = read_notebook(path)
        for cell in self.notebook.cells:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None
        self._client = NotebookClient(
            self.notebook,
            timeout=seconds,
            kernel_name=kernel,
            store_widget_state=False,
            record_timing=False,
            extra_arguments=["--log-level=ERROR"],
            resources={"metadata": {"path": str(path.parent)}},
        )
        self._kernel: AbstractContextManager[Any] | None = None
        self._at = 0
        self._faults: dict[int, BreadError] = {}

    def cells(self) -> Iterator[tuple[int, Cell]]:
        """The code cells and their places in the file."""
        for index, cell in enumerate(self.saved.cells):
            if cell.cell_type == "code" and cell.source.strip():
                yield index, cell

    def begin(self, environment: Mapping[str, str] | None = None) -> None:
        """Start the kernel."""
        given = {"env": dict(environment)} if environment is not None else {}
        self._kernel = cast("Any", self._client).setup_kernel(cleanup_kc=True, **given)
        assert self._kernel is not None
        self._kernel.__enter__()

    def run(self, index: int) -> Difference | None:
        """Run a cell, those before it first; what it shows otherwise than it did.

        Raises:
            BreadError: `CELL_FAILED` when a cell raises that should not.
        """
        for place, cell in self.cells():
            if self._at <= place <= index:
                self._at = place + 1
                self._execute(place, cell)
        if index in self._faults:
            raise self._faults[index]
        return self.compare(index)

    def _execute(self, index: int, cell: Cell) -> None:
        if _tagged(cell, _SKIPPED):
            self.notebook.cells[index].outputs = list(cell["outputs"])
            return
        try:
            cast("Any", self._client).execute_cell(self.notebook.cells[index], index)
        except CellExecutionError as error:
            if _tagged(cell, *_RAISES):
                return
            self._faults[index] = BreadError(
                f"Cell {index} of {self.path.name} raised {error.ename}.",
                code="CELL_FAILED",
                why=_ANSI.sub("", error.evalue),
                do=f"open {self.path.name} and run it",
            )

    def compare(self, index: int) -> Difference | None:
        """How what a cell shows differs from the file; None when it is equal."""
        before, now = self.saved.cells[index], self.notebook.cells[index]
        if _tagged(before, _SKIPPED, _FREE):
            return None
        return differences(index, before["outputs"], now["outputs"])

    def keep_free_outputs(self) -> None:
        """Give the cells that may show anything what they show in the file."""
        for index, saved in self.cells():
            if _tagged(saved, _FREE) and saved["outputs"]:
                self.notebook.cells[index].outputs = list(saved["outputs"])

    def end(self) -> None:
        """Shut the kernel down."""
        kernel, self._kernel = self._kernel, None
        if kernel is not None:
            kernel.__exit__(None, None, None)


def read_notebook(path: Path) -> Any:  # noqa: ANN401
    """A notebook's file, in today's format."""
    return cast("Any", nbformat).read(path, as_version=4)


def differences(
    index: int, before: Sequence[Cell], now: Sequence[Cell]
) -> Difference | None:
    """How two lists of outputs differ, as a diff; None when they are equal."""
    was, is_ = shown(before), shown(now)
    if was == is_:
        return None
    lines = difflib.unified_diff(was, is_, "saved", "now", n=1, lineterm="")
    return Difference(cell=index, lines=tuple(lines))


def shown(outputs: Sequence[Cell]) -> list[str]:
    """What a list of outputs shows, line by line; chunks of a stream are one."""
    parts: list[tuple[str, str]] = []
    for output in outputs:
        for kind, text in _parts(output):
            if parts and kind.startswith("stream:") and parts[-1][0] == kind:
                parts[-1] = (kind, parts[-1][1] + text)
            else:
                parts.append((kind, text))
    return [
        f"{kind}: {line}"
        for kind, text in parts
        for line in _ANSI.sub("", text).rstrip("\n").split("\n")
    ]


def _parts(output: Cell) -> Iterator[tuple[str, str]]:
    match output["output_type"]:
        case "stream":
            yield f"stream:{output['name']}", str(output["text"])
        case "error":
            yield "error", f"{output['ename']}: {output['evalue']}"
        case _:
            data = cast("Mapping[str, object]", output["data"])
            if _WIDGET in data:
                return
            for kind in sorted(data):
                if kind not in _LEFT_OUT:
                    value = data[kind]
                    if isinstance(value, list):
                        value = "".join(cast("list[str]", value))
                    yield kind, str(value)


def strip(notebook: Any) -> None:  # noqa: ANN401
    """Take widgets, their state and timings out of a notebook."""
    metadata = cast("dict[str, Any]", notebook.metadata)
    metadata.pop("widgets", None)
    for cell in notebook.cells:
        for name in ("execution", "ExecuteTime"):
            cast("dict[str, Any]", cell.metadata).pop(name, None)
        if cell.cell_type == "code":
            cell.outputs = [o for o in cell.outputs if _WIDGET not in o.get("data", {})]


def _tagged(cell: Cell, *tags: str) -> bool:
    own = cast("Sequence[str]", cell.get("metadata", {}).get("tags", ()))
    return any(tag in own for tag in tags)
