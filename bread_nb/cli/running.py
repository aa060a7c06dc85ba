"""Following one run to its end, with the answers that were given beforehand."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

from pydantic import JsonValue

from bread_nb.a2ui.words import say
from bread_nb.bread import Bread
from bread_nb.cli.exits import FINISHED, STOPPED, WAITING
from bread_nb.cli.render import Voice, called, note, say_end, tell
from bread_nb.errors import BreadError
from bread_nb.project.decisions import Decisions, answer_words
from bread_nb.project.open_calls import asked_anew
from bread_nb.providers.deck import Deck
from bread_nb.runtime.outcome import Finished, Outcome, PendingCall, Stopped, Suspended
from bread_nb.runtime.run import Run
from bread_nb.stores.records import Definition, RunRow

__all__ = [
    "carry_out",
    "exit_code",
    "follow",
    "recording",
    "say_answer",
    "say_edits",
    "tell_end",
]

_SECONDS_TO_END = 10


@contextmanager
def recording(name: str | None) -> Generator[None]:
    """Have the `Bread` that is made in the block record under a name, if there is one.

    Raises:
        BreadError: `RECORD_REFUSED` in CI.
    """
    if name is not None:
        Bread.common_deck = Deck()
        Bread.common_deck.choose("record", name, said_by="--record")
    try:
        yield
    finally:
        Bread.common_deck = None


async def carry_out(
    bread: Bread, run: Run, voice: Voice, decisions: Decisions | None = None
) -> int:
    """Follow a run, answer what may be answered, say how it ended.

    Raises:
        BreadError: The fault the run ended with.
    """
    try:
        outcome = await follow(run, voice)
        while isinstance(outcome, Suspended) and decisions is not None:
            answered = _answered(outcome, decisions)
            if answered is None:
                break
            call, answer = answered
            say_answer(call, answer)
            outcome = await follow(bread.resume(call.checkpoint_id, answer), voice)
    except BreadError as error:
        voice.fail(error)
        raise
    voice.end(outcome)
    await tell_end(bread, outcome)
    return exit_code(outcome)


async def follow(run: Run, voice: Voice, command: str = "run") -> Outcome:
    """Tell each crumb of a run; an interrupt cancels it and waits for its end.

    `command` is what an agent is named to where it says how to go on.

    Raises:
        BreadError: The fault the run ended with.
    """
    try:
        async for crumb in run:
            voice.say(crumb)
            if anew := asked_anew(crumb):
                note(anew)
        return await run
    except asyncio.CancelledError:
        run.cancel()
        error = await _end_of(run)
        if error is not None:
            voice.fail(error)
            tell(error, command)
        raise


async def tell_end(bread: Bread, outcome: Outcome) -> None:
    """On stderr, why a run is not finished."""
    if not isinstance(outcome, Finished):
        say_end(outcome, await bread.crumbs(outcome.run_id))


async def say_edits(bread: Bread, call: PendingCall) -> None:
    """On stderr, what was edited in an agent since one of its calls asked."""
    row = await bread.store.get(RunRow, call.run_id)
    if row is None or row.definition is None:
        return
    then = await bread.store.get(Definition, row.definition)
    try:
        now = bread.definition(call.agent_id)
    except BreadError:
        return
    if then is None or now is None or then.id == now.id:
        return
    names = sorted({*then.files, *now.files})
    edited = [n for n in names if then.files.get(n) != now.files.get(n)]
    told = say("changed_agent", {"agent": call.agent_id})
    note(f"{told} ({', '.join(edited) or 'its other files'})")


def say_answer(call: PendingCall, answer: JsonValue) -> None:
    """On stderr, what is answered, and the call as it will run."""
    args = _edited(call, answer)
    how = "" if args is None else " with changes"
    asked = called(call.tool, call.args if args is None else args)
    note(f"{answer_words(call.kind, answer)} {call.handle}{how}: {asked}")


def _edited(call: PendingCall, answer: JsonValue) -> dict[str, JsonValue] | None:
    """The arguments that an answer puts in place of those that were asked about.

    They replace all of them: what is left out has its default, if it has one.
    """
    match answer:
        case {"approved": True, "args": dict() as given}:
            if call.kind == "approval" and given != call.args:
                return {**given, **_defaults(call.schema, given)}
        case _:
            pass
    return None


def _defaults(schema: JsonValue, given: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """The defaults of the arguments that were not given."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return {
        name: each["default"]
        for name, each in (properties if isinstance(properties, dict) else {}).items()
        if name not in given and isinstance(each, dict) and "default" in each
    }


def exit_code(outcome: Outcome) -> int:
    """The exit code that says how a run ended."""
    if isinstance(outcome, Suspended):
        return WAITING
    return STOPPED if isinstance(outcome, Stopped) else FINISHED


def _answered(
    outcome: Suspended, decisions: Decisions
) -> tuple[PendingCall, JsonValue] | None:
    """The first open call that has an answer, and the answer."""
    for call in outcome.pending:
        answer = decisions.answer(call)
        if answer is not None:
            return call, answer
    return None


async def _end_of(run: Run) -> BreadError | None:
    """The error a cancelled run ends with."""
    try:
        async with asyncio.timeout(_SECONDS_TO_END):
            await run
    except BreadError as error:
        return error
    except TimeoutError:
        return None
    return None
