"""The form of a waiting call as the card draws it.

Tool, arguments and reason come from the crumb; what only the kernel knows (the one-time
nonce, the offers not to ask again, what changed since) is in `Extras`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from bread_nb.a2ui.blocks import Form, tool_name
from bread_nb.a2ui.figures import age, cap, money
from bread_nb.a2ui.forms import fields_of
from bread_nb.a2ui.telling import Telling
from bread_nb.a2ui.values import args_of, flat, named, sound, text_diff, titled
from bread_nb.a2ui.words import say
from bread_nb.base.consent import shown_hash
from bread_nb.base.effects import Net, Shell, Spawn, effect_words
from bread_nb.crumbs import HumanRequired

__all__ = [
    "Extras",
    "changed_since",
    "credentials_hint",
    "form_view",
    "remember_choices",
    "settled_elsewhere",
    "shown_hash",
]

Json = dict[str, JsonValue]

_KINDS = {
    "approval": ("Approval", "approval"),
    "input": ("Question", "input"),
    "outcome": ("Outcome", "outcome"),
    "halt": ("Question", "input"),
}
_LOUD = tuple(
    effect_words(effect, {}).removesuffix(".")
    for effect in (Shell(command=""), Spawn(), Net())
)
_BULK_LINES = 20
_BULK_CHARS = 1000
_QUOTED = ("question", "prompt", "message")


@dataclass(slots=True, kw_only=True)
class Extras:
    """What the kernel adds to a form.

    Args:
        nonce: Its one-time word; never saved, only sent over the comm.
        shown: The hash the answer must carry; made from the crumb when None, which
            holds as long as nothing in the arguments was masked.
        remember: The offers not to ask again, from `remember_choices`.
        remember_note: Why there is no offer.
        changed: What changed in the agent since it asked: a sentence and a diff.
        quote: The agent's own words.
        hint: The tool's own hint how to find out what happened.
        started: When the call was started, in words.
        end: The line of a settled form, where the crumbs do not tell it.
    """

    nonce: str = ""
    shown: str | None = None
    remember: list[Json] = field(default_factory=list[Json])
    remember_note: str | None = None
    changed: Json | None = None
    quote: str | None = None
    hint: str | None = None
    started: str | None = None
    end: str | None = None


def remember_choices(selector: str, agent: str, session: str | None) -> list[Json]:
    """The offers not to ask again, each with the rule that it adds."""
    places = {"rule": f"allow {selector}", "agent": agent, "session": session or ""}
    scopes = ["run", "session", "agent"] if session else ["run", "agent"]
    return [
        {"scope": scope, "text": say(f"remember_{scope}", places)} for scope in scopes
    ]


def changed_since(
    agent: str, before: Mapping[str, str], now: Mapping[str, str]
) -> Json | None:
    """What changed in an agent's files since it asked, for `Extras.changed`."""
    diff: list[JsonValue] = []
    for name in sorted({*before, *now}):
        lines = text_diff(before.get(name, ""), now.get(name, ""))
        if lines:
            heading: Json = {"op": " ", "text": name}
            diff += [heading, *lines]
    if not diff:
        return None
    return {"text": say("changed_agent", {"agent": agent}), "diff": diff}


def credentials_hint(names: Sequence[str]) -> str | None:
    """Which secrets a call could use, for whoever has to find out what it did."""
    return say("credentials_used", {"names": ", ".join(names)}) if names else None


def settled_elsewhere(
    end: str, ms_ago: int, place: str | None = None, *, ran: bool = True
) -> str:
    """The line for somebody who answers what was answered: `Approved 2 min ago …`."""
    ago = age(ms_ago)
    place = place or say("place_other")
    if ran:
        key = "settled_ran_now" if ago == "now" else "settled_ran"
    else:
        key = "settled_now" if ago == "now" else "settled"
    return say(key, {"end": end, "age": ago, "place": place})


def form_view(story: Telling, form: Form, extras: Extras) -> tuple[str, Json]:
    """A form's component and its value."""
    crumb = form.crumb
    component, ask = _KINDS[crumb.kind]
    end = extras.end or form.ended
    waiting = list(story.open_forms.values()) if form.open else []
    view: Json = {
        "checkpoint": crumb.checkpoint_id,
        "nonce": "" if end else extras.nonce,
        "shown": extras.shown
        or shown_hash(crumb.checkpoint_id, crumb.tool_name, crumb.args),
        "handle": crumb.handle or "",
        "agent": titled(crumb.agent_id),
        "tool": named(tool_name(crumb.tool_name)),
        "ask": ask,
        "title": _title(story, crumb),
        "why": _why(crumb),
        "rule": crumb.rule if crumb.kind == "approval" else None,
        "quote": extras.quote or _quote(crumb),
        "prompt": _prompt(crumb),
        "changed": extras.changed,
        "args": args_of(_shown_args(crumb), _arg_schema(crumb)),
        "schema": crumb.schema,
        "fields": _fields(crumb),
        "remember": [*extras.remember],
        "remember_note": extras.remember_note,
        "index": waiting.index(form) if form in waiting else 0,
        "of": max(len(waiting), 1),
        "bulk": not end and _bulk(waiting),
        "state": "settled" if end else "open",
        "end": None if end is None else sound(end),
        "started": extras.started,
        "hint": extras.hint,
    }
    return component, view


def _title(story: Telling, crumb: HumanRequired) -> str:
    places: dict[str, str | int] = {
        "agent": titled(crumb.agent_id),
        "tool": named(tool_name(crumb.tool_name)),
    }
    halted = story.halted
    if crumb.kind == "halt" and halted is not None and halted.cap is not None:
        places["cap"] = cap(halted.cap)
        if halted.spent is None:
            return say("title_budget_of", places)
        return say("title_budget_spent", {**places, "spent": money(halted.spent)})
    return say(f"ask_{crumb.kind}", places)


def _why(crumb: HumanRequired) -> str:
    if crumb.kind == "outcome":
        return say("why_outcome")
    return flat(crumb.effect or "") if crumb.kind == "approval" else ""


def _quote(crumb: HumanRequired) -> str | None:
    """The agent's question in its own words."""
    if crumb.kind != "input":
        return None
    said = crumb.prompt or _said(crumb.args)[1]
    return sound(said) if said else None


def _said(args: JsonValue) -> tuple[str | None, str | None]:
    """The argument that holds the question, and the question."""
    if isinstance(args, dict):
        for key in _QUOTED:
            if isinstance(said := args.get(key), str):
                return key, said
    return None, None


def _shown_args(crumb: HumanRequired) -> JsonValue:
    """The arguments, without the one that stands above them as a quote."""
    args = crumb.args
    key, said = _said(args)
    if crumb.kind != "input" or not isinstance(args, dict) or key is None:
        return args
    if crumb.prompt and crumb.prompt != said:
        return args
    return {name: value for name, value in args.items() if name != key}


def _prompt(crumb: HumanRequired) -> str | None:
    if crumb.kind == "input" or not crumb.prompt:
        return None
    return sound(crumb.prompt)


def _arg_schema(crumb: HumanRequired) -> JsonValue:
    return crumb.schema if crumb.kind == "approval" else None


def _fields(crumb: HumanRequired) -> list[JsonValue]:
    if crumb.kind == "approval":
        return [*fields_of(crumb.schema, crumb.args)] if crumb.schema else []
    if crumb.kind == "outcome" and not crumb.schema:
        return []
    return [*fields_of(crumb.schema)]


def _bulk(waiting: list[Form]) -> bool:
    """Whether one press may approve all: same tool, all in sight, nothing loud."""
    crumbs = [form.crumb for form in waiting]
    if len(crumbs) < 2 or any(crumb.kind != "approval" for crumb in crumbs):
        return False
    if len({crumb.tool_name for crumb in crumbs}) > 1:
        return False
    if any((crumb.effect or "").startswith(_LOUD) for crumb in crumbs):
        return False
    return all(_plain_sight(crumb) for crumb in crumbs)


def _plain_sight(crumb: HumanRequired) -> bool:
    for arg in args_of(crumb.args, crumb.schema):
        match arg:
            case {
                "value": {
                    "lines": int() as lines,
                    "chars": int() as chars,
                    "escapes": int() as escapes,
                    "segments": list() as segments,
                }
            }:
                blanks = any(isinstance(s, dict) for s in segments)
                if lines > _BULK_LINES or chars > _BULK_CHARS or escapes or blanks:
                    return False
            case _:
                return False
    return True
