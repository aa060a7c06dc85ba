"""What a host of Chat Completions does otherwise than the rest, known by its address.

Most hosts are alike. Those named here refuse what the others take; a setting of the
model says more, and a setting that is null leaves out what would be sent.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from bread_nb.providers.naming import wire_id

__all__ = ["COMMON", "OFFICIAL", "Host", "host_at"]

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_NINE = re.compile(r"[A-Za-z0-9]{9}")
_BOTH = frozenset({"json_schema", "json_object"})


def _nine_letters(identifier: str) -> str:
    """A call's id as Mistral wants it."""
    if _NINE.fullmatch(identifier):
        return identifier
    digest = hashlib.sha256(identifier.encode("utf-8", "surrogatepass")).digest()
    return "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:9])


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A host of Chat Completions.

    Args:
        name: What messages are kept encoded under, beside the model.
        limit: What it calls the limit on an answer's tokens.
        identifier: A call's id as the host takes it.
        formats: The kinds of `response_format` it knows.
        tells_usage: Whether it counts tokens without being asked to, and refuses
            to be asked.
        answer_after_tool: Whether an answer must stand between a result and the user.
        official: Whether it is OpenAI's own.
    """

    name: str = ""
    limit: str = "max_tokens"
    identifier: Callable[[str], str] = wire_id
    formats: frozenset[str] = _BOTH
    tells_usage: bool = False
    answer_after_tool: bool = False
    official: bool = False


COMMON = Host()
OFFICIAL = Host(limit="max_completion_tokens", official=True)
_MISTRAL = Host(
    name="mistral",
    identifier=_nine_letters,
    tells_usage=True,
    answer_after_tool=True,
)
_DEEPSEEK = Host(formats=frozenset({"json_object"}))
_LM_STUDIO = Host(formats=frozenset({"json_schema"}))
_LM_STUDIO_PORT = 1234


def host_at(base_url: str, *, official: bool = False) -> Host:
    """The host at an address.

    Args:
        base_url: Where it is.
        official: Whether it is known to be OpenAI's own.
    """
    if official:
        return OFFICIAL
    try:
        parts = urlsplit(base_url)
        name, port = parts.hostname or "", parts.port
    except ValueError:
        return COMMON
    if name.endswith("mistral.ai"):
        return _MISTRAL
    if name.endswith("deepseek.com"):
        return _DEEPSEEK
    return _LM_STUDIO if port == _LM_STUDIO_PORT else COMMON
