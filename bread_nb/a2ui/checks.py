"""Structure checks of a list of A2UI components, before anything draws it.

A list that fails is refused with the place of each fault, and a placeholder stands
where it would have been; nothing is raised and the run goes on. The walk is a loop, so
that no depth of nesting can exhaust it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from json import dumps
from typing import cast

from pydantic import JsonValue

from bread_nb.a2ui.values import value_of
from bread_nb.a2ui.words import say

__all__ = ["Fault", "check_components", "children_of", "placeholder", "reachable"]

Json = dict[str, JsonValue]

DEEPEST = 50
MOST = 1000
LARGEST = 256_000
_SINGLE = ("child", "trigger", "content")


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, and the JSON Pointer of the place."""

    path: str
    text: str


def children_of(component: Mapping[str, JsonValue]) -> list[tuple[str, JsonValue]]:
    """What a component says its children are, each with its place in it."""
    found = [(key, component[key]) for key in _SINGLE if key in component]
    children = component.get("children")
    if isinstance(children, list):
        found += [(f"children/{at}", child) for at, child in enumerate(children)]
    elif isinstance(children, dict):
        found.append(("children/componentId", children.get("componentId")))
    elif "children" in component:
        found.append(("children", children))
    tabs = component.get("tabs")
    for at, tab in enumerate(tabs if isinstance(tabs, list) else []):
        child = tab.get("child") if isinstance(tab, dict) else None
        found.append((f"tabs/{at}/child", child))
    return found


def reachable(components: Mapping[str, Json]) -> list[Json]:
    """The components that hang together with the root, in the order of a reader."""
    seen: set[str] = set()
    ordered: list[Json] = []
    waiting = ["root"]
    while waiting:
        name = waiting.pop()
        if name in seen or name not in components:
            continue
        seen.add(name)
        ordered.append(components[name])
        below = [c for _, c in children_of(components[name]) if isinstance(c, str)]
        waiting += reversed(below)
    return ordered


def check_components(components: JsonValue) -> list[Fault]:
    """Everything that is wrong with the structure of a component list."""
    if not isinstance(components, list):
        return [Fault("", say("tree_list"))]
    if len(components) > MOST:
        return [Fault("", say("tree_many", {"n": len(components), "most": MOST}))]
    size = len(dumps(components, ensure_ascii=False))
    if size > LARGEST:
        return [Fault("", say("tree_large", {"n": size, "most": LARGEST}))]
    by_id, faults = _named(components)
    if "root" not in by_id:
        return [*faults, Fault("", say("tree_root"))]
    return faults + _walk(components, by_id)


def _named(components: Sequence[JsonValue]) -> tuple[dict[str, int], list[Fault]]:
    by_id: dict[str, int] = {}
    faults: list[Fault] = []
    for at, component in enumerate(components):
        if not isinstance(component, dict):
            kind = type(component).__name__
            faults.append(Fault(f"/{at}", say("tree_object", {"kind": kind})))
            continue
        name, kind = component.get("id"), component.get("component")
        if not isinstance(name, str) or not name:
            faults.append(Fault(f"/{at}/id", say("tree_id")))
        elif name in by_id:
            faults.append(Fault(f"/{at}/id", say("tree_twice", {"id": name})))
        elif not isinstance(kind, str) or not kind:
            faults.append(Fault(f"/{at}/component", say("tree_kind", {"id": name})))
        else:
            by_id[name] = at
    return by_id, faults


def _walk(components: list[JsonValue], by_id: Mapping[str, int]) -> list[Fault]:
    """Depth first from the root: circles, missing children, depth."""
    faults: list[Fault] = []
    above: set[str] = set()
    owner: dict[str, str] = {"root": ""}
    steps: list[tuple[str, bool]] = [("root", True)]
    while steps:
        name, entering = steps.pop()
        if not entering:
            above.discard(name)
            continue
        above.add(name)
        steps.append((name, False))
        if len(above) > DEEPEST:
            place = f"/{by_id[name]}"
            return [*faults, Fault(place, say("tree_deep", {"n": DEEPEST}))]
        for where, child in children_of(cast("Json", components[by_id[name]])):
            place = f"/{by_id[name]}/{where}"
            if not isinstance(child, str):
                faults.append(Fault(place, say("tree_child")))
            elif child in above:
                faults.append(Fault(place, say("tree_circle", {"id": child})))
            elif child not in by_id:
                faults.append(Fault(place, say("tree_missing", {"id": child})))
            elif child in owner:
                faults.append(Fault(place, say("tree_shared", {"id": child})))
            else:
                owner[child] = name
                steps.append((child, True))
    return faults


def placeholder(
    faults: Sequence[Fault], component_id: str = "root"
) -> tuple[Json, Json]:
    """A component that stands for a refused list, and its value."""
    path = f"/b/{component_id}"
    component: Json = {"id": component_id, "component": "Unsupported"}
    component["value"] = {"path": path}
    lines = [f"{fault.path or '/'}  {fault.text}" for fault in faults]
    return component, {"kind": "components", "raw": value_of("\n".join(lines))}
