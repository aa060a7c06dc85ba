"""Calls that waited for a person, recorded and replayed.

A recording keeps the decision and the call's outcome. In a replay the decision comes
from there and the tool does not run: its crumbs and its result are those of then.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from typing import cast

from pydantic import JsonValue

from bread_nb.crumbs import (
    Crumb,
    ErrorInfo,
    ToolCalled,
    ToolFailed,
    ToolPartial,
    ToolReturned,
)
from bread_nb.errors import BreadError, Halt, ToolError
from bread_nb.providers.consents import Consent, error_of, question_of
from bread_nb.runtime.execute import Done, Go, settled
from bread_nb.runtime.keeping import Results
from bread_nb.runtime.runner import run_together
from bread_nb.runtime.scope import Scope
from bread_nb.stores.records import Call, Checkpoint

__all__ = ["check_answer", "conclude"]

Json = dict[str, JsonValue]


async def conclude(
    checkpoint: Checkpoint, decision: Done | Go, answer: JsonValue, scope: Scope
) -> None:
    """Carry out what was decided about a call: by its tool, or by the recording of it.

    Raises:
        Halt: When the tool ends the run, or did so when it was recorded.
        BaseException: What an after-hook raised.
    """
    deck = scope.kit.catalog.deck
    answer = scope.kit.redactor.value(answer)
    if isinstance(decision, Done):
        deck.settle(checkpoint.id, answer, {}, scope.run_id)
    elif (known := deck.consent(checkpoint.id)) is not None:
        await _play(decision, known.outcome, scope)
    else:
        heard = _Heard(decision.call.call_id)
        scope.stream.taps.append(heard)
        try:
            [done] = await run_together([decision], scope)
        except Halt as halt:
            outcome: Json = {"halt": halt.rule, "why": halt.why}
            deck.settle(checkpoint.id, answer, outcome, scope.run_id)
            raise
        finally:
            scope.stream.taps.remove(heard)
        if deck.mode.name == "record":
            outcome = await _outcome(done, heard, scope)
            deck.settle(checkpoint.id, answer, outcome, scope.run_id)


def check_answer(
    checkpoint: Checkpoint, decision: Done | Go, answer: JsonValue, scope: Scope
) -> None:
    """In a replay, refuse to let a tool run that the recording did not let run so.

    A call that a model asked for, or a script, is none of the recording's: it runs.

    Raises:
        BreadError: `REPLAY_MISS` or `CASSETTE_BROKEN`; the call still waits.
    """
    if isinstance(decision, Done):
        return
    deck = scope.kit.catalog.deck
    played = decision.call.replayed and checkpoint.ask == "approval"
    played = played and deck.mode.name == "replay"
    if played and not deck.asks(checkpoint.id):
        _ask_here(checkpoint, scope)
    known = deck.consent(checkpoint.id)
    if known is None:
        if played:
            raise deck.undecided(checkpoint.id, checkpoint.handle)
        return
    given = scope.kit.redactor.value(answer)
    if known.outcome and _edits(given) == _edits(known.answer):
        return
    raise BreadError(
        f"The recording has another answer to {checkpoint.handle}.",
        code="REPLAY_MISS",
        why=f"{known.place}: {_word(known)}; now it is approved"
        f"{' with other changes' if known.outcome else ''}, and a replay runs no tool.",
        do="answer as it was recorded, or record it again",
        context={"nearest": known.place},
    )


def _ask_here(checkpoint: Checkpoint, scope: Scope) -> None:
    """Ask the recording what another process has asked, or this one in another mode."""
    name, args, masks = checkpoint.tool_name, checkpoint.args, scope.kit.redactor
    asked = question_of(scope.agent_id, name, args, checkpoint.ask, masks)
    scope.kit.catalog.deck.ask(checkpoint.id, asked)


def _edits(answer: JsonValue) -> JsonValue:
    return answer.get("args") if isinstance(answer, dict) else None


def _word(known: Consent) -> str:
    return "it was approved" if known.outcome else "it was refused"


# -- recording -------------------------------------------------------------------------


@dataclass(slots=True)
class _Heard:
    """The crumbs of one call, as it drops them."""

    call_id: str
    crumbs: list[Crumb] = field(default_factory=list[Crumb])

    def accept(self, crumb: Crumb) -> None:
        ours = isinstance(crumb, ToolPartial | ToolReturned | ToolFailed)
        if ours and crumb.tool_call_id == self.call_id:
            self.crumbs.append(crumb)


async def _outcome(done: Call, heard: _Heard, scope: Scope) -> Json:
    """What came of a call, without a secret: what was shown, and what the model reads.

    They are told apart where they differ.
    """
    outcome: Json = {}
    shown: JsonValue = None
    partial: list[JsonValue] = []
    for crumb in heard.crumbs:
        match crumb:
            case ToolPartial(result=result):
                partial.append(result)
            case ToolReturned(result=result):
                outcome["result"] = shown = result
            case ToolFailed(error=error):
                outcome["error"] = _error_json(error)
            case _:
                pass
    told = scope.kit.redactor.value(done.result)
    if partial:
        outcome["partial"] = partial
    if done.failed or told != shown:
        outcome["told"] = told
    if done.files:
        outcome["files"] = await _files(done, scope)
    return outcome


def _error_json(error: ErrorInfo) -> Json:
    names = ("code", "message", "why", "do", "retryable", "context")
    found: Json = {name: getattr(error, name) for name in names}
    return {name: value for name, value in found.items() if value}


async def _files(done: Call, scope: Scope) -> list[JsonValue]:
    """The files of a result, with their bytes."""
    files: list[JsonValue] = []
    for file in cast("list[Json]", done.files):
        blobs = scope.kit.blob_store
        blob = await blobs.get(str(file["uri"])) if blobs is not None else None
        data = blob[0] if blob else b""
        digest = hashlib.sha256(data).hexdigest()
        text = base64.b64encode(data).decode()
        files.append({**file, "base64": text, "sha256": digest})
    return files


# -- replaying -------------------------------------------------------------------------


async def _play(go: Go, outcome: Json, scope: Scope) -> None:
    """The call as it went when it was recorded."""
    call = go.call
    names = {"tool_call_id": call.call_id, "tool_name": call.name}
    scope.emit(ToolCalled, args=call.args, **names)
    partial = outcome.get("partial")
    for value in partial if isinstance(partial, list) else ():
        scope.emit(ToolPartial, result=value, **names)
    if "halt" in outcome:
        error = ErrorInfo.of(ToolError(f"{go.tool.name} ended the run."))
        scope.emit(ToolFailed, error=error, duration_ms=0, **names)
        raise Halt(str(outcome["halt"]), why=str(outcome.get("why", "")))
    failed = "error" in outcome
    if failed:
        error = error_of(cast("Json", outcome["error"]))
        scope.emit(ToolFailed, error=error, duration_ms=0, **names)
    else:
        result = outcome.get("result")
        scope.emit(ToolReturned, result=result, duration_ms=0, **names)
    told = outcome.get("told", outcome.get("result"))
    done = settled(call, told, failed=failed)
    files = await _kept_files(outcome, scope)
    if files:
        done = done.model_copy(update={"files": files})
    await Results(scope.store).keep(done)


async def _kept_files(outcome: Json, scope: Scope) -> list[JsonValue]:
    """The files of a recorded result, their bytes put where files are kept."""
    kept: list[JsonValue] = []
    files = outcome.get("files")
    for file in cast("list[Json]", files) if isinstance(files, list) else ():
        data = base64.b64decode(str(file.get("base64", "")))
        if scope.kit.blob_store is not None and data:
            mime = str(file.get("mime_type"))
            await scope.kit.blob_store.put(data, mime_type=mime)
        left_out = ("base64", "sha256")
        kept.append({k: v for k, v in file.items() if k not in left_out})
    return kept
