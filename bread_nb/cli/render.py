"""Runs and errors on a terminal: the answer on stdout, all else on stderr."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import click
from pydantic import JsonValue

from bread_nb.a2ui.blocks import tool_name
from bread_nb.a2ui.endings import ending
from bread_nb.a2ui.story import Story
from bread_nb.a2ui.values import named, preview, visible
from bread_nb.base.redact import Redactor, environment_secrets
from bread_nb.base.wire import camel, dumps, json_safe
from bread_nb.crumbs import (
    Crumb,
    ModelRetry,
    ModelUsed,
    ReasoningDelta,
    TextDelta,
    ToolPartial,
    to_wire,
)
from bread_nb.errors import BreadError
from bread_nb.project.open_calls import resume_command, ways_to_answer
from bread_nb.project.showing import crumb_line
from bread_nb.runtime.outcome import Finished, Outcome, PendingCall, Stopped, Suspended

__all__ = [
    "JsonVoice",
    "LinesVoice",
    "TextVoice",
    "TraceVoice",
    "Voice",
    "as_command",
    "called",
    "note",
    "say_end",
    "say_waiting",
    "tell",
]

_GOES_ON = re.compile(r"%%bread \S+ --session \S+(?=\s*$)")
_LOADED = re.compile(r"%load_ext bread_nb, then %bread ")
_IN_CELLS = re.compile(r"%bread (?!(?:mode|reload|help)\b)")  # these have no command
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Voice(Protocol):
    """How a run is told while it works, at its end and at a fault."""

    def say(self, crumb: Crumb) -> None: ...
    def end(self, outcome: Outcome) -> None: ...
    def fail(self, error: BreadError) -> None: ...


class TextVoice:
    """The answer as it streams.

    Args:
        streams: Whether the text is the answer; where it is only the raw form of a
            value, the value is printed at the end.
    """

    def __init__(self, *, streams: bool = True) -> None:
        self._streams = streams
        self._at_start = True
        self._spoken: list[str] = []
        self._over = False

    def say(self, crumb: Crumb) -> None:
        """Print a piece of text; begin a line where another turn begins."""
        match crumb:
            case TextDelta(delta=delta) if self._streams:
                if self._over:
                    self._break()
                    self._spoken, self._over = [], False
                self._write(delta)
                self._spoken.append(delta)
            case ModelUsed(kind="turn"):
                self._over = True
            case ModelRetry():
                self._break()
                self._spoken = []
                other = crumb.model
                note(
                    f"{crumb.error.message} "
                    + (f"Asking {other} instead." if other else "Trying again.")
                )
            case ToolPartial(result=str() as text):
                note(f"{named(tool_name(crumb.tool_name))}: {text}")
            case _:
                pass

    def end(self, outcome: Outcome) -> None:
        """Print what has not been said yet."""
        self._break()
        if not isinstance(outcome, Finished):
            return
        said, output = "".join(self._spoken), outcome.output
        if isinstance(output, str):
            if output.strip() != said.strip():
                self._write(output)
        elif not self._streams or not said:
            self._write(dumps(_plain(output)))
        self._break()

    def fail(self, error: BreadError) -> None:
        """End the line; the error itself goes to stderr."""
        self._break()

    def _write(self, text: str) -> None:
        if not text:
            return
        if sys.stdout.isatty():
            text = _CONTROL.sub(lambda found: f"⟦U+{ord(found[0]):04X}⟧", text)
        sys.stdout.write(text)
        sys.stdout.flush()
        self._at_start = text.endswith("\n")

    def _break(self) -> None:
        if not self._at_start:
            self._write("\n")


class LinesVoice:
    """Crumbs in wire form, one a line."""

    def say(self, crumb: Crumb) -> None:
        """Print one crumb."""
        click.echo(dumps(to_wire(crumb)))

    def end(self, outcome: Outcome) -> None:
        """The last crumb has said it."""

    def fail(self, error: BreadError) -> None:
        """The last crumb has said it."""


class TraceVoice:
    """Crumbs for a person, numbered, one a line; text that streams is joined."""

    def __init__(self) -> None:
        self._text: TextDelta | ReasoningDelta | None = None

    def say(self, crumb: Crumb) -> None:
        """Print one crumb, or keep it until the text is complete."""
        if isinstance(crumb, TextDelta | ReasoningDelta):
            before = self._text
            if before is not None and type(before) is type(crumb):
                crumb = replace(crumb, delta=before.delta + crumb.delta)
            else:
                self._flush()
            self._text = replace(crumb, seq=None)
            return
        self._flush()
        click.echo(crumb_line(crumb))

    def end(self, outcome: Outcome) -> None:
        """Print the last text."""
        self._flush()

    def fail(self, error: BreadError) -> None:
        """Print the last text."""
        self._flush()

    def _flush(self) -> None:
        text, self._text = self._text, None
        if text is not None:
            click.echo(crumb_line(text))


class JsonVoice:
    """One JSON object when it is over, whatever the end."""

    def say(self, crumb: Crumb) -> None:
        """Nothing before the end."""

    def end(self, outcome: Outcome) -> None:
        """Print the outcome."""
        click.echo(dumps(_outcome_json(outcome)))

    def fail(self, error: BreadError) -> None:
        """Print the fault in an outcome's place."""
        told: dict[str, JsonValue] = {
            "code": error.code,
            "message": error.what,
            "why": error.why,
            "do": as_command(error.do),
        }
        click.echo(dumps({"outcome": "failed", "error": _redacted(told)}))


def tell(error: BreadError, command: str = "run") -> None:
    """An error on stderr in its lines, with commands as they are typed here."""
    lines = [as_command(line, command) for line in error.lines()]
    click.echo(visible("\n".join(map(_redactor().text, lines))), err=True)


def say_end(outcome: Outcome, crumbs: Sequence[Crumb]) -> None:
    """On stderr, what a run that did not finish waits for or was stopped by."""
    if isinstance(outcome, Suspended):
        for call in outcome.pending:
            say_waiting(call)
    elif isinstance(outcome, Stopped):
        words = ending(Story.of(crumbs))
        note(f"{outcome.handle} {words.head}")
        for line in (words.note, f"bread show {outcome.handle}"):
            note(f"  {line}")


def say_waiting(call: PendingCall) -> None:
    """On stderr, a call that waits, and how to answer it."""
    note(f"{call.handle} waits for a person: {called(call.tool, call.args)}")
    ways = ways_to_answer(call) or [f"do   {resume_command(call)}"]
    for line in ways:
        note(f"  {as_command(line)}")


def called(tool: str, args: Mapping[str, JsonValue]) -> str:
    """A call on one line: the tool, and its arguments in short."""
    return "  ".join(part for part in (named(tool), preview({**args})) if part)


def as_command(text: str, command: str = "run") -> str:
    """A text with what is typed in a cell as it is typed in a terminal.

    Args:
        text: The text.
        command: The command that an agent is named to here, `run` or `chat`.
    """
    if command == "run":
        text = _GOES_ON.sub(r'\g<0> "…"', text)
    text = _LOADED.sub("%bread ", text)
    return _IN_CELLS.sub("bread ", text.replace("%%bread ", f"bread {command} "))


def note(text: str) -> None:
    """A line on stderr, with what a terminal would obey written out."""
    click.echo(visible(_redactor().text(text)), err=True)


def _redactor() -> Redactor:
    return Redactor(environment_secrets())


def _redacted(value: dict[str, JsonValue]) -> JsonValue:
    return _redactor().value(value)


def _outcome_json(outcome: Outcome) -> dict[str, JsonValue]:
    metrics = outcome.metrics
    told: dict[str, object] = {
        "outcome": type(outcome).__name__.lower(),
        "output": _plain(outcome.output),
        "text": outcome.text,
        "stop_reason": outcome.stop_reason,
        "model": outcome.model,
        "usage": {camel(k): v for k, v in _fields(outcome.usage).items()},
        "cost": outcome.cost,
        "files": list(outcome.files),
        "run_id": outcome.run_id,
        "session_id": outcome.session_id,
        "handle": outcome.handle,
        "metrics": {
            "turns": metrics.turns,
            "toolCalls": dict(metrics.tool_calls),
            "unpricedCalls": metrics.unpriced_calls,
            "durationMs": metrics.duration_ms,
        },
    }
    if isinstance(outcome, Stopped):
        told["reason"] = outcome.reason
    if isinstance(outcome, Suspended):
        told["pending"] = [_call_json(call) for call in outcome.pending]
    return {camel(key): json_safe(value) for key, value in told.items()}


def _call_json(call: PendingCall) -> JsonValue:
    names = ("checkpoint_id", "handle", "kind", "tool_name", "args", "schema", "rule")
    return {camel(name): json_safe(getattr(call, name)) for name in names}


def _fields(value: object) -> dict[str, JsonValue]:
    names = getattr(type(value), "__dataclass_fields__", {})
    return {name: getattr(value, name) for name in names}


def _plain(value: object) -> JsonValue:
    try:
        return json_safe(value)
    except TypeError:
        return str(value)
