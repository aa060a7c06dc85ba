"""Secrets out of anything that is stored outside the run or shown.

Three nets: the known values of secrets (environment, credentials), the shapes of
well-known keys, and the names under which people keep secrets.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from string import ascii_letters, digits

from pydantic import JsonValue

__all__ = [
    "MASK",
    "Redactor",
    "environment_secrets",
    "secret_name",
    "secret_variable",
    "secret_word",
]

MASK = "••••"

# The first letter is looked at before all shapes are: most letters begin none.
_KEY_SHAPES = re.compile(
    r"(?=[Aghnprsxy])(?:"
    r"sk-(?:ant-|proj-|or-)?[A-Za-z0-9_\-]{16,}"
    r"|A(?:Iza[A-Za-z0-9_\-]{20,}|KIA[A-Z0-9]{12,}|SIA[A-Z0-9]{16,})"
    r"|gh[pousr]_[A-Za-z0-9]{20,}"
    r"|g(?:ithub_pat_[A-Za-z0-9_]{30,}|lpat-[A-Za-z0-9_\-]{20,}|sk_[A-Za-z0-9]{30,})"
    r"|xox[abeprs]-[A-Za-z0-9\-]{10,}"
    r"|xa(?:pp-[A-Za-z0-9\-]{20,}|i-[A-Za-z0-9]{30,})"
    r"|hf_[A-Za-z0-9]{30,}"
    r"|n(?:pm_[A-Za-z0-9]{30,}|vapi-[A-Za-z0-9_\-]{30,})"
    r"|pplx-[A-Za-z0-9]{30,}"
    r"|[rs]k_(?:live|test)_[A-Za-z0-9]{16,}"
    r"|ya29\.[A-Za-z0-9_\-]{20,})"
    r"|(?<![A-Za-z0-9_\-])eyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]+"
    r"|(?<=[Bb]earer )[A-Za-z0-9._~+/\-]{8,}=*"
)
# What these shapes are made of, how they begin, and what may become a beginning.
_KEY_LETTERS = f"{ascii_letters}{digits}._~+/-="
_KEY_HEADS = (
    *("sk-", "AIza", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"),
    *("gsk_", "xoxa-", "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-", "xapp-", "xai-"),
    *("AKIA", "ASIA", "hf_", "npm_", "nvapi-", "pplx-", "rk_live_", "rk_test_"),
    *("sk_live_", "sk_test_", "ya29.", "eyJ"),
)
_LONGEST_HEAD = max(map(len, _KEY_HEADS))


def _begun(heads: Iterable[str]) -> str:
    """A pattern of what may become one of these heads: all their beginnings."""
    rests: dict[str, list[str]] = {}
    for head in heads:
        rests.setdefault(head[0], []).append(head[1:])
    found = [
        re.escape(first)
        + (f"(?:{_begun(more)})?" if (more := list(filter(None, rest))) else "")
        for first, rest in rests.items()
    ]
    return "|".join(found)


_KEY_STARTS = re.compile("|".join(map(re.escape, _KEY_HEADS)))
_KEY_BEGUN = re.compile(
    rf"(?<![A-Za-z0-9])(?:{_begun([*_KEY_HEADS, 'Bearer', 'bearer'])})\Z"
)
_BEARER = ("Bearer ", "bearer ")
_SECRET_NAMES = re.compile(
    r".*(?:password|passwd|passphrase|passcode|secret|secretkey|apikey|privatekey"
    r"|accesskey|accesskeyid|credential|authorization|cookie|signingkey|encryptionkey"
    r"|masterkey|sshkey|connectionstring|jwt|bearer)s?"
    r"|.*(?<!page)(?<!next)(?<!continuation)(?<!per)(?<!first)(?<!last)(?<!max)"
    r"(?<!bos)(?<!eos)(?<!pad)(?<!unk)(?<!mask)(?<!stop)token"
)
# What every such name has in it, and the longest of these words.
_SECRET_WORDS = re.compile(
    r"passw|passphrase|passcode|secret|apikey|privatekey|accesskey|credential"
    r"|authorization|cookie|signingkey|encryptionkey|masterkey|sshkey|connectionst"
    r"|jwt|bearer|token"
)
_LONGEST_WORD = 13
_NO_LETTER = re.compile("[^a-z0-9]")
_SECRET_ENDS = (
    *("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD"),
    *(
        "CREDENTIAL",
        "CREDENTIALS",
        "PASSPHRASE",
        "_PASS",
        "_PAT",
        "_JWT",
        "ACCESS_KEY_ID",
    ),
    *("KEYS", "TOKENS", "SECRETS", "PASSWORDS"),
)
_NUMBER = f"{digits}_"
_HEAD_ENDS = re.compile(r"[A-Za-z0-9_\-]*")
_SHORTEST = 12
_HEAD = 8


def environment_secrets(environ: Mapping[str, str] | None = None) -> list[str]:
    """The values of environment variables whose names say they are secret."""
    source = os.environ if environ is None else environ
    named = filter(secret_variable, source)
    return [value for n in named if len(value := source.get(n, "")) >= _SHORTEST]


def secret_variable(name: str) -> bool:
    """Whether an environment variable of this name holds a secret."""
    return name.upper().rstrip(_NUMBER).endswith(_SECRET_ENDS)


class Redactor:
    """Masks secrets in text and in JSON values; the structure stays readable.

    Args:
        secrets: Known secret values. Those shorter than 12 characters are ignored,
            since masking them would hide ordinary words.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._known: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        self._growing: re.Pattern[str] | None = None
        self._begun: set[str] = set()
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
        self._growing = re.compile(heads)
        self._begun = {s[:end] for s in self._known for end in range(1, _HEAD)}

    def text(self, text: str) -> str:
        """`text` with every secret in it masked."""
        if self._pattern is not None:
            text = self._pattern.sub(MASK, text)
        return _KEY_SHAPES.sub(MASK, text)

    def begun_at(self, text: str) -> int:
        """Where a secret may begin that goes on past the text; else its length."""
        at = min(_key_begun(text), self._known_begun(text))
        if at < len(text) and self._pattern is not None:
            for whole in self._pattern.finditer(text):
                if whole.start() < at < whole.end():
                    return whole.start()
        return at

    def _known_begun(self, text: str) -> int:
        if self._growing is None:
            return len(text)
        for head in self._growing.finditer(text):
            rest = text[head.start() :]
            if _HEAD_ENDS.fullmatch(rest, _HEAD):
                return head.start()
            if any(s.startswith(rest) and s != rest for s in self._known):
                return head.start()
        for length in range(min(len(text), _HEAD - 1), 0, -1):
            if text[-length:] in self._begun:
                return len(text) - length
        return len(text)

    def known(self, value: JsonValue) -> JsonValue:
        """`value` with the known secret values masked, and nothing else."""
        if self._pattern is None:
            return value
        if isinstance(value, str):
            return self._pattern.sub(MASK, value)
        if isinstance(value, list):
            return [self.known(item) for item in value]
        if isinstance(value, dict):
            return {self._key(key): self.known(item) for key, item in value.items()}
        return value

    def _key(self, key: str) -> str:
        """The name of a field, which may be a secret itself."""
        if self._pattern is None or len(key) < _HEAD:
            return key
        return self._pattern.sub(MASK, key)

    def value(self, value: JsonValue) -> JsonValue:
        """`value` with secrets masked at every depth."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return self._fields(value)
        return value

    def _fields(self, value: dict[str, JsonValue]) -> JsonValue:
        """An object with its fields masked; of two names that are secrets both stay."""
        shown: dict[str, JsonValue] = {}
        for name, item in value.items():
            key = name if len(name) < _HEAD else self.text(name)
            number = 1
            while key in shown:
                number += 1
                key = f"{MASK} {number}"
            shown[key] = self._field(name, item)
        return shown

    def _field(self, name: str, value: JsonValue) -> JsonValue:
        if secret_name(name) and value not in (None, "", True, False):
            return _hide(value)
        return self.value(value)


def secret_name(name: str) -> bool:
    """Whether a field of this name usually holds a secret."""
    return bool(_SECRET_NAMES.fullmatch(_NO_LETTER.sub("", name.lower())))


def secret_word(letters: str, text: str) -> tuple[bool, str]:
    """Whether a word of such a name has come, in text that comes in pieces.

    Args:
        letters: What the piece before gave back; empty at the first one.
        text: The next piece.
    """
    letters += _NO_LETTER.sub("", text.lower())
    return bool(_SECRET_WORDS.search(letters)), letters[1 - _LONGEST_WORD :]


def _key_begun(text: str) -> int:
    """Where a key of a well-known shape may begin that goes on past the text."""
    word = len(text.rstrip(_KEY_LETTERS))
    if text[max(0, word - 7) : word] in _BEARER:
        return word - 7
    if start := _KEY_STARTS.search(text, word):
        return start.start()
    begun = _KEY_BEGUN.search(text[-_LONGEST_HEAD - 1 :])
    return len(text) - (len(begun[0]) if begun else 0)


def _hide(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {key: _hide(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_hide(item) for item in value]
    return MASK
