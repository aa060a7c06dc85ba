"""What a run looks like: specs, protocol messages, the live card and the picture.

`to_spec` and `on_spec` speak the reference's flat table; `messages` speaks the A2UI
protocol in its basic catalogue. The card of a notebook has a catalogue of its own,
`catalog.json` beside this file; what stays in the file is a `picture.picture`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from bread_nb.a2ui.mapping import A2UISpec, on_spec, to_spec

if TYPE_CHECKING:
    from bread_nb.a2ui.card import Card
    from bread_nb.a2ui.picture import Picture
    from bread_nb.a2ui.portable import messages
    from bread_nb.a2ui.story import Story

__all__ = [
    "A2UISpec",
    "Card",
    "Picture",
    "Story",
    "messages",
    "on_spec",
    "to_spec",
]

_HOMES = {
    "Card": "card",
    "Picture": "picture",
    "Story": "story",
    "messages": "portable",
}


def __getattr__(name: str) -> object:
    """Load what needs a markdown parser only when it is used."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
