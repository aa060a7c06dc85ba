"""Checkpoints: one per pending call.

A run goes on when its last pending call is settled, in whatever order the answers come,
from any process. Claiming is atomic, so a second click finds nothing to claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from pydantic import JsonValue

from bread_nb.base.effects import Shell, Spawn, effect_words
from bread_nb.base.ids import new_id, now_ms
from bread_nb.crumbs import GateDecided, HumanRequired
from bread_nb.providers.consents import question_of
from bread_nb.runtime.execute import Wait
from bread_nb.runtime.scope import Scope
from bread_nb.stores.records import Call, Checkpoint, RunRow
from bread_nb.stores.store import Add

__all__ = [
    "EDITED",
    "ask_outcome",
    "next_handle",
    "notify",
    "question",
    "stage_question",
]

EDITED = "the tool was edited since it asked"


async def next_handle(scope: Scope, run: str) -> str:
    """The handle of a run's next question, such as `writer-3.b`; none comes twice.

    The store counts: an answer typed again must not reach another question.
    """
    counted = await scope.store.atomic(Add(RunRow, scope.run_id, "asked", 1))
    number = counted[0] if counted else 1
    return f"{run}.{_letter(cast('int', number))}"


def question(wait: Wait, scope: Scope, handle: str) -> Checkpoint:
    """The checkpoint of a call that needs a person first."""
    tool, call = wait.tool, wait.call
    human = tool.is_human
    answer = tool.answer.json if human and tool.answer else tool.arguments.json
    checkpoint = Checkpoint(
        id=new_id(),
        run_id=call.run_id,
        session_id=call.session_id,
        agent_id=call.agent_id,
        call=call.id,
        tool_call_id=call.call_id,
        tool_name=call.name,
        ask="input" if human else "approval",
        handle=handle,
        created_at=now_ms(),
        args=call.args,
        answer_schema=cast("JsonValue", answer),
        prompt=_prompt(call.args) if human else None,
        rule=wait.ask.rule if wait.ask else None,
        effect=None if human else effect_words(tool.effect, call.args),
        source=tool.source,
        expires_at=_expiry(scope),
        lasting=not (wait.ask and wait.ask.always)
        and not isinstance(tool.effect, Shell | Spawn),
    )
    deck, masks = scope.kit.catalog.deck, scope.kit.redactor
    if deck.heeds:
        kind = checkpoint.ask
        asked = question_of(scope.agent_id, call.name, call.args, kind, masks)
        deck.ask(checkpoint.id, asked)
    return checkpoint


def ask_outcome(call: Call, handle: str, schema: JsonValue) -> Checkpoint:
    """The question whether a call happened whose result was never kept."""
    return Checkpoint(
        id=new_id(),
        run_id=call.run_id,
        session_id=call.session_id,
        agent_id=call.agent_id,
        call=call.id,
        tool_call_id=call.call_id,
        tool_name=call.name,
        ask="outcome",
        handle=handle,
        created_at=now_ms(),
        args=call.args,
        answer_schema=schema,
    )


def stage_question(checkpoint: Checkpoint, scope: Scope) -> HumanRequired:
    """Log that a person is needed; everybody hears of it once it is stored."""
    names = {
        "tool_name": checkpoint.tool_name,
        "tool_call_id": checkpoint.tool_call_id,
        "rule": checkpoint.rule,
    }
    if checkpoint.rule is not None:
        scope.stream.stage(GateDecided, decision="ask", **names)
    crumb = scope.stream.stage(
        HumanRequired,
        checkpoint_id=checkpoint.id,
        schema=checkpoint.answer_schema,
        kind=checkpoint.ask,
        prompt=checkpoint.prompt,
        args=checkpoint.args,
        effect=checkpoint.effect,
        handle=checkpoint.handle,
        **names,
    )
    return cast("HumanRequired", crumb)


def notify(crumbs: Sequence[HumanRequired], scope: Scope) -> None:
    """Call back whoever started the run, once the questions are stored."""
    if scope.on_human_required is None:
        return
    for crumb in crumbs:
        try:
            scope.on_human_required(crumb)
        except Exception as error:  # noqa: BLE001
            scope.kit.fault(error, "on_human_required")


def _letter(number: int) -> str:
    """1 as `a`, 26 as `z`, 27 as `aa`."""
    text = ""
    while number:
        number, rest = divmod(number - 1, 26)
        text = chr(ord("a") + rest) + text
    return text


def _prompt(args: dict[str, JsonValue]) -> str | None:
    texts = [value for value in args.values() if isinstance(value, str)]
    return texts[0] if len(texts) == len(args) == 1 else None


def _expiry(scope: Scope) -> int | None:
    wait = scope.kit.ask_timeout
    return None if not wait else now_ms() + round(wait * 1000)
