"""Open forms: what the kernel adds to them, and which answers count.

A form gets a nonce, which is sent to the page and stands in no file. It is good for one
answer to one checkpoint as it was shown. A wrong one changes nothing.
"""

from __future__ import annotations

import difflib
import hmac
import secrets
import threading
import time
from dataclasses import dataclass

from pydantic import JsonValue

from bread_nb.a2ui.blocks import tool_name
from bread_nb.a2ui.questions import (
    Extras,
    credentials_hint,
    remember_choices,
    settled_elsewhere,
)
from bread_nb.a2ui.words import say
from bread_nb.base.ids import now_ms
from bread_nb.bread import Bread
from bread_nb.errors import BreadError
from bread_nb.runtime.outcome import PendingCall
from bread_nb.stores.records import Call, Checkpoint, Definition, RunRow
from bread_nb.tools.tool import Tool

__all__ = ["Armed", "OpenForms"]

Json = dict[str, JsonValue]

_MOST_DIFF_LINES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Armed:
    """A form that can be answered once: with this nonce, as it was shown."""

    checkpoint: Checkpoint
    nonce: str
    shown: str


class OpenForms:
    """The forms of one run that can be answered here."""

    def __init__(self, bread: Bread) -> None:
        self._bread = bread
        self._lock = threading.Lock()
        self._armed: dict[str, Armed] = {}

    async def ended(self, checkpoint_id: str) -> tuple[str, int] | None:
        """How a question was settled, as a line, and when; None while it is open."""
        store = self._bread.store
        checkpoint = await store.get(Checkpoint, checkpoint_id)
        if checkpoint is None or checkpoint.status == "open":
            return None
        call = await store.get(Call, checkpoint.call)
        ran = call is not None and call.status == "done" and not call.refused_by
        at = checkpoint.settled_at or now_ms()
        line = settled_elsewhere(
            checkpoint.ended or say("form_answer"),
            now_ms() - at,
            ran=ran and checkpoint.ask == "approval",
        )
        return line, at

    async def arm(self, checkpoint_id: str, session: str | None) -> Extras | None:
        """Make a form answerable; None when its question is not open any more.

        Args:
            checkpoint_id: The question.
            session: The session's name, where a person gave it one.
        """
        store = self._bread.store
        checkpoint = await store.get(Checkpoint, checkpoint_id)
        if checkpoint is None or checkpoint.status != "open":
            return None
        armed = Armed(
            checkpoint=checkpoint,
            nonce=secrets.token_urlsafe(18),
            shown=PendingCall.of(checkpoint).shown,
        )
        extras = Extras(nonce=armed.nonce, shown=armed.shown)
        if checkpoint.ask == "approval":
            _offer(checkpoint, session, extras)
            extras.changed = await self._changed(checkpoint)
        elif checkpoint.ask == "outcome":
            call = await store.get(Call, checkpoint.call)
            if call is not None and call.started_at is not None:
                extras.started = _time_of_day(call.started_at)
            extras.hint = credentials_hint(self._credentials(checkpoint))
        with self._lock:
            self._armed[checkpoint_id] = armed
        return extras

    def disarm(self, checkpoint_id: str) -> None:
        """The question is settled."""
        with self._lock:
            self._armed.pop(checkpoint_id, None)

    def take(self, checkpoint_id: str, nonce: str, shown: str) -> Armed:
        """The form this answer belongs to; nobody can answer it a second time.

        Raises:
            BreadError: `CHECKPOINT_NOT_FOUND` when it was answered, or `FORM_CHANGED`
                when the answer was not given to this form; it still waits then.
        """
        with self._lock:
            armed = self._armed.get(checkpoint_id)
            if armed is None:
                raise BreadError(
                    "This was answered already.",
                    code="CHECKPOINT_NOT_FOUND",
                    why="the first answer counts; it ran once.",
                    do="%bread pending lists the open questions",
                )
            fits = hmac.compare_digest(armed.nonce.encode(), _plain(nonce))
            if not fits or shown != armed.shown:
                raise BreadError(
                    "This answer was not given to the form as it is now.",
                    code="FORM_CHANGED",
                    why="it still waits.",
                    do="%bread pending shows the form as it is now",
                )
            del self._armed[checkpoint_id]
            return armed

    def _credentials(self, checkpoint: Checkpoint) -> tuple[str, ...]:
        """The names of the secrets that the tool may read, as it is today."""
        try:
            agent = self._bread.agent(checkpoint.agent_id)
        except BreadError:
            return ()
        for tool in agent.tools:
            if isinstance(tool, Tool) and tool.leaf == checkpoint.tool_name:
                return tool.credentials
        return ()

    async def _changed(self, checkpoint: Checkpoint) -> Json | None:
        """What changed in the agent's folder since it asked."""
        store = self._bread.store
        row = await store.get(RunRow, checkpoint.run_id)
        if row is None or row.definition is None:
            return None
        then = await store.get(Definition, row.definition)
        try:
            now = self._bread.definition(row.agent_id)
        except BreadError:
            return None
        if then is None or now is None or now.id == then.id:
            return None
        text = f"{row.agent_id} was edited since it asked. "
        text += "It goes on with today's version."
        return {"text": text, "diff": [*_diff(then, now)]}


def _plain(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _offer(checkpoint: Checkpoint, session: str | None, extras: Extras) -> None:
    """The offers not to ask again, or why there are none."""
    if not checkpoint.lasting:
        extras.remember_note = say("remember_never")
        return
    scope, _, name = checkpoint.tool_name.partition("_")
    selector = f"{scope}:{name or tool_name(checkpoint.tool_name)}"
    extras.remember = remember_choices(selector, checkpoint.agent_id, session)


def _diff(then: Definition, now: Definition) -> list[Json]:
    lines: list[Json] = []
    for name in sorted({*then.files, *now.files}):
        before, after = then.files.get(name, ""), now.files.get(name, "")
        if before == after:
            continue
        lines.append({"op": " ", "text": f"{name}:"})
        changed = difflib.unified_diff(
            before.splitlines(), after.splitlines(), n=1, lineterm=""
        )
        lines += map(_diff_line, filter(_tells, changed))
    return lines[:_MOST_DIFF_LINES]


def _tells(line: str) -> bool:
    """Whether a line of a unified diff is no head."""
    return line[:1] in (" ", "-", "+") and line[:3] not in ("---", "+++")


def _diff_line(line: str) -> Json:
    return {"op": line[0], "text": line[1:]}


def _time_of_day(ms: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(ms / 1000))
