"""Whether a service answers: its list of models is asked for, which costs nothing."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast
from urllib.parse import urlsplit

from pydantic import JsonValue

from bread_nb.base.redact import Redactor
from bread_nb.errors import BreadError
from bread_nb.providers.faults import body_fault, unreachable, variable
from bread_nb.providers.keys import Access, access
from bread_nb.providers.lines import fields, parse_json
from bread_nb.providers.model import Model, split_name
from bread_nb.providers.transport import Lost, Unreachable, Unsendable

__all__ = ["REACHABLE", "Reached", "reach"]

_SECONDS = 10.0
_SHOWN = 5
_KEYLESS = frozenset({"ollama"})
_KEY_OF = {"responses": "openai"}
_URLS = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com/v1",
    "gemini": "https://generativelanguage.googleapis.com/v1beta",
    "ollama": "http://localhost:11434",
}
REACHABLE = frozenset({*_URLS, *_KEY_OF})


class _Fetches(Protocol):
    async def __call__(
        self, url: str, headers: Mapping[str, str]
    ) -> tuple[int, bytes]: ...


@dataclass(frozen=True, slots=True)
class Reached:
    """What a service said: whether all is well, in a sentence, and the mend."""

    well: bool
    what: str
    do: str | None = None
    answers: bool = True


async def reach(described: Model) -> Reached:
    """Ask the service of a model for its list of models; it never raises a fault."""
    provider, model = split_name(described.name)
    service = _KEY_OF.get(provider, provider)
    if described.client is not None:
        kind = type(described.client).__name__
        return Reached(True, f"{described.name} is sent by {kind}, which was not asked")
    try:
        keyless = service in _KEYLESS
        given = described.base_url or os.environ.get(variable(service, "BASE_URL"))
        place = access(
            service,
            base_url=given or (_URLS[service] if keyless else None),
            key=described.api_key,
            default_url="" if keyless else _URLS[service],
        )
        return await _asked(service, model, place)
    except BreadError as error:
        return _failed(error)


def _failed(error: BreadError) -> Reached:
    what = error.what.rstrip(".")
    why = error.why.rstrip(".")
    return Reached(False, f"{what}: {why}" if why else what, error.do, answers=False)


async def _asked(service: str, model: str, place: Access) -> Reached:
    url, headers = _question(service, place)
    host = urlsplit(url).hostname or service
    fetch = cast("_Fetches", import_module("bread_nb.providers.by_httpx").fetch)
    try:
        async with asyncio.timeout(_SECONDS):
            status, body = await fetch(url, headers)
    except TimeoutError:
        why = f"it was silent for {_SECONDS:g} s."
        raise unreachable(service, host, why, url=url, streams=False) from None
    except (Unreachable, Lost, Unsendable) as error:
        why = Redactor(place.secrets).text(str(error)) or "the connection was lost"
        raise unreachable(service, host, f"{why}.", url=url, streams=False) from None
    try:
        told = parse_json(body)
    except ValueError:
        told = None
    if status == 404:
        return Reached(True, f"{service} answers at {host}; it lists no models")
    if status != 200:
        raise body_fault(service, told, place.secrets, status=status)
    return _listed(service, model, host, _names(told))


def _question(service: str, place: Access) -> tuple[str, dict[str, str]]:
    """The address of the list of models, and the headers it wants."""
    base = place.base_url or _URLS[service]
    key = place.key
    match service:
        case "anthropic":
            headers = {"anthropic-version": "2023-06-01"}
            headers |= {"x-api-key": key} if key else {}
            return f"{base.removesuffix('/v1')}/v1/models?limit=1000", headers
        case "gemini":
            if not urlsplit(base).path:
                base = f"{base}/v1beta"
            return f"{base}/models?pageSize=1000", {"x-goog-api-key": key or ""}
        case "ollama":
            base = base.removesuffix("/v1").removesuffix("/api")
            url = f"{base}/api/tags"
        case _:
            url = f"{base}/models"
    return url, {"authorization": f"Bearer {key}"} if key else {}


def _names(told: JsonValue) -> list[str]:
    top = fields(told)
    listed = told if isinstance(told, list) else top.get("data") or top.get("models")
    each = [fields(item) for item in listed or ()]
    return [str(item.get("id") or item.get("name") or "") for item in each]


def _listed(service: str, model: str, host: str, names: list[str]) -> Reached:
    """Whether the model is in the list; a list that is cut says nothing."""
    bare = {name.removeprefix("models/").removesuffix(":latest") for name in names}
    wanted = model.removeprefix("models/").removesuffix(":latest")
    if wanted in bare:
        return Reached(True, f"{service} answers at {host} and has {model}")
    if not bare - {""}:
        return Reached(True, f"{service} answers at {host}; it lists no models")
    near = sorted(name for name in bare if name)[:_SHOWN]
    more = f" and {len(bare) - _SHOWN} more" if len(bare) > _SHOWN else ""
    mend = f"ollama pull {model}" if service == "ollama" else "check the model's name"
    what = f"{service} answers at {host} and does not list {model}"
    return Reached(False, f"{what}; it has {', '.join(near)}{more}", mend)
