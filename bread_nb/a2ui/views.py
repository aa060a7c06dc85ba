"""The story as the values of the card's data model: head, trail, note and blocks."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import JsonValue

from bread_nb.a2ui.blocks import (
    Block,
    Call,
    FileMade,
    Form,
    Mark,
    Notice,
    Prose,
    Retried,
    Row,
    Stranger,
    Turn,
)
from bread_nb.a2ui.endings import ending, error_of
from bread_nb.a2ui.telling import State, Telling
from bread_nb.a2ui.values import (
    args_of,
    changes,
    flat,
    masked,
    named,
    preview,
    sound,
    titled,
    value_of,
    visible,
)
from bread_nb.a2ui.words import say

__all__ = ["Facts", "block_view", "head_view", "mark_view", "note_view", "turn_view"]

Json = dict[str, JsonValue]

_SAID = ("text", "message", "words")
_ROLES: dict[State, tuple[str, str]] = {
    "waiting": ("wait", "bars"),
    "interrupted": ("wait", "bars"),
    "stopping": ("still", "square"),
    "finished": ("ok", "tick"),
    "bound": ("still", "square"),
    "stopped": ("still", "square"),
    "failed": ("bad", "cross"),
}


@dataclass(slots=True)
class Facts:
    """What the kernel knows of a run and its crumbs do not say."""

    foreground: bool = False
    replayed: bool = False
    recording: bool = False
    session: str | None = None
    title: str | None = None
    run: str | None = None
    detail: str | None = None
    live: bool = True


def head_view(story: Telling, facts: Facts, now: int) -> Json:
    """The header: agent, state, facts and the one button."""
    role, mark = _ROLES.get(story.state, ("work", "ring"))
    provider = (story.model or story.model_asked or "").partition(":")[0] or None
    button = "stop" if story.working and story.state != "stopping" else None
    if story.state == "waiting":
        button = "end"
    return {
        "agent": titled(facts.title or story.agent),
        "state": story.state,
        "word": _word(story),
        "role": role,
        "mark": mark,
        "model": _model(story),
        "turn": _turn_number(story),
        "steps": story.steps,
        "elapsed_ms": story.elapsed(now),
        "ticking": facts.live and story.working,
        "since_ms": max(now - story.since, 0),
        "tokens": story.spending.known_tokens,
        "cost": story.spending.cost_words(provider),
        "replayed": facts.replayed,
        "recording": facts.recording,
        "run": facts.run,
        "session": facts.session,
        "button": button if facts.live else None,
        "foreground": facts.foreground and facts.live,
        "waiting": len(story.open_forms),
        "detail": facts.detail or _detail(story),
    }


def _detail(story: Telling) -> str | None:
    """What a run that was asked to stop still waits for."""
    if story.state != "stopping" or not story.running:
        return None
    running = dict.fromkeys(named(call.name) for call in story.running.values())
    return say("still_stopping", {"tools": ", ".join(running)})


def _word(story: Telling) -> str:
    match story.state:
        case "tools":
            return _running(story)
        case "waiting":
            number = len(story.open_forms)
            return say(
                "state_waiting_more" if number > 1 else "state_waiting", {"n": number}
            )
        case "interrupted" | "finished" | "bound" | "stopped" | "failed":
            return ending(story).word
        case state:
            return say(f"state_{state}")


def _running(story: Telling) -> str:
    own = [call for call in story.running.values() if not call.delegates]
    working = sum(1 for child in story.stories.values() if child.working)
    if not own and working:
        return say("state_subagents", {"n": working})
    if len(own) == 1:
        return say("state_tool", {"tool": named(own[0].name)})
    return say("state_tools", {"n": len(own) or len(story.running)})


def _model(story: Telling) -> str:
    asked, used = titled(story.model_asked or ""), titled(story.model or "")
    if asked and used and asked != used:
        return say("model_instead", {"model": used, "asked": asked})
    return used or asked


def _turn_number(story: Telling) -> int:
    begun = len(story.turns)
    asks_next = story.state in ("asking", "resuming") and begun > 0
    return begun + 1 if asks_next and story.turns[-1].over else max(begun, 1)


def mark_view(mark: Mark) -> Json:
    """One mark of the trail."""
    return {"k": mark.kind, "n": mark.n, "words": flat(mark.words)}


def note_view(story: Telling) -> Json | None:
    """What is kept and what comes next, for an end that needs saying it."""
    if story.state not in ("bound", "stopped", "interrupted"):
        return None
    words = ending(story)
    role = "wait" if story.state == "interrupted" else "still"
    note: Json = {"role": role, "title": words.title, "text": words.note}
    return {**note, "button": "recover" if role == "wait" else None}


def error_view(story: Telling) -> Json | None:
    """The error that ended the run."""
    error = error_of(story)
    return None if error is None else {**error}


def turn_view(turn: Turn) -> Json:
    """How many calls a turn made and how many of them failed."""
    calls = [block for block in turn.blocks if isinstance(block, Call)]
    failed = sum(call.state in ("failed", "denied") for call in calls)
    return {"calls": len(calls), "failed": failed}


def block_view(block: Block) -> tuple[str, Json]:
    """A block's component and its value; forms and open text are made elsewhere."""
    match block:
        case Prose():
            return _prose(block)
        case Call():
            return "ToolCall", _call(block)
        case FileMade():
            name = block.name or say("file_nameless")
            known: Json = {"name": titled(name), "mime": titled(block.mime)}
            known["uri"] = block.uri
            return "File", known
        case Notice():
            figures: Json = {"done": block.done, "of": block.of}
            return "Progress", {"words": block.words, **figures}
        case Retried():
            words: Json = {"words": sound(block.words)}
            return "Retry", {**words, "withdrawn": sound(block.withdrawn)}
        case Row():
            return "ToolCall", _row(block)
        case Stranger():
            return "Unsupported", {
                "kind": titled(block.kind),
                "raw": value_of(block.raw),
            }
        case Form():
            raise TypeError("a form is drawn with what the kernel adds to it")


def _prose(block: Prose) -> tuple[str, Json]:
    if block.spoken:
        return "Markdown", {"done": block.done, "withdrawn": block.withdrawn}
    ms = words = 0
    if block.done:
        ms, words = max(block.until - block.began, 0), len(block.text.split())
    return "Reasoning", {"done": block.done, "ms": ms, "words": words}


def _call(call: Call) -> Json:
    error: Json | None = None
    if call.error is not None and call.state in ("failed", "cut"):
        told = call.error
        error = {"what": sound(told.message.strip() or told.code)}
        error.update(why=sound(told.why), do=sound(told.do), code=told.code)
    word = say("call_unknown" if call.outcome_unknown else f"call_{call.state}")
    words, meter = _progress(call.partial)
    return {
        "what": "call",
        "tool": named(call.name),
        "preview": preview(call.args),
        "state": call.state,
        "word": word,
        "ms": call.ms,
        "started_ms": call.began,
        "args": args_of(call.args),
        "result": value_of(masked("", call.result)) if call.returned else None,
        "progress": words,
        "meter": meter,
        "error": error,
        "decision": call.decision,
        "changes": changes(call.asked, call.args) if call.changed else None,
    }


def _progress(partial: JsonValue) -> tuple[str | None, Json | None]:
    """A tool's news: its words, and a meter when it says how far of how much."""
    match partial:
        case None:
            return None, None
        case {"done": int() | float() as done, "of": int() | float() as of}:
            said = [partial[key] for key in _SAID if key in partial]
            figures = {"done": f"{done:g}", "of": f"{of:g}"}
            words = next((s for s in said if isinstance(s, str)), None)
            meter: Json = {"done": done, "of": of}
            return visible(words or say("progress_of", figures)), meter
        case str():
            return visible(partial.strip()), None
        case _:
            return preview(partial), None


def _row(row: Row) -> Json:
    given: Json = {}
    if row.what == "agent" and row.input is not None:
        given = {"input": row.input}
    error: Json | None = None
    if row.failure is not None:
        error = {"what": visible(row.failure), "why": "", "do": "", "code": ""}
    return {
        "what": row.what,
        "tool": titled(row.name),
        "preview": preview(row.input) if given else "",
        "state": row.state,
        "word": say(f"row_{row.state}"),
        "ms": row.ms,
        "started_ms": row.began,
        "args": args_of(given),
        "result": value_of(masked("", row.output)) if row.returned else None,
        "progress": None,
        "meter": None,
        "error": error,
        "decision": None,
        "changes": None,
    }
