"""What is kept: sessions, runs, calls, checkpoints, grants, definitions, leases.

Times are milliseconds since 1970. Ids are those of `base.ids` unless said otherwise.
Two logs stand beside the records: `messages/<session>` and `crumbs/<run>`.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, JsonValue

from bread_nb.stores.store import Record

__all__ = [
    "Call",
    "Checkpoint",
    "Counter",
    "Definition",
    "Grant",
    "Lease",
    "RunRow",
    "Session",
    "crumb_log",
    "message_log",
]

RunStatus = Literal["working", "waiting", "finished", "stopped", "failed", "cancelled"]


def message_log(session_id: str) -> str:
    """The log of a session's messages."""
    return f"messages/{session_id}"


def crumb_log(run_id: str) -> str:
    """The log of a run's crumbs."""
    return f"crumbs/{run_id}"


class Session(Record):
    """A conversation; `run_id` is the run that works or waits in it, if any."""

    kind: ClassVar[str] = "session"

    created_at: int
    updated_at: int
    tags: dict[str, str] = Field(default_factory=dict[str, str])
    agent_id: str | None = None
    run_id: str | None = None


class RunRow(Record):
    """A run and where it stands.

    `open` counts the calls of the current turn that have no result yet, and one more
    while a driver is at work on them; whoever brings it to 0 goes on. `asked` counts
    the questions of the whole run, which are named by it. `owner` is the
    lease of the process that drives it and `fence` grows with each change of owner, so
    that a driver that lost the run can no longer write. `root` is the run that this
    one was started for, directly or not; None for a run that a person started.
    """

    kind: ClassVar[str] = "run"

    session_id: str
    agent_id: str
    handle: str
    status: RunStatus = "working"
    created_at: int
    updated_at: int
    input: JsonValue = None
    skill: str | None = None
    model: str | None = None
    override: str | None = None
    names: list[str] = Field(default_factory=list[str])
    cell: str | None = None
    definition: str | None = None
    owner: str | None = None
    fence: int = 0
    turn: int = 0
    open: int = 0
    asked: int = 0
    repairs: int = 0
    denials: int = 0
    failures: int = 0
    failing: str | None = None
    temperature_dropped: bool = False
    worked_ms: int = 0
    calls: dict[str, int] = Field(default_factory=dict[str, int])
    usage: dict[str, int] = Field(default_factory=dict[str, int])
    bills: list[dict[str, JsonValue]] = Field(
        default_factory=list[dict[str, JsonValue]]
    )
    root: str | None = None
    output: JsonValue = None
    text: str = ""
    stop_reason: str | None = None
    error: JsonValue = None
    files: list[JsonValue] = Field(default_factory=list[JsonValue])


class Call(Record):
    """One call of one turn, from its intent to its result.

    Its id is `<run>/<turn>/<index>`. `ready` was asked for and not started, `running`
    may have happened, `waiting` has an open checkpoint, `done` has its result and
    never runs again. `decided` says that the before-hooks have left its arguments,
    `replayed` that a recording asked for it, and no model.
    """

    kind: ClassVar[str] = "call"
    seldom: ClassVar[frozenset[str]] = frozenset({"status"})

    run_id: str
    session_id: str
    agent_id: str
    turn: int
    index: int
    call_id: str
    name: str
    args: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    broken: str | None = None
    status: Literal["ready", "running", "waiting", "done"] = "ready"
    decided: bool = False
    created_at: int
    owner: str | None = None
    started_at: int | None = None
    ended_at: int | None = None
    result: JsonValue = None
    files: list[JsonValue] = Field(default_factory=list[JsonValue])
    failed: bool = False
    refused_by: Literal["gate", "human"] | None = None
    checkpoint_id: str | None = None
    replayed: bool = False


class Checkpoint(Record):
    """A call that waits for a person.

    `args` are what was asked for, `edited` what a person made of them. `source` is a
    hash of the waiting tool's source: when it has changed the question is asked anew.
    `lasting` says that an allow rule may be added while approving.
    """

    kind: ClassVar[str] = "checkpoint"

    run_id: str
    session_id: str
    agent_id: str
    call: str
    tool_call_id: str
    tool_name: str
    ask: Literal["input", "approval", "outcome", "halt"]
    handle: str
    status: Literal["open", "settled", "withdrawn"] = "open"
    created_at: int
    args: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    edited: dict[str, JsonValue] | None = None
    answer_schema: JsonValue = None
    prompt: str | None = None
    rule: str | None = None
    effect: str | None = None
    source: str | None = None
    expires_at: int | None = None
    lasting: bool = False
    answer: JsonValue = None
    ended: str | None = None
    settled_at: int | None = None


class Grant(Record):
    """An allow rule a person added while approving; it can be taken back."""

    kind: ClassVar[str] = "grant"

    scope: Literal["run", "session", "agent"]
    scope_id: str
    agent_id: str
    selector: str
    checkpoint_id: str
    created_at: int


class Definition(Record):
    """The files of an agent's folder as a run knew them; the id is their hash."""

    kind: ClassVar[str] = "definition"

    agent_id: str
    created_at: int
    files: dict[str, str] = Field(default_factory=dict[str, str])


class Counter(Record):
    """A number that only grows, such as the runs of an agent in this project."""

    kind: ClassVar[str] = "counter"

    value: int = 0


class Lease(Record):
    """A process that drives runs; it is dead when its process is, or when silent."""

    kind: ClassVar[str] = "lease"

    created_at: int
    beat_at: int
    host: str
    pid: int
    born: str
