"""An agent: a frozen description with no behaviour of its own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cached_property
from typing import Literal, Protocol, cast, runtime_checkable

from pydantic import JsonValue

from bread_nb.base.names import called
from bread_nb.base.redact import Redactor, environment_secrets
from bread_nb.base.schema import Schema
from bread_nb.errors import BreadError, not_yet
from bread_nb.governance.permissions import Permissions
from bread_nb.providers.catalog import Factory
from bread_nb.providers.model import ChatModel, Model, split_name
from bread_nb.tools.lifecycle import ErrorHandling, Hooks
from bread_nb.tools.tool import Tool

__all__ = [
    "Agent",
    "CustomFormat",
    "Guards",
    "ModelSource",
    "ToolSource",
    "decorated",
]

ModelSource = str | Model | ChatModel
ToolSource = Tool | Callable[[], "Sequence[Tool]"]


@runtime_checkable
class OutputFormat(Protocol):
    """A named way to read an output from streamed text."""

    name: str

    def parse(self, raw: str) -> object: ...


@dataclass(frozen=True, slots=True)
class CustomFormat:
    """Text streams as it is and becomes the output by `parse(raw)` at the end."""

    name: str
    parse: Callable[[str], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Guards:
    """Streaks that end a run: refused calls, and calls failing alike. 0 is off."""

    denials: int = 3
    identical_failures: int = 3

    def __post_init__(self) -> None:
        for count in (self.denials, self.identical_failures):
            if type(count) is not int or count < 0:
                raise _unusable("guards count from 0 (off)", "Guards(denials=3)")


_NONE = type(None)
_FIELDS: dict[str, tuple[tuple[type, ...], str]] = {
    "prompt": ((str, _NONE), 'prompt="You are a baker."'),
    "tools": ((Sequence,), "tools=[add]"),
    "permissions": ((Permissions,), 'permissions=Permissions(ask=["tool:add"])'),
    "steps": ((int,), "steps=20"),
    "providers": ((Mapping,), 'providers={"mine": lambda model_id: ...}'),
    "guards": ((Guards,), "guards=Guards(denials=3)"),
    "error_handling": ((ErrorHandling, _NONE), "ErrorHandling(retry=RetryPolicy())"),
    "hooks": ((Hooks, _NONE), "hooks=Hooks(before_run=...)"),
    "output_repairs": ((int,), "output_repairs=1"),
    "name": ((str, _NONE), 'name="Baker"'),
}
_WIDTH = 40
_MOST = 8
_PLAIN = frozenset({"bool", "bytes", "dict", "float", "int", "None", "str"})
_LATER = (
    "tasks",
    "plugins",
    "supervisor",
    "loop",
    "knowledge",
    "documents",
    "context",
    "budget",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Agent:
    """A description of an agent: data, without a behaviour of its own.

    Args:
        model: `provider:model`, a `Model`, or any model object.
        prompt: The system prompt; `prompt.md` beside `agent.py` when None.
        input_schema: The type of the input.
        output_schema: The type of the output.
        output: `"text"`, `"markdown"`, `"json"` or a `CustomFormat`. By default text
            when `output_schema` is `str`, else json.
        tools: Tools, and functions without arguments that return tools and are asked
            again each turn.
        permissions: Which tools may be called, and which only after consent.
        steps: Model calls a run may make.
        providers: Factories by provider name, before the project's own.
        guards: Streaks that end a run.
        error_handling: Retry of the model call; transient faults are retried twice
            without it.
        hooks: Hooks of this agent's runs.
        output_repairs: How often an answer that does not fit is asked for again.
        name: A display name; the id by default.

    Raises:
        BreadError: `INVALID_AGENT`, `INVALID_SCHEMA`, `INVALID_MODEL`, or
            `NOT_AVAILABLE` for a field whose capability has not come yet.
    """

    model: ModelSource
    prompt: str | None = None
    input_schema: object = str
    output_schema: object = str
    output: Literal["text", "markdown", "json"] | CustomFormat | None = None
    tools: Sequence[ToolSource] = ()
    permissions: Permissions = Permissions()
    steps: int = 20
    providers: Mapping[str, Factory] = field(default_factory=dict[str, Factory])
    guards: Guards = Guards()
    error_handling: ErrorHandling | None = None
    hooks: Hooks | None = None
    output_repairs: int = 1
    name: str | None = None
    tasks: Sequence[JsonValue] = ()
    plugins: Mapping[str, object] = field(default_factory=dict[str, object])
    supervisor: object = None
    loop: object = None
    knowledge: object = None
    documents: object = None
    context: object = None
    budget: object = None

    def __post_init__(self) -> None:
        for name in _LATER:
            value: object = getattr(self, name)
            if value is not None and (value or name not in ("tasks", "plugins")):
                raise not_yet("Agent", name)
        self._check_fields()
        if isinstance(self.model, str):
            split_name(self.model)
        elif not isinstance(cast("object", self.model), Model | ChatModel):
            raise _unusable(
                f"model is {type(self.model).__name__}, which has no stream(request)",
                'model="anthropic:claude-opus-4-8"',
            )
        self._check_output()
        self._check_tools()

    def _check_fields(self) -> None:
        for name, (kinds, example) in _FIELDS.items():
            value: object = getattr(self, name)
            if not isinstance(value, kinds) or isinstance(value, bool):
                raise _unusable(f"{name} is {value!r}", example)
        for name, least in (("steps", 1), ("output_repairs", 0)):
            if getattr(self, name) < least:
                example = _FIELDS[name][1]
                raise _unusable(f"{name} is {getattr(self, name)}", example)

    def _check_output(self) -> None:
        formats = (None, "text", "markdown", "json")
        if not isinstance(self.output, CustomFormat) and self.output not in formats:
            raise _unusable(f"output is {self.output!r}", 'output="markdown"')
        if self.output in ("text", "markdown") and self.output_schema is not str:
            raise _unusable(
                f"{self.output} output is text, and output_schema is another type",
                'output="json", or a CustomFormat that makes the type from the text',
            )
        _ = self.accepts, self.returns

    def _check_tools(self) -> None:
        names: set[str] = set()
        for entry in self.tools:
            if not isinstance(entry, Tool):
                _check_source(entry)
                continue
            if entry.leaf in names:
                raise BreadError(
                    f"Two tools are called {entry.leaf}.",
                    code="TOOL_NAME_COLLISION",
                    why="the model could not tell them apart.",
                    do="rename one: tool(fn, name=...)",
                    context={"leaf": entry.leaf},
                )
            names.add(entry.leaf)

    @cached_property
    def accepts(self) -> Schema:
        """The input schema."""
        return Schema(self.input_schema)

    @cached_property
    def returns(self) -> Schema:
        """The output schema."""
        return Schema(self.output_schema)

    @property
    def format(self) -> Literal["text", "markdown", "json"] | CustomFormat:
        """The output format, with the default filled in."""
        if self.output is not None:
            return self.output
        return "text" if self.output_schema is str else "json"

    @property
    def fixed_tools(self) -> bool:
        """Whether no function has to be asked for tools again at each turn."""
        return all(isinstance(entry, Tool) for entry in self.tools)

    @property
    def model_name(self) -> str:
        """The model as a person writes it."""
        if isinstance(self.model, str):
            return self.model
        return self.model.name

    def __repr__(self) -> str:
        """What it was told, without defaults; the same in every process."""
        told = [f"{self.name!r}"] if self.name else []
        told.append(f"model={self.model_name!r}")
        for item in fields(self):
            value: object = getattr(self, item.name)
            usual = _default(item)
            if item.name in ("model", "name") or not (value or usual):
                continue
            if value != usual:
                told.append(f"{item.name}={_shown(value)}")
        return Redactor(environment_secrets()).text(f"Agent({', '.join(told)})")


def _unusable(why: str, do: str) -> BreadError:
    return BreadError(
        "This agent cannot be used.", code="INVALID_AGENT", why=f"{why}.", do=do
    )


def _default(item: Field[object]) -> object:
    make = item.default_factory
    return item.default if make is MISSING else make()


def _shown(value: object) -> str:
    """A field's value in short, without an address in memory."""
    match value:
        case str():
            text = repr(value)
            return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 2]}…{text[0]}"
        case int() | Guards() | Permissions():
            return repr(value)
        case list() | tuple():
            several = cast("Sequence[object]", value)
            named = [_one(each) for each in several[:_MOST]]
            more = ["…"] if len(several) > _MOST else []
            return f"[{', '.join(named + more)}]"
        case _:
            return _one(value)


def _one(value: object) -> str:
    if isinstance(value, Tool):
        return value.name
    if inspect.isclass(value) or inspect.isroutine(value):
        return called(value)
    if type(value).__module__ in ("types", "typing"):
        return repr(value)
    return f"{type(value).__name__}(…)"


def _check_source(entry: object) -> None:
    """Refuse what is neither a tool nor a function that could give tools."""
    if not callable(entry):
        raise _unusable(f"{entry!r} is not a tool", "decorate it: @tool")
    if odd := _odd_for_source(entry):
        raise _unusable(
            f"{called(entry)} is a function, not a tool; "
            f"one that gives tools would not {odd}",
            decorated(entry),
        )


def _odd_for_source(function: Callable[..., object]) -> str:
    """What a function does that gives no tools; nothing where it may give some.

    It is not called: whoever forgot `@tool` does not want it to run here.
    """
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        return "be async"
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return "take arguments"
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    for parameter in signature.parameters.values():
        if parameter.default is parameter.empty and parameter.kind not in several:
            return "take arguments"
    returned: object = signature.return_annotation
    named = returned if isinstance(returned, str) else getattr(returned, "__name__", "")
    kind = "None" if returned is None else str(named).partition("[")[0]
    return f"return {kind}" if kind in _PLAIN else ""


def decorated(function: object) -> str:
    """What to do where `@tool` was forgotten."""
    if inspect.isfunction(function) and (name := function.__name__).isidentifier():
        return f"put @tool above def {name}"
    return "make a tool of it: tool(fn, name=...)"
