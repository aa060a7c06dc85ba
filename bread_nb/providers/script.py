"""Scripts: lists of turns, read and checked before they are played.

A turn is a string, a function of the request, or a mapping with any of these keys:

    text       the answer, in one piece
    deltas     the answer, in these pieces
    reasoning  what the model thinks first: a string or a list of pieces
    calls      tool calls, each `{name, args, id}`; the id is `call_<turn>_<index>`
               when none is given, and args may be a string, for broken JSON
    usage      tokens by tier; counted at four characters a token when left out,
               not reported at all when null
    stop       the stop reason; `tool_use` with calls and `end_turn` without
    error      an exception, an HTTP status, or `{status, code, retry_after,
               message, retryable}`; it is raised after what comes before it
    delay      seconds before the first event and between pieces of text
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast, get_args

from pydantic import JsonValue

from bread_nb.base.wire import dumps, json_safe
from bread_nb.errors import BreadError, ProviderError, closest
from bread_nb.messages import StopReason, ToolCall, Usage
from bread_nb.providers.faults import status_fault
from bread_nb.providers.model import ModelRequest

__all__ = ["Line", "Turn", "Turns", "invalid", "read_script", "read_turn"]

Turn: TypeAlias = (
    "str | Mapping[str, object] | Callable[[ModelRequest], Turn | Awaitable[Turn]]"
)
Turns: TypeAlias = Sequence[Turn] | Mapping[str, Sequence[Turn]]

_KEYS = ("text", "deltas", "reasoning", "calls", "usage", "stop", "error", "delay")
_ERROR_KEYS = frozenset({"status", "code", "retry_after", "message", "retryable"})
_RETRYABLE = ("STREAM_INCOMPLETE", "STREAM_BROKEN", "MODEL_UNREACHABLE", "ETIMEDOUT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A turn, read and checked.

    `usage` counts only when `counted` is False; None then means no report at all.
    """

    reasons: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    counted: bool = True
    stop: StopReason | None = "end_turn"
    error: BaseException | None = None
    delay: float = 0.0


def read_script(turns: Turns) -> dict[str | None, list[Turn]]:
    """Each agent's turns, or those of all under None.

    Raises:
        BreadError: `INVALID_SCRIPT`, saying where and what.
    """
    if isinstance(turns, Mapping):
        if not turns or set(turns) & set(_KEYS):
            raise invalid("A script is a list of turns", "this is one turn alone.")
        return {name: _checked(own, f"{name}, ") for name, own in turns.items()}
    return {None: _checked(turns, "")}


def read_turn(turn: object, where: str = "") -> Line:
    """One turn that is no function.

    Raises:
        BreadError: `INVALID_SCRIPT`, saying where and what.
    """
    if isinstance(turn, str):
        return Line(texts=_strings(turn))
    if not isinstance(turn, Mapping):
        raise invalid(
            "A turn is a string, a mapping or a function", f"{where}{turn!r}."
        )
    fields = cast("Mapping[str, object]", turn)
    for key in fields:
        if key not in _KEYS:
            near = closest(str(key), _KEYS)
            hint = f"did you mean {near!r}?" if near else f"it has {', '.join(_KEYS)}."
            raise invalid(f"A turn has no {key!r}", f"{where}{hint}")
    try:
        return _read(fields)
    except (TypeError, ValueError) as error:
        raise invalid("A turn cannot be read", f"{where}{error}.") from None


def _checked(turns: object, whose: str) -> list[Turn]:
    if isinstance(turns, str) or not isinstance(turns, Sequence):
        kind = type(turns).__name__
        raise invalid("A script is a list of turns", f"{whose}this is a {kind}.")
    listed = list(cast("Sequence[Turn]", turns))
    for number, turn in enumerate(listed, start=1):
        if not callable(turn):
            read_turn(turn, f"{whose}turn {number}: ")
    return listed


def _read(fields: Mapping[str, object]) -> Line:
    calls = tuple(map(_call, cast("Sequence[object]", fields.get("calls") or ())))
    usage = fields.get("usage")
    if isinstance(usage, Mapping):
        usage = Usage(**cast("Mapping[str, int]", usage))
    if usage is not None and not isinstance(usage, Usage):
        raise TypeError(f"usage is {usage!r}, not a mapping of tiers")
    stop = fields.get("stop", "tool_use" if calls else "end_turn")
    if stop is not None and stop not in get_args(StopReason):
        raise ValueError(f"stop is {stop!r}, not one of {get_args(StopReason)}")
    return Line(
        reasons=_strings(fields.get("reasoning")),
        texts=_strings(fields.get("text")) + _strings(fields.get("deltas")),
        calls=calls,
        usage=usage,
        counted="usage" not in fields,
        stop=cast("StopReason | None", stop),
        error=_error(fields.get("error")),
        delay=float(cast("float", fields.get("delay") or 0)),
    )


def _strings(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    pieces = (value,) if isinstance(value, str) else tuple(cast("list[object]", value))
    for piece in pieces:
        if not isinstance(piece, str):
            raise TypeError(f"{piece!r} is not text")
    return tuple(piece for piece in cast("tuple[str, ...]", pieces) if piece)


def _call(value: object) -> ToolCall:
    call = cast("Mapping[str, object]", value if isinstance(value, Mapping) else {})
    name, identifier = call.get("name"), str(call.get("id") or "")
    if not isinstance(name, str) or set(call) - {"name", "args", "id"}:
        raise TypeError(f"a call is {{name, args, id}}, not {value!r}")
    args = call.get("args")
    if isinstance(args, str):
        return ToolCall(identifier, name, broken=args)
    fields = json_safe({} if args is None else args)
    if not isinstance(fields, dict):
        return ToolCall(identifier, name, broken=dumps(fields))
    return ToolCall(identifier, name, fields)


def _error(value: object) -> BaseException | None:
    if value is None or isinstance(value, BaseException):
        return value
    if isinstance(value, type) and issubclass(value, BaseException):
        return value()
    if isinstance(value, int) and not isinstance(value, bool):
        return status_fault("scripted", value)
    if not isinstance(value, Mapping):
        raise TypeError(f"error is {value!r}")
    fields = cast("Mapping[str, JsonValue]", value)
    if extra := set(fields) - _ERROR_KEYS:
        raise ValueError(f"an error has no {', '.join(sorted(extra))}")
    return _provider_error(fields)


def _provider_error(fields: Mapping[str, JsonValue]) -> ProviderError:
    message = str(fields.get("message") or "")
    wait = fields.get("retry_after")
    seconds = float(cast("float", wait)) if wait is not None else None
    if (status := fields.get("status")) is not None:
        number = int(cast("int", status))
        fault = status_fault("scripted", number, message, wait=seconds)
    else:
        fault = ProviderError(
            message or "scripted failed, as its script says.", retry_after=seconds
        )
        fault.retryable = str(fields.get("code")) in _RETRYABLE
    fault.code = str(fields.get("code") or fault.code)
    fault.retryable = bool(fields.get("retryable", fault.retryable))
    return fault


def invalid(what: str, why: str) -> BreadError:
    """The error for a script that cannot be played."""
    return BreadError(
        f"{what}.",
        code="INVALID_SCRIPT",
        why=why,
        do='for example [{"calls": [{"name": "tool_add", "args": {"a": 1}}]}, "done"]',
    )
