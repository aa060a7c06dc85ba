"""What counts as consent: the words that say yes, and the hash of what was shown."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from bread_nb.base.wire import fingerprint

__all__ = ["says_yes", "shown_hash"]

_YES = frozenset({"yes", "y", "approve", "approved"})


def says_yes(text: str) -> bool:
    """Whether a typed answer approves: yes, y, approve or approved, in any case."""
    return text.strip().lower() in _YES


def shown_hash(
    checkpoint_id: str, tool_name: str, args: Mapping[str, JsonValue] | JsonValue
) -> str:
    """The hash of what a form shows; an answer that carries another one is refused."""
    shown = dict(args) if isinstance(args, Mapping) else {}
    return fingerprint([checkpoint_id, tool_name, shown])
