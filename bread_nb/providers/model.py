"""What a model is to the rest of the house: one method that streams.

A dialect turns a `ModelRequest` into `Delta`s. It ends every stream with one
`Finish`, or raises a `ProviderError`; it never ends in silence.
"""

from __future__ import annotations

import copy
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, cast, runtime_checkable

from pydantic import JsonValue

from bread_nb.errors import BreadError
from bread_nb.messages import Message, Native, Price, StopReason, ToolSpec, Usage
from bread_nb.providers.keep import Keep
from bread_nb.providers.pace import plain
from bread_nb.providers.rates import Rates
from bread_nb.providers.sdk import check_client

__all__ = [
    "CallEnd",
    "CallFragment",
    "CallStart",
    "ChatModel",
    "Delta",
    "FileChunk",
    "Finish",
    "Lookup",
    "Model",
    "ModelRequest",
    "NativeBlock",
    "ReasoningChunk",
    "ReasoningEnd",
    "Restart",
    "SessionReport",
    "TextChunk",
    "UsageReport",
    "Wrapper",
    "closing",
    "split_name",
]


T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """All a model is asked in one call.

    Args:
        model: The model's id without its provider.
        system: The system prompt; empty means none is sent.
        messages: The conversation; each call in it has exactly one result.
        tools: The tools on offer.
        settings: Sampling and size settings, passed on to the service.
        output_schema: The JSON Schema of the answer, when one is wanted.
        tool_choice: None leaves it to the model, `"required"` asks for some tool, any
            other value is the name of the tool to call.
        blobs: The bytes of files in the messages, by uri; a file that is not among
            them is sent as its name.
        agent_id: Who asks; for scripts and recordings.
        run_id: For which run it asks.
        attempt: The number of this try of the turn, from 1.
        fault: Told of what a callback raised, and whose it is; logged when None.
        keep: Where a model that owns its cycle keeps its session between turns.
        turns_left: How many turns the run has left, this one among them.
    """

    model: str
    system: str = ""
    messages: tuple[Message, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    settings: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    output_schema: dict[str, JsonValue] | None = None
    tool_choice: str | None = None
    blobs: Mapping[str, bytes] = field(default_factory=dict[str, bytes], repr=False)
    agent_id: str = ""
    run_id: str = field(default="", compare=False)
    attempt: int = 1
    fault: Callable[[BaseException, str], None] | None = field(
        default=None, repr=False, compare=False
    )
    keep: Keep | None = field(default=None, repr=False, compare=False)
    turns_left: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class TextChunk:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningChunk:
    """A piece of what the model thinks."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningEnd:
    """The end of a stretch of thinking, with its signed original if there is one."""

    native: Native | None = None


@dataclass(frozen=True, slots=True)
class NativeBlock:
    """A block that only its own provider understands."""

    native: Native


@dataclass(frozen=True, slots=True)
class CallStart:
    """The model begins a call; `index` tells calls of one turn apart."""

    index: int
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class CallFragment:
    """A piece of the argument text of a call."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class CallEnd:
    """The argument text of a call is complete."""

    index: int
    native: Native | None = None


@dataclass(frozen=True, slots=True)
class FileChunk:
    """A file the model made."""

    data: bytes
    mime_type: str


@dataclass(frozen=True, slots=True)
class UsageReport:
    """The tokens of the call so far; each report replaces the one before.

    Args:
        usage: The tokens by tier.
        price: What the service itself says the call cost, where it says so.
        terms: What else the price depends on, where the service tells: its class of
            service as text, and how many `web_searches` and the like it made.
        later: Whether the price comes with the `SessionReport` at the end.
    """

    usage: Usage
    price: Price | None = None
    terms: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    later: bool = False


@dataclass(frozen=True, slots=True)
class SessionReport:
    """The end of a session of several turns whose reports left the price for later.

    Args:
        usage: The tokens that no report of a turn had.
        price: What the whole session cost, where that is told.
        turns: How many reports this is the price of.
    """

    usage: Usage
    price: Price | None
    turns: int


@dataclass(frozen=True, slots=True)
class Restart:
    """What was streamed so far is void: the request is made once more.

    Args:
        error: Why the try before it failed.
        attempt: The number of the try that failed, from 1.
        attempts: The tries there may be in all.
        delay: Seconds until the next try begins.
        model: Who is asked next, where it is another model.
    """

    error: BreadError
    attempt: int
    attempts: int
    delay: float = 0.0
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Finish:
    """The end of the stream.

    Args:
        stop_reason: Why it ended.
        model: The model that answered, as its service calls it.
        name: `provider:model` of who answered, where somebody else was asked.
        temperature_dropped: Whether the temperature was left out, since the service
            refused it.
        ended: The bound at which a model that owns its cycle ended its session, such
            as `max_turns`; None for a clean end.
    """

    stop_reason: StopReason | None
    model: str | None = None
    name: str | None = None
    temperature_dropped: bool = False
    ended: str | None = None


Delta = (
    TextChunk
    | ReasoningChunk
    | ReasoningEnd
    | NativeBlock
    | CallStart
    | CallFragment
    | CallEnd
    | FileChunk
    | UsageReport
    | SessionReport
    | Restart
    | Finish
)


@runtime_checkable
class ChatModel(Protocol):
    """Anything that answers a request with a stream of deltas.

    `name` is `provider:model` as a person writes it. `free` is True when calls cost
    nothing. `aclose` frees connections and processes; it may be called twice.
    """

    @property
    def name(self) -> str: ...

    @property
    def free(self) -> bool: ...

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta]: ...

    async def aclose(self) -> None: ...


class Lookup(Protocol):
    """What a project knows of models: those it names, and what they share."""

    def find(self, model: ChatModel) -> ChatModel:
        """The model that a name stands for here; other models are found as they are."""
        ...

    def shared(self, key: str, made: T) -> T:
        """What was shared under `key` first."""
        ...


@asynccontextmanager
async def closing(
    stream: AsyncIterator[Delta],
) -> AsyncGenerator[AsyncIterator[Delta]]:
    """A stream that is closed after the block, if it is one that can be."""
    try:
        yield stream
    finally:
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()


class Wrapper:
    """A model round a model: the base of everything that adds one behaviour."""

    def __init__(self, inner: ChatModel) -> None:
        self.inner = inner

    @property
    def name(self) -> str:
        """The name of the model inside."""
        return self.inner.name

    def __repr__(self) -> str:
        several = cast("tuple[ChatModel, ...]", getattr(self, "models", (self.inner,)))
        names = ", ".join(repr(model.name) for model in several)
        return f"{type(self).__name__}({names})"

    @property
    def free(self) -> bool:
        """Whether the model inside costs nothing."""
        return self.inner.free

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """What the model inside streams."""
        return self.inner.stream(request)

    async def aclose(self) -> None:
        """Close the model inside."""
        await self.inner.aclose()

    def bound(self, lookup: Lookup) -> ChatModel:
        """The same with the model inside looked up; itself where that changes nothing.

        A project asks this before it calls, so that a name inside may be one of its
        own providers. The wrapper it was asked of stays as it is.
        """
        found = lookup.find(self.inner)
        if found is self.inner:
            return self
        bound = copy.copy(self)
        bound.inner = found
        return bound


@dataclass(frozen=True, slots=True)
class Model:
    """A model described: where it is and how it is asked.

    Args:
        name: `provider:model`, such as `anthropic:claude-opus-4-8`.
        base_url: Where the service is; `<PROVIDER>_BASE_URL` is the default.
        api_key: The key; `<PROVIDER>_API_KEY` is the default and the better place.
        settings: Sampling and size settings; `first_event_timeout`, `idle_timeout` and
            `deadline` in seconds (0 and infinity are off); and `expose_error_body`,
            which puts the body of a failed answer into the error's context.
        client: An asynchronous client of the `anthropic` or `openai` package, which
            sends the requests with its own key, address and proxies.
        rates: What its tokens cost, where that is known better than by any table.
    """

    name: str
    base_url: str | None = None
    api_key: str | None = None
    settings: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    client: object = None
    rates: Rates | None = None

    def __repr__(self) -> str:
        """The name alone: address, headers and settings may hold secrets."""
        return f"Model({self.name!r})"

    def __post_init__(self) -> None:
        split_name(self.name)
        object.__setattr__(self, "settings", plain(self.settings))
        rates = cast("object", self.rates)
        if rates is not None and not isinstance(rates, Rates):
            raise BreadError(
                f"The rates of {self.name} are {rates!r}.",
                code="INVALID_RATES",
                why="they are US dollars for a million tokens of each tier.",
                do=f"Model({self.name!r}, rates=Rates(input=2, output=10))",
            )
        if self.client is not None:
            check_client(self.name, self.client)
            if self.base_url or self.api_key:
                raise _told_twice(self.name)


def _told_twice(name: str) -> BreadError:
    return BreadError(
        f"{name} has a client, and a base_url or an api_key beside it.",
        code="INVALID_MODEL",
        why="the client has its own address and key.",
        do="give them to the client",
    )


def split_name(name: str) -> tuple[str, str]:
    """`anthropic:claude-opus-4-8` as provider and model id.

    Raises:
        BreadError: `INVALID_MODEL` when it is not of that form.
    """
    provider, colon, model = name.partition(":")
    if provider and colon and model:
        return provider, model
    raise BreadError(
        f"{name!r} does not name a model.",
        code="INVALID_MODEL",
        why="a model is named provider:model.",
        do="for example anthropic:claude-opus-4-8 or local:smollm2-135m",
    )
