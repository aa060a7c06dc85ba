"""A session of a program that owns its cycle, turn by turn.

The program asks for our tools over MCP and tells of its messages on stdout, one JSON
object a line. A turn of ours ends where the program waits for a tool: the calls go to
the runtime as those of any model, and the next turn begins by answering them. So a call
is decided, carried out and kept in the one way there is, and never twice.

A message may come in several events that repeat its usage; neighbours with one id are
one turn.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from bread_nb.base.wire import dumps
from bread_nb.messages import ToolResult, Usage
from bread_nb.providers.cli_options import Limits
from bread_nb.providers.command import Running, failed, plain
from bread_nb.providers.encoding import result_words
from bread_nb.providers.envelope import (
    claude_fault,
    claude_reason,
    claude_usage,
    objects,
    priced,
)
from bread_nb.providers.lines import LineReader, fields
from bread_nb.providers.model import (
    CallEnd,
    CallFragment,
    CallStart,
    Delta,
    Finish,
    ReasoningChunk,
    ReasoningEnd,
    SessionReport,
    TextChunk,
    UsageReport,
)
from bread_nb.providers.naming import CallIds
from bread_nb.providers.session_calls import SessionCalls, Use
from bread_nb.providers.tool_bridge import SERVER, ToolBridge, own_name

__all__ = ["CliSession"]

_SETTLE_SECONDS = 0.05
_EXIT_SECONDS = 1.0
_SYNTHETIC = "<synthetic>"


@dataclass(slots=True)
class _Message:
    """A message of the model as far as it has come.

    One that comes `in_pieces` has said its words already when its blocks come; it is
    `whole` when the program says so.
    """

    id: str
    model: str | None
    usage: Usage | None = None
    reported: bool = False
    spoke: bool = False
    in_pieces: bool = False
    whole: bool = False
    uses: list[Use] = field(default_factory=list[Use])


class CliSession:
    """One run of the program, from its first message to its result.

    Args:
        running: The program.
        bridge: Where it asks for tools.
        limits: Its bounds.
        asked: What it was asked with, for whoever would go on with it.
        secrets: What no error may show.
        names: The name of each tool by its short name.
    """

    def __init__(
        self,
        running: Running,
        bridge: ToolBridge,
        limits: Limits,
        *,
        asked: object,
        names: Mapping[str, str],
        secrets: Sequence[str] = (),
    ) -> None:
        self.asked = asked
        self.over = False
        self._dropped = False
        self._running = running
        self._bridge = bridge
        self._limits = limits
        self._names = names
        self._secrets = secrets
        self._until = asyncio.get_running_loop().time() + limits.seconds
        self._lines = LineReader()
        self._events = deque[dict[str, Any]]()
        self._message: _Message | None = None
        self._calls = SessionCalls(bridge, running.changed)
        self._waiting: list[Use] = []
        self._turns = 0
        self._reports = 0
        self._reported = Usage()
        self._carried = Usage()
        self._result: dict[str, Any] | None = None
        self._ended: str | None = None
        self._overdue: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> list[str]:
        """The ids of the calls that the program waits for, in call order."""
        return [use.call_id for use in self._waiting]

    @property
    def lost(self) -> bool:
        """Whether it cannot go on and says nothing of why."""
        self._read()
        return self.over or self._dropped or (self._running.ended and not self._events)

    def give(self, results: Sequence[ToolResult]) -> None:
        """Hand over the results of the calls that the program waits for."""
        if self._overdue is not None:
            self._overdue.cancel()
        for use, result in zip(self._waiting, results, strict=True):
            use.result = (result_words(result), result.failed)
        self._waiting = []

    async def turn(self, ids: CallIds) -> AsyncGenerator[Delta]:
        """What the model says until it waits for tools, or until its end.

        Raises:
            ProviderError: When the program, or its service, fails.
        """
        while True:
            self._calls.serve()
            self._read()
            while self._events and self._ended is None:
                for delta in self._take(self._events.popleft()):
                    yield delta
            if self._ended is not None or self._result is not None:
                break
            if self._due() and await self._settled():
                for delta in self._calling(ids):
                    yield delta
                return
            if self._running.ended:
                break
            await self._wait(self._until)
        for delta in self._closing():
            yield delta
        self.over = True
        if self._result is not None and (fault := self._fault()) is not None:
            raise fault
        silent = self._result is None and not self._turns and self._ended is None
        if silent and self._running.exit_code:
            raise failed(self._running, self._secrets)
        model = self._message.model if self._message else None
        reason = claude_reason(self._result or {}) or "end_turn"
        end = self._end()
        yield Finish(None if end else reason, model, ended=end)

    async def aclose(self) -> None:
        """End the program and let go of the socket; one that is done may end itself."""
        self.over = True
        if self._overdue is not None:
            self._overdue.cancel()
        try:
            if self._result is not None:
                await self._running.exit_within(_EXIT_SECONDS)
        finally:
            self._bridge.close()
            await self._running.aclose()

    # -- what comes in -----------------------------------------------------------------

    async def _wait(self, until: float) -> None:
        try:
            await self._running.wait(until)
        except TimeoutError:
            if until >= self._until:
                self._stop("session:timeout")

    def _stop(self, ended: str) -> None:
        self._ended = ended
        self._running.kill()

    def _read(self) -> None:
        data = self._running.take()
        lines = self._lines.feed(data) if data else []
        if self._running.ended and not data:
            lines = self._lines.rest()
        for line in lines:
            self._events += objects(plain(line.decode(errors="replace")))

    async def _settled(self) -> bool:
        """Whether no more of the message comes; the program waits for its calls."""
        if self._message is not None and self._message.whole:
            return True
        loop = asyncio.get_running_loop()
        before = self._running.written
        await self._wait(min(loop.time() + _SETTLE_SECONDS, self._until))
        return self._running.written == before and self._ended is None

    def _take(self, event: dict[str, Any]) -> Iterator[Delta]:
        if event.get("parent_tool_use_id"):
            return
        match event.get("type"):
            case "system":
                self._begin(event)
            case "assistant":
                yield from self._said(fields(event.get("message")))
            case "stream_event":
                yield from self._streamed(fields(event.get("event")))
            case "user":
                self._calls.refuse(_blocks(fields(event.get("message")).get("content")))
            case "result":
                self._result = event
            case _:
                pass

    def _begin(self, event: Mapping[str, Any]) -> None:
        servers: Any = event.get("mcp_servers") or []
        states = {
            fields(each).get("name"): fields(each).get("status") for each in servers
        }
        if states.get(SERVER) in ("failed", "disabled"):
            self._stop("session:broken_bridge")

    def _said(self, told: dict[str, Any]) -> Iterator[Delta]:
        """A message, or one more event of the same."""
        if told.get("model") == _SYNTHETIC:
            return
        message = self._message
        if message is None or message.id != told.get("id"):
            if self._turns >= self._limits.turns:
                self._stop("max_turns")
                return
            if message is not None and not message.reported:
                self._carried += message.usage or Usage()
                if message.spoke:
                    yield TextChunk("\n\n")
            self._turns += 1
            message = _Message(str(told.get("id")), told.get("model"))
            self._message = message
        message.usage = claude_usage(told.get("usage")) or message.usage
        for block in map(fields, _blocks(told.get("content"))):
            yield from self._block(block, message)

    def _streamed(self, event: dict[str, Any]) -> Iterator[Delta]:
        """A piece of a message, where the program tells of pieces too."""
        if event.get("type") == "message_start":
            yield from self._said({**fields(event.get("message")), "content": []})
        message, piece = self._message, fields(event.get("delta"))
        if message is None or self._ended is not None:
            return
        match event.get("type"):
            case "message_start":
                message.in_pieces = True
            case "content_block_delta":
                if text := piece.get("text"):
                    message.spoke = True
                    yield TextChunk(str(text))
                elif thought := piece.get("thinking"):
                    yield ReasoningChunk(str(thought))
            case "message_delta":
                told = claude_usage(event.get("usage"))
                if told is not None:
                    message.usage = replace(message.usage or told, output=told.output)
            case "message_stop":
                message.whole = True
            case _:
                pass

    def _block(self, block: dict[str, Any], message: _Message) -> Iterator[Delta]:
        match block.get("type"):
            case "text" | "thinking" if message.in_pieces:
                pass
            case "text" if block.get("text"):
                message.spoke = True
                yield TextChunk(str(block["text"]))
            case "thinking" if block.get("thinking"):
                yield ReasoningChunk(str(block["thinking"]))
                yield ReasoningEnd()
            case "tool_use":
                name = own_name(str(block.get("name")))
                if name is not None:
                    args = fields(block.get("input"))
                    use = Use(str(block.get("id")), name, args)
                    message.uses.append(use)
                    self._calls.add(use)
            case _:
                pass

    # -- tools -------------------------------------------------------------------------

    def _due(self) -> list[Use]:
        """The calls of the message, once the program waits for one of them."""
        return self._calls.due(self._message.uses) if self._message else []

    def _calling(self, ids: CallIds) -> Iterator[Delta]:
        assert self._message is not None
        self._waiting = self._due()
        for index, use in enumerate(self._waiting):
            use.call_id = ids.unique(use.id)
            yield CallStart(index, use.call_id, self._names.get(use.name, use.name))
            yield CallFragment(index, dumps(use.args))
            yield CallEnd(index)
        yield self._report()
        loop = asyncio.get_running_loop()
        if self._limits.call_seconds < float("inf"):
            self._overdue = loop.call_later(self._limits.call_seconds, self._drop)
        yield Finish("tool_use", self._message.model)

    def _drop(self) -> None:
        """A call takes too long for the program to wait: it is asked anew later."""
        self._dropped = True
        self._running.kill()

    # -- the end -----------------------------------------------------------------------

    def _report(self) -> UsageReport:
        """The tokens of the message, told once for all its events."""
        message = self._message
        assert message is not None
        usage, self._carried = self._carried, Usage()
        if not message.reported:
            usage += message.usage or Usage()
        message.reported = True
        self._reports += 1
        self._reported += usage
        return UsageReport(usage, later=True)

    def _closing(self) -> Iterator[Delta]:
        """What is left to say: words that only the result has, tokens, the cost."""
        result, message = self._result, self._message
        text = result.get("result") if result else None
        clean = self._end() is None and self._fault() is None
        spoke = message is not None and message.spoke
        if clean and not spoke and isinstance(text, str):
            yield TextChunk(text)
        if message is not None and not message.reported:
            yield self._report()
        if result is not None:
            total = claude_usage(result.get("usage")) or Usage()
            left = {
                tier: max(0, getattr(total, tier) - getattr(self._reported, tier))
                for tier in Usage.__slots__
            }
            price = priced(result.get("total_cost_usd"))
            yield SessionReport(Usage(**left), price, self._reports)

    def _fault(self) -> Exception | None:
        """The error of the service that the result tells of, if it is one."""
        result = self._result or {}
        if result.get("subtype", "success") != "success":
            return None
        return claude_fault(result, self._secrets) if result.get("is_error") else None

    def _end(self) -> str | None:
        """The bound at which the session ended; None for a clean end."""
        result = self._result
        subtype = str((result or {}).get("subtype", "success"))
        unserved = self._calls.unserved
        if any(use.refused for use in unserved):
            return "session:broken_bridge"
        if self._ended is not None:
            return self._ended
        if result is None:
            return "session:incomplete"
        if subtype == "error_max_turns":
            return "max_turns"
        if subtype != "success":
            return f"session:{subtype.removeprefix('error_')}"
        return "session:broken_bridge" if unserved and not self._fault() else None


def _blocks(content: object) -> list[object]:
    return cast("list[object]", content) if isinstance(content, list) else []
