"""How a run ended, in words: for the header, for the picture, and what comes next."""

from __future__ import annotations

from dataclasses import dataclass

from bread_nb.a2ui.blocks import Call, tool_name
from bread_nb.a2ui.figures import cap, money
from bread_nb.a2ui.telling import Telling
from bread_nb.a2ui.values import named
from bread_nb.a2ui.words import say
from bread_nb.crumbs import RunEnd, RunFailed

__all__ = ["Ending", "ending", "error_of"]

Places = dict[str, str | int]
_PLAIN = {
    "truncated": "truncated",
    "refusal": "refusal",
    "context_exceeded": "context",
}
_COMMANDS = frozenset(
    {"await", "bread", "export", "git", "ollama", "pip", "python", "uv"}
)


@dataclass(frozen=True, slots=True)
class Ending:
    """An end in words.

    `word` stands in the header, `head` follows the agent's name in the picture, `title`
    and `note` say what is kept and what comes next.
    """

    word: str
    head: str
    title: str
    note: str


def ending(story: Telling) -> Ending:
    """The words for a run that has ended or was interrupted."""
    match story.state:
        case "finished":
            return Ending(say("state_finished"), say("head_finished"), "", "")
        case "stopped":
            title = say("state_stopped")
            return Ending(title, say("head_stopped"), title, _noted(story, "stopped"))
        case "failed":
            return _failed(story)
        case "bound":
            return _bound(story)
        case _:
            note = say("note_interrupted")
            word = say("state_interrupted")
            return Ending(word, say("head_interrupted"), word, note)


def _noted(story: Telling, key: str, places: Places | None = None) -> str:
    own = story.end.note if isinstance(story.end, RunEnd) else None
    return own or say(f"note_{key}", places)


def _failed(story: Telling) -> Ending:
    assert isinstance(story.end, RunFailed)
    error = story.end.error
    head = say("head_failed", {"code": error.code})
    what = _sentence(error.message.strip() or error.code)
    tries = story.turns[-1].retries if story.turns else 0
    if tries:
        what = say("with_tries", {"what": what.rstrip("."), "n": tries + 1})
    note = f"{what} {_advice(error.do)}".strip()
    return Ending(say("state_failed"), head, "", note)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def _advice(text: str) -> str:
    """Advice as a sentence; what can be pasted stays as it is."""
    first, blank, _ = text.partition(" ")
    if not blank or not first.isalpha() or not first.islower() or first in _COMMANDS:
        return text
    return _sentence(text[0].upper() + text[1:])


def error_of(story: Telling) -> dict[str, str] | None:
    """The error that ended the run, in its fixed shape."""
    if story.state != "failed" or not isinstance(story.end, RunFailed):
        return None
    error = story.end.error
    what = error.message.strip() or error.code
    return {"what": what, "why": error.why, "do": error.do, "code": error.code}


def _bound(story: Telling) -> Ending:
    reason = story.end.stop_reason if isinstance(story.end, RunEnd) else None
    kind, _, rest = (reason or "").partition(":")
    key, places = _bound_words(story, kind, rest)
    head = say(f"bound_{key}", places)
    word = say("state_bound", {"why": _short(key, places)})
    title = say(f"title_{key}", places) if key.startswith("budget") else word
    return Ending(word, say("head_bound", {"why": head}), title, _next(story, key))


def _next(story: Telling, key: str) -> str:
    return _noted(story, "budget" if key.startswith("budget") else key)


def _short(key: str, places: Places) -> str:
    return say("bound_budget" if key.startswith("budget") else f"bound_{key}", places)


def _bound_words(story: Telling, kind: str, rest: str) -> tuple[str, Places]:
    match kind:
        case "halt" if rest.startswith("budget"):
            return _budget(story)
        case "halt":
            return "rule", {"rule": rest or "unknown"}
        case "denied" | "stuck":
            places: Places = {"tool": named(tool_name(rest)), "n": _streak(story, kind)}
            return kind, places
        case "max_steps":
            return "steps", {"n": story.steps or len(story.turns)}
        case "max_turns":
            return "turns", {"n": len(story.turns)}
        case "session":
            return "session", {"kind": rest.replace("_", " ")}
        case _ if kind in _PLAIN:
            return _PLAIN[kind], {}
        case _:
            return "session", {"kind": f"{kind}:{rest}" if rest else kind}


def _budget(story: Telling) -> tuple[str, Places]:
    halted = story.halted
    limit = halted.cap if halted is not None else story.spending.budget
    if limit is None:
        return "budget", {}
    places: Places = {"cap": cap(limit)}
    if halted is None or halted.spent is None:
        return "budget_of", places
    return "budget_spent", {**places, "spent": money(halted.spent)}


def _streak(story: Telling, kind: str) -> int:
    """How many calls in a row, counted from the last, were refused or failed."""
    wanted = "denied" if kind == "denied" else "failed"
    number = 0
    for call in reversed(story.every_call()):
        if call.state == wanted:
            number += 1
        elif not _sealed(call):
            break
    return number or 1


def _sealed(call: Call) -> bool:
    return call.state == "cut"
