"""The way from a program to our tools: a private socket, and a stub that speaks MCP.

The program starts `bread_nb.providers.mcp_stub`, which asks this side over a unix
socket: mode 0600, in a folder of mode 0700, gone with the session. Nothing listens on
a port. This side only carries requests and answers; it runs no tool.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import shutil
import struct
import sys
import tempfile
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from pydantic import JsonValue

from bread_nb.base.wire import dumps
from bread_nb.errors import BreadError
from bread_nb.messages import ToolSpec
from bread_nb.providers.fitting import object_schema
from bread_nb.providers.lines import fields
from bread_nb.providers.naming import wire_name

__all__ = ["SERVER", "ToolBridge", "ToolRequest", "own_name", "short_name"]

SERVER = "bread"
_PREFIX = f"mcp__{SERVER}__"
_LONGEST_NAME = 64 - len(_PREFIX)
_LONGEST_PATH = 100
_LONGEST_MESSAGE = 1 << 26
_STUB = "bread_nb.providers.mcp_stub"
_PACKAGES = ("mcp", "mcp_types", "pydantic")


def short_name(name: str) -> str:
    """A tool's name as the program knows it, without what it puts before it."""
    return wire_name(name, _LONGEST_NAME)


def own_name(name: str) -> str | None:
    """The short name of a tool of ours by the program's name for it, else None."""
    return name.removeprefix(_PREFIX) if name.startswith(_PREFIX) else None


@dataclass(slots=True)
class ToolRequest:
    """A call as it came from the program, waiting for its answer.

    `mark` is the id of the call in the model's own message, where it is told, `at` the
    time of the loop when it came.
    """

    name: str
    args: dict[str, Any]
    mark: str | None
    at: float
    _writer: asyncio.StreamWriter = field(repr=False)
    _number: int

    def answer(self, text: str, *, failed: bool) -> None:
        """Send the result; a program that is gone misses it."""
        _send(self._writer, {"id": self._number, "text": text, "failed": failed})


class ToolBridge:
    """The socket of one session.

    `requests` are the calls that wait for an answer, oldest first. `changed` is set
    when one arrives.

    Args:
        tools: The tools on offer.
        changed: Set when there is something new.
    """

    def __init__(self, tools: Sequence[ToolSpec], changed: asyncio.Event) -> None:
        self.requests: deque[ToolRequest] = deque()
        self._tools = [_offer(tool) for tool in tools]
        self._changed = changed
        self._folder: Path | None = None
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    async def open(self) -> Path:
        """Listen; the path is that of the configuration for the program.

        Raises:
            BreadError: `NOT_AVAILABLE` without the extra, or without unix sockets.
        """
        _check_available()
        self._folder = folder = _private_folder()
        socket, config = folder / "tools", folder / "mcp.json"
        self._server = await asyncio.start_unix_server(self._serve, socket)
        os.chmod(socket, 0o600)
        stub = {
            "type": "stdio",
            "command": sys.executable,
            "args": ["-P", "-m", _STUB, str(socket)],
            "env": {"PYTHONPATH": os.pathsep.join(_places())},
        }
        config.write_text(json.dumps({"mcpServers": {SERVER: stub}}), encoding="utf-8")
        config.chmod(0o600)
        return config

    def close(self) -> None:
        """Let go of the socket and remove it; it may be called twice."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
        for writer in self._writers:
            writer.close()
        folder, self._folder = self._folder, None
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)

    @property
    def allowed(self) -> list[str]:
        """The program's names of the tools."""
        return [f"{_PREFIX}{tool['name']}" for tool in self._tools]

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._writers.add(writer)
        try:
            while True:
                self._take(await _receive(reader), writer)
        except (OSError, ValueError, asyncio.IncompleteReadError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    def _take(self, asked: Mapping[str, Any], writer: asyncio.StreamWriter) -> None:
        number = asked.get("id")
        if not isinstance(number, int):
            raise ValueError("no number")
        if asked.get("ask") == "tools":
            _send(writer, {"id": number, "tools": cast("JsonValue", self._tools)})
            return
        name, args = str(asked.get("name")), fields(asked.get("args"))
        mark: object = asked.get("mark")
        known = mark if isinstance(mark, str) else None
        at = asyncio.get_running_loop().time()
        self.requests.append(ToolRequest(name, args, known, at, writer, number))
        self._changed.set()


def _offer(tool: ToolSpec) -> dict[str, Any]:
    return {
        "name": short_name(tool.name),
        "description": tool.description,
        "schema": object_schema(tool.parameters),
    }


def _check_available() -> None:
    if importlib.util.find_spec("mcp") is None:
        raise BreadError(
            "Native tools of a program need the package mcp.",
            code="NOT_AVAILABLE",
            why="it is not installed.",
            do='pip install "bread-nb[mcp]"',
        )
    if not hasattr(asyncio, "start_unix_server"):
        raise BreadError(
            "Native tools of a program need unix sockets.",
            code="NOT_AVAILABLE",
            why="this system has none.",
            do='use tool_protocol="claude"',
        )


def _private_folder() -> Path:
    """A new folder that only this user can read, with a path short enough."""
    folder = Path(tempfile.mkdtemp(prefix="bread-"))
    if len(str(folder)) > _LONGEST_PATH - len("/mcp.json"):
        folder.rmdir()
        folder = Path(tempfile.mkdtemp(prefix="bread-", dir="/tmp"))
    folder.chmod(0o700)
    return folder


def _places() -> list[str]:
    """Where the packages are that the stub needs."""
    places = [str(Path(__file__).parents[2])]
    for package in _PACKAGES:
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin:
            places.append(str(Path(spec.origin).parents[1]))
    return list(dict.fromkeys(places))


async def _receive(reader: asyncio.StreamReader) -> dict[str, Any]:
    (length,) = struct.unpack(">I", await reader.readexactly(4))
    if length > _LONGEST_MESSAGE:
        raise ValueError("too long")
    return fields(json.loads(await reader.readexactly(length)))


def _send(writer: asyncio.StreamWriter, message: Mapping[str, JsonValue]) -> None:
    data = dumps(dict(message)).encode(errors="replace")
    with suppress(OSError, RuntimeError):
        writer.write(struct.pack(">I", len(data)) + data)
