"""One run as text: its picture, and its crumbs a line each."""

from __future__ import annotations

import time
from collections.abc import Sequence

from pydantic import JsonValue

from bread_nb import crumbs as c
from bread_nb.a2ui.blocks import tool_name
from bread_nb.a2ui.figures import clock, count, money, seconds
from bread_nb.a2ui.picture import picture
from bread_nb.a2ui.spending import tokens_of
from bread_nb.a2ui.values import named, one_line, preview, visible
from bread_nb.base.ids import now_ms
from bread_nb.stores.records import RunRow

__all__ = ["crumb_line", "show_text"]


def show_text(row: RunRow, crumbs: Sequence[c.Crumb]) -> str:
    """A run as `%bread show` tells it: head, picture, numbered crumbs, export."""
    parts = [
        f"{row.handle}, started {_clock_time(row.created_at)}, {clock(row.worked_ms)}",
        picture(crumbs).plain,
        "\n".join(crumb_line(crumb) for crumb in crumbs),
        f"bread export {row.handle} > run.jsonl",
    ]
    return "\n\n".join(part for part in parts if part)


def crumb_line(crumb: c.Crumb) -> str:
    """A crumb on one line: `12  tool:result  plot  done 1.1 s`."""
    kind = crumb.name if isinstance(crumb, c.UnknownCrumb) else crumb.type
    words = [f"{crumb.seq or '':>2}", kind, *(w for w in _words(crumb) if w)]
    return visible("  ".join(words)).replace("\n", " ")


def _words(crumb: c.Crumb) -> tuple[str, ...]:
    match crumb:
        case c.RunStart():
            return (crumb.model or "", one_line(crumb.input))
        case c.TextDelta() | c.ReasoningDelta():
            return (one_line(crumb.delta),)
        case c.RunEnd():
            return (crumb.stop_reason or "finished", seconds(crumb.duration_ms))
        case c.RunFailed():
            return (crumb.error.code, crumb.error.message)
        case c.ModelUsed():
            return (crumb.model, f"turn {crumb.turn}", *_spent(crumb))
        case c.ModelRetry():
            again = f"{crumb.attempt} of {crumb.attempts}"
            how = f"in {seconds(crumb.delay_ms)}"
            how = f"with {crumb.model}" if crumb.model else how
            return (again, how, crumb.error.message)
        case c.FileGenerated():
            return (crumb.name or crumb.uri, crumb.mime_type)
        case c.GateDecided():
            return (_tool(crumb.tool_name), crumb.decision, crumb.rule)
        case c.GateHalted():
            return (crumb.rule, crumb.reason or "")
        case _:
            return _call_words(crumb)


def _call_words(crumb: c.Crumb) -> tuple[str, ...]:
    match crumb:
        case c.ToolInputStart():
            return (_tool(crumb.tool_name),)
        case c.ToolInputDelta() | c.ToolInputEnd():
            return ()
        case c.ToolCalled():
            return (_tool(crumb.tool_name), preview(crumb.args))
        case c.ToolReturned():
            return (_tool(crumb.tool_name), f"done {seconds(crumb.duration_ms)}")
        case c.ToolPartial():
            return (_tool(crumb.tool_name), one_line(crumb.result))
        case c.ToolFailed():
            failed = f"failed {seconds(crumb.duration_ms)}"
            return (_tool(crumb.tool_name), failed, crumb.error.message)
        case c.HumanRequired():
            handle = crumb.handle or crumb.checkpoint_id
            return (_tool(crumb.tool_name), crumb.kind, handle)
        case c.HumanResumed():
            return (crumb.kind, one_line(crumb.response))
        case _:
            return _other_words(crumb)


def _tool(leaf: str) -> str:
    return named(tool_name(leaf))


def _other_words(crumb: c.Crumb) -> tuple[str, ...]:
    """The fields a crumb adds to those of all crumbs, in short."""
    wire = c.to_wire(crumb)
    common = ("type", "agentId", "runId", "sessionId", "timestamp", "seq")
    rest: dict[str, JsonValue] = {k: v for k, v in wire.items() if k not in common}
    return (preview(rest),) if rest else ()


def _spent(crumb: c.ModelUsed) -> tuple[str, ...]:
    """Tokens and money of a model call, as far as they are known."""
    tokens = f"{count(tokens_of(crumb.usage))} tokens" if crumb.usage else ""
    if crumb.cost is None:
        cost = "cost unknown"
    elif crumb.cost_source == "free":
        cost = "no charge"
    else:
        least = "at least " if crumb.partial else ""
        cost = f"{least}{money(crumb.cost, crumb.currency)} ({crumb.cost_source})"
    return tokens, cost, "" if crumb.kind == "turn" else crumb.kind


def _clock_time(ms: int) -> str:
    """The time of day where this runs; with the date when it was another day."""
    then, today = time.localtime(ms / 1000), time.localtime(now_ms() / 1000)
    form = "%H:%M" if then[:3] == today[:3] else "%Y-%m-%d %H:%M"
    return time.strftime(form, then)
