"""Crumbs to wire JSON and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from importlib import import_module
from operator import attrgetter
from types import ModuleType
from typing import Any, cast

from pydantic import JsonValue

from bread_nb.base.wire import camel
from bread_nb.crumbs import turns
from bread_nb.crumbs.crumb import Crumb, ErrorInfo, UnknownCrumb
from bread_nb.errors import BreadError

__all__ = ["from_wire", "to_wire"]


def _types_in(module: ModuleType) -> dict[str, type[Crumb]]:
    kinds = (kind for kind in vars(module).values() if isinstance(kind, type))
    return {kind.type: kind for kind in kinds if issubclass(kind, Crumb) and kind.type}


_TURNS = _types_in(turns)


@cache
def _compositions() -> dict[str, type[Crumb]]:
    return _types_in(import_module("bread_nb.crumbs.compositions"))


class _Form:
    """How the crumbs of one type stand on the wire.

    `fields` holds each field's name and its name on the wire; `values` reads the type
    and all fields in one call, since crumbs are many.
    """

    __slots__ = ("fails", "fields", "keys", "optional", "values")

    def __init__(self, kind: type[Crumb]) -> None:
        unknown = kind is UnknownCrumb
        left_out = {"extra", "name"} if unknown else {"extra"}
        own = [f for f in fields(kind) if f.name not in left_out]
        self.fields = [(f.name, camel(f.name)) for f in own]
        self.keys = ("type", *(key for _, key in self.fields))
        self.optional = [camel(f.name) for f in own if f.default is None]
        self.fails = "error" in self.keys and "error" not in self.optional
        names = ["name" if unknown else "type", *(name for name, _ in self.fields)]
        self.values: Callable[[Crumb], tuple[object, ...]] = attrgetter(*names)


@cache
def _form(kind: type[Crumb]) -> _Form:
    return _Form(kind)


def to_wire(crumb: Crumb) -> dict[str, JsonValue]:
    """A crumb as plain JSON: camelCase, optional fields left out when unset."""
    form = _form(type(crumb))
    out: dict[str, Any] = dict(zip(form.keys, form.values(crumb), strict=True))
    for key in form.optional:
        if out[key] is None:
            del out[key]
    if form.fails and isinstance(out["error"], ErrorInfo):
        out["error"] = _error_json(out["error"])
    if crumb.extra:
        out.update(crumb.extra)
    return out


def _error_json(error: ErrorInfo) -> JsonValue:
    out: dict[str, JsonValue] = {
        "name": "BreadError",
        "code": error.code,
        "message": error.message,
    }
    for key in ("why", "do", "retryable"):
        if value := getattr(error, key):
            out[key] = value
    if error.context is not None:
        out["context"] = dict(error.context)
    return out


def from_wire(value: Mapping[str, JsonValue]) -> Crumb:
    """The crumb on the wire; unknown types and unknown fields are kept.

    Raises:
        BreadError: `PROTOCOL_DECODE_ERROR` when it is no crumb at all.
    """
    rest: dict[str, Any] = dict(value)
    name = rest.pop("type", None)
    if not isinstance(name, str) or "runId" not in rest or "agentId" not in rest:
        raise _undecodable(value)
    kind = _TURNS.get(name) or _compositions().get(name, UnknownCrumb)
    known: dict[str, Any] = {}
    for attribute, key in _form(kind).fields:
        if key in rest:
            known[attribute] = rest.pop(key)
    if kind is UnknownCrumb:
        known["name"] = name
    error: object = known.get("error")
    if isinstance(error, dict):
        known["error"] = _error_info(cast("dict[str, Any]", error))
    if _missing(kind, known):
        raise _undecodable(value)
    return kind(**known, extra=rest)


def _missing(kind: type[Crumb], known: Mapping[str, object]) -> bool:
    return any(
        f.name not in known
        for f in fields(kind)
        if f.default is MISSING and f.default_factory is MISSING
    )


def _error_info(value: dict[str, Any]) -> ErrorInfo:
    return ErrorInfo(
        code=str(value.get("code") or "AGENT_ERROR"),
        message=str(value.get("message", "")),
        why=str(value.get("why", "")),
        do=str(value.get("do", "")),
        retryable=value.get("retryable") is True,
        context=cast("Mapping[str, JsonValue] | None", value.get("context")),
    )


def _undecodable(value: Mapping[str, JsonValue]) -> BreadError:
    raw = str(dict(value))
    return BreadError(
        "This is not a crumb.",
        code="PROTOCOL_DECODE_ERROR",
        why="a crumb has a type, an agentId, a runId and the fields of its type.",
        do="send what bread_nb.crumbs.to_wire makes",
        context={"raw": raw if len(raw) <= 200 else f"{raw[:200]}…"},
    )
