"""The fold of tool calls, decisions about them, and questions to a person."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from bread_nb import crumbs as c
from bread_nb.a2ui.blocks import Call, CallState, Form, Turn, tool_name
from bread_nb.a2ui.figures import seconds
from bread_nb.a2ui.tell_turns import files_in, keep
from bread_nb.a2ui.telling import Telling
from bread_nb.a2ui.values import named
from bread_nb.a2ui.words import say
from bread_nb.base.consent import says_yes

__all__ = ["CALLS", "answer_line", "resumed"]

_DENIED = frozenset(
    {"DENIED", "DECLINED", "PERMISSION_DENIED", "REFUSED", "TOOL_DENIED"}
)
_CUT = frozenset({"CANCELLED", "HALTED", "RUN_CANCELLED", "SEALED", "STOPPED"})


def _known(story: Telling, call_id: str | None) -> Call | None:
    call = story.calls.get(call_id) if call_id else None
    return call if call is not None and call.awaited else None


def _new(story: Telling, turn: Turn, call_id: str, leaf: str) -> Call:
    words = say("mark_tool_running", {"tool": named(tool_name(leaf))})
    mark = story.mark("tool", words)
    call = Call(id=story.next_id(turn), call_id=call_id, leaf=leaf, mark=mark)
    story.calls[call_id] = call
    turn.over = False
    story.add(turn, call)
    return call


def called(story: Telling, crumb: c.ToolCalled) -> None:
    """A tool starts; a call that a person approved goes on in its own block."""
    call = _known(story, crumb.tool_call_id)
    if call is None:
        call = _new(story, story.turn(), crumb.tool_call_id, crumb.tool_name)
    elif call.args != crumb.args and call.decision is not None:
        _edit(call, crumb.args)
    call.args = crumb.args
    call.state, call.began, call.ms = "running", crumb.timestamp, None
    call.outcome_unknown = False
    story.running[call.id] = call
    story.touch(call)
    story.touch_turn(call)
    story.enter("tools", crumb.timestamp)


def _edit(call: Call, args: JsonValue) -> None:
    if not call.changed:
        call.asked, call.changed = call.args, True
    call.args = args
    call.decision = say("approved_changed")


def returned(story: Telling, crumb: c.ToolReturned) -> None:
    """A tool returned; for a refused call this is what the model was told."""
    call = _known(story, crumb.tool_call_id)
    if call is None:
        call = _new(story, story.turn(), crumb.tool_call_id, crumb.tool_name)
    if call.state == "denied":
        call.awaited = False
        story.touch(call)
        return
    call.result, call.returned, call.partial = crumb.result, True, None
    for file in files_in(crumb.result):
        keep(story, *file)
    _settle(story, crumb, call, "done")


def partial(story: Telling, crumb: c.ToolPartial) -> None:
    """A tool tells how far it is."""
    call = _known(story, crumb.tool_call_id)
    if call is not None and call.state == "running":
        call.partial = crumb.result
        story.touch(call)


def tool_failed(story: Telling, crumb: c.ToolFailed) -> None:
    """A call failed, was refused or was cut short."""
    call = _known(story, crumb.tool_call_id)
    if call is None:
        call = _new(story, story.turn(), crumb.tool_call_id, crumb.tool_name)
    refusal = story.refused.pop(crumb.tool_name, None)
    if refusal is not None and call.decision is None:
        call.decision, call.state = refusal, "denied"
    state = _fate(call, crumb.error)
    if state == "denied" and call.decision is None:
        call.decision = say("denied_because", {"reason": crumb.error.message})
    if state != "denied":
        call.error = crumb.error
    call.partial = None
    _settle(story, crumb, call, state)


def _fate(call: Call, error: c.ErrorInfo) -> CallState:
    if call.state == "denied" or error.code in _DENIED:
        return "denied"
    if error.code in _CUT or error.message.startswith(("[halted", "[stopped")):
        return "cut"
    return "failed"


def _settle(
    story: Telling,
    crumb: c.Crumb,
    call: Call,
    state: CallState,
    *,
    awaited: bool = False,
) -> None:
    ms = crumb.duration_ms if isinstance(crumb, c.ToolReturned | c.ToolFailed) else None
    call.state, call.ms, call.awaited = state, ms, awaited
    call.outcome_unknown = False
    story.running.pop(call.id, None)
    story.touch(call)
    story.touch_turn(call)
    places = {"tool": named(call.name), "took": seconds(ms or 0)}
    kind = "tool" if state == "done" else "bad"
    story.remark(call.mark, kind, say(f"mark_tool_{state}", places))
    story.rest(crumb)


def decided(story: Telling, crumb: c.GateDecided) -> None:
    """The gate spoke: a refusal settles a call that never started."""
    call = _known(story, crumb.tool_call_id)
    if crumb.decision == "allow":
        if call is not None and call.decision is None:
            call.decision = say("approved_rule")
            story.touch(call)
        return
    if crumb.decision == "ask":
        return
    words = _denied_by(crumb)
    if crumb.tool_call_id is None:
        story.refused[crumb.tool_name] = words
        return
    if call is None:
        call = _new(story, story.turn(), crumb.tool_call_id, crumb.tool_name)
    call.decision = words
    _settle(story, crumb, call, "denied", awaited=True)


def _denied_by(crumb: c.GateDecided) -> str:
    """The rule that refused, and why where that is more than the rule itself."""
    reason = " ".join((crumb.reason or "").split())
    if not reason or reason.endswith(f"is denied by the rule {crumb.rule}."):
        return say("denied_rule", {"rule": crumb.rule})
    return say("denied_rule_because", {"rule": crumb.rule, "reason": reason})


def required(story: Telling, crumb: c.HumanRequired) -> None:
    """A call waits for a person: its form opens, and the call shows that it waits."""
    turn = story.turn()
    own = crumb.run_id == story.run_id
    call = _waiting_call(story, turn, crumb) if own else None
    again = story.forms.get(crumb.checkpoint_id)
    if again is not None and again.open:
        again.crumb, again.call = crumb, call
        story.touch(again)
    else:
        places = {"tool": named(tool_name(crumb.tool_name))}
        mark = story.mark("wait", say("mark_waiting", places))
        form = Form(
            id=story.next_id(turn),
            crumb=crumb,
            mark=mark,
            call=call,
            asked_at=crumb.timestamp,
        )
        story.forms[crumb.checkpoint_id] = form
        story.open_forms[crumb.checkpoint_id] = form
        story.add(turn, form)
    story.changes.forms = True
    story.rest(crumb)


def _waiting_call(story: Telling, turn: Turn, crumb: c.HumanRequired) -> Call | None:
    if crumb.kind == "halt":
        return None
    call = _known(story, crumb.tool_call_id)
    if call is None:
        call_id = crumb.tool_call_id or crumb.checkpoint_id
        call = _new(story, turn, call_id, crumb.tool_name)
    if crumb.args is not None:
        call.args = crumb.args
    call.state = "waiting"
    call.outcome_unknown = crumb.kind == "outcome"
    story.running.pop(call.id, None)
    story.touch(call)
    story.touch_turn(call)
    return call


def resumed(story: Telling, crumb: c.HumanResumed) -> None:
    """A person, an expiry or the end of the run settled a question."""
    form = story.forms.get(crumb.checkpoint_id)
    if not story.ended:
        story.enter("resuming", crumb.timestamp)
    if form is None or not form.open:
        return
    form.ended = answer_line(_plain(crumb), form.crumb.args)
    form.response = crumb.response
    story.open_forms.pop(crumb.checkpoint_id, None)
    story.touch(form)
    story.changes.forms = True
    places = {"tool": named(tool_name(form.crumb.tool_name)), "end": form.ended}
    story.remark(form.mark, "wait", say("mark_answered", places))
    if form.call is not None:
        _apply(story, crumb, form.call)
    elif story.open_forms:
        story.rest(crumb)
    if story.open_forms or story.running:
        return
    if story.state in ("asking", "tools"):
        story.enter("resuming", crumb.timestamp)


def _plain(crumb: c.HumanResumed) -> Mapping[str, JsonValue]:
    """The answer as a mapping; a typed one is a word for yes, or the answer itself."""
    if isinstance(crumb.response, Mapping):
        named = crumb.kind != "approval"
        return {k: v for k, v in crumb.response.items() if named or k != "declined"}
    if isinstance(crumb.response, str):
        if crumb.kind == "input":
            return {"answer": crumb.response}
        return {"approved": says_yes(crumb.response)}
    return {}


def _apply(story: Telling, crumb: c.HumanResumed, call: Call) -> None:
    answer = _plain(crumb)
    reason = answer.get("reason")
    if answer.get("approved") is True:
        call.decision = say("approved")
        edited = answer.get("args")
        if edited is not None and edited != call.args:
            _edit(call, edited)
        _go(story, crumb, call)
    elif "answer" in answer:
        call.result, call.returned = answer["answer"], True
        call.decision = say("answered")
        _settle(story, crumb, call, "done", awaited=True)
    elif answer.get("happened") is True:
        call.result, call.returned = answer.get("result"), True
        call.decision = say("happened")
        _settle(story, crumb, call, "done", awaited=True)
    elif answer.get("run") is True:
        call.decision = say("run_again")
        _go(story, crumb, call)
    elif answer.get("failed") is True:
        call.error = c.ErrorInfo("OUTCOME_UNKNOWN", say("counted_failed"))
        _settle(story, crumb, call, "failed", awaited=True)
    elif "withdrawn" in answer:
        _settle(story, crumb, call, "cut", awaited=True)
    else:
        call.decision = _refusal(answer, reason)
        _settle(story, crumb, call, "denied", awaited=True)


def _go(story: Telling, crumb: c.HumanResumed, call: Call) -> None:
    call.state, call.began = "running", crumb.timestamp
    call.outcome_unknown = False
    story.running[call.id] = call
    story.touch(call)
    story.touch_turn(call)
    story.rest(crumb)


def _refusal(answer: Mapping[str, JsonValue], reason: JsonValue) -> str:
    if "expired" in answer:
        return say("denied_expired")
    declined = answer.get("declined") is True
    if isinstance(reason, str) and reason.strip():
        key = "declined_because" if declined else "denied_you_because"
        return say(key, {"reason": " ".join(reason.split())})
    return say("declined" if declined else "denied_you")


def answer_line(answer: Mapping[str, JsonValue], asked: JsonValue) -> str:
    """The line that stays of a form, from the answer that settled it."""
    reason = answer.get("reason")
    because = reason if isinstance(reason, str) and reason.strip() else None
    if answer.get("approved") is True:
        edited = answer.get("args")
        changed = edited is not None and edited != asked
        return say("form_approved_changed" if changed else "form_approved")
    for key in ("answer", "happened", "run", "failed"):
        if key in answer and answer[key] is not False:
            return say(f"form_{key}")
    if "withdrawn" in answer:
        return _withdrawn(answer["withdrawn"])
    if "topup" in answer:
        return say("form_topup")
    if answer.get("terminate") is True:
        return say("form_withdrawn")
    if "expired" in answer:
        return because or say("form_expired")
    kind = "form_declined" if answer.get("declined") is True else "form_denied"
    return say(f"{kind}_because", {"reason": because}) if because else say(kind)


def _withdrawn(why: JsonValue) -> str:
    if not isinstance(why, str) or not why:
        return say("form_withdrawn")
    key = "form_asked_again" if "edited" in why or "changed" in why else "form_taken"
    return say(key, {"why": why})


CALLS = {
    c.ToolCalled: called,
    c.ToolReturned: returned,
    c.ToolPartial: partial,
    c.ToolFailed: tool_failed,
    c.GateDecided: decided,
    c.HumanRequired: required,
    c.HumanResumed: resumed,
}
