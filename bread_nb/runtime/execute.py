"""Tool calls: decided in call order, then carried out together.

One function decides and one carries out, for every call: live, approved, recovered.
Hooks come first, then the gate on what the hooks left, then the call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import cast

from pydantic import JsonValue

from bread_nb.base.ids import monotonic, now_ms
from bread_nb.base.wire import json_safe
from bread_nb.crumbs import (
    ErrorInfo,
    GateDecided,
    ToolCalled,
    ToolFailed,
    ToolPartial,
    ToolReturned,
)
from bread_nb.errors import BreadError, Halt, ToolError, ValidationError, closest
from bread_nb.governance.verdict import Action, Allow, Ask, Deny, HaltRun, Verdict
from bread_nb.messages import File
from bread_nb.runtime.grants import granted
from bread_nb.runtime.hooks import (
    Chain,
    HookRaised,
    Recovered,
    chain_of,
    guarded,
    told_of_call,
)
from bread_nb.runtime.invoke import invoke, progress_value, tool_context
from bread_nb.runtime.results import (
    bounded,
    error_text,
    fenced,
    shown_in,
    unknown_tool,
    with_files,
)
from bread_nb.runtime.scope import Scope
from bread_nb.runtime.toolbox import Toolbox
from bread_nb.runtime.turn import elapsed_ms
from bread_nb.stores.records import Call
from bread_nb.tools.credentials import Credentials, gather_credentials
from bread_nb.tools.lifecycle import HookContext
from bread_nb.tools.tool import Tool

__all__ = [
    "Decision",
    "Done",
    "Go",
    "Wait",
    "carry_out",
    "consider",
    "decide",
    "settled",
]


@dataclass(frozen=True, slots=True)
class Done:
    """A call that has its result."""

    call: Call


@dataclass(frozen=True, slots=True, kw_only=True)
class Go:
    """A call that may run: its tool, its checked arguments, its hooks.

    `context` makes what hooks are told, with other values for some fields.
    """

    call: Call
    tool: Tool
    values: Mapping[str, object]
    chain: Chain
    context: Callable[..., HookContext]
    credentials: Credentials
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """A call that needs a person first."""

    call: Call
    tool: Tool
    ask: Ask | None = None


Decision = Done | Go | Wait


async def decide(call: Call, toolbox: Toolbox, scope: Scope) -> Decision:
    """What becomes of a call that a model has just asked for.

    Raises:
        Halt: When the gate ends the run.
        BaseException: What a before-hook raised.
    """
    tool = toolbox.tools.get(call.name)
    if tool is not None and call.decided:
        return await consider(
            call, toolbox, scope, approved=call.checkpoint_id is not None
        )
    if tool is None:
        near = closest(call.name, toolbox.names)
        return _rejected(call, scope, unknown_tool(call.name, toolbox.names, near))
    values = _fitting(call, tool)
    if isinstance(values, str):
        return _rejected(call, scope, values)
    if tool.is_human:
        return Wait(call=call, tool=tool)
    chain = chain_of(tool.hooks, scope)
    if chain.hooks:
        left = await _hooked(call, tool, chain, scope)
        if isinstance(left, Done):
            return left
        call, values = left, None
    elif (args := _mapping(call.args, tool)) != call.args:
        call, values = call.model_copy(update={"args": args}), None
    return await consider(call, toolbox, scope, approved=False, values=values)


async def _hooked(call: Call, tool: Tool, chain: Chain, scope: Scope) -> Call | Done:
    """The call with the arguments that the hooks leave, or short-circuited by one."""
    credentials = await _credentials(tool, scope)
    value, short = await chain.before(told_of_call(call, tool, scope, credentials))
    call = call.model_copy(update={"args": _mapping(value, tool)})
    if short is not None:
        cut = Go(
            call=call,
            tool=tool,
            values={},
            chain=chain,
            context=partial(told_of_call, call, tool, scope, credentials, input=value),
            credentials=credentials,
        )
        return await _short_circuit(cut, short.output, scope)
    problem = _fitting(call, tool)
    if isinstance(problem, str):
        raise _bad_rewrite(tool, problem)
    return call


async def consider(
    call: Call,
    toolbox: Toolbox,
    scope: Scope,
    *,
    approved: bool,
    values: Mapping[str, object] | None = None,
) -> Decision:
    """What the gate says of a call whose arguments the hooks have left.

    Args:
        call: The call.
        toolbox: What the agent may use.
        scope: The run's scope.
        approved: Whether a person has approved it.
        values: Its arguments as the tool takes them, where they were checked.

    Raises:
        Halt: When the gate ends the run.
    """
    tool = toolbox.tools[call.name]
    verdict = await _verdict(call, tool, toolbox, scope, approved)
    match verdict:
        case Deny(rule=rule, reason=reason):
            return _denied(call, scope, rule, reason)
        case HaltRun(rule=rule, reason=reason):
            raise Halt(rule, why=reason)
        case Ask():
            return Wait(call=call, tool=tool, ask=verdict)
        case Allow():
            fitting = _fitting(call, tool) if values is None else values
            if isinstance(fitting, str):
                return _rejected(call, scope, fitting)
            credentials = await _credentials(tool, scope)
            return Go(
                call=call,
                tool=tool,
                values=fitting,
                chain=chain_of(tool.hooks, scope),
                context=partial(told_of_call, call, tool, scope, credentials),
                credentials=credentials,
            )


async def _verdict(
    call: Call, tool: Tool, toolbox: Toolbox, scope: Scope, approved: bool
) -> Verdict:
    action = Action(
        agent_id=scope.agent_id,
        run_id=scope.run_id,
        session_id=scope.session_id,
        origin=tool.origin,
        args=call.args,
        effect=tool.effect,
        approved=approved,
        ctx=scope.ctx,
    )
    verdict = scope.kit.gate.decide(action, toolbox.permissions)
    if isinstance(verdict, Ask) and not verdict.always:
        rule = await granted(action, scope)
        if rule is not None:
            return Allow(rule)
    return verdict


async def carry_out(go: Go, scope: Scope) -> Call:
    """Run an allowed call; the result is the call with its result in it.

    Raises:
        Halt: When the tool ends the run.
        BaseException: What an after-hook raised.
    """
    call, since = go.call, monotonic()
    scope.emit(ToolCalled, args=call.args, **_names(call))
    try:
        return await _carried_out(go, scope, since)
    except Halt:
        _failed(call, ToolError(f"{go.tool.name} ended the run."), scope, since)
        raise
    except asyncio.CancelledError:
        _failed(call, _cut_short(), scope, since)
        raise
    except HookRaised as raised:
        _failed(call, raised.error, scope, since)
        raise raised.error from None
    except Exception as error:
        _failed(call, error, scope, since)
        raise


async def _carried_out(go: Go, scope: Scope, since: float) -> Call:
    call, tool, files = go.call, go.tool, dict[str, File]()

    async def attempt(_: int) -> object:
        value = await invoke(tool, go.values, context, told)
        return await with_files(value, tool, scope, files)

    def told(value: object) -> None:
        shown = progress_value(value, tool)
        scope.emit(ToolPartial, result=shown, **_names(call))

    asked = tool.context_parameter is not None
    context = tool_context(scope, call.call_id, go.credentials) if asked else None
    policy = tool.error_handling.retry if tool.error_handling else None
    try:
        value = await guarded(attempt, go.chain, go.context, policy=policy)
        if isinstance(value, Recovered):
            value = await with_files(value.output, tool, scope, files)
    except Halt:
        raise
    except BreadError as error:
        _failed(call, error, scope, since)
        return settled(call, await _error_for_model(error, tool, scope), failed=True)
    if go.chain.hooks:
        done = go.context(output=value, duration_ms=elapsed_ms(since))
        value = await go.chain.after(done)
    return await _returned(go, value, scope, since, files)


async def _returned(
    go: Go, value: object, scope: Scope, since: float, files: dict[str, File]
) -> Call:
    """Tell of what the hooks left as the result."""
    call, tool = go.call, go.tool
    try:
        final = await with_files(value, tool, scope, files)
    except ToolError as error:
        _failed(call, error, scope, since)
        return settled(call, await _error_for_model(error, tool, scope), failed=True)
    shown = await bounded(scope.kit.redactor.known(final), scope)
    duration = elapsed_ms(since)
    scope.emit(ToolReturned, result=shown, duration_ms=duration, **_names(call))
    done = settled(call, _for_model(shown, go))
    kept = shown_in(final, files)
    return done.model_copy(update={"files": kept}) if kept else done


def _for_model(value: JsonValue, go: Go) -> JsonValue:
    if go.tool.untrusted:
        value = fenced(value, go.tool.name)
    if not go.note:
        return value
    if isinstance(value, str):
        return f"[{go.note}]\n{value}"
    return {"note": go.note, "result": value}


async def _error_for_model(error: BreadError, tool: Tool, scope: Scope) -> JsonValue:
    text = scope.kit.redactor.text(error_text(error))
    shown = await bounded(text, scope)
    return fenced(shown, tool.name) if tool.untrusted else shown


async def _short_circuit(go: Go, output: object, scope: Scope) -> Done:
    """The call as if it had been carried out, with what a hook gave."""
    since = monotonic()
    scope.emit(ToolCalled, args=go.call.args, **_names(go.call))
    try:
        value = await go.chain.after(go.context(output=output, duration_ms=0))
        return Done(await _returned(go, value, scope, since, {}))
    except Exception as error:
        _failed(go.call, error, scope, since)
        raise


def settled(call: Call, result: JsonValue, *, failed: bool = False) -> Call:
    """The call with its result in it; it never runs again."""
    return call.model_copy(
        update={
            "status": "done",
            "result": result,
            "failed": failed,
            "ended_at": now_ms(),
        }
    )


def _names(call: Call) -> dict[str, str]:
    return {"tool_call_id": call.call_id, "tool_name": call.name}


def _rejected(call: Call, scope: Scope, problem: str) -> Done:
    names = _names(call)
    shown: JsonValue = call.args if call.broken is None else call.broken
    scope.emit(ToolCalled, args=shown, **names)
    scope.emit(
        ToolFailed, error=ErrorInfo("TOOL_ERROR", problem), duration_ms=0, **names
    )
    return Done(settled(call, problem, failed=True))


def _denied(call: Call, scope: Scope, rule: str, reason: str) -> Done:
    names, reason = _names(call), scope.kit.redactor.text(reason)
    scope.emit(GateDecided, decision="deny", rule=rule, reason=reason, **names)
    scope.emit(ToolFailed, error=ErrorInfo("DENIED", reason), duration_ms=0, **names)
    done = settled(call, reason, failed=True)
    return Done(done.model_copy(update={"refused_by": "gate"}))


def _failed(call: Call, error: Exception, scope: Scope, since: float) -> None:
    info, duration = ErrorInfo.of(error), elapsed_ms(since)
    scope.emit(ToolFailed, error=info, duration_ms=duration, **_names(call))


def _cut_short() -> BreadError:
    return BreadError("cancelled by user", code="RUN_CANCELLED")


def _fitting(call: Call, tool: Tool) -> Mapping[str, object] | str:
    """The arguments as the tool takes them, or why they cannot be used."""
    if call.broken is not None:
        return "The arguments are not a JSON object; send them again, complete."
    try:
        return cast("dict[str, object]", tool.arguments.validate(call.args))
    except ValidationError as error:
        problems = "; ".join(error.problems)
        return f"The arguments do not fit {tool.name}. {problems}"


def _mapping(value: object, tool: Tool) -> dict[str, JsonValue]:
    try:
        safe = json_safe(value)
    except TypeError as error:
        raise _bad_rewrite(tool, str(error)) from None
    if isinstance(safe, dict):
        return safe
    raise _bad_rewrite(tool, f"it is {type(value).__name__}, not a mapping")


def _bad_rewrite(tool: Tool, why: str) -> BreadError:
    return BreadError(
        f"A before_run hook left arguments that {tool.name} cannot take.",
        code="INVALID_HOOK_RESULT",
        why=f"{why}.",
        do="return Continue({...}) with the tool's own argument names",
    )


async def _credentials(tool: Tool, scope: Scope) -> Credentials:
    own = (tool.credential_source,) if tool.credential_source else ()
    found = await gather_credentials(
        tool.credentials, (*own, *scope.kit.credential_sources)
    )
    scope.kit.redactor.learn(*found.known())
    return found
