"""Tools: functions a model may call, and questions it may ask a person.

`@tool` reads the schema from the signature and the description from the docstring.
A tool may be sync (it runs on a worker thread), async, or a generator that yields its
progress.
"""

from __future__ import annotations

import hashlib
import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, cast, get_args, overload

from pydantic import BaseModel, ConfigDict

from bread_nb.base.effects import Effect, Unknown
from bread_nb.base.names import Origin, check_name, leaf_name, perm_id
from bread_nb.base.schema import Schema, annotations_of, arguments_of, written
from bread_nb.errors import BreadError, closest
from bread_nb.messages import ToolSpec
from bread_nb.tools.credentials import Credentials, CredentialSource
from bread_nb.tools.lifecycle import ErrorHandling, Hooks

__all__ = ["Tool", "ToolContext", "human_tool", "tool"]

Manner = Literal["sync", "async", "steps", "async_steps", "human"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """What a tool is told besides its arguments; ask for it by annotation.

    `ctx` is the opaque data given to the run; the model never sees it. `cancelled` is
    set when the run is cancelled, for sync tools that want to stop early.
    """

    agent_id: str
    run_id: str
    session_id: str
    call_id: str
    ctx: object = None
    credentials: Credentials = field(default_factory=lambda: Credentials({}))
    blob_store: object = None
    store: object = None
    cancelled: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool as the house knows it; made by `tool`, `@tool` and `human_tool`.

    `answer` is the schema of a person's answer (human tools). `source` is a hash of the
    code, so that a waiting question is asked anew when the code has changed.
    """

    origin: Origin
    description: str
    arguments: Schema
    fn: Callable[..., Any] | None = field(default=None, repr=False)
    manner: Manner = "sync"
    context_parameter: str | None = None
    output: Schema | None = None
    answer: Schema | None = None
    effect: Effect = Unknown()
    credentials: tuple[str, ...] = ()
    credential_source: CredentialSource | None = None
    idempotent: bool = False
    untrusted: bool = False
    hooks: Hooks | None = None
    error_handling: ErrorHandling | None = None
    source: str = ""

    @property
    def name(self) -> str:
        """Its own name, without the scope."""
        return self.origin.name

    @property
    def leaf(self) -> str:
        """The name the model reads, such as `tool_add`."""
        return leaf_name(self.origin)

    @property
    def perm_id(self) -> str:
        """The id that permission selectors match, such as `tool:add`."""
        return perm_id(self.origin)

    @property
    def is_human(self) -> bool:
        """Whether a person answers in place of a function."""
        return self.manner == "human"

    @property
    def spec(self) -> ToolSpec:
        """The tool as it is offered to a model."""
        return ToolSpec(self.leaf, self.description, self.arguments.json)

    def __repr__(self) -> str:
        return f"Tool({self.perm_id!r})"

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Call the function itself, outside any run."""
        if self.fn is None:
            raise BreadError(
                f"{self.name!r} is answered by a person.",
                code="NOT_CALLABLE",
                why="a human tool has no function.",
                do="put it in an agent's tools and run the agent",
            )
        return self.fn(*args, **kwargs)


@overload
def tool(fn: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    fn: Callable[..., Any],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    args: object = None,
    output: object = None,
    effect: Effect | None = None,
    credentials: Sequence[str] = (),
    credential_source: CredentialSource | None = None,
    idempotent: bool = False,
    untrusted: bool = False,
    hooks: Hooks | None = None,
    error_handling: ErrorHandling | None = None,
) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    args: object = None,
    output: object = None,
    effect: Effect | None = None,
    credentials: Sequence[str] = (),
    credential_source: CredentialSource | None = None,
    idempotent: bool = False,
    untrusted: bool = False,
    hooks: Hooks | None = None,
    error_handling: ErrorHandling | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    args: object = None,
    output: object = None,
    effect: Effect | None = None,
    credentials: Sequence[str] = (),
    credential_source: CredentialSource | None = None,
    idempotent: bool = False,
    untrusted: bool = False,
    hooks: Hooks | None = None,
    error_handling: ErrorHandling | None = None,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a tool of a function, as a decorator or by a call.

    Args:
        fn: The function.
        name: Its name in snake_case; the function's by default.
        description: What the model reads; the docstring by default.
        args: A pydantic model or JSON Schema in place of the signature. With a JSON
            Schema the function gets the checked values as keyword arguments.
        output: The type of the result, shown where a person fills one in.
        effect: What a call touches, such as `Write(path="dest")`.
        credentials: The names of the secrets it may read.
        credential_source: Where they come from, before the project's own source.
        idempotent: Whether a call may safely run again after a crash.
        untrusted: Whether the result is fenced as data in what the model reads.
        hooks: Hooks of this tool alone.
        error_handling: Retry of this tool alone; without it a tool runs once.

    Raises:
        BreadError: `INVALID_NAME` or `INVALID_TOOL`.
    """

    def make(function: Callable[..., Any]) -> Tool:
        _check_options(function, effect, credentials)
        own_name = check_name(name or written(function).__name__, "tool")
        context = _context_parameter(function)
        arguments = _arguments(function, args, context)
        _check_effect(effect or Unknown(), arguments)
        return Tool(
            origin=Origin("tool", own_name),
            description=_description(function, description),
            arguments=arguments,
            fn=function,
            manner=_manner(function),
            context_parameter=context,
            output=None if output is None else Schema(output),
            effect=effect or Unknown(),
            credentials=tuple(credentials),
            credential_source=credential_source,
            idempotent=idempotent,
            untrusted=untrusted,
            hooks=hooks,
            error_handling=error_handling,
            source=_source_hash(function),
        )

    return make if fn is None else make(fn)


class _Question(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)

    question: str


def human_tool(
    name: str,
    *,
    args: object = None,
    answer: object = None,
    description: str | None = None,
) -> Tool:
    """A question the model may ask a person; the run waits for the answer.

    Args:
        name: Its name in snake_case.
        args: What the model supplies: a pydantic model or a JSON Schema. None is one
            text, `question`.
        answer: The type of the answer, from which the form is made. None is one text.
        description: What the model reads.

    Raises:
        BreadError: `INVALID_NAME`.
    """
    return Tool(
        origin=Origin("human", check_name(name, "human")),
        description=description or f"Ask a human: {name}",
        arguments=Schema(_Question if args is None else args),
        manner="human",
        answer=Schema(str if answer is None else answer),
        source=name,
    )


def _check_options(function: object, effect: object, credentials: object) -> None:
    """Refuse what would silently mean something else."""
    if isinstance(function, Tool):
        raise _unusable(f"{function.name} is a tool already", "tool(fn, name=...)")
    if not callable(function):
        raise _unusable(f"{function!r} is no function", "@tool before a function")
    if effect is not None and not isinstance(effect, Effect):
        raise _unusable(f"effect is {effect!r}", 'effect=Write(path="dest")')
    if isinstance(credentials, str):
        raise _unusable(
            "credentials is a single text", f"credentials=[{credentials!r}]"
        )


def _unusable(why: str, do: str) -> BreadError:
    return BreadError(
        "This tool cannot be used.", code="INVALID_TOOL", why=f"{why}.", do=do
    )


def _arguments(
    function: Callable[..., Any], args: object, context: str | None
) -> Schema:
    if args is None:
        skip = frozenset([context]) if context else frozenset[str]()
        return arguments_of(function, skip=skip)
    foreign = isinstance(args, Mapping)
    schema = Schema(cast("object", args)) if foreign else ModelArguments(args)
    if schema.json.get("type", "object") != "object":
        raise _unusable(
            "args describes no mapping of arguments", "args=a pydantic model"
        )
    return schema


def _check_effect(effect: Effect, arguments: Schema) -> None:
    """Refuse an effect that names an argument the tool has not."""
    known = arguments.names
    if known is None:
        return
    for item in fields(effect):
        named: object = getattr(effect, item.name)
        if named is None or callable(named) or named in known:
            continue
        said = f"{type(effect).__name__}({item.name}="
        near = closest(str(named), known) or next(iter(known), None)
        raise _unusable(
            f"{said}{named!r}) names none of its arguments, "
            + (f"which are {', '.join(known)}" if known else "as it has none"),
            f"effect={said}{f'{near!r}' if near else 'lambda args: …'})",
        )


class ModelArguments(Schema):
    """Arguments described by a pydantic model: handed over field by field."""

    def validate(self, value: object) -> dict[str, object]:
        """The validated model's fields, as keyword arguments."""
        model = super().validate(value)
        if isinstance(model, Mapping):
            return dict(cast("Mapping[str, object]", model))
        return dict(vars(model))


def _context_parameter(function: Callable[..., Any]) -> str | None:
    for name, annotation in annotations_of(function).items():
        asked = annotation is ToolContext or ToolContext in get_args(annotation)
        if asked and name != "return":
            return name
    return None


def _manner(function: Callable[..., Any]) -> Manner:
    function = written(function)
    if inspect.isasyncgenfunction(function):
        return "async_steps"
    if inspect.isgeneratorfunction(function):
        return "steps"
    return "async" if inspect.iscoroutinefunction(function) else "sync"


def _description(function: Callable[..., Any], given: str | None) -> str:
    function = written(function)
    text = given or inspect.getdoc(function) or function.__name__.replace("_", " ")
    return inspect.cleandoc(text)


def _source_hash(function: Callable[..., Any]) -> str:
    function = written(function)
    try:
        text = inspect.getsource(function)
    except (OSError, TypeError):
        code = getattr(function, "__code__", None)
        text = repr((code.co_code, code.co_names)) if code else repr(type(function))
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
