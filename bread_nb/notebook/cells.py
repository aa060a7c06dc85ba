"""Which cell is asking, who looks at it, and where what it shows belongs."""

from __future__ import annotations

import contextvars
from collections.abc import Mapping
from contextvars import Context
from dataclasses import dataclass
from typing import Any, cast

from IPython.core.interactiveshell import InteractiveShell

from bread_nb.base.ids import new_id

__all__ = ["WIDGET_VIEW", "Bundle", "Cell", "Output", "client_of", "kernel_of"]

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
Bundle = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One execution of a cell.

    Args:
        id: The front end's name for the cell, where it tells one.
        execution: The request; a new one each time the cell is run.
        client: The page that sent it.
        watched: Whether a person may look at it: the front end lets cells ask for
            input, which what runs notebooks unattended does not.
        in_kernel: False in a terminal, which has no updates and no widgets.
        context: What is printed and displayed in a copy of it belongs to this cell.
    """

    id: str | None
    execution: str
    client: str | None
    watched: bool
    in_kernel: bool
    context: Context

    @staticmethod
    def here(shell: InteractiveShell) -> Cell:
        """The cell that is being executed on this thread."""
        kernel = kernel_of(shell)
        parent: Mapping[str, Any] = {}
        if kernel is not None:
            parent = cast("Any", kernel).get_parent()
        header, content = _part(parent, "header"), _part(parent, "content")
        cell_id = _part(parent, "metadata").get("cellId")
        named = isinstance(cell_id, str) and bool(cell_id)
        return Cell(
            id=str(cell_id) if named else None,
            execution=str(header.get("msg_id") or shell.execution_count),
            client=_text(header.get("session")),
            watched=content.get("allow_stdin") is True,
            in_kernel=kernel is not None,
            context=contextvars.copy_context(),
        )


def kernel_of(shell: InteractiveShell) -> object | None:
    """The kernel that a shell belongs to; None in a terminal."""
    return getattr(shell, "kernel", None)


def client_of(shell: InteractiveShell) -> str | None:
    """The page that the message at hand came from."""
    kernel: Any = kernel_of(shell)
    if kernel is None:
        return None
    return _text(_part(kernel.get_parent(), "header").get("session"))


def _part(message: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = message.get(name)
    return cast("Mapping[str, Any]", part) if isinstance(part, Mapping) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


class Output:
    """One display of a cell, which can be changed later, from any thread."""

    def __init__(self, shell: InteractiveShell, cell: Cell) -> None:
        self._shell = shell
        self._cell = cell
        self._id = new_id()
        self.bundle: Bundle | None = None

    @property
    def shown(self) -> bool:
        """Whether it is there."""
        return self.bundle is not None

    def show(self, bundle: Bundle) -> None:
        """Put it into the cell, or change what is there; nothing when it is equal."""
        if bundle == self.bundle:
            return
        update, self.bundle = self.shown, bundle
        if update and not self._cell.in_kernel:
            return
        self._cell.context.copy().run(self._publish, bundle, update)

    def _publish(self, bundle: Bundle, update: bool) -> None:
        publisher: Any = self._shell.display_pub
        publisher.publish(
            dict(bundle), {}, transient={"display_id": self._id}, update=update
        )
