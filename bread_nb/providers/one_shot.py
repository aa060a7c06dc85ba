"""One start of a command-line program: its output as it comes, or read whole."""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from bread_nb.errors import BreadError, ProviderError
from bread_nb.providers.command import Command, Running, failed, start, too_slow
from bread_nb.providers.envelope import CliAnswer

__all__ = ["OneShot", "Parse"]

Parse: TypeAlias = Callable[[str], CliAnswer | Mapping[str, Any] | str]


@dataclass(frozen=True, slots=True, kw_only=True)
class OneShot:
    """How a program is started and its output read.

    An output without a word is asked for once more.

    Args:
        timeout: Seconds for one start.
        parse: Reads the whole output; None takes it as it is.
        secrets: What no error may show.
    """

    timeout: float
    parse: Parse | None = None
    secrets: Sequence[str] = field(default=(), repr=False)

    async def words(self, command: Command) -> AsyncGenerator[str]:
        """The output as it comes, without the blanks at both ends.

        Raises:
            ProviderError: `COMMAND_FAILED` or `EMPTY_RESPONSE`.
            TimeoutError: When it takes too long.
        """
        for last in (False, True):
            running, until = await start(command), self._until()
            said, held = False, ""
            decoder = codecs.getincrementaldecoder("utf-8")("replace")
            try:
                more = True
                while more:
                    data = await self._next(running, until)
                    more = bool(data)
                    text = held + decoder.decode(data, not more)
                    text = text if said else text.lstrip()
                    shown = text.rstrip()
                    held = text[len(shown) :]
                    if shown:
                        said = True
                        yield shown
                self._check(running)
            finally:
                await running.aclose()
            if said:
                return
            if last:
                raise self._empty(running)

    async def answer(self, command: Command) -> CliAnswer:
        """The answer, read whole.

        Raises:
            ProviderError: `COMMAND_FAILED`, `COMMAND_UNREADABLE`, `EMPTY_RESPONSE` or
                what the output tells of.
            TimeoutError: When it takes too long.
        """
        for last in (False, True):
            running, until = await start(command), self._until()
            pieces: list[bytes] = []
            try:
                while data := await self._next(running, until):
                    pieces.append(data)
                output = b"".join(pieces).decode(errors="replace")
                answer = self._read(output, running)
            finally:
                await running.aclose()
            if answer is not None and answer.text.strip():
                return answer
            if last:
                raise self._empty(running)
        raise AssertionError

    def _read(self, output: str, running: Running) -> CliAnswer | None:
        """The answer of a program that has ended; None for no output."""
        if self.parse is None or not output.strip():
            self._check(running)
            return CliAnswer(text=output.strip())
        try:
            told = self.parse(output)
        except BreadError as error:
            if error.code == "COMMAND_UNREADABLE":
                self._check(running)
            raise
        except Exception as error:
            self._check(running)
            raise _unreadable(running.command.name, error) from error
        self._check(running)
        if isinstance(told, str):
            return CliAnswer(text=told)
        return told if isinstance(told, CliAnswer) else CliAnswer(**told)

    async def _next(self, running: Running, until: float) -> bytes:
        try:
            return await running.read(until)
        except TimeoutError:
            pass
        raise too_slow(running.command, self.timeout)

    def _until(self) -> float:
        return asyncio.get_running_loop().time() + self.timeout

    def _check(self, running: Running) -> None:
        if running.exit_code != 0:
            raise failed(running, self.secrets)

    def _empty(self, running: Running) -> ProviderError:
        name, told = running.command.name, running.stderr(self.secrets)
        why = "it was asked twice and wrote nothing to stdout both times"
        return ProviderError(
            f"{name} gave an empty answer.",
            code="EMPTY_RESPONSE",
            why=f"{why}; on stderr: {told}" if told else f"{why}.",
            do=f"run {name} by hand to see what it wants",
        )


def _unreadable(name: str, error: Exception) -> ProviderError:
    return ProviderError(
        f"The output of {name} cannot be read.",
        code="COMMAND_UNREADABLE",
        why=f"parse raised {type(error).__name__}: {error}.",
        do="look at the output: run the command by hand",
    )
