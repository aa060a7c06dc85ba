"""Where a service is and the key it wants, looked up when a call is made."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from bread_nb.errors import BreadError
from bread_nb.providers import weights
from bread_nb.providers.faults import unsendable, variable
from bread_nb.providers.model import Model
from bread_nb.providers.sdk import client_secrets, speaks_for_openai

__all__ = ["WHOLE", "Access", "access", "local_way", "secrets_of", "wrong_with"]


WHOLE = "http://localhost:8000/v1"


@dataclass(frozen=True, slots=True)
class Access:
    """The address of a service and the key for it; the key is never shown.

    Where a client of the service's own package sends, it knows both: the address is
    empty then, there is no key here, and `secrets` are those of the client.
    """

    base_url: str
    key: str | None = field(repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    official: bool = False


def access(
    provider: str,
    *,
    base_url: str | None,
    key: str | None,
    default_url: str,
    agent: str = "",
    client: object = None,
) -> Access:
    """The address and key given, or else those of the environment.

    Only the service's own address asks for a key; another host may need none.

    Raises:
        BreadError: `MODEL_KEY_MISSING` or `MODEL_AUTH`, or `BAD_REQUEST` for an address
            that is none.
    """
    if client is not None:
        return Access("", None, client_secrets(client), speaks_for_openai(client))
    url = base_url or os.environ.get(variable(provider, "BASE_URL")) or default_url
    if wrong := wrong_with(url):
        raise unsendable(
            provider,
            f"its base_url {wrong}.",
            f"write base_url in full, such as {WHOLE}",
        )
    found = (key or os.environ.get(variable(provider, "API_KEY")) or "").strip()
    if not found and url == default_url:
        raise _missing(provider, agent)
    if not (found.isascii() and found.isprintable()):
        raise BreadError(
            f"The key for {provider} is not one.",
            code="MODEL_AUTH",
            why="it holds characters that no key has, such as a line end.",
            do=f"set {variable(provider, 'API_KEY')} again, without quotes",
        )
    secrets = (found,) if found else ()
    return Access(
        url.rstrip("/"), found or None, secrets, url.rstrip("/") == default_url
    )


def wrong_with(url: str) -> str:
    """What keeps an address from being one; empty when nothing does."""
    try:
        parts = urlsplit(url)
        named = bool(parts.hostname) and parts.port != 0
    except ValueError:
        named = False
    if not url.lower().startswith(("http://", "https://")):
        return "does not begin with http:// or https://"
    return "" if named else "names no host, or a port that is none"


def secrets_of(described: Model) -> list[str]:
    """The secrets that a model was described with, for whoever masks them."""
    client = described.client
    found = list(client_secrets(client)) if client is not None else []
    url = described.base_url or ""
    if not wrong_with(url):
        found.append(urlsplit(url).password or "")
    return list(filter(None, [described.api_key, *found]))


def _missing(provider: str, agent: str) -> BreadError:
    name = variable(provider, "API_KEY")
    return BreadError(
        f"No key for {provider}.",
        code="MODEL_KEY_MISSING",
        why=f"{name} is not set in this kernel.",
        do=f"set it and restart, or: {local_way(agent)}",
        context={"provider": provider, "variable": name},
    )


def local_way(agent: str = "") -> str:
    """How to run without any key: with the local model."""
    cell = f"%%bread {agent or 'AGENT'} --model local:{weights.MODEL}"
    steps: list[str] = []
    if not weights.runtime_present():
        steps.append('pip install "bread-nb[local]"')
    try:
        missing = weights.find() is None
    except BreadError:
        missing = True
    if missing:
        steps.append("bread local install")
    return f"{', '.join(steps)}, then {cell}" if steps else cell
