"""The fold of a run's own course: start, text, model calls, files, bounds and end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from pydantic import JsonValue

from bread_nb import crumbs as c
from bread_nb.a2ui.blocks import FileMade, Notice, Prose, Retried, Stranger
from bread_nb.a2ui.figures import cap, money, seconds
from bread_nb.a2ui.telling import State, Telling
from bread_nb.a2ui.values import named
from bread_nb.a2ui.words import say

__all__ = ["TURNS", "files_in", "keep", "stopped_by_person"]

CANCELLED = "RUN_CANCELLED"
_DEEPEST = 20


def stopped_by_person(crumb: c.RunEnd | c.RunFailed) -> bool:
    """Whether a person ended the run, at once or at the next boundary."""
    if isinstance(crumb, c.RunFailed):
        return crumb.error.code == CANCELLED
    return crumb.stop_reason == "stopped"


def start(story: Telling, crumb: c.RunStart) -> None:
    """The run began: the first turn is asked for."""
    story.agent = crumb.agent_id
    story.model_asked = crumb.model or story.model_asked
    story.steps = crumb.steps
    turn = story.turn()
    turn.over = False
    story.enter("asking", crumb.timestamp)


def delta(story: Telling, crumb: c.TextDelta | c.ReasoningDelta) -> None:
    """The first piece of a text, or of what the model thinks."""
    story.close_tail()
    if not crumb.delta:
        return
    turn = story.turn(spoken=True)
    block = Prose(
        id=story.next_id(turn),
        run_id=crumb.run_id,
        delta=type(crumb),
        began=crumb.timestamp,
        until=crumb.timestamp,
        pieces=[crumb.delta],
    )
    story.add(turn, block)
    story.open_tail(block)
    state: State = "writing" if block.spoken else "thinking"
    if not story.running:
        story.enter(state, crumb.timestamp)


def writes_call(story: Telling, crumb: c.ToolInputStart) -> None:
    """The model began to write a call; the call itself is shown when it is made."""
    story.turn(spoken=True)
    if not story.running:
        story.enter("writing", crumb.timestamp)


def used(story: Telling, crumb: c.ModelUsed) -> None:
    """One model call ended; with kind `turn` it ended a turn of this run."""
    story.spending.add(crumb)
    if crumb.kind != "turn":
        return
    story.model = crumb.model
    if story.turns and story.turns[-1].priced and story.at_rest:
        story.turns[-1].over = True
    turn = story.turn(spoken=True)
    turn.number, turn.priced, turn.over = crumb.turn, True, True
    words = say("mark_model", {"n": len(story.turns)})
    if turn.mark is not None:
        story.remark(turn.mark, "model", words)


def retried(story: Telling, crumb: c.ModelRetry) -> None:
    """The model is asked again: the text of the failed try is withdrawn."""
    turn = story.turn(spoken=True)
    turn.retries += 1
    turn.over = False
    taken = [b for b in turn.blocks if isinstance(b, Prose)]
    text = "".join(block.text for block in taken if block.spoken)
    for block in taken:
        block.withdrawn = True
        story.take_out(turn, block)
    places: dict[str, str | int] = {
        "what": crumb.error.message.strip() or crumb.error.code,
        "wait": seconds(crumb.delay_ms).removesuffix(" s").removesuffix(".0"),
        "at": crumb.attempt,
        "of": crumb.attempts,
        "model": crumb.model or "",
    }
    key = "retry" if crumb.delay_ms >= 500 else "retry_now"
    if crumb.model is not None:
        key, story.model = "retry_instead", crumb.model
    words = say(key, places)
    block = Retried(id=story.next_id(turn), words=words, withdrawn=text)
    story.add(turn, block)
    story.enter("asking", crumb.timestamp)


def file(story: Telling, crumb: c.FileGenerated) -> None:
    """A file was made."""
    keep(story, crumb.uri, crumb.mime_type, crumb.name)


def files_in(value: JsonValue, depth: int = 0) -> list[tuple[str, str, str | None]]:
    """The files of the store that a tool's result tells of: address, kind, name."""
    if depth > _DEEPEST:
        return []
    if isinstance(value, list):
        inner = value
    elif isinstance(value, Mapping):
        found = _file_in(value) if value.get("kind") == "file" else None
        if found is not None and found[0].startswith("blob:"):
            return [found]
        inner = list(value.values())
    else:
        return []
    return [file for item in inner for file in files_in(item, depth + 1)]


def keep(story: Telling, uri: str, mime: str, name: str | None) -> None:
    """A file of the run, shown once."""
    known = story.files.get(uri)
    if known is not None:
        known.name = known.name or name
        story.touch(known)
        return
    turn = story.turn()
    made = FileMade(id=story.next_id(turn), uri=uri, mime=mime, name=name)
    story.files[uri] = made
    story.add(turn, made)


def halted(story: Telling, crumb: c.GateHalted) -> None:
    """A rule will end the run; its figures go into the note."""
    story.halted = crumb
    if crumb.cap is not None:
        story.spending.budget = crumb.cap


def warned(story: Telling, crumb: c.BudgetWarn) -> None:
    """A budget is nearly spent."""
    story.spending.budget = crumb.cap
    turn = story.turn()
    spent = {"spent": money(crumb.spent), "cap": cap(crumb.cap)}
    words = say("budget_warn", spent)
    notice = Notice(id=story.next_id(turn), words=words, done=crumb.spent, of=crumb.cap)
    story.add(turn, notice)


def ended(story: Telling, crumb: c.RunEnd) -> None:
    """The run ended, finished or at a bound."""
    for item in [*(crumb.files or []), crumb.output]:
        if (found := _file_in(item)) is not None:
            keep(story, *found)
    if stopped_by_person(crumb):
        _close(story, crumb, "stopped")
    else:
        _close(story, crumb, "bound" if crumb.stop_reason else "finished")


def failed(story: Telling, crumb: c.RunFailed) -> None:
    """The run ended in an error, or a person cancelled it."""
    if not stopped_by_person(crumb):
        story.mark("bad", say("mark_failed", {"code": crumb.error.code}))
    _close(story, crumb, "stopped" if stopped_by_person(crumb) else "failed")


def _close(story: Telling, crumb: c.RunEnd | c.RunFailed, state: State) -> None:
    for call in list(story.running.values()):
        call.state, call.awaited = "cut", False
        story.touch(call)
        story.touch_turn(call)
        story.remark(call.mark, "bad", say("mark_tool_cut", {"tool": named(call.name)}))
    story.running.clear()
    for form in story.open_forms.values():
        form.ended = say("form_withdrawn")
        story.touch(form)
        if form.call is not None and not form.call.settled:
            form.call.state, form.call.awaited = "cut", False
            story.touch(form.call)
            story.touch_turn(form.call)
    if story.open_forms:
        story.open_forms.clear()
        story.changes.forms = True
    story.end = crumb
    story.enter(state, crumb.timestamp)


def _file_in(item: JsonValue) -> tuple[str, str, str | None] | None:
    if not isinstance(item, Mapping):
        return None
    uri = item.get("uri")
    mime = item.get("mimeType") or item.get("mime_type")
    if not isinstance(uri, str) or not isinstance(mime, str):
        return None
    return uri, mime, cast("str | None", item.get("name"))


def unknown(story: Telling, crumb: c.UnknownCrumb) -> None:
    """A crumb of a newer version is kept and shown as it came."""
    turn = story.turn()
    raw = c.to_wire(crumb)
    for key in ("type", "agentId", "runId", "sessionId", "timestamp", "seq"):
        raw.pop(key, None)
    block = Stranger(id=story.next_id(turn), kind=crumb.name, raw=raw)
    story.add(turn, block)


TURNS = {
    c.RunStart: start,
    c.TextDelta: delta,
    c.ReasoningDelta: delta,
    c.ToolInputStart: writes_call,
    c.ModelUsed: used,
    c.ModelRetry: retried,
    c.FileGenerated: file,
    c.GateHalted: halted,
    c.BudgetWarn: warned,
    c.RunEnd: ended,
    c.RunFailed: failed,
    c.UnknownCrumb: unknown,
}
