"""The tools in an agent's `tools/` folder, in a fixed order."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import ModuleType
from typing import cast

from bread_nb.errors import BreadError
from bread_nb.project.snapshots import Package, Snapshot
from bread_nb.runtime.agent import Agent, ToolSource
from bread_nb.tools.tool import Tool

__all__ = ["tool_files", "with_folder_tools"]

_FOLDER = "tools/"


def tool_files(snapshot: Snapshot) -> list[str]:
    """The files that hold tools; one whose name begins with `_` is for the others."""
    return sorted(
        name
        for name in snapshot.texts
        if name.startswith(_FOLDER)
        and name.endswith(".py")
        and "/" not in name.removeprefix(_FOLDER)
        and not name.removeprefix(_FOLDER).startswith("_")
    )


def with_folder_tools(agent: Agent, package: Package) -> Agent:
    """The agent with the folder's tools after its own.

    The source of a folder's tool is its whole file, so that a changed helper beside it
    counts as a change of the tool.

    Raises:
        BreadError: `TOOL_MISSING` or `TOOL_NAME_COLLISION`.
        Exception: Whatever the files raise.
    """
    own = {id(tool): tool for tool in agent.tools}
    homes = {t.leaf: "agent.py" for t in agent.tools if isinstance(t, Tool)}
    hashed: dict[int, Tool] = {}
    added: list[ToolSource] = []
    for name in tool_files(package.snapshot):
        source = hashlib.sha256(package.snapshot.texts[name]).hexdigest()
        for tool in _tools_of(package, name):
            if id(tool) in hashed:
                continue
            hashed[id(tool)] = replace(tool, source=source)
            if id(tool) in own:
                continue
            if tool.leaf in homes:
                raise _twins(tool, name, homes[tool.leaf])
            homes[tool.leaf] = name
            added.append(hashed[id(tool)])
    if not hashed:
        return agent
    tools = [hashed.get(id(tool), tool) for tool in agent.tools]
    return replace(agent, tools=[*tools, *added])


def _tools_of(package: Package, name: str) -> list[Tool]:
    stem = name.removeprefix(_FOLDER).removesuffix(".py")
    module = package.load(f"tools.{stem}")
    found = list(_exported(module, package.snapshot.texts[name]))
    if not found and stem not in _imported_here(package.snapshot):
        raise _no_tool(module, name)
    return found


def _exported(module: ModuleType, source: bytes) -> Iterator[Tool]:
    """The tools a module shows: those in `__all__`, or public and not imported."""
    listed = cast("Sequence[str] | None", getattr(module, "__all__", None))
    imported = _imported_names(ast.parse(source)) - {"tool"}
    for name, value in vars(module).items():
        if not isinstance(value, Tool):
            continue
        shown = not name.startswith("_") and name not in imported
        if name in listed if listed is not None else shown:
            yield value


def _imported_names(tree: ast.Module) -> set[str]:
    return {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def _imported_here(snapshot: Snapshot) -> set[str]:
    """The last words of everything that is imported relatively in the folder."""
    words: set[str] = set()
    for name, text in snapshot.texts.items():
        if not name.endswith(".py"):
            continue
        for node in ast.walk(_parsed(text)):
            if isinstance(node, ast.ImportFrom) and node.level:
                words |= {alias.name for alias in node.names}
                words.add((node.module or "").rpartition(".")[2])
    return words


def _parsed(text: bytes) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return ast.Module(body=[], type_ignores=[])


def _twins(tool: Tool, name: str, home: str) -> BreadError:
    return BreadError(
        f"{home} has a tool {tool.name!r} too",
        code="TOOL_NAME_COLLISION",
        why="the model could not tell them apart.",
        do="rename one: tool(fn, name=...)",
        context={"leaf": tool.leaf, "file": name},
    )


def _no_tool(module: ModuleType, name: str) -> BreadError:
    functions = [
        name
        for name, value in vars(module).items()
        if callable(value)
        and not name.startswith("_")
        and getattr(value, "__module__", None) == module.__name__
    ]
    found = f"it has {', '.join(functions)}" if functions else "nothing in it is a tool"
    return BreadError(
        "there is no tool in it",
        code="TOOL_MISSING",
        why=f"{found}.",
        do="decorate the function with @tool, or begin the file's name with _",
        context={"file": name},
    )
