"""The one chain runner of all hooks: scoped hook, then plugins, then the project."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from bread_nb.base.redact import Redactor
from bread_nb.base.retry import RetryPolicy, retrying
from bread_nb.crumbs import ErrorInfo
from bread_nb.errors import BreadError, Halt, ProviderError, TimeoutError, words_of
from bread_nb.runtime.outside import closed_from_outside
from bread_nb.runtime.scope import Scope
from bread_nb.stores.records import Call
from bread_nb.tools.credentials import Credentials
from bread_nb.tools.lifecycle import (
    Continue,
    Fail,
    Hook,
    HookContext,
    HookResult,
    Hooks,
    Recover,
    Replace,
    Retry,
    ShortCircuit,
)
from bread_nb.tools.tool import Tool

__all__ = [
    "Chain",
    "HookRaised",
    "Recovered",
    "as_bread_error",
    "chain_of",
    "guarded",
    "told_of_call",
]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Recovered:
    """What an error hook put in place of a failure."""

    output: object


class HookRaised(Exception):
    """An error hook raised: a fault of its own, which nothing may answer."""

    def __init__(self, error: Exception) -> None:
        super().__init__(words_of(error))
        self.error = error


@dataclass(frozen=True, slots=True)
class Chain:
    """The hooks of one run, task or call, in the order they are asked."""

    hooks: tuple[Hooks, ...]

    def _each(self, name: str) -> list[Hook]:
        found = (getattr(hooks, name) for hooks in self.hooks)
        return [hook for hook in found if hook is not None]

    async def before(self, context: HookContext) -> tuple[object, ShortCircuit | None]:
        """The input the hooks leave, and the short-circuit that ends it, if any."""
        value = context.input
        for hook in self._each("before_run"):
            match await _call(hook, context.but(input=value)):
                case Continue(input=changed):
                    value = changed
                case ShortCircuit() as short:
                    return value, short
                case None:
                    continue
                case other:
                    raise _wrong("before_run", other, "Continue, ShortCircuit or None")
        return value, None

    async def after(self, context: HookContext) -> object:
        """The output the hooks leave."""
        value = context.output
        for hook in self._each("after_run"):
            match await _call(hook, context.but(output=value)):
                case Replace(output=changed):
                    value = changed
                case None:
                    continue
                case other:
                    raise _wrong("after_run", other, "Replace or None")
        return value

    async def on_error(self, context: HookContext) -> Recover | Retry | Fail | None:
        """The first answer of a hook, or None when no hook has one."""
        for hook in self._each("on_error"):
            match await _call(hook, context):
                case Recover() | Retry() | Fail() as answer:
                    return answer
                case None:
                    continue
                case other:
                    raise _wrong("on_error", other, "Recover, Retry, Fail or None")
        return None

    async def on_suspend(self, context: HookContext) -> None:
        """Tell every hook that the run waits."""
        for hook in self._each("on_suspend"):
            await _call(hook, context)


def chain_of(own: Hooks | None, scope: Scope) -> Chain:
    """The chain of one scope: its own hooks, then those all runs share."""
    first = () if own is None else (own,)
    return Chain((*first, *scope.kit.hooks))


def told_of_call(
    call: Call, tool: Tool, scope: Scope, credentials: Credentials, **more: object
) -> HookContext:
    """What the hooks of a call are told, with other values for some fields."""
    told: dict[str, Any] = {"input": dict(call.args), **more}
    return HookContext(
        scope="tool",
        agent_id=scope.agent_id,
        run_id=scope.run_id,
        session_id=scope.session_id,
        skill=scope.skill,
        tool_name=call.name,
        call_id=call.call_id,
        credentials=credentials,
        store=scope.store,
        ctx=scope.ctx,
        **told,
    )


async def _call(hook: Hook, context: HookContext) -> HookResult:
    task = asyncio.current_task()
    try:
        answer = hook(context)
        return await answer if inspect.isawaitable(answer) else answer
    except (Exception, asyncio.CancelledError):
        raise
    except BaseException as error:
        main = threading.current_thread() is threading.main_thread()
        if main and isinstance(error, KeyboardInterrupt):
            raise
        if isinstance(error, GeneratorExit) and closed_from_outside(task):
            raise
        raise _exited(type(error).__name__) from error


def _exited(kind: str) -> BreadError:
    return BreadError(
        "A hook tried to end the process.",
        code="INVALID_HOOK_RESULT",
        why=f"it raised {kind}; only its run ends.",
        do="raise an error of your own, or return Fail(error) from on_error",
    )


def _wrong(place: str, answer: object, expected: str) -> BreadError:
    return BreadError(
        f"A {place} hook returned {type(answer).__name__}.",
        code="INVALID_HOOK_RESULT",
        why=f"{place} may return {expected}.",
        do="from bread_nb import Continue, ShortCircuit, Replace, Recover, Retry, Fail",
    )


def as_bread_error(
    error: BaseException, code: str, redactor: Redactor | None = None
) -> BreadError:
    """The error itself when it has a code, else one that names its type, masked."""
    if isinstance(error, BreadError):
        return error
    message = ErrorInfo.of(error).message
    wrapped = BreadError(redactor.text(message) if redactor else message, code=code)
    wrapped.__cause__ = error
    return wrapped


async def guarded(
    operation: Callable[[int], Awaitable[T]],
    chain: Chain,
    context: Callable[..., HookContext],
    *,
    policy: RetryPolicy | None,
    default: RetryPolicy | None = None,
    on_retry: Callable[[BreadError, int, int, float], None] | None = None,
) -> T | Recovered:
    """Run an operation; on failure ask the hooks, then the policy.

    Args:
        operation: Called with the number of the try; raises `BreadError`s.
        chain: Whose `on_error` is asked at each failure.
        context: Makes what the hooks are told, with these fields.
        policy: The retry somebody configured, if any.
        default: The retry that holds when nobody configured one.
        on_retry: Told of the error, the failed try, the tries in all and the wait.

    Raises:
        BreadError: The last failure, or what a hook put in its place.
        HookRaised: When an error hook raised.
    """
    recovered: list[Recovered] = []
    hook_retries = 0

    async def decide(error: BreadError, attempt: int) -> float | None:
        nonlocal hook_retries
        try:
            answer = await chain.on_error(context(error=error))
        except Exception as raised:
            raise HookRaised(raised) from raised
        match answer:
            case Recover(output=output):
                recovered.append(Recovered(output))
                return None
            case Fail(error=other):
                raise as_bread_error(other, "AGENT_ERROR") from error
            case _:
                pass
        used = policy or default
        tries = attempt - hook_retries
        again = isinstance(answer, Retry) and not error.acted
        if policy is None and again and hook_retries == 0:
            hook_retries = 1
            wait, most = 0.0, attempt + 1
        elif used is None or tries >= used.attempts:
            return None
        elif _tried_again(answer, error, used, policy):
            wait, most = used.delay(tries, error), used.attempts + hook_retries
        else:
            return None
        if on_retry is not None:
            on_retry(error, attempt, most, wait)
        return wait

    try:
        return await retrying(operation, decide)
    except Halt:
        raise
    except BreadError:
        if recovered:
            return recovered[0]
        raise


def _tried_again(
    answer: Retry | None,
    error: BreadError,
    used: RetryPolicy,
    policy: RetryPolicy | None,
) -> bool:
    """Whether a try is left for this: a hook's Retry counts where one is configured."""
    if error.acted or not used.waits_for(error):
        return False
    if policy is None:
        transient = isinstance(error, ProviderError | TimeoutError)
        return transient and error.retryable and not error.exhausted
    return isinstance(answer, Retry) or used.covers(error)
