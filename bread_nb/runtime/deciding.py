"""The calls of a turn on their way: intended, decided, begun.

The assistant message and an intent for each of its calls are stored together. Where
nothing of the user's has to be asked before the calls are decided, what was decided is
stored with them at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bread_nb.base.ids import now_ms
from bread_nb.messages import Message
from bread_nb.runtime.drive import Drive
from bread_nb.runtime.execute import Done, Go, Wait, decide
from bread_nb.runtime.hooks import chain_of
from bread_nb.runtime.keeping import settle_call
from bread_nb.runtime.pending import next_handle, question
from bread_nb.runtime.scope import Scope
from bread_nb.runtime.toolbox import Toolbox
from bread_nb.stores.records import Call, Checkpoint
from bread_nb.stores.store import Put, Step

__all__ = ["Decided", "decide_all", "intend", "keep_intents", "mark_running", "note"]


@dataclass(slots=True)
class Decided:
    """What becomes of the calls of a turn, and the steps that keep it.

    `denied` names the call at which refusals became too many.
    """

    denials: int
    going: list[Go] = field(default_factory=list[Go])
    asked: list[Checkpoint] = field(default_factory=list[Checkpoint])
    steps: list[Step] = field(default_factory=list[Step])
    denied: str | None = None


async def intend(drive: Drive, message: Message, toolbox: Toolbox) -> None:
    """Take up the calls of a message; they are stored with it, now or once decided."""
    row, made = drive.row, message.calls
    counts = Counter(row.calls)
    counts.update(call.name for call in made)
    drive.say(message)
    replayed = drive.scope.kit.catalog.deck.replays(row.id)
    drive.calls = [
        Call(
            id=f"{row.id}/{row.turn}/{index}",
            run_id=row.id,
            session_id=row.session_id,
            agent_id=drive.scope.agent_id,
            turn=row.turn,
            index=index,
            call_id=call.id,
            name=call.name,
            args=call.args,
            broken=call.broken,
            created_at=now_ms(),
            replayed=replayed,
        )
        for index, call in enumerate(made)
    ]
    drive.intents = drive.calls.copy()
    drive.journal.expect(calls=dict(counts), open=len(made) + 1)
    if any(_may_take_long(call, toolbox, drive.scope) for call in drive.calls):
        await keep_intents(drive)


async def keep_intents(drive: Drive) -> None:
    """Store the intents that are not stored yet."""
    intents, drive.intents = drive.intents, []
    if intents:
        await drive.journal.commit(*(Put(intent) for intent in intents))


def _may_take_long(call: Call, toolbox: Toolbox, scope: Scope) -> bool:
    """Whether hooks or credential sources are asked before the call is decided."""
    tool = toolbox.tools.get(call.name)
    if tool is None:
        return False
    if tool.credentials and (tool.credential_source or scope.kit.credential_sources):
        return True
    hooks = chain_of(tool.hooks, scope).hooks
    return any(each.before_run is not None for each in hooks)


async def decide_all(drive: Drive, calls: Sequence[Call], toolbox: Toolbox) -> Decided:
    """Decide calls in their order; nothing is stored yet, not even when it raises."""
    decided = Decided(drive.row.denials)
    intents = {call.id: call for call in drive.intents}
    try:
        for call in calls:
            match await decide(call, toolbox, drive.scope):
                case Go() as go:
                    decided.denials = 0
                    go = replace(go, call=mark_running(go.call, drive.scope))
                    decided.going.append(go)
                    _keep(go.call, decided, intents)
                case Wait() as wait:
                    handle = await next_handle(drive.scope, drive.row.handle)
                    checkpoint = question(wait, drive.scope, handle)
                    decided.asked.append(checkpoint)
                    decided.steps.append(Put(checkpoint))
                    note(drive, _waiting(wait.call, checkpoint))
                    _keep(drive.calls[call.index], decided, intents)
                case Done(call=done):
                    decided.denials += done.refused_by == "gate"
                    decided.steps += settle_call(done)
                    note(drive, done)
            if 0 < drive.agent.guards.denials <= decided.denials:
                decided.denied = call.name
                break
    except BaseException:
        await keep_intents(drive)
        raise
    drive.intents = []
    decided.steps[:0] = [Put(intent) for intent in intents.values()]
    return decided


def _keep(call: Call, decided: Decided, intents: dict[str, Call]) -> None:
    decided.steps.append(Put(call))
    intents.pop(call.id, None)


def note(drive: Drive, call: Call) -> None:
    """Know a call as it is now; the calls of a turn stand in their order."""
    drive.calls[call.index] = call


def mark_running(call: Call, scope: Scope) -> Call:
    """The call as started by this process; it may have happened from now on."""
    return call.model_copy(
        update={
            "status": "running",
            "decided": True,
            "owner": scope.kit.owner.id,
            "started_at": now_ms(),
        }
    )


def _waiting(call: Call, checkpoint: Checkpoint) -> Call:
    return call.model_copy(
        update={
            "status": "waiting",
            "decided": True,
            "checkpoint_id": checkpoint.id,
        }
    )
