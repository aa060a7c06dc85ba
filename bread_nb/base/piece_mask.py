"""Secrets out of JSON text while it is being written."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bread_nb.base.redact import MASK, secret_name, secret_word

__all__ = ["PieceMask"]

_IN_STRING = re.compile(r'[^"\\\\]+')
_BETWEEN = re.compile(r'[^"{}\[\],:]+')


@dataclass(slots=True)
class _Frame:
    """An object or a list that is open; `at_key` says that a name comes next."""

    hidden: bool = False
    is_object: bool = False
    at_key: bool = False
    secret: bool = False


class PieceMask:
    """Masks the values of secret names in JSON text that comes in pieces.

    The pieces it gives back are JSON again when they are put together, with each
    scalar under such a name replaced. Text that is no JSON passes as it is. Nothing is
    looked at more closely before a word of such a name has come.
    """

    def __init__(self) -> None:
        self._passed: list[str] | None = []
        self._letters = ""
        self._frames = [_Frame()]
        self._string: list[str] | None = None
        self._escaped = False
        self._scalar = False

    def feed(self, piece: str) -> str:
        """The next piece, masked."""
        if self._passed is None:
            return self._read(piece)
        found, self._letters = secret_word(self._letters, piece)
        if not found:
            self._passed.append(piece)
            return piece
        self._read("".join(self._passed))
        self._passed = None
        return self._read(piece)

    def _read(self, piece: str) -> str:
        shown: list[str] = []
        at = 0
        while at < len(piece):
            run = self._run(piece, at)
            if run is None:
                shown.append(self._take(piece[at]))
                at += 1
                continue
            at = run.end()
            if self._string is None:
                self._scalar = False
                shown.append(run[0])
                continue
            self._string.append(run[0])
            if not self._conceals(self._frames[-1]):
                shown.append(run[0])
        return "".join(shown)

    def _run(self, piece: str, at: int) -> re.Match[str] | None:
        """The characters from here on that change nothing, if there are any."""
        if self._string is not None:
            return None if self._escaped else _IN_STRING.match(piece, at)
        if self._conceals(self._frames[-1]):
            return None
        return _BETWEEN.match(piece, at)

    @staticmethod
    def _conceals(frame: _Frame) -> bool:
        return (frame.hidden or frame.secret) and not frame.at_key

    def _take(self, char: str) -> str:
        if self._string is not None:
            return self._in_string(char, self._string)
        frame = self._frames[-1]
        conceals = self._conceals(frame)
        if char == '"':
            self._string = []
            return f'"{MASK}"' if conceals else char
        if char in "{[":
            opened = char == "{"
            self._frames.append(_Frame(conceals, opened, opened))
        elif char in "}]" and len(self._frames) > 1:
            self._frames.pop()
        elif char == ":":
            frame.at_key = False
        elif char == ",":
            frame.at_key, frame.secret = frame.is_object, False
        elif conceals and not char.isspace():
            return self._in_scalar()
        self._scalar = False
        return char

    def _in_scalar(self) -> str:
        """A number or a word: masked at its first character, then left out."""
        begun, self._scalar = self._scalar, True
        return "" if begun else f'"{MASK}"'

    def _in_string(self, char: str, string: list[str]) -> str:
        frame = self._frames[-1]
        ended = char == '"' and not self._escaped
        self._escaped = char == "\\" and not self._escaped
        if ended:
            self._string = None
            if frame.at_key:
                frame.secret = secret_name("".join(string))
                return char
        else:
            string.append(char)
        return "" if self._conceals(frame) else char
