"""Allow rules that people added while approving."""

from __future__ import annotations

from pydantic import JsonValue

from bread_nb.base.ids import new_id, now_ms
from bread_nb.base.names import Selector
from bread_nb.errors import ValidationError
from bread_nb.governance.verdict import Action
from bread_nb.runtime.scope import Scope
from bread_nb.stores.records import Checkpoint, Grant

__all__ = ["grant_for", "granted"]

_WORDS = {"run": "you, this run", "session": "you, this session", "agent": "you"}


async def granted(action: Action, scope: Scope) -> str | None:
    """The rule that spares the question for this call, in words, or None."""
    for grant in await scope.store.query(Grant, {"agent_id": action.agent_id}):
        place = {
            "run": action.run_id,
            "session": action.session_id,
            "agent": action.agent_id,
        }[grant.scope]
        if grant.scope_id != place:
            continue
        if Selector.parse(grant.selector).matches(action.origin):
            return f"allow {grant.selector} ({_WORDS[grant.scope]})"
    return None


def grant_for(checkpoint: Checkpoint, remember: JsonValue, selector: str) -> Grant:
    """The rule that `remember` asks for.

    Raises:
        ValidationError: When it is not run, session or agent, or when the question
            is one that is asked every time.
    """
    places = {
        "run": checkpoint.run_id,
        "session": checkpoint.session_id,
        "agent": checkpoint.agent_id,
    }
    if not checkpoint.lasting:
        raise ValidationError(
            f"{checkpoint.handle} is asked every time.",
            code="INVALID_ANSWER",
            problems=["remember is not offered for this call"],
            do='{"approved": true}',
        )
    if remember not in ("run", "session", "agent"):
        raise ValidationError(
            f"remember={remember!r} is not a scope.",
            code="INVALID_ANSWER",
            problems=["remember is run, session or agent"],
            do='{"approved": true, "remember": "run"}',
        )
    return Grant(
        id=new_id(),
        scope=remember,
        scope_id=places[remember],
        agent_id=checkpoint.agent_id,
        selector=selector,
        checkpoint_id=checkpoint.id,
        created_at=now_ms(),
    )
