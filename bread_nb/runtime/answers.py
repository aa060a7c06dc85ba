"""A person's answer to a checkpoint, checked and in a closed form.

Only JSON `true` approves; everything else is a refusal. Unknown keys are ignored, but
an answer that says only what another kind of question asks is a slip and none at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

from bread_nb.base.consent import says_yes
from bread_nb.base.redact import MASK, Redactor, environment_secrets
from bread_nb.base.schema import Schema
from bread_nb.base.wire import dumps
from bread_nb.errors import BreadError, ValidationError
from bread_nb.runtime.outcome import PendingCall
from bread_nb.runtime.toolbox import Toolbox
from bread_nb.stores.records import Checkpoint

__all__ = [
    "Answer",
    "Approve",
    "Failed",
    "Give",
    "Refuse",
    "RunIt",
    "form_changed",
    "read_answer",
]


_WORDS: dict[str, frozenset[str]] = {
    "approval": frozenset({"approved", "reason", "args", "remember"}),
    "halt": frozenset({"approved", "topup", "terminate", "reason"}),
    "input": frozenset({"answer", "declined", "reason"}),
    "outcome": frozenset({"happened", "result", "run", "failed"}),
}


@dataclass(frozen=True, slots=True)
class Approve:
    """The call may run, with these arguments; `remember` adds a rule."""

    args: dict[str, JsonValue] | None = None
    remember: JsonValue = None


@dataclass(frozen=True, slots=True)
class Refuse:
    """The call does not run; the reason reaches the model."""

    reason: str | None = None
    declined: bool = False


@dataclass(frozen=True, slots=True)
class Give:
    """The result itself: an answer, or what had happened."""

    value: JsonValue


@dataclass(frozen=True, slots=True)
class RunIt:
    """It did not happen; run it now."""


@dataclass(frozen=True, slots=True)
class Failed:
    """Nobody can tell; the model is told that it failed."""


Answer = Approve | Refuse | Give | RunIt | Failed


def read_answer(checkpoint: Checkpoint, answer: object, toolbox: Toolbox) -> Answer:
    """What a person's answer means for this checkpoint.

    Raises:
        BreadError: `FORM_CHANGED` when the answer was given to other arguments.
        ValidationError: `INVALID_ANSWER` with one line a problem; the call still waits.
    """
    given = _mapping(answer)
    shown = given.get("shown")
    if shown is not None and shown != PendingCall.of(checkpoint).shown:
        raise form_changed(checkpoint)
    _check_kind(given, checkpoint)
    match checkpoint.ask:
        case "approval" | "halt":
            return _approval(given, answer, checkpoint, toolbox)
        case "input":
            return _input(given, answer, checkpoint, toolbox)
        case "outcome":
            return _outcome(given, checkpoint, toolbox)


def _check_kind(given: Mapping[str, JsonValue], checkpoint: Checkpoint) -> None:
    """Take no word about the outcome of a call for a refusal to let it run."""
    known = set(given) & {word for words in _WORDS.values() for word in words}
    own = _WORDS[checkpoint.ask]
    if checkpoint.ask != "outcome" and known and known <= _WORDS["outcome"] - own:
        said = ", ".join(sorted(known))
        problem = f"{said}: that answers what became of a call; this one has not run"
        raise _invalid(checkpoint, [problem])


def form_changed(checkpoint: Checkpoint) -> BreadError:
    """The error for consent to something else than what would run."""
    return BreadError(
        f"{checkpoint.handle} was not shown like this.",
        code="FORM_CHANGED",
        why="the arguments in the store are not those of the form.",
        do="%bread pending shows the form as it is now",
    )


def _mapping(answer: object) -> Mapping[str, JsonValue]:
    if isinstance(answer, Mapping):
        return cast("Mapping[str, JsonValue]", answer)
    return {}


def _reason(given: Mapping[str, JsonValue]) -> str | None:
    reason = given.get("reason")
    return reason if isinstance(reason, str) and reason.strip() else None


def _approval(
    given: Mapping[str, JsonValue],
    answer: object,
    checkpoint: Checkpoint,
    toolbox: Toolbox,
) -> Answer:
    typed = isinstance(answer, str) and says_yes(answer)
    if given.get("approved") is not True and not typed:
        return Refuse(_reason(given))
    args = given.get("args")
    if args is None or args == checkpoint.args:
        return Approve(None, given.get("remember"))
    tool = toolbox.tools.get(checkpoint.tool_name)
    if not isinstance(args, dict):
        raise _invalid(checkpoint, ["args is not a mapping"])
    if _masks(args) > _masks(checkpoint.args) and _hides(checkpoint.args):
        problem = f"{MASK} stands for a secret that was not shown; write the secret"
        raise _invalid(checkpoint, [problem])
    if tool is not None:
        _check(tool.arguments, args, checkpoint)
    return Approve(args, given.get("remember"))


def _masks(args: dict[str, JsonValue]) -> int:
    return dumps(args).count(MASK)


def _hides(args: dict[str, JsonValue]) -> bool:
    """Whether a person saw these arguments with something masked."""
    return Redactor(environment_secrets()).value(args) != args


def _input(
    given: Mapping[str, JsonValue],
    answer: object,
    checkpoint: Checkpoint,
    toolbox: Toolbox,
) -> Answer:
    if given.get("declined") is True:
        return Refuse(_reason(given), declined=True)
    if isinstance(answer, str):
        given = {"answer": answer}
    if "answer" not in given:
        raise _invalid(checkpoint, ["there is no answer in it"])
    value = given["answer"]
    tool = toolbox.tools.get(checkpoint.tool_name)
    if tool is None or tool.answer is None:
        return Give(value)
    return Give(tool.answer.dump(_check(tool.answer, value, checkpoint)))


def _outcome(
    given: Mapping[str, JsonValue], checkpoint: Checkpoint, toolbox: Toolbox
) -> Answer:
    if given.get("happened") is True:
        value = given.get("result")
        tool = toolbox.tools.get(checkpoint.tool_name)
        if tool is not None and tool.output is not None:
            _check(tool.output, value, checkpoint)
        return Give(value)
    if given.get("run") is True:
        return RunIt()
    if given.get("failed") is True:
        return Failed()
    raise _invalid(
        checkpoint,
        ['say {"happened": true, "result": …}, {"run": true} or {"failed": true}'],
    )


def _check(schema: Schema, value: object, checkpoint: Checkpoint) -> object:
    try:
        return schema.validate(value)
    except ValidationError as error:
        raise _invalid(checkpoint, error.problems) from None


def _invalid(checkpoint: Checkpoint, problems: list[str]) -> ValidationError:
    return ValidationError(
        f"This does not answer {checkpoint.handle}.",
        code="INVALID_ANSWER",
        problems=problems,
        do=f"answer again; {checkpoint.handle} still waits",
        context={"problems": list(problems)},
    )
