"""Running a tool's function: on a worker thread, on the loop, or step by step."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from typing import Any, cast

from bread_nb.base.wire import dumps
from bread_nb.errors import BreadError, ToolError, words_of
from bread_nb.runtime.outside import cancelled_from_outside, closed_from_outside
from bread_nb.runtime.results import plain_result
from bread_nb.runtime.scope import Scope
from bread_nb.tools.credentials import Credentials
from bread_nb.tools.tool import Tool, ToolContext

__all__ = ["invoke", "progress_value", "tool_context"]

_OVER = object()
_LONGEST_MESSAGE = 4_000
_MESSAGE_TAIL = 1_000
_LONGEST_PROGRESS = 40_000


async def invoke(
    tool: Tool,
    args: Mapping[str, object],
    context: ToolContext | None,
    partial: Callable[[object], None],
) -> object:
    """Call the function with checked arguments; `partial` gets each progress value.

    `context` is there for a tool that asks for it.

    Raises:
        Halt: When the tool halts the run.
        BreadError: Its own, or a `ToolError` naming the exception's type.
    """
    task, keywords = asyncio.current_task(), dict(args)
    if tool.context_parameter:
        keywords[tool.context_parameter] = context
    try:
        return await _by_manner(tool, keywords, context, partial)
    except BreadError:
        raise
    except _RaisedError as raised:
        raise _tool_error(tool, raised.error) from raised.error
    except GeneratorExit as error:
        if closed_from_outside(task):
            raise
        raise _tool_error(tool, error) from error
    except KeyboardInterrupt as error:
        if _may_be_a_signal(tool):
            raise
        raise _tool_error(tool, error) from error
    except asyncio.CancelledError as error:
        if cancelled_from_outside():
            raise
        raise _tool_error(tool, error) from error
    except BaseException as error:
        raise _tool_error(tool, error) from error


def _may_be_a_signal(tool: Tool) -> bool:
    """Whether the tool ran on the main thread, the only one that signals reach."""
    main = threading.current_thread() is threading.main_thread()
    return main and tool.manner in ("async", "async_steps")


async def _by_manner(
    tool: Tool,
    keywords: Mapping[str, Any],
    context: ToolContext | None,
    partial: Callable[[object], None],
) -> object:
    fn = cast("Callable[..., Any]", tool.fn)
    try:
        match tool.manner:
            case "async":
                return await fn(**keywords)
            case "async_steps":
                return await _async_steps(fn(**keywords), partial)
            case "steps":
                return await _steps(fn(**keywords), partial)
            case _:
                value = await asyncio.to_thread(_called, fn, keywords)
                return await value if inspect.isawaitable(value) else value
    except asyncio.CancelledError:
        if context is not None:
            context.cancelled.set()
        raise


class _RaisedError(Exception):
    """What a tool raised on its thread, where it would close whoever waits for it."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(type(error).__name__)
        self.error = error


def _called(fn: Callable[..., Any], keywords: Mapping[str, Any]) -> object:
    """Call a sync function; what ends coroutines cannot leave a thread as it is."""
    try:
        return fn(**keywords)
    except (StopIteration, GeneratorExit) as error:
        raise _RaisedError(error) from error


async def _async_steps(
    steps: AsyncGenerator[object, None], partial: Callable[[object], None]
) -> object:
    last: object = None
    try:
        async for value in steps:
            last = value
            partial(value)
    finally:
        await steps.aclose()
    return last


async def _steps(
    steps: Generator[object, None, object], partial: Callable[[object], None]
) -> object:
    last: object = None
    while True:
        value, returned = await asyncio.to_thread(_next, steps)
        if value is _OVER:
            return last if returned is None else returned
        last = value
        partial(value)


def _next(steps: Generator[object, None, object]) -> tuple[object, object]:
    try:
        return next(steps), None
    except StopIteration as stop:
        return _OVER, stop.value
    except GeneratorExit as error:
        raise _RaisedError(error) from error


def _tool_error(tool: Tool, error: BaseException) -> ToolError:
    text = _shortened(words_of(error))
    kind = type(error).__name__
    return ToolError(
        f"{tool.name} raised {kind}: {text}" if text else f"{tool.name} raised {kind}.",
        why=_place(tool, error),
        context={"tool_name": tool.leaf},
    )


def _shortened(text: str) -> str:
    """A message with its middle left out when nobody could read it all."""
    if len(text) <= _LONGEST_MESSAGE:
        return text
    cut = len(text) - _LONGEST_MESSAGE
    head = text[: _LONGEST_MESSAGE - _MESSAGE_TAIL]
    return f"{head}\n[{cut:,} characters left out]\n{text[-_MESSAGE_TAIL:]}"


def _place(tool: Tool, error: BaseException) -> str:
    """The file and line inside the tool's own module where it went wrong."""
    code = getattr(tool.fn, "__code__", None)
    trace, place = error.__traceback__, ""
    while trace is not None and code is not None:
        if trace.tb_frame.f_code.co_filename == code.co_filename:
            name = code.co_filename.replace("\\", "/").split("/")
            shown = "/".join(name[-2:]) if name[-1].endswith(".py") else "the cell"
            shown = "the cell" if "ipykernel" in code.co_filename else shown
            place = f"{shown} line {trace.tb_lineno}."
        trace = trace.tb_next
    return place


def tool_context(scope: Scope, call_id: str, credentials: Credentials) -> ToolContext:
    """What a tool of this run is told."""
    return ToolContext(
        agent_id=scope.agent_id,
        run_id=scope.run_id,
        session_id=scope.session_id,
        call_id=call_id,
        ctx=scope.ctx,
        credentials=credentials,
        blob_store=scope.kit.blob_store,
        store=scope.store,
    )


def progress_value(value: object, tool: Tool) -> object:
    """A progress value as JSON, bounded; its text when it has no JSON form."""
    try:
        plain = plain_result(value, tool)
    except ToolError:
        plain = str(value)
    text = plain if isinstance(plain, str) else dumps(plain)
    return plain if len(text) <= _LONGEST_PROGRESS else _shortened(text)
