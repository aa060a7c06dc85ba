"""A command-line program as a model: `CliPipe("ollama", ["run", "llama3.2"])`.

The conversation goes to its stdin as lines of `Role: words`, its stdout is the answer.
There is no shell; the program does not get the secrets of this environment.
"""

from __future__ import annotations

import asyncio
import logging
import math
import shlex
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, cast

from bread_nb.base.redact import Redactor, environment_secrets
from bread_nb.errors import BreadError, ProviderError
from bread_nb.messages import Message, ToolResult, Usage
from bread_nb.providers.cli_options import CliOptions, ToolProtocol, missing_flags
from bread_nb.providers.cli_session import CliSession
from bread_nb.providers.command import Command, start
from bread_nb.providers.emulated import in_rounds, probe
from bread_nb.providers.encoding import empty_request
from bread_nb.providers.envelope import CliAnswer, priced, prompt
from bread_nb.providers.fitting import as_instruction
from bread_nb.providers.model import (
    Delta,
    Finish,
    Model,
    ModelRequest,
    TextChunk,
    UsageReport,
    closing,
)
from bread_nb.providers.naming import CallIds
from bread_nb.providers.one_shot import Parse
from bread_nb.providers.tool_bridge import ToolBridge, short_name

__all__ = ["CliAnswer", "CliPipe", "from_description"]

_LOG = logging.getLogger("bread_nb")
_LONGEST_ARGUMENT = 100_000
_BARE = ("--tools", "", "--strict-mcp-config", "--setting-sources", "")
_JSON = (*_BARE, "--output-format", "json")
_STREAM = (*_BARE, "--output-format", "stream-json", "--verbose")


class CliPipe:
    """A model that is a program: started for each call, or for a session of several.

    Args:
        command: The program, by its name or path.
        args: Its arguments; what this class needs comes after them.
        system_prompt_flag: The option that takes the system prompt; without one it is
            the first line of the input.
        timeout: Seconds for one start of the program; 0 is for ever.
        parse: Reads the whole output: `"claude-json"`, or a function that gives a
            `CliAnswer`, a mapping of its fields, or the text. Without it the output is
            the answer, streamed as it comes.
        tool_protocol: `"claude-mcp"` serves the agent's tools to the program, which
            runs a session of its own; `"claude"` writes them into the system prompt.
        max_turns: Messages of the model in one session.
        session_timeout: Seconds for a session; 0 is for ever.
        bridge_timeout: Seconds that a session waits for a tool; 0 is for ever.
        env: Variables to set for the program.
        pass_env: Names of secret variables that it may have.
        cwd: The folder it runs in.

    Raises:
        BreadError: `INVALID_SETTING` for an option that makes no sense.
    """

    free = False

    def __init__(
        self,
        command: str,
        args: Sequence[str] = (),
        *,
        system_prompt_flag: str | None = None,
        timeout: float = 30.0,
        parse: Literal["claude-json"] | Parse | None = None,
        tool_protocol: ToolProtocol | None = None,
        max_turns: int | None = None,
        session_timeout: float = 600.0,
        bridge_timeout: float = 120.0,
        env: Mapping[str, str] | None = None,
        pass_env: Sequence[str] = (),
        cwd: str | Path | None = None,
    ) -> None:
        self.described = Model(f"clipipe:{Path(command).name or command}")
        self.name = self.described.name
        self._argv = (command, *args)
        self._options = CliOptions(
            system_prompt_flag=system_prompt_flag,
            timeout=timeout,
            parse=parse,
            tool_protocol=tool_protocol,
            max_turns=max_turns,
            session_timeout=session_timeout,
            bridge_timeout=bridge_timeout,
            env=dict(env or {}),
            pass_env=tuple(pass_env),
            cwd=cwd,
        )
        self._probed = False
        self._warned = False

    async def aclose(self) -> None:
        """Nothing is open between the calls; sessions belong to their runs."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """Ask the program, and stream what it answers.

        Raises:
            BreadError: `COMMAND_NOT_FOUND`, `COMMAND_FAILED`, `COMMAND_UNREADABLE`,
                `EMPTY_RESPONSE`, `ETIMEDOUT` or `TOOLS_NOT_SUPPORTED`.
        """
        async with aclosing(self._way(request)(request)) as deltas:
            try:
                async for delta in deltas:
                    yield delta
            except ProviderError as error:
                hidden = (*self._options.secrets, *environment_secrets())
                error.why = Redactor(hidden).text(error.why)
                raise

    def _way(
        self, request: ModelRequest
    ) -> Callable[[ModelRequest], AsyncGenerator[Delta]]:
        """How a request is carried out."""
        options = self._options
        if options.tool_protocol == "claude-mcp":
            return self._session
        if options.tool_protocol and request.tools:
            return self._emulated
        if request.tools and not self._warned:
            self._warned = True
            _LOG.warning("%s has no tool_protocol: tools are left out", self.name)
        return self._plain if options.one_shot.parse is None else self._enveloped

    # -- one start of the program ------------------------------------------------------

    async def _plain(self, request: ModelRequest) -> AsyncGenerator[Delta]:
        words = self._options.one_shot.words(self._command(request))
        async with aclosing(words) as pieces:
            async for text in pieces:
                yield TextChunk(text)
        yield Finish(None)

    def _enveloped(self, request: ModelRequest) -> AsyncGenerator[Delta]:
        return self._round(request, [], _JSON if self._options.tool_protocol else ())

    async def _round(
        self, request: ModelRequest, answers: list[CliAnswer], flags: Sequence[str]
    ) -> AsyncGenerator[Delta]:
        """One answer, read whole; `answers` are those that are to be paid with it."""
        command = self._command(request, flags)
        answer = await self._options.one_shot.answer(command)
        answers.append(answer)
        yield TextChunk(answer.text)
        if (report := _report(answers)) is not None:
            yield report
        yield Finish(answer.stop_reason, answer.model)

    # -- tools by words ----------------------------------------------------------------

    async def _emulated(self, request: ModelRequest) -> AsyncGenerator[Delta]:
        answers: list[CliAnswer] = []

        def ask(asked: ModelRequest) -> AsyncIterator[Delta]:
            return self._round(asked, answers, _JSON)

        if not self._probed:
            await probe(self.name, ask)
            self._probed = True
        stream = in_rounds(self.name, ask).stream(request)
        async with closing(stream) as deltas:
            async for delta in deltas:
                yield delta

    # -- a session ---------------------------------------------------------------------

    async def _session(self, request: ModelRequest) -> AsyncGenerator[Delta]:
        session = await self._held(request) or await self._opened(request)
        try:
            turn = session.turn(CallIds(request.messages))
            async with aclosing(turn) as deltas:
                async for delta in deltas:
                    yield delta
        finally:
            if request.keep is not None and session.waiting and not session.over:
                request.keep.put(self, session)
            else:
                await session.aclose()

    async def _held(self, request: ModelRequest) -> CliSession | None:
        """The session that this request goes on with, its calls answered."""
        keep = request.keep
        session = cast("CliSession | None", keep.get(self)) if keep else None
        if keep is None or session is None:
            return None
        keep.drop(self)
        results = _results(request.messages)
        waits_for_these = session.waiting == [result.call_id for result in results]
        if waits_for_these and session.asked == _asked(request) and not session.lost:
            session.give(results)
            return session
        await session.aclose()
        return None

    async def _opened(self, request: ModelRequest) -> CliSession:
        changed = asyncio.Event()
        bridge = ToolBridge(request.tools, changed)
        limits = self._options.limits(request.turns_left)
        flags = list(_STREAM)
        try:
            if request.tools:
                flags += ["--mcp-config", str(await bridge.open())]
                flags += ["--allowedTools", ",".join(bridge.allowed)]
            if limits.turns < math.inf:
                flags += ["--max-turns", str(int(limits.turns))]
            running = await start(self._command(request, flags), changed)
        except BaseException:
            bridge.close()
            raise
        return CliSession(
            running,
            bridge,
            limits,
            asked=_asked(request),
            names={short_name(tool.name): tool.name for tool in request.tools},
            secrets=self._options.secrets,
        )

    # -- the command -------------------------------------------------------------------

    def _command(self, request: ModelRequest, flags: Sequence[str] = ()) -> Command:
        """The program as it is started for a request.

        Raises:
            BreadError: `INVALID_INPUT` when there is nothing to say to it.
        """
        schema, flag = request.output_schema, self._options.flag
        wanted = as_instruction(schema) if schema else ""
        system = "\n\n".join(filter(str.strip, (request.system, wanted)))
        argv = [*self._argv, *missing_flags(flags, self._argv)]
        if flag is not None and len(system.encode()) < _LONGEST_ARGUMENT:
            if system or self._options.tool_protocol:
                argv += [flag, system]
            system = ""
        said = prompt(request.messages, request.blobs, system)
        if not said:
            raise empty_request(self.name)
        return Command(
            argv=tuple(argv),
            stdin=said,
            env=self._options.environment(),
            cwd=str(self._options.cwd) if self._options.cwd is not None else None,
        )


def from_description(described: Model) -> CliPipe:
    """The model that `clipipe:PROGRAM ARGUMENT …` names; settings are its options.

    Raises:
        BreadError: `INVALID_MODEL` or `INVALID_SETTING`.
    """
    try:
        [command, *args] = shlex.split(described.name.partition(":")[2])
    except ValueError as error:
        raise BreadError(
            f"{described.name!r} names no command.",
            code="INVALID_MODEL",
            why=f"{error}.".lower(),
            do="for example clipipe:ollama run llama3.2",
        ) from None
    options = cast("dict[str, Any]", dict(described.settings))
    known = sorted(option.name for option in fields(CliOptions))
    unknown = [name for name in options if name not in known]
    unknown += [n for n in ("base_url", "api_key") if getattr(described, n)]
    if unknown:
        raise BreadError(
            f"clipipe has no setting {unknown[0]}.",
            code="INVALID_SETTING",
            why=f"its settings are {', '.join(known)}.",
            do="give the program its own options as arguments",
        )
    made = CliPipe(command, args, **options)
    made.described, made.name = described, described.name
    return made


def _asked(request: ModelRequest) -> tuple[object, ...]:
    """What a session is asked with, which does not change while it goes on."""
    return (request.system, request.tools)


def _results(messages: Sequence[Message]) -> list[ToolResult]:
    """The results that the last message brings."""
    parts = messages[-1].parts if messages else ()
    return [part for part in parts if isinstance(part, ToolResult)]


def _report(answers: Sequence[CliAnswer]) -> UsageReport | None:
    """The tokens and the cost of several starts, as far as all of them tell."""
    if all(each.usage is None and each.cost_usd is None for each in answers):
        return None
    usage = sum((each.usage or Usage() for each in answers), Usage())
    costs = [each.cost_usd for each in answers if each.cost_usd is not None]
    whole = len(costs) == len(answers)
    return UsageReport(usage, priced(sum(costs)) if whole else None)
