"""The commands that make runs go on: run, resume, recover, cancel."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from pydantic import JsonValue

from bread_nb.bread import Bread
from bread_nb.cli.exits import FAULT, FINISHED
from bread_nb.cli.prompting import ask
from bread_nb.cli.render import (
    JsonVoice,
    LinesVoice,
    TextVoice,
    TraceVoice,
    Voice,
    as_command,
    tell,
)
from bread_nb.cli.running import carry_out, recording, say_answer, say_edits
from bread_nb.errors import BreadError
from bread_nb.project.decisions import Decisions, typed_answer
from bread_nb.project.inputs import read_input
from bread_nb.project.open_calls import resume_command
from bread_nb.runtime.inbox import find_question, find_session
from bread_nb.runtime.outcome import PendingCall

__all__ = ["cancel", "recover", "resume", "run"]

_as_json = click.option("--json", "manner", flag_value="json", help="One JSON outcome.")
_as_lines = click.option(
    "--jsonl", "manner", flag_value="jsonl", help="The crumbs, one JSON a line."
)
_as_trace = click.option(
    "--trace", "manner", flag_value="trace", help="The crumbs, numbered, for a person."
)


@click.command(name="run")
@click.argument("agent")
@click.argument("input", required=False)
@_as_json
@_as_lines
@_as_trace
@click.option(
    "--session", metavar="S", help="Go on in this session, or in that of the run S."
)
@click.option("--skill", metavar="K", help="Begin with this skill.")
@click.option("--model", metavar="P:M", help="Another model, for this run.")
@click.option("--discard", is_flag=True, help="End the run that waits in the session.")
@click.option("--approve", is_flag=True, help="Approve every call that asks.")
@click.option("--deny", is_flag=True, help="Refuse every call that asks.")
@click.option("--record", metavar="NAME", help="Record what the model says as NAME.")
@click.option(
    "--decide",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Answers by tool, from a YAML file.",
)
async def run(
    agent: str,
    input: str | None,
    *,
    manner: str | None,
    session: str | None,
    skill: str | None,
    model: str | None,
    discard: bool,
    approve: bool,
    deny: bool,
    record: str | None,
    decide: Path | None,
) -> int:
    """Run AGENT once with INPUT; - reads the input from stdin.

    An agent that takes a mapping gets one from YAML or JSON.
    """
    decisions = _decisions(approve, deny, decide)
    with recording(record):
        bread = Bread.load()
    async with bread:
        known = bread.agent(agent)
        text = _text(agent, input)
        voice = _voice(manner, streams=known.format != "json")
        started = bread.run(
            agent,
            read_input(agent, known, text),
            session=session and await find_session(bread.store, session),
            skill=skill,
            model=model,
            discard=discard,
        )
        return await carry_out(bread, started, voice, decisions)


@click.command(name="resume")
@click.argument("id")
@click.option("--approve", is_flag=True, help="Let the call run.")
@click.option(
    "--deny",
    is_flag=False,
    flag_value="",
    metavar="[REASON]",
    help="Refuse the call; the agent is told the reason.",
)
@click.option("--answer", metavar="JSON", help="Any other answer.")
@_as_json
@_as_lines
@_as_trace
async def resume(
    id: str,
    *,
    approve: bool,
    deny: str | None,
    answer: str | None,
    manner: str | None,
) -> int:
    """Answer the call ID (publisher-2.a, or its run) and go on with the run.

    Without an option it is shown, and the answer is typed.
    """
    if [approve, deny is not None, answer is not None].count(True) > 1:
        raise click.UsageError("Give one of --approve, --deny and --answer.")
    async with Bread.load() as bread:
        call = PendingCall.of(await find_question(bread.store, id))
        await say_edits(bread, call)
        given = _given(call, approve, deny, answer)
        if given is None:
            given = _typed(call)
        else:
            say_answer(call, given)
        resumed = bread.resume(call.checkpoint_id, given)
        return await carry_out(bread, resumed, _voice(manner))


@click.command(name="recover")
@click.argument("id", required=False)
@_as_json
@_as_lines
@_as_trace
async def recover(id: str | None, *, manner: str | None) -> int:
    """Go on with the run ID, or with all whose process died.

    What is finished is not repeated. The exit code is that of the worst end.
    """
    async with Bread.load() as bread:
        runs = await bread.recover(id)
        if not runs:
            click.echo("No run was interrupted.", err=True)
        codes = [FINISHED]
        for recovered in runs:
            try:
                codes.append(await carry_out(bread, recovered, _voice(manner)))
            except BreadError as error:
                tell(error)
                codes.append(FAULT)
        return FAULT if FAULT in codes else max(codes)


@click.command(name="cancel")
@click.argument("id")
async def cancel(id: str) -> int:
    """End the run ID; the session goes on from here."""
    async with Bread.load() as bread:
        row = await bread.cancel(id)
        click.echo(f"{row.handle} is ended. Its history is whole.", err=True)
    return FINISHED


def _voice(manner: str | None, *, streams: bool = True) -> Voice:
    match manner:
        case "json":
            return JsonVoice()
        case "jsonl":
            return LinesVoice()
        case "trace":
            return TraceVoice()
        case _:
            return TextVoice(streams=streams)


def _decisions(approve: bool, deny: bool, decide: Path | None) -> Decisions:
    if approve and deny:
        raise click.UsageError("Give --approve or --deny, not both.")
    reason = "" if deny else None
    if decide is None:
        return Decisions(approve=approve, deny=reason)
    return Decisions.read(decide, approve=approve, deny=reason)


def _text(agent: str, given: str | None) -> str:
    if given == "-":
        return sys.stdin.read()
    if given is None:
        raise BreadError(
            f"There is no input for {agent}.",
            code="USAGE",
            why="the input comes after the agent's name, or from stdin with -.",
            do=f'bread run {agent} "…"',
        )
    return given


def _given(
    call: PendingCall, approve: bool, deny: str | None, answer: str | None
) -> JsonValue:
    if approve:
        return {"approved": True}
    if deny is not None:
        return {"approved": False, "declined": True, "reason": deny}
    return None if answer is None else typed_answer(call.kind, call.handle, answer)


def _typed(call: PendingCall) -> object:
    """Show a call and read the answer from whoever sits there."""
    if not sys.stdin.isatty():
        raise BreadError(
            f"There is no answer for {call.handle}.",
            code="USAGE",
            why="nobody sits at this terminal.",
            do=as_command(resume_command(call)),
        )
    return ask(call)
