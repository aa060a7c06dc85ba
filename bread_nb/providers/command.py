"""A command-line program as it runs: what it reads, what it writes, and how it ends.

It gets a process group of its own, which is ended as a whole; there is no shell. The
program has ended once its pipes are closed, or 2 s after its exit where something that
it started holds them.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import re
import signal
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bread_nb import errors
from bread_nb.base.redact import Redactor, environment_secrets, secret_variable
from bread_nb.errors import BreadError, ProviderError

__all__ = [
    "Command",
    "Running",
    "environment",
    "failed",
    "plain",
    "secrets_of",
    "start",
    "too_slow",
]

_GRACE_SECONDS = 2.0
_TERM_SECONDS = 0.3
_KILL_SECONDS = 5.0
_FULL = 1 << 20
_TAIL = 1 << 14
_TAIL_LINES = 5
_TAIL_LETTERS = 500
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
_ANSI = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A program with its arguments, its input and its environment."""

    argv: tuple[str, ...]
    stdin: bytes = field(repr=False)
    env: Mapping[str, str] = field(repr=False)
    cwd: str | None = None

    @property
    def name(self) -> str:
        """The program, for a person to read."""
        return Path(self.argv[0]).name


def environment(passed: Iterable[str], own: Mapping[str, str]) -> dict[str, str]:
    """The environment of this process without its secrets.

    Args:
        passed: Names of secrets that the program may know.
        own: Variables to set.
    """
    passed = frozenset(passed)
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in passed or not secret_variable(name)
    }
    return {**kept, **own}


def secrets_of(variables: Mapping[str, str]) -> tuple[str, ...]:
    """The values among variables whose names say that they are secret."""
    return tuple(value for name, value in variables.items() if secret_variable(name))


def plain(text: str) -> str:
    """Text without the escape sequences of a terminal."""
    return _ANSI.sub("", text) if "\x1b" in text else text


class Running(asyncio.SubprocessProtocol):
    """A program that was started; whoever started it calls `aclose`.

    `changed` is set whenever there is something new: output, or the end; `written` is
    how much it wrote to stdout so far.
    """

    def __init__(self, command: Command, changed: asyncio.Event) -> None:
        self.command = command
        self.changed = changed
        self.ended = False
        self.written = 0
        self._out: deque[bytes] = deque()
        self._size = 0
        self._err = bytearray()
        self._tail = bytearray()
        self._open = {1, 2}
        self._gone = asyncio.Event()
        self._grace: asyncio.TimerHandle | None = None
        self._closed = False
        self._transport: asyncio.SubprocessTransport | None = None

    # -- what asyncio tells -----------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The program runs."""
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """The program wrote something."""
        tail = self._tail if fd == 1 else self._err
        tail += data
        del tail[:-_TAIL]
        if fd == 1:
            self._out.append(data)
            self.written += len(data)
            self._size += len(data)
            if self._size > _FULL:
                self._pipe().pause_reading()
            self.changed.set()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """The program, and all that had the pipe from it, closed it."""
        self._open.discard(fd)
        self._settle_when_done()

    def process_exited(self) -> None:
        """The program is gone; what it started may still hold its pipes."""
        self._gone.set()
        if self._open:
            loop = asyncio.get_running_loop()
            self._grace = loop.call_later(_GRACE_SECONDS, self._settle)
        self._settle_when_done()

    def _settle_when_done(self) -> None:
        if self._gone.is_set() and not self._open:
            self._settle()
        self.changed.set()

    def _settle(self) -> None:
        self.ended = True
        self.changed.set()

    # -- what is asked of it ----------------------------------------------------------

    def write(self, data: bytes) -> None:
        """Give the program all its input; one that does not read it is left to that."""
        assert self._transport is not None
        pipe = self._transport.get_pipe_transport(0)
        assert isinstance(pipe, asyncio.WriteTransport)
        pipe.write(data)
        pipe.close()

    def take(self) -> bytes:
        """What the program wrote since the last time; it does not wait."""
        data = b"".join(self._out)
        self._out.clear()
        if self._size > _FULL and 1 in self._open:
            self._pipe().resume_reading()
        self._size = 0
        return data

    async def read(self, until: float = math.inf) -> bytes:
        """What the program writes next; none when it has ended.

        Args:
            until: The time of the loop at which it has taken too long.

        Raises:
            asyncio.TimeoutError: When it has.
        """
        while not (data := self.take()) and not self.ended:
            await self.wait(until)
        return data

    async def wait(self, until: float = math.inf) -> None:
        """Wait until `changed` is set, and clear it.

        Raises:
            asyncio.TimeoutError: When `until` comes first.
        """
        if until == math.inf:
            await self.changed.wait()
        else:
            async with asyncio.timeout_at(until):
                await self.changed.wait()
        self.changed.clear()

    @property
    def exit_code(self) -> int | None:
        """The exit code of the program; negative when a signal ended it."""
        assert self._transport is not None
        return self._transport.get_returncode()

    @property
    def exited(self) -> bool:
        """Whether the program is gone."""
        return self._gone.is_set()

    def evidence(self, secrets: Iterable[str] = ()) -> str:
        """The end of what it wrote to stderr, or else to stdout, without secrets."""
        text = _last(self._err) or _last(self._tail)
        return Redactor([*secrets, *environment_secrets()]).text(text)

    def stderr(self, secrets: Iterable[str] = ()) -> str:
        """The end of what it wrote to stderr, without secrets."""
        redactor = Redactor([*secrets, *environment_secrets()])
        return redactor.text(_last(self._err))

    def kill(self) -> None:
        """End the whole group at once."""
        self._signal(_KILL)

    async def aclose(self) -> None:
        """End the program and its group, and see to it that nothing is left of it."""
        if self._closed or self._transport is None:
            return
        self._closed = True
        try:
            if not self._gone.is_set():
                self._signal(signal.SIGTERM)
                await self.exit_within(_TERM_SECONDS)
        finally:
            if self._grace is not None:
                self._grace.cancel()
            if self._open or not self._gone.is_set():
                self.kill()
            self.ended = True
            self._transport.close()
        await self.exit_within(_KILL_SECONDS)

    async def exit_within(self, seconds: float) -> None:
        """Wait for the end of the program, for so long at most."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._gone.wait()

    def _signal(self, number: int) -> None:
        assert self._transport is not None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._transport.get_pid(), number)
            else:
                self._transport.kill()

    def _pipe(self) -> asyncio.ReadTransport:
        assert self._transport is not None
        pipe = self._transport.get_pipe_transport(1)
        assert isinstance(pipe, asyncio.ReadTransport)
        return pipe


async def start(command: Command, changed: asyncio.Event | None = None) -> Running:
    """Start a program and give it its input.

    Raises:
        BreadError: `COMMAND_NOT_FOUND` or `COMMAND_FAILED`.
    """
    loop = asyncio.get_running_loop()
    event = changed or asyncio.Event()
    try:
        _, running = await loop.subprocess_exec(
            lambda: Running(command, event),
            *command.argv,
            env=dict(command.env),
            cwd=command.cwd,
            start_new_session=True,
        )
    except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
        raise _not_found(command, error) from error
    except (OSError, ValueError) as error:
        raise ProviderError(
            f"{command.name} could not be started.",
            code="COMMAND_FAILED",
            why=f"{error}.",
            do="send it less, or another way",
        ) from error
    running.write(command.stdin)
    return running


def _not_found(command: Command, error: OSError) -> BreadError:
    if command.cwd is not None and not Path(command.cwd).is_dir():
        why = f"there is no folder {command.cwd}."
    else:
        why = f"{command.argv[0]}: {(error.strerror or 'not found').lower()}."
    return BreadError(
        f"The command {command.name} cannot be run.",
        code="COMMAND_NOT_FOUND",
        why=why,
        do=f"install {command.name}, or give its full path",
        context={"command": command.name},
    )


def failed(running: Running, secrets: Iterable[str] = ()) -> ProviderError:
    """The error for a program that ended with something other than 0."""
    code = running.exit_code or 0
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    tail = running.evidence(secrets)
    return ProviderError(
        f"{running.command.name} failed.",
        code="COMMAND_FAILED",
        why=f"{how}: {tail}" if tail else f"{how}, without a word.",
        do=f"run {running.command.name} by hand to see what it wants",
        context={"exit_code": code},
    )


def too_slow(command: Command, seconds: float) -> errors.TimeoutError:
    """The error for a program that took too long; it was ended."""
    return errors.TimeoutError(
        f"{command.name} took too long and was ended.",
        code="ETIMEDOUT",
        why=f"it had {seconds:g} s.",
        do="give it a longer timeout=, or ask for less",
        retryable=True,
        context={"bound": "timeout"},
    )


def _last(data: bytearray) -> str:
    text = plain(data.decode(errors="replace"))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    words = " | ".join(lines[-_TAIL_LINES:])
    return words if len(words) <= _TAIL_LETTERS else f"…{words[-_TAIL_LETTERS:]}"
