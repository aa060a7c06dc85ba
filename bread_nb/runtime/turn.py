"""One model turn: a request out, deltas in, an assistant message made of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from bread_nb.base.ids import monotonic
from bread_nb.base.piece_mask import PieceMask
from bread_nb.base.text_mask import TextMask
from bread_nb.base.wire import read_json
from bread_nb.crumbs import (
    ErrorInfo,
    FileGenerated,
    ModelRetry,
    ReasoningDelta,
    TextDelta,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
)
from bread_nb.errors import BreadError
from bread_nb.messages import (
    File,
    Message,
    Native,
    Part,
    Reasoning,
    StopReason,
    Text,
    ToolCall,
    assistant,
)
from bread_nb.providers.model import (
    CallEnd,
    CallFragment,
    CallStart,
    ChatModel,
    Delta,
    FileChunk,
    Finish,
    ModelRequest,
    NativeBlock,
    ReasoningChunk,
    ReasoningEnd,
    Restart,
    SessionReport,
    TextChunk,
    UsageReport,
    closing,
)
from bread_nb.runtime.attachments import keep_bytes
from bread_nb.runtime.metering import Meter
from bread_nb.runtime.scope import Scope

__all__ = ["Turn", "elapsed_ms", "take_turn"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one model call gave.

    `name` is `provider:model` of who answered, `model` what its service calls it.
    `finish` is the end of its stream.
    """

    message: Message
    stop_reason: StopReason | None
    model: str
    name: str
    finish: Finish


@dataclass(slots=True)
class _Call:
    id: str
    name: str
    words: TextMask
    pieces: list[str] = field(default_factory=list[str])
    mask: PieceMask = field(default_factory=PieceMask)
    open: bool = True
    native: Native | None = None


@dataclass(slots=True)
class _Draft:
    """The message as far as it has come."""

    scope: Scope
    request: ModelRequest
    meter: Meter
    taken: set[str] | None = None
    parts: list[Part | int] = field(default_factory=list["Part | int"])
    spoken: list[str] = field(default_factory=list[str])
    text: list[str] = field(default_factory=list[str])
    thought: list[str] = field(default_factory=list[str])
    calls: dict[int, _Call] = field(default_factory=dict[int, _Call])
    file: FileChunk | None = None
    finish: Finish | None = None
    dropped: str = ""
    mask: TextMask = field(init=False)
    emit: Callable[..., object] = field(init=False)

    def __post_init__(self) -> None:
        self.mask = self._new_mask()
        self.emit = self.scope.stream.emit

    def _new_mask(self) -> TextMask:
        return TextMask(self.scope.kit.redactor)

    def take(self, delta: Delta) -> None:
        """Go on with a delta; a file in it is there until `keep_file`."""
        match delta:
            case TextChunk(text=text):
                if text:
                    self._end_thought(None)
                    self.text.append(text)
                    self.spoken.append(text)
                    self._say(TextDelta, self.mask.feed(text))
            case ReasoningChunk(text=text):
                if text:
                    self._end_text()
                    self.thought.append(text)
                    self._say(ReasoningDelta, self.mask.feed(text))
            case ReasoningEnd(native=native):
                self._end_thought(native, even_empty=native is not None)
            case CallStart() | CallFragment() | CallEnd():
                self._take_call(delta)
            case UsageReport() | SessionReport():
                self.meter.take(delta)
            case NativeBlock(native=native):
                self._end_prose()
                self.parts.append(native)
            case FileChunk():
                self._end_prose()
                self.file = delta
            case Finish():
                self.finish = delta
            case Restart():
                self._start_anew(delta)

    async def keep_file(self, file: FileChunk) -> None:
        """Store a file the model made; it is a part of the message."""
        self.file = None
        self.parts.append(await _keep_file(file, self.scope))

    def _start_anew(self, restart: Restart) -> None:
        """Drop what came so far, and tell the reader to drop it as well."""
        self.close()
        self.meter.restart(restart.model)
        self.dropped = "".join(self.spoken) or self.dropped
        self.parts.clear()
        self.spoken.clear()
        self.calls.clear()
        self.finish, self.taken = None, None
        self.scope.emit(
            ModelRetry,
            attempt=restart.attempt,
            attempts=restart.attempts,
            delay_ms=round(restart.delay * 1000),
            error=ErrorInfo.of(restart.error),
            model=restart.model,
        )

    def _take_call(self, delta: CallStart | CallFragment | CallEnd) -> None:
        if isinstance(delta, CallStart):
            self._end_prose()
            if self.taken is None:
                self.taken = _call_ids(self.request)
            given, name = self._masked(delta)
            own = _unique(given, self.taken)
            self.calls[delta.index] = _Call(own, name, self._new_mask())
            self.parts.append(delta.index)
            self.emit(ToolInputStart, tool_call_id=own, tool_name=name)
            return
        call = self.calls[delta.index]
        if isinstance(delta, CallFragment):
            if delta.text:
                call.pieces.append(delta.text)
                self._show(call, delta.text)
            return
        call.native = delta.native
        self._close_call(call)

    def _masked(self, call: CallStart) -> tuple[str, str]:
        """A call's id and name, without a secret that the model may have put there.

        The name of a tool on offer is the host's own.
        """
        safe = self.scope.kit.redactor.text
        offered = any(tool.name == call.name for tool in self.request.tools)
        return safe(call.id), call.name if offered else safe(call.name)

    def _show(self, call: _Call, text: str) -> None:
        """Tell of a piece of arguments, without the secrets in it."""
        if shown := call.words.feed(call.mask.feed(text)):
            self.emit(ToolInputDelta, tool_call_id=call.id, delta=shown)

    def _say(self, kind: type[TextDelta | ReasoningDelta], shown: str) -> None:
        if shown:
            self.emit(kind, delta=shown)

    def _close_call(self, call: _Call) -> None:
        if call.open:
            call.open = False
            if shown := call.words.end():
                self.emit(ToolInputDelta, tool_call_id=call.id, delta=shown)
            self.emit(ToolInputEnd, tool_call_id=call.id)

    def _end_text(self) -> None:
        if self.text:
            self._say(TextDelta, self.mask.end())
            self.parts.append(Text("".join(self.text)))
            self.text.clear()

    def _end_thought(self, native: Native | None, *, even_empty: bool = False) -> None:
        if self.thought or even_empty:
            self._end_text()
            self._say(ReasoningDelta, self.mask.end())
            self.parts.append(Reasoning("".join(self.thought), native))
            self.thought.clear()

    def _end_prose(self) -> None:
        self._end_thought(None)
        self._end_text()

    def close(self) -> None:
        """End what is open, also when the stream broke off."""
        self._end_prose()
        for call in self.calls.values():
            self._close_call(call)
        self.meter.said = bool(self.parts)

    def message(self) -> Message:
        """The assistant message; each call's arguments are parsed once, here."""
        parts = (
            _parsed(self.calls[part]) if isinstance(part, int) else part
            for part in self.parts
        )
        return assistant(*parts)


async def take_turn(
    model: ChatModel,
    request: ModelRequest,
    scope: Scope,
    spoken: list[str],
    meter: Meter,
) -> Turn:
    """Ask a model once; calls get ids that no other call of the session has.

    Args:
        model: The model.
        request: What it is asked.
        scope: The run's scope.
        spoken: Each piece of text is put into it, for whoever cuts the turn short.
        meter: What counts the call; it is told of reports and of void tries.

    Raises:
        BreadError: What the model's service said; `context["text"]` keeps the text so
            far.
    """
    spoken.clear()
    draft = _Draft(scope, request, meter, spoken=spoken)
    try:
        async with closing(model.stream(request)) as deltas:
            async for delta in deltas:
                draft.take(delta)
                if draft.file is not None:
                    await draft.keep_file(draft.file)
    except BreadError as error:
        if text := "".join(spoken) or draft.dropped:
            error.context.setdefault("text", text)
        raise
    finally:
        draft.close()
    finish = draft.finish or Finish(None)
    return Turn(
        message=draft.message(),
        stop_reason=finish.stop_reason,
        model=finish.model or model.name,
        name=finish.name or model.name,
        finish=finish,
    )


def _call_ids(request: ModelRequest) -> set[str]:
    return {call.id for message in request.messages for call in message.calls}


def _unique(wanted: str, taken: set[str]) -> str:
    base, number = wanted or "call", 1
    own = base
    while own in taken:
        number += 1
        own = f"{base}_{number}"
    taken.add(own)
    return own


def _parsed(call: _Call) -> ToolCall:
    text = "".join(call.pieces)
    # Some hosts send an empty object as a place for the arguments that follow it.
    written = text.strip().removeprefix("{}").lstrip()
    if written in ("", "null"):
        return ToolCall(call.id, call.name, {}, None, call.native)
    try:
        args = read_json(written)
    except ValueError:
        return ToolCall(call.id, call.name, {}, text, call.native)
    if not isinstance(args, dict):
        return ToolCall(call.id, call.name, {}, text, call.native)
    return ToolCall(call.id, call.name, args, None, call.native)


async def _keep_file(chunk: FileChunk, scope: Scope) -> File:
    kind = chunk.mime_type
    uri = await keep_bytes(chunk.data, kind, scope.kit.blob_store)
    scope.emit(FileGenerated, uri=uri, mime_type=kind)
    return File(uri, kind)


def elapsed_ms(since: float) -> int:
    """Milliseconds since a `monotonic()` reading."""
    return round((monotonic() - since) * 1000)
