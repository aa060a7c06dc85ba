"""How anything ends: `Finished`, `Suspended` or `Stopped`.

An outcome is a value, never an event read back. A fault is an exception.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from bread_nb.base.consent import shown_hash
from bread_nb.errors import BreadError
from bread_nb.messages import Message, Usage
from bread_nb.stores.records import Checkpoint

__all__ = ["Finished", "Metrics", "Outcome", "PendingCall", "Stopped", "Suspended"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCall:
    """A call that waits for a person.

    `shown` is the hash of what a form shows; an answer that carries another one is
    refused. `schema` is the JSON Schema of the answer (or of the editable arguments).
    `lasting` says that `remember` may be given.
    """

    checkpoint_id: str
    handle: str
    kind: str
    agent_id: str
    run_id: str
    session_id: str
    tool_name: str
    args: Mapping[str, JsonValue]
    schema: JsonValue = None
    prompt: str | None = None
    rule: str | None = None
    effect: str | None = None
    lasting: bool = False
    created_at: int = 0

    @staticmethod
    def of(checkpoint: Checkpoint) -> PendingCall:
        """What a stored checkpoint asks."""
        return PendingCall(
            checkpoint_id=checkpoint.id,
            handle=checkpoint.handle,
            kind=checkpoint.ask,
            agent_id=checkpoint.agent_id,
            run_id=checkpoint.run_id,
            session_id=checkpoint.session_id,
            tool_name=checkpoint.tool_name,
            args=checkpoint.args,
            schema=checkpoint.answer_schema,
            prompt=checkpoint.prompt,
            rule=checkpoint.rule,
            effect=checkpoint.effect,
            lasting=checkpoint.lasting,
            created_at=checkpoint.created_at,
        )

    @property
    def tool(self) -> str:
        """The tool's own name, without its scope."""
        return self.tool_name.partition("_")[2] or self.tool_name

    @property
    def shown(self) -> str:
        """The hash of what a form shows for this call."""
        return shown_hash(self.checkpoint_id, self.tool_name, self.args)

    def __repr__(self) -> str:
        return f"PendingCall({self.handle}: {self.tool})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """What a run took: model calls, tool calls by tool, tokens, working time.

    `temperature_dropped` says that a service refused the temperature at some turn, and
    answered without it.
    """

    turns: int = 0
    tool_calls: Mapping[str, int] = field(default_factory=dict[str, int])
    tokens: Usage = Usage()
    unpriced_calls: int = 0
    duration_ms: int = 0
    temperature_dropped: bool = False
    context: Mapping[str, int] = field(default_factory=dict[str, int])
    memory: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, kw_only=True, repr=False)
class _End:
    """What every end carries. `text` is the last non-empty text of the model.

    `cost` is what is known of the cost, in US dollars; None when nothing is. With
    `metrics.unpriced_calls` it was more than that. `answered` are the calls that
    waited and that a recording has answered.
    """

    output: object = None
    text: str = ""
    messages: tuple[Message, ...] = ()
    usage: Usage = Usage()
    cost: float | None = None
    stop_reason: str | None = None
    model: str | None = None
    files: tuple[JsonValue, ...] = ()
    run_id: str = ""
    session_id: str = ""
    handle: str = ""
    metrics: Metrics = Metrics()
    answered: tuple[PendingCall, ...] = ()

    @property
    def only(self) -> str:
        """The id of the one call that waits, or that a recording has answered.

        Raises:
            BreadError: `SEVERAL_PENDING` when there is not exactly one.
        """
        calls = self.pending if isinstance(self, Suspended) else self.answered
        if len(calls) == 1:
            return calls[0].checkpoint_id
        raise BreadError(
            f"{len(calls) or 'No'} calls wait, not one.",
            code="SEVERAL_PENDING",
            why=", ".join(p.handle for p in calls) or "the run has ended.",
            do="pick one from outcome.pending",
        )

    def _figures(self) -> str:
        calls = sum(self.metrics.tool_calls.values())
        figures = [_count(self.metrics.turns, "turn"), _count(calls, "call")]
        if self.cost:
            least = "at least " if self.metrics.unpriced_calls else ""
            figures.append(f"{least}${self.cost:.4f}")
        return ", ".join(figures)


@dataclass(frozen=True, kw_only=True, repr=False)
class Finished(_End):
    """The run reached its end; `output` has passed the output schema."""

    def __repr__(self) -> str:
        return f"Finished({_short(str(self.output))!r}, {self._figures()})"


@dataclass(frozen=True, kw_only=True, repr=False)
class Suspended(_End):
    """The run waits for a person; `pending` are the questions, in call order."""

    pending: tuple[PendingCall, ...] = ()

    def __repr__(self) -> str:
        tools = ", ".join(p.tool for p in self.pending)
        return f"Suspended({len(self.pending)} open: {tools})"


@dataclass(frozen=True, kw_only=True, repr=False)
class Stopped(_End):
    """A bound fired: the run ended without being finished. `reason` says which."""

    reason: str = "stopped"

    def __repr__(self) -> str:
        return f"Stopped({self.reason!r}, {_short(self.text)!r})"


Outcome = Finished | Suspended | Stopped


def _short(text: str, width: int = 40) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 1]}…"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
