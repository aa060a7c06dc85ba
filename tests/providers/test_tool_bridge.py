"""The way from a program to our tools: the stub, as the official client sees it."""

import asyncio
import json
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from fixtures.commands import gone
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from bread_nb.errors import BreadError
from bread_nb.messages import ToolSpec
from bread_nb.providers import tool_bridge
from bread_nb.providers.tool_bridge import ToolBridge, own_name, short_name

LOOK = ToolSpec(
    "tool_look",
    "Look into the oven.",
    {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]},
)


@asynccontextmanager
async def stub_of(bridge: ToolBridge) -> AsyncIterator[Client]:
    config = json.loads((await bridge.open()).read_text("utf-8"))
    server = config["mcpServers"]["bread"]
    server.pop("type")
    try:
        async with Client(StdioServerParameters(**server)) as client:
            yield client
    finally:
        bridge.close()


async def test_the_official_client_sees_the_tools_and_gets_the_answers():
    changed = asyncio.Event()
    bridge = ToolBridge([LOOK], changed)
    async with asyncio.timeout(60), stub_of(bridge) as client:
        listed = await client.list_tools()
        assert [
            (each.name, each.description, each.input_schema["required"])
            for each in listed.tools
        ] == [("tool_look", "Look into the oven.", ["at"])]
        async with asyncio.TaskGroup() as group:
            asking = [
                group.create_task(client.call_tool("tool_look", {"at": name * 40_000}))
                for name in "ab"
            ]
            while len(bridge.requests) < 2:
                await changed.wait()
                changed.clear()
            # Answered in the other order, each goes to its own call.
            for request in reversed(bridge.requests):
                seen = request.args["at"][:1]
                request.answer(f"{seen} " + "é" * 100_000, failed=seen == "b")
        told = [task.result() for task in asking]
    texts = [each.content[0].text for each in told]  # pyright: ignore[reportAttributeAccessIssue]
    assert [text[:2] for text in texts] == ["a ", "b "]
    assert {len(text) for text in texts} == {100_002}
    assert [each.is_error for each in told] == [False, True]


async def test_the_stub_ends_when_the_session_does(tmp_path: Path):
    bridge = ToolBridge([LOOK], asyncio.Event())
    config = json.loads((await bridge.open()).read_text("utf-8"))
    server: dict[str, Any] = config["mcpServers"]["bread"]
    stub = await asyncio.create_subprocess_exec(
        server["command"],
        *server["args"],
        env=server["env"],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert stub.stdin is not None
    assert stub.stdout is not None
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    }
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    stub.stdin.write(json.dumps(asked).encode() + b"\n")
    async with asyncio.timeout(60):
        assert json.loads(await stub.stdout.readline())["id"] == 1
        bridge.close()
        assert await stub.wait() == 0
    await gone(stub.pid)


async def test_the_socket_and_its_folder_are_private_and_go_with_the_session():
    bridge = ToolBridge([LOOK], asyncio.Event())
    config = await bridge.open()
    folder = config.parent
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode)
        for path in (folder, *folder.iterdir())
    }
    assert modes.pop(folder.name) == 0o700
    assert modes == {"tools": 0o600, "mcp.json": 0o600}
    bridge.close()
    bridge.close()
    assert not folder.exists()


async def test_a_folder_with_a_long_name_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    long = tmp_path / ("oven" * 30)
    long.mkdir()
    monkeypatch.setattr(tool_bridge.tempfile, "tempdir", str(long))
    bridge = ToolBridge([LOOK], asyncio.Event())
    config = await bridge.open()
    assert len(str(config)) < 100
    bridge.close()


async def test_noise_on_the_socket_is_no_fault_and_asks_nothing():
    bridge = ToolBridge([LOOK], asyncio.Event())
    folder = (await bridge.open()).parent
    for noise in (b"GET / HTTP/1.1\r\n\r\n", b"\xff\xff\xff\xff", b"\0\0\0\2{}", b""):
        reader, writer = await asyncio.open_unix_connection(folder / "tools")
        writer.write(noise)
        writer.write_eof()
        async with asyncio.timeout(20):
            assert await reader.read() == b""
        writer.close()
    assert not bridge.requests
    bridge.close()


async def test_without_the_extra_the_way_to_get_it_is_said(
    monkeypatch: pytest.MonkeyPatch,
):
    find = tool_bridge.importlib.util.find_spec
    monkeypatch.setattr(
        tool_bridge.importlib.util,
        "find_spec",
        lambda name: None if name == "mcp" else find(name),
    )
    with pytest.raises(BreadError) as caught:
        await ToolBridge([LOOK], asyncio.Event()).open()
    assert caught.value.code == "NOT_AVAILABLE"
    assert 'pip install "bread-nb[mcp]"' in caught.value.do


def test_names_fit_with_what_the_program_puts_before_them():
    long = "tool_" + "x" * 60
    for name in ("tool_add", "tool_ä", long):
        full = f"mcp__bread__{short_name(name)}"
        assert len(full) <= 64
        assert own_name(full) == short_name(name)
    assert short_name("tool_add") == "tool_add"
    assert own_name("Bash") is None
