"""The beginning of a run: input checked, session taken, first commit made."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from pydantic import JsonValue

from bread_nb.base.ids import new_id, now_ms
from bread_nb.base.redact import environment_secrets
from bread_nb.base.wire import dumps, json_safe
from bread_nb.crumbs import HumanRequired, RunStart
from bread_nb.errors import BreadError, Halt, ValidationError, not_yet
from bread_nb.messages import File, Message, user
from bread_nb.runtime.agent import Agent, ModelSource
from bread_nb.runtime.attachments import FileSource, take_in
from bread_nb.runtime.drive import Drive
from bread_nb.runtime.ending import (
    end_cancelled,
    end_stopped,
    open_checkpoints,
)
from bread_nb.runtime.hooks import chain_of
from bread_nb.runtime.journal import Journal, message_steps, store_crumbs
from bread_nb.runtime.numbers import Number
from bread_nb.runtime.outcome import Outcome
from bread_nb.runtime.recovery import (
    at_work_elsewhere,
    is_interrupted,
    load_drive,
    session_busy,
    take_over,
)
from bread_nb.runtime.run import Live
from bread_nb.runtime.runner import drive_on
from bread_nb.runtime.scope import Kit, Scope
from bread_nb.runtime.steady import to_the_end
from bread_nb.runtime.stream import CrumbStream
from bread_nb.stores.records import Counter, Definition, RunRow, Session
from bread_nb.stores.store import Claim, Put, Step
from bread_nb.tools.lifecycle import HookContext, ShortCircuit

__all__ = ["Start", "refuse_later", "start_run"]

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_TRIES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What a run is started with.

    `names` are the keys of `ctx` that come from the caller's namespace and are gone
    after a restart; `cell` tells which cell and body asked; `files` are what the user
    shows beside the input.
    """

    agent_id: str
    agent: Agent
    input: object
    session_id: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    skill: str | None = None
    model: ModelSource | None = None
    ctx: object = None
    names: Sequence[str] = ()
    cell: str | None = None
    files: Sequence[FileSource] = ()
    discard: bool = False
    definition: Definition | None = None
    on_human_required: Callable[[HumanRequired], object] | None = None


def refuse_later(**given: object) -> None:
    """Refuse the options of a run whose capability has not come yet.

    Raises:
        BreadError: `NOT_AVAILABLE`, naming the option.
    """
    for name, value in given.items():
        if value is not None:
            raise not_yet("run", name)


async def start_run(start: Start, kit: Kit, live: Live) -> Outcome:
    """Begin a run and work on it until it ends or waits.

    Raises:
        BreadError: `INVALID_INPUT` before anything is stored, `SESSION_WAITING`,
            `SESSION_BUSY`, or the fault the run ended with.
    """
    value = _checked_input(start, start.input)
    files = await take_in(start.files, kit.blob_store)
    session_id = start.session_id or new_id()
    session = await kit.store.get(Session, session_id) if start.session_id else None
    if session is not None and session.run_id is not None:
        await _make_way(session, start, kit)
    scope = _scope(start, kit, session_id)
    scope.stream.taps.append(live)
    value, short = await _before(start, scope, value)
    kit.streams[scope.run_id] = scope.stream
    try:
        opening = _open(start, scope, live, session=session, value=value, files=files)
        drive, cancelled = await to_the_end(opening)
        if cancelled:
            await end_cancelled(drive)
            raise asyncio.CancelledError
        return await drive_on(drive, short)
    finally:
        scope.stream.taps.remove(live)
        if not scope.stream.taps:
            kit.streams.pop(scope.run_id, None)


def _scope(start: Start, kit: Kit, session_id: str) -> Scope:
    run_id = new_id()
    kit.redactor.learn(*environment_secrets())
    kit.catalog.heed(start.model or start.agent.model)
    return Scope(
        kit=kit,
        agent_id=start.agent_id,
        run_id=run_id,
        session_id=session_id,
        stream=CrumbStream(
            start.agent_id, run_id, session_id, redactor=kit.redactor
        ).listened(kit.publish),
        ctx=start.ctx,
        skill=start.skill,
        hooks=start.agent.hooks,
        on_human_required=start.on_human_required,
    )


async def _before(
    start: Start, scope: Scope, value: object
) -> tuple[object, ShortCircuit | Halt | None]:
    """The input that the hooks leave, and what ends the run before its first turn."""
    chain = chain_of(start.agent.hooks, scope)
    if not chain.hooks:
        return value, None
    context = HookContext(
        scope="agent",
        agent_id=scope.agent_id,
        run_id=scope.run_id,
        session_id=scope.session_id,
        skill=scope.skill,
        store=scope.store,
        ctx=scope.ctx,
        input=value,
    )
    try:
        changed, short = await chain.before(context)
    except Halt as halt:
        return value, halt
    if changed is not value:
        changed = _checked_input(start, changed)
    return changed, short


async def _open(
    start: Start,
    scope: Scope,
    live: Live,
    *,
    session: Session | None,
    value: object,
    files: Sequence[File],
) -> Drive:
    """The first commit: session, run, message and the start crumb."""
    plain = start.agent.accepts.dump(value)
    model = start.model or start.agent.model
    name = model if isinstance(model, str) else model.name
    scope.stream.stage(
        RunStart,
        input=plain,
        skill=start.skill,
        model=name,
        steps=start.agent.steps,
    )
    row = RunRow(
        id=scope.run_id,
        session_id=scope.session_id,
        agent_id=scope.agent_id,
        handle="",
        created_at=now_ms(),
        updated_at=now_ms(),
        input=plain,
        skill=start.skill,
        model=name,
        override=name if start.model is not None else None,
        names=list(start.names),
        cell=start.cell,
        definition=start.definition.id if start.definition else None,
        owner=scope.kit.owner.id,
        fence=1,
    )
    known = session is not None
    history = await _history(scope) if known else list[Message]()
    history.append(user(_as_text(plain), *files))
    first = message_steps(scope.session_id, len(history) - 1, history[-1:])
    row = await _store_start(start, scope, row, session, first)
    live.run_id, live.handle = row.id, row.handle
    if start.model is not None and not isinstance(start.model, str):
        scope.kit.models[row.id] = start.model
    journal = Journal(scope, row, history)
    scope.stream.release()
    return Drive(
        agent=start.agent,
        scope=scope,
        journal=journal,
        stopping=lambda: live.stop_requested,
        model=model,
        input=value,
    )


async def _history(scope: Scope) -> list[Message]:
    return await scope.kit.histories.read(scope.store, scope.session_id)


async def _store_start(
    start: Start,
    scope: Scope,
    row: RunRow,
    session: Session | None,
    first: Sequence[Step],
) -> RunRow:
    """Store the run under the next free number of its agent."""
    for _ in range(_TRIES):
        number = scope.kit.numbers.next(row.agent_id)
        named = row.model_copy(update={"handle": f"{row.agent_id}-{number.value}"})
        steps: list[Step] = [
            _counter_step(number),
            _session_step(start, row, session),
            Put(named, new=True),
            *first,
        ]
        if lease := scope.kit.owner.due():
            steps.append(Put(lease))
        if start.definition is not None:
            steps.append(Put(start.definition))
        if await store_crumbs(scope, steps, ()) is not None:
            scope.kit.owner.kept(lease)
            return named
        await _explain(scope, session)
        counter = await scope.store.get(Counter, f"runs/{row.agent_id}")
        scope.kit.numbers.refused(number, counter.value if counter else 0)
    raise BreadError(
        "The store could not take the run.",
        code="STORE_LOCKED",
        why="other processes were starting runs of this agent all the time.",
        do="run it again",
        retryable=True,
    )


async def _explain(scope: Scope, session: Session | None) -> None:
    """Raise when the session was taken meanwhile; return when only a number was."""
    now = await scope.store.get(Session, scope.session_id)
    if now is not None and (session is None or now.run_id is not None):
        raise session_busy(now.id, "another run")


def _counter_step(number: Number) -> Step:
    key = f"runs/{number.agent_id}"
    if number.value == 1:
        return Put(Counter(id=key, value=1), new=True)
    return Claim(Counter, key, {"value": number.value - 1}, {"value": number.value})


def _session_step(start: Start, row: RunRow, session: Session | None) -> Step:
    if session is not None:
        return Claim(Session, session.id, {"run_id": None}, {"run_id": row.id})
    fresh = Session(
        id=row.session_id,
        created_at=row.created_at,
        updated_at=row.created_at,
        tags=dict(start.tags),
        agent_id=row.agent_id,
        run_id=row.id,
    )
    return Put(fresh, new=True)


async def _make_way(session: Session, start: Start, kit: Kit) -> None:
    """A session holds one run at a time; a waiting one may be told to go."""
    row = await kit.store.get(RunRow, session.run_id or "")
    if row is None:
        return
    if row.status == "working" and not await is_interrupted(row, kit):
        raise session_busy(session.id, row.handle)
    if not start.discard:
        raise await _waiting(session, row, kit)
    if await at_work_elsewhere(row, kit):
        raise session_busy(session.id, row.handle)
    taken = await take_over(kit, row)
    if taken is None:
        raise session_busy(session.id, row.handle)
    drive = await load_drive(kit, taken, start.agent, live=Live(row.agent_id))
    await end_stopped(drive, "stopped", seal="[stopped]")
    kit.streams.pop(row.id, None)


async def _waiting(session: Session, row: RunRow, kit: Kit) -> BreadError:
    waiting = await open_checkpoints(kit.store, row.id)
    asks = "; ".join(f"{c.handle} asks to run {c.tool_name}" for c in waiting)
    return BreadError(
        f"Session {session.id!r} waits for you.",
        code="SESSION_WAITING",
        why=f"{asks or f'{row.handle} was interrupted'}.",
        do="%bread pending, or run again with --discard",
        context={"run_id": row.id, "checkpoints": [c.id for c in waiting]},
    )


def _checked_input(start: Start, value: object) -> object:
    try:
        fitting = start.agent.accepts.validate(value)
    except ValidationError as error:
        raise _misfit(start, error.problems) from None
    try:
        text = start.agent.accepts.dump(fitting)
        json_safe(text)
    except (TypeError, ValueError) as error:
        raise _misfit(start, [f"it cannot be kept: {error}"]) from None
    if isinstance(text, str) and not text.strip() and not start.files:
        raise _misfit(start, ["the input is empty"])
    for found in (*_halves(fitting), *_halves(text)):
        code = f"U+{ord(found[0]):04X}"
        raise _misfit(start, [f"at {found.start()} stands half a character ({code})"])
    return fitting


def _halves(value: object) -> Iterator[re.Match[str]]:
    """The lone halves of characters in the texts of a value."""
    if isinstance(value, str):
        found = _LONE_SURROGATE.search(value)
        yield from (found,) if found else ()
    elif isinstance(value, Mapping):
        yield from _halves([*cast("Mapping[object, object]", value).items()])
    elif isinstance(value, list | tuple):
        for item in cast("Sequence[object]", value):
            yield from _halves(item)


def _misfit(start: Start, problems: Sequence[str]) -> ValidationError:
    takes = start.agent.accepts.describe()
    return ValidationError(
        f"The input does not fit {start.agent_id}.",
        code="INVALID_INPUT",
        problems=problems,
        why=f"{'; '.join(problems)}.",
        do=f"{start.agent_id} takes: {takes}",
    )


def _as_text(value: JsonValue) -> str:
    return value if isinstance(value, str) else dumps(value)
