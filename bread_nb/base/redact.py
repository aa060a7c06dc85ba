"""Secrets out of anything that is stored outside the run or shown.

Three nets: the known values of secrets (environment, credentials), the shapes of
well-known keys, and the names under which people keep secrets.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from pydantic import JsonValue

__all__ = ["MASK", "Redactor", "environment_secrets", "secret_name"]

MASK = "••••"

_KEY_SHAPES = re.compile(
    r"sk-(?:ant-|proj-|or-)?[A-Za-z0-9_\-]{16,}"
    r"|AIza[A-Za-z0-9_\-]{20,}"
    r"|gh[pousr]_[A-Za-z0-9]{20,}"
    r"|xox[abprs]-[A-Za-z0-9\-]{10,}"
    r"|AKIA[A-Z0-9]{12,}"
    r"|eyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]+"
    r"|(?<=[Bb]earer )[A-Za-z0-9._~+/\-]{8,}=*"
)
_SECRET_NAMES = re.compile(
    r".*(?:password|passwd|passphrase|secret|apikey|privatekey|accesskey|accesskeyid"
    r"|credential|authorization|cookie|signingkey|sshkey|jwt|bearer)s?"
    r"|.*(?<!page)(?<!next)(?<!continuation)(?<!per)(?<!first)(?<!last)(?<!max)"
    r"(?<!bos)(?<!eos)(?<!pad)(?<!unk)(?<!mask)(?<!stop)token"
)
_NO_LETTER = re.compile("[^a-z0-9]")
_ENVIRONMENT = re.compile(r".*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)")
_SHORTEST = 12
_HEAD = 8


def environment_secrets(environ: Mapping[str, str] | None = None) -> list[str]:
    """The values of environment variables whose names say they are secret."""
    source = os.environ if environ is None else environ
    return [
        value
        for name, value in source.items()
        if len(value) >= _SHORTEST and _ENVIRONMENT.fullmatch(name.upper())
    ]


class Redactor:
    """Masks secrets in text and in JSON values; the structure stays readable.

    Args:
        secrets: Known secret values. Those shorter than 12 characters are ignored,
            since masking them would hide ordinary words.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._known: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        self.learn(*secrets)

    def learn(self, *secrets: str) -> None:
        """Mask these values too from now on."""
        fresh = {s for s in secrets if len(s) >= _SHORTEST} - self._known
        if not fresh:
            return
        self._known |= fresh
        longest_first = sorted(self._known, key=len, reverse=True)
        whole = "|".join(re.escape(s) for s in longest_first)
        heads = "|".join(re.escape(s[:_HEAD]) for s in longest_first)
        self._pattern = re.compile(f"(?:{whole})|(?:{heads})[A-Za-z0-9_\\-]*")

    def text(self, text: str) -> str:
        """`text` with every secret in it masked."""
        if self._pattern is not None:
            text = self._pattern.sub(MASK, text)
        return _KEY_SHAPES.sub(MASK, text)

    def known(self, value: JsonValue) -> JsonValue:
        """`value` with the known secret values masked, and nothing else."""
        if self._pattern is None:
            return value
        if isinstance(value, str):
            return self._pattern.sub(MASK, value)
        if isinstance(value, list):
            return [self.known(item) for item in value]
        if isinstance(value, dict):
            return {key: self.known(item) for key, item in value.items()}
        return value

    def value(self, value: JsonValue) -> JsonValue:
        """`value` with secrets masked at every depth."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {key: self._field(key, item) for key, item in value.items()}
        return value

    def _field(self, name: str, value: JsonValue) -> JsonValue:
        if secret_name(name) and value not in (None, "", True, False):
            return _hide(value)
        return self.value(value)


def secret_name(name: str) -> bool:
    """Whether a field of this name usually holds a secret."""
    return bool(_SECRET_NAMES.fullmatch(_NO_LETTER.sub("", name.lower())))


def _hide(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {key: _hide(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_hide(item) for item in value]
    return MASK
