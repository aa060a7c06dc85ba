"""`bread chat`: one session, turn by turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module

import click

from bread_nb.base.ids import new_id
from bread_nb.bread import Bread
from bread_nb.cli.exits import FINISHED, WAITING
from bread_nb.cli.prompting import ask, read_line
from bread_nb.cli.render import TextVoice, as_command, tell
from bread_nb.cli.running import follow, tell_end
from bread_nb.errors import BreadError
from bread_nb.project.inputs import read_input
from bread_nb.runtime.inbox import find_session
from bread_nb.runtime.outcome import Outcome, PendingCall, Stopped, Suspended
from bread_nb.runtime.run import Run

__all__ = ["chat"]

_COMMAND = "chat"


@click.command(name="chat")
@click.argument("agent")
@click.option(
    "--session", metavar="S", help="Go on in this session, or in that of the run S."
)
@click.option("--model", metavar="P:M", help="Another model.")
def chat(
    agent: str, *, session: str | None, model: str | None
) -> Callable[[asyncio.Runner], int]:
    """Talk with AGENT. Ctrl-C stops a turn, Ctrl-D leaves.

    A call that asks is shown, and answered by typing: yes, y, approve or approved let
    it run; anything else refuses it, with your words as the reason.
    """

    def hold(runner: asyncio.Runner) -> int:
        bread = Bread.load()
        try:
            named = session and runner.run(find_session(bread.store, session))
            talk = _Talk(bread, runner, agent=agent, session=named, model=model)
            return talk.hold()
        except BreadError as error:
            error.do = as_command(error.do, _COMMAND)
            raise
        finally:
            runner.run(bread.close())

    return hold


class _Talk:
    def __init__(
        self,
        bread: Bread,
        runner: asyncio.Runner,
        *,
        agent: str,
        session: str | None,
        model: str | None,
    ) -> None:
        self._bread = bread
        self._runner = runner
        self._agent = agent
        self._session = session or new_id()
        self._model = model

    def hold(self) -> int:
        """Take turns until there is nothing more to read; the exit code."""
        with suppress(ImportError):
            import_module("readline")
        model = self._model or self._bread.agent(self._agent).model_name
        greeting = f"{self._agent}, {model}. Ctrl-C stops a turn, Ctrl-D leaves."
        click.echo(greeting, err=True)
        try:
            self._answer(self._open())
            while True:
                self._turn(read_line("> "))
        except EOFError:
            return WAITING if self._open() else FINISHED

    def _turn(self, text: str) -> None:
        if not text.strip():
            return
        try:
            known = self._bread.agent(self._agent)
            value = read_input(self._agent, known, text)
        except BreadError as error:
            tell(error, _COMMAND)
            return
        streams = known.format != "json"
        outcome = self._follow(lambda: self._start(value), streams=streams)
        self._answer(outcome.pending if isinstance(outcome, Suspended) else ())

    def _start(self, value: object) -> Run:
        return self._bread.run(
            self._agent, value, session=self._session, model=self._model
        )

    def _answer(self, waiting: tuple[PendingCall, ...]) -> None:
        """Ask what waits until nothing does."""
        while waiting:
            call = waiting[0]
            answer = ask(call)
            outcome = self._follow(
                lambda c=call, a=answer: self._bread.resume(c.checkpoint_id, a)
            )
            if isinstance(outcome, Suspended):
                waiting = outcome.pending
            else:
                waiting = self._open()

    def _open(self) -> tuple[PendingCall, ...]:
        """The calls of this session that wait."""
        found = self._runner.run(self._bread.pending())
        return tuple(call for call in found if call.session_id == self._session)

    def _follow(
        self, start: Callable[[], Run], *, streams: bool = True
    ) -> Outcome | None:
        """One turn to its end; None when it failed or was stopped by a person."""
        voice = TextVoice(streams=streams)

        async def turn() -> Outcome:
            return await follow(start(), voice, _COMMAND)

        try:
            outcome = self._runner.run(turn())
        except KeyboardInterrupt:
            return None
        except BreadError as error:
            voice.fail(error)
            tell(error, _COMMAND)
            return None
        voice.end(outcome)
        if isinstance(outcome, Stopped):
            self._runner.run(tell_end(self._bread, outcome))
        return outcome
