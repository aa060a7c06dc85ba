"""A question on a terminal: everything that is asked for, then one typed line."""

from __future__ import annotations

import sys
from typing import cast

import click
import yaml
from pydantic import JsonValue

from bread_nb.a2ui.values import flat, masked, named, text_of, titled, visible
from bread_nb.a2ui.words import say
from bread_nb.base.consent import says_yes
from bread_nb.base.schema import Schema
from bread_nb.base.yaml_text import read_yaml
from bread_nb.project.decisions import as_answer, refusal
from bread_nb.project.inputs import read_mapping
from bread_nb.runtime.outcome import PendingCall

__all__ = ["ask", "read_line"]

_NO = frozenset({"", "no", "n", "deny", "denied"})


def ask(call: PendingCall) -> JsonValue:
    """Show a call that waits and read the answer.

    Raises:
        EOFError: When nobody answers; the call still waits.
    """
    click.echo(_shown(call), err=True)
    while True:
        match call.kind:
            case "input":
                answer = _value(call, read_line("Answer> "))
            case "outcome":
                answer = _outcome(read_line("happened RESULT, run, or failed> "))
            case _:
                answer = _approval(read_line("Approve? yes, or why not> "))
        if answer is not None:
            return answer


def read_line(prompt: str) -> str:
    """A typed line; the prompt is shown where somebody can see it.

    Raises:
        EOFError: At the end of what is typed.
    """
    if sys.stdin.isatty() and sys.stdout.isatty():
        return input(prompt)
    if sys.stdin.isatty():
        click.echo(prompt, nl=False, err=True)
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")


def _shown(call: PendingCall) -> str:
    places = {"agent": titled(call.agent_id), "tool": named(call.tool)}
    lines = [f"{call.handle}  {say(f'ask_{call.kind}', places)}"]
    if call.kind == "outcome":
        lines.append(f"  {say('why_outcome')}")
    because = f"Asked because: {call.rule}" if call.rule else ""
    facts = [flat(fact) for fact in (call.effect, because) if fact]
    if facts:
        lines.append(f"  {' '.join(facts)}")
    lines += [_argument(key, value) for key, value in call.args.items()]
    if call.kind == "input" and call.schema:
        lines.append(f"  (answer: {Schema(call.schema).describe()})")
    return "\n".join(lines)


def _argument(key: str, value: JsonValue) -> str:
    """One argument, whole: nobody approves what was not shown."""
    text = visible(text_of(masked(key, value)))
    return f"  {named(key)}: " + text.replace("\n", "\n    ")


def _approval(text: str) -> JsonValue:
    if says_yes(text):
        return {"approved": True}
    plain = text.strip()
    return refusal("approval", "" if plain.lower() in _NO else plain)


def _value(call: PendingCall, text: str) -> JsonValue:
    """A typed value: text, or a mapping where one is asked for."""
    schema = Schema(call.schema) if isinstance(call.schema, dict) else None
    if schema is None or schema.json.get("type") == "string":
        return {"answer": text}
    wrapped = text if schema.is_object else f"value: {text}"
    wanted = schema
    if not schema.is_object:
        wanted = Schema({"type": "object", "properties": {"value": schema.json}})
    try:
        found = read_mapping(wrapped, wanted)
    except yaml.YAMLError:
        found = None
    if found is None:
        click.echo(f"Type {schema.describe()}.", err=True)
        return None
    return {"answer": found if schema.is_object else found["value"]}


def _outcome(text: str) -> JsonValue:
    word, _, rest = text.strip().partition(" ")
    match word.lower():
        case "happened":
            return {"happened": True, "result": _json_or_text(rest.strip())}
        case "run" | "failed" as said:
            return as_answer({said: True})
        case _:
            return None


def _json_or_text(text: str) -> JsonValue:
    try:
        return cast("JsonValue", read_yaml(text))
    except yaml.YAMLError:
        return text
