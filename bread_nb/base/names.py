"""Scoped tool names and the selectors that match them.

A tool has an origin: a scope, for skills and plugins the id of what brought it,
and its own name. `tool:web_search` and `plugin:mcp_client/fs__read` are its
permission ids; `tool_web_search` and `plugin_mcp_client_fs__read` are what the
model calls it. Source: the Agents document, "Permissions".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from bread_nb.errors import BreadError

__all__ = [
    "Origin",
    "Scope",
    "Selector",
    "called",
    "check_name",
    "leaf_name",
    "perm_id",
]

Scope = Literal["tool", "skill", "task", "plugin", "core", "human"]

_SCOPES: tuple[Scope, ...] = ("tool", "skill", "task", "plugin", "core")
_OWNED: tuple[Scope, ...] = ("skill", "plugin")
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_SEGMENT = re.compile(r"(\*|[a-z])[a-z0-9_*]*")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a tool comes from: its scope, the owner's id if any, its name."""

    scope: Scope
    name: str
    owner: str | None = None


def check_name(value: str, kind: str) -> str:
    """`value` itself when it is lowercase snake_case.

    Raises:
        BreadError: `INVALID_NAME`.
    """
    if _NAME.fullmatch(value):
        return value
    raise BreadError(
        f"{value!r} is not a name for {'an' if kind[:1] in 'aeiou' else 'a'} {kind}.",
        code="INVALID_NAME",
        why="names are lowercase letters, digits and _, and begin with a letter.",
        do=f"rename it, for example {_suggest(value)!r}",
        context={"kind": kind, "value": value},
    )


def _suggest(value: str) -> str:
    text = re.sub(r"[^a-z0-9]+", "_", value.lower()).strip("_")
    return text if text[:1].isalpha() else f"t_{text}".rstrip("_")


def leaf_name(origin: Origin) -> str:
    """The name the model reads, such as `skill_deep_research_cite`."""
    return "_".join([origin.scope, *_owner(origin), origin.name])


def perm_id(origin: Origin) -> str:
    """The id that selectors match, such as `skill:deep_research/cite`."""
    return f"{origin.scope}:{'/'.join([*_owner(origin), origin.name])}"


def _owner(origin: Origin) -> list[str]:
    if origin.scope not in _OWNED:
        return []
    if not origin.owner:
        raise BreadError(
            f"A {origin.scope} tool needs the id of its {origin.scope}.",
            code="INVALID_NAME",
            why=f"{origin.name!r} came without one.",
            do=f"Origin({origin.scope!r}, {origin.name!r}, owner=...)",
            context={"kind": origin.scope, "value": origin.name},
        )
    return [origin.owner]


def called(function: object) -> str:
    """What a function is called, for a person."""
    return str(getattr(function, "__name__", f"a {type(function).__name__}"))


@dataclass(frozen=True, slots=True)
class Selector:
    """A parsed selector such as `tool:read_*`; each `*` stands for `[a-z0-9_]*`."""

    text: str
    scope: Scope
    name: re.Pattern[str]
    owner: re.Pattern[str] | None

    def matches(self, origin: Origin) -> bool:
        """Whether the tool of this origin is meant."""
        if origin.scope != self.scope or not self.name.fullmatch(origin.name):
            return False
        return self.owner is None or bool(self.owner.fullmatch(origin.owner or ""))

    @staticmethod
    def parse(text: str) -> Selector:
        """Read a selector.

        Raises:
            BreadError: `INVALID_PERMISSION`, naming the fault.
        """
        head, colon, body = text.partition(":")
        if not colon:
            raise _bad(text, "a selector is scope:name")
        if head == "human":
            raise _bad(text, "human tools are always available")
        if head not in _SCOPES:
            raise _bad(text, f"the scopes are {', '.join(_SCOPES)}")
        scope: Scope = head
        if scope not in _OWNED:
            return Selector(text, scope, _glob(text, body), None)
        if body == "*":
            return Selector(text, scope, _glob(text, "*"), _glob(text, "*"))
        owner, slash, name = body.partition("/")
        if not slash:
            raise _bad(text, f"a {scope} selector is {scope}:id/name")
        return Selector(text, scope, _glob(text, name), _glob(text, owner))


def _glob(text: str, segment: str) -> re.Pattern[str]:
    if not _SEGMENT.fullmatch(segment):
        raise _bad(text, f"{segment!r} may hold a-z, 0-9, _ and * only")
    return re.compile(re.escape(segment).replace(r"\*", "[a-z0-9_]*"))


def _bad(text: str, why: str) -> BreadError:
    return BreadError(
        f"{text!r} is not a permission selector.",
        code="INVALID_PERMISSION",
        why=f"{why}.",
        do="write it like tool:web_search, tool:read_* or plugin:mcp_client/*",
        context={"selector": text},
    )
