"""The widget of a live card: messages out, messages in, and no state of its own.

Only custom messages carry anything. Nothing that could be taken for a decision is ever
a trait, so nothing of the kind can be restored from a saved notebook.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import anywidget
from pydantic import JsonValue

from bread_nb.notebook.cells import WIDGET_VIEW
from bread_nb.notebook.channels import pin

__all__ = ["RunWidget"]

Json = dict[str, JsonValue]
Hear = Callable[[object], None]

_BUNDLE = Path(__file__).parent / "static" / "widget.js"


class RunWidget(anywidget.AnyWidget):
    """The kernel's end of a card.

    Args:
        hear: Called with each custom message, on whatever thread it comes; it must not
            raise.
    """

    _esm = _BUNDLE

    def __init__(self, hear: Hear) -> None:
        super().__init__()
        self._hear = hear
        cast("Any", self).on_msg(self._heard)

    def open(self) -> None:
        """Open the comm, and let its messages in on the front end's own subshell."""
        super().open()
        pin(self.comm)

    def tell(self, message: Json) -> None:
        """Send a message to all views; once closed, nothing."""
        if self.comm is not None:
            cast("Any", self).send(message)

    def _heard(self, _widget: object, content: object, _buffers: object) -> None:
        self._hear(content)

    @property
    def view(self) -> Mapping[str, object]:
        """The bundle that shows it."""
        model = {"version_major": 2, "version_minor": 0, "model_id": self.model_id}
        return {WIDGET_VIEW: model}

    def close(self) -> None:
        """Close its comms, that of its layout included."""
        if self.comm is None:
            return
        layout: Any = cast("Any", self).layout
        super().close()
        layout.close()

    def __repr__(self) -> str:
        return "RunWidget()"
