"""Runs a notebook in a real kernel and prints what its agents answered.

Models are called, not replayed from a recording, unless BREAD_MODE says so. The
notebook's file is left as it is. Below the answers stand the kept runs with their
tokens and times, as a last cell with `%bread runs` shows them.
"""

import os
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

SECONDS_PER_CELL = 600


def run_notebook(path: Path) -> nbformat.NotebookNode:
    """Execute a copy of the notebook in its own folder, and return the copy."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell("%bread runs"))
    client = NotebookClient(
        notebook,
        timeout=SECONDS_PER_CELL,
        kernel_name="python3",
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(path.parent)}},
    )
    return client.execute()


def cell_text(cell: nbformat.NotebookNode) -> str:
    """What a person reads below the cell, as plain text."""
    parts = []
    for output in cell.outputs:
        if output.output_type == "stream" and output.name == "stdout":
            parts.append(output.text)
        elif output.output_type in ("display_data", "execute_result"):
            data = output.data
            if "application/vnd.jupyter.widget-view+json" not in data:
                parts.append(data.get("text/plain", ""))
    return "\n".join(part.strip() for part in parts if part.strip())


def main() -> None:
    path = Path(sys.argv[1])
    os.environ.setdefault("BREAD_MODE", "live")
    began = time.monotonic()
    try:
        notebook = run_notebook(path)
    except CellExecutionError as error:
        raise SystemExit(f"{path}: {error.ename}: {error.evalue}") from None
    shown = [
        (cell.source, cell_text(cell))
        for cell in notebook.cells
        if cell.cell_type == "code" and cell.source.startswith(("%%bread", "%bread"))
    ]
    for source, text in shown:
        print(f"{source}\n\n{text}\n")
    answers = [text for source, text in shown if source.startswith("%%bread")]
    if not any(" finished" in text.partition("\n")[0] for text in answers):
        raise SystemExit(f"{path}: no agent finished")
    print(f"{path} ran in {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    main()
