"""The calls that wait for a person, and what to type to answer each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bread_nb.a2ui.figures import age
from bread_nb.a2ui.outline import arguments
from bread_nb.a2ui.values import fits, preview
from bread_nb.base.redact import Redactor, environment_secrets
from bread_nb.crumbs import Crumb, HumanResumed
from bread_nb.project.decisions import answer_options, resume_line
from bread_nb.project.lists import Table, nothing, number, table
from bread_nb.runtime.outcome import PendingCall
from bread_nb.runtime.pending import EDITED
from bread_nb.stores.records import RunRow

__all__ = ["asked_anew", "pending_table", "resume_command", "ways_to_answer"]

_AGAIN = {"withdrawn": EDITED}
_ANEW = "The call has not run: its tool was edited since it asked, and asks anew."

_WAYS = ("it happened", "run it now", "cannot tell")


def pending_table(
    calls: Sequence[PendingCall],
    interrupted: Sequence[RunRow] = (),
    *,
    now: int,
    answer: str | None = "form below",
) -> Table:
    """The calls that wait for a person, oldest first, and what was interrupted.

    Below each stand its arguments: whoever approves it has seen them.

    Args:
        calls: The open calls.
        interrupted: The runs whose process is gone.
        now: The time, in milliseconds since 1970.
        answer: How each is answered; None says it with options of the command line.
    """
    if not calls and not interrupted:
        return nothing("No run waits for you.")
    cells = [
        (
            call.handle,
            call.agent_id,
            f"{call.tool} ?" if call.kind == "outcome" else call.tool,
            age(now - call.created_at),
            answer or _options(call),
        )
        for call in calls
    ]
    cells += [
        (
            row.handle,
            row.agent_id,
            "interrupted",
            age(now - row.updated_at),
            f"%bread recover {row.handle}",
        )
        for row in interrupted
    ]
    caption = "1 call waits" if len(calls) == 1 else f"{len(calls)} calls wait"
    if interrupted:
        caption += f", {number(len(interrupted), 'run')} interrupted"
    return table(
        caption,
        ("call", "agent", "asks", "age", "answer"),
        cells,
        below=["\n".join(_asked(call)) for call in calls],
        notes=_notes(calls, "Without a page" if answer else "Answer"),
    )


def resume_command(call: PendingCall) -> str:
    """What to type to answer a call."""
    return resume_line(call.kind, call.handle)


def asked_anew(crumb: Crumb) -> str:
    """What is said of a call that was approved and asks again; nothing of any other."""
    again = isinstance(crumb, HumanResumed) and crumb.response == _AGAIN
    return _ANEW if again else ""


def ways_to_answer(call: PendingCall) -> list[str]:
    """What a person may type about a call that may have happened, a line each."""
    if call.kind != "outcome":
        return []
    begin = f"%bread resume {call.handle} --answer"
    ways = zip(_WAYS, answer_options(call.kind), strict=True)
    return [
        f"{call.tool} had begun when its process ended: it may have happened, or not.",
        *(f"  {way}: {begin} '{option}'" for way, option in ways),
    ]


def _asked(call: PendingCall) -> Iterable[str]:
    args = Redactor(environment_secrets()).value({**call.args})
    if not args or not isinstance(args, dict):
        return []
    return [preview(args)] if fits(args) else arguments(args)


def _notes(calls: Sequence[PendingCall], how: str) -> list[str]:
    """How the first call is answered, and the first that may have happened."""
    notes = [
        f"{how}: {resume_command(call)}" for call in calls[:1] if call.kind != "outcome"
    ]
    unknown = [call for call in calls if call.kind == "outcome"]
    return [*notes, *(line for call in unknown[:1] for line in ways_to_answer(call))]


def _options(call: PendingCall) -> str:
    match call.kind:
        case "approval" | "halt":
            return "--approve | --deny"
        case "outcome":
            return "did it happen? see below"
        case _:
            return f"--answer '{answer_options(call.kind)[0]}'"
