"""The MCP server that a program starts to reach our tools: `mcp_stub SOCKET`.

It knows nothing: what tools there are and what a call gives it asks over the socket.
It ends when the socket or its own input closes.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import struct
import sys
from typing import Any, cast

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

__all__ = ["main"]

_MARKS = ("claudecode/toolUseId", "toolUseId")


class _Socket:
    """Questions to the other side, answered in any order."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._asked: dict[int, asyncio.Future[dict[str, Any]]] = {}

    async def ask(self, **question: object) -> dict[str, Any]:
        """The answer to a question."""
        number = len(self._asked) + 1
        answer = asyncio.get_running_loop().create_future()
        self._asked[number] = answer
        data = json.dumps({"id": number, **question}).encode(errors="replace")
        self._writer.write(struct.pack(">I", len(data)) + data)
        await self._writer.drain()
        return await answer

    async def listen(self) -> None:
        """Take the answers until the other side is gone; then this process ends."""
        try:
            while True:
                (length,) = struct.unpack(">I", await self._reader.readexactly(4))
                told = json.loads(await self._reader.readexactly(length))
                answer = self._asked[told["id"]]
                if not answer.done():
                    answer.set_result(told)
        except (OSError, asyncio.IncompleteReadError):
            os._exit(0)


def _server(socket: _Socket) -> Server[dict[str, Any]]:
    async def list_tools(
        _context: ServerRequestContext[dict[str, Any]],
        _params: types.PaginatedRequestParams | None,
    ) -> types.ListToolsResult:
        told = await socket.ask(ask="tools")
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=each["name"],
                    description=each["description"],
                    input_schema=each["schema"],
                )
                for each in told["tools"]
            ]
        )

    async def call_tool(
        _context: ServerRequestContext[dict[str, Any]],
        params: types.CallToolRequestParams,
    ) -> types.CallToolResult:
        meta = cast("dict[str, Any]", params.meta or {})
        mark = next((meta[key] for key in _MARKS if key in meta), None)
        told = await socket.ask(name=params.name, args=params.arguments, mark=mark)
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=told["text"])],
            is_error=bool(told["failed"]),
        )

    return Server("bread", on_list_tools=list_tools, on_call_tool=call_tool)


async def _main(path: str) -> None:
    socket = _Socket(*await asyncio.open_unix_connection(path))
    server = _server(socket)
    async with stdio_server() as (read, write), asyncio.TaskGroup() as group:
        listening = group.create_task(socket.listen())
        await server.run(read, write, server.create_initialization_options())
        listening.cancel()


def main() -> None:
    """Serve until the program that started this is gone."""
    logging.disable(logging.INFO)
    asyncio.run(_main(sys.argv[1]))
    os._exit(0)


if __name__ == "__main__":
    main()
