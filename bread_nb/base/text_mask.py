"""Secrets out of text while it is being written."""

from __future__ import annotations

from bread_nb.base.redact import Redactor

__all__ = ["TextMask"]

_MOST_HELD = 8_192


class TextMask:
    """Masks secrets in text that comes in pieces, however they are cut.

    What may be the beginning of a secret is held back until the next piece tells.

    Args:
        redactor: Knows the secrets.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = ""
        self._before = ""

    def feed(self, piece: str) -> str:
        """The text that can be shown now, masked."""
        text = self._held + piece
        before = len(self._before)
        at = max(0, self._redactor.begun_at(self._before + text) - before)
        if len(text) - at > _MOST_HELD:
            at = len(text)
        self._before = text[at - 1 : at] if at else self._before
        self._held = text[at:]
        return self._redactor.text(text[:at])

    def end(self) -> str:
        """What was held back, masked."""
        held, self._held, self._before = self._held, "", ""
        return self._redactor.text(held)
