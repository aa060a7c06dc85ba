"""What one driver holds while it works on a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bread_nb.messages import Message
from bread_nb.providers.keep import Keep
from bread_nb.runtime.agent import Agent, ModelSource
from bread_nb.runtime.attachments import Attachments
from bread_nb.runtime.bills import bills_of, total_of
from bread_nb.runtime.hooks import Chain, chain_of
from bread_nb.runtime.journal import Journal
from bread_nb.runtime.outcome import Metrics
from bread_nb.runtime.scope import Scope
from bread_nb.runtime.toolbox import Toolbox
from bread_nb.stores.records import Call, RunRow
from bread_nb.tools.lifecycle import HookContext

__all__ = ["Drive", "common_fields", "row_fields"]


@dataclass(slots=True, kw_only=True)
class Drive:
    """An agent at work on a run in this process.

    `stopping` says whether somebody asked for a clean end at the next boundary.
    `toolbox` is what the model was offered in the turn under way, `spoken` its text so
    far, `begun` the number of the last turn that it began to answer. `calls` are the
    calls of the turn as this process knows them, and `intents` those of them that are
    not stored yet. `attachments` are the files that are shown to the model, `keep` is
    what a model that owns its cycle holds open until the drive ends.
    """

    agent: Agent
    scope: Scope
    journal: Journal
    stopping: Callable[[], bool]
    model: ModelSource
    input: object = None
    toolbox: Toolbox | None = None
    spoken: list[str] = field(default_factory=list[str])
    begun: int = 0
    attachments: Attachments = field(default_factory=Attachments)
    calls: list[Call] = field(default_factory=list[Call])
    intents: list[Call] = field(default_factory=list[Call])
    keep: Keep = field(default_factory=Keep)

    @property
    def row(self) -> RunRow:
        """The run as it is stored."""
        return self.journal.row

    @property
    def history(self) -> list[Message]:
        """The session's messages."""
        return self.journal.history

    def begin_turn(self) -> None:
        """The model has begun to answer; whatever comes of it, the turn counts."""
        self.begun = self.row.turn + 1

    def say(self, message: Message) -> None:
        """Put what the model said into the history; nothing is half spoken now."""
        self.history.append(message)
        self.spoken.clear()

    @property
    def chain(self) -> Chain:
        """The hooks of the run."""
        return chain_of(self.agent.hooks, self.scope)

    def context(self, **more: object) -> HookContext:
        """What the run's hooks are told."""
        told: dict[str, Any] = {"input": self.input, **more}
        return HookContext(
            scope="agent",
            agent_id=self.scope.agent_id,
            run_id=self.scope.run_id,
            session_id=self.scope.session_id,
            skill=self.scope.skill,
            store=self.scope.store,
            ctx=self.scope.ctx,
            **told,
        )


def common_fields(drive: Drive) -> dict[str, object]:
    """The fields every outcome of a run carries."""
    return {**row_fields(drive.row), "messages": tuple(drive.history)}


def row_fields(row: RunRow) -> dict[str, object]:
    """The fields of an outcome that the run's row holds."""
    bill = total_of(bills_of(row))
    return {
        "text": row.text,
        "usage": bill.usage,
        "cost": bill.cost,
        "stop_reason": row.stop_reason,
        "model": row.model,
        "files": tuple(row.files),
        "run_id": row.id,
        "session_id": row.session_id,
        "handle": row.handle,
        "metrics": Metrics(
            turns=row.turn,
            temperature_dropped=row.temperature_dropped,
            tool_calls=dict(row.calls),
            tokens=bill.usage,
            unpriced_calls=bill.unpriced,
            duration_ms=row.worked_ms,
        ),
    }
