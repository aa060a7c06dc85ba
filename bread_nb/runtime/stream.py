"""The crumbs of one run on their way out: numbered, joined, logged, fanned out.

Every crumb gets the run's next number, except text and reasoning deltas: they carry
the number of the crumb before them and are logged joined, in windows that close at any
other crumb, at 4,096 characters or after a second, with a number of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, cast

from pydantic import JsonValue

from bread_nb.base.ids import now_ms
from bread_nb.base.redact import Redactor
from bread_nb.crumbs import (
    Crumb,
    ErrorInfo,
    ReasoningDelta,
    TextDelta,
    to_wire,
)
from bread_nb.stores.store import Entry

__all__ = ["CrumbStream", "Tap"]

_WINDOW_CHARACTERS = 4096
_WINDOW_MS = 1000
_SHOWN = frozenset(
    {"input", "output", "args", "result", "response", "error", "prompt", "effect"}
    | {"reason", "note", "name", "mime_type"}
    | {"task", "verdict", "blocker", "critique", "summary"}
)


class Tap(Protocol):
    """Somebody who gets each crumb of a run as it is dropped; it must not raise."""

    def accept(self, crumb: Crumb) -> None: ...


class _Window:
    __slots__ = ("crumb", "length", "pieces")

    def __init__(self, crumb: TextDelta | ReasoningDelta) -> None:
        self.crumb = crumb
        self.pieces = [crumb.delta]
        self.length = len(crumb.delta)


class CrumbStream:
    """Numbers and hands out the crumbs of one run.

    Args:
        agent_id: The run's agent.
        run_id: The run.
        session_id: Its session.
        redactor: Masks secrets before anybody sees a crumb.
        seq: The highest number already given.
        skip: A crumb for which it returns True is not published to listeners.
    """

    def __init__(
        self, agent_id: str, run_id: str, session_id: str, *, redactor: Redactor
    ) -> None:
        self._base: dict[str, Any] = {
            "agent_id": agent_id,
            "run_id": run_id,
            "session_id": session_id,
        }
        self._redactor = redactor
        self._windows: dict[type[Crumb], _Window] = {}
        self._log: list[Entry] = []
        self._staged: list[Crumb] = []
        self._publish: Callable[[Crumb], None] | None = None
        self.seq = 0
        self.taps: list[Tap] = []

    def listened(self, publish: Callable[[Crumb], None]) -> CrumbStream:
        """The stream itself, with every crumb also given to `publish`."""
        self._publish = publish
        return self

    def emit(self, kind: type[Crumb], /, **fields: object) -> Crumb:
        """Drop a crumb: everybody gets it, the log keeps it."""
        if kind is TextDelta or kind is ReasoningDelta:
            return self._delta(kind, cast("str", fields["delta"]))
        crumb = self._number(kind, fields)
        self._hand_out(crumb)
        return crumb

    def stage(self, kind: type[Crumb], /, **fields: object) -> Crumb:
        """Log a crumb now; nobody gets it before `release` says that it is stored."""
        crumb = self._number(kind, fields)
        self._staged.append(crumb)
        return crumb

    def release(self) -> None:
        """Hand out the staged crumbs."""
        staged, self._staged = self._staged, []
        for crumb in staged:
            self._hand_out(crumb)

    def _number(self, kind: type[Crumb], fields: dict[str, object]) -> Crumb:
        if self._windows:
            self.close_windows()
        self.seq += 1
        for name in _SHOWN.intersection(fields):
            fields[name] = self._safe(fields[name])
        told = cast("dict[str, Any]", fields)
        crumb = kind(timestamp=now_ms(), seq=self.seq, **self._base, **told)
        self._log.append(Entry(self.seq, cast("JsonValue", to_wire(crumb))))
        return crumb

    def _delta(self, kind: type[TextDelta] | type[ReasoningDelta], text: str) -> Crumb:
        crumb = kind(timestamp=now_ms(), seq=self.seq, delta=text, **self._base)
        window = self._windows.get(kind)
        if (
            window is not None
            and crumb.timestamp - window.crumb.timestamp >= _WINDOW_MS
        ):
            self._close(kind)
            window = None
        if window is None:
            self._windows[kind] = _Window(crumb)
        else:
            window.pieces.append(text)
            window.length += len(text)
            if window.length >= _WINDOW_CHARACTERS:
                self._close(kind)
        self._hand_out(crumb)
        return crumb

    def close_windows(self) -> None:
        """Log what the open windows hold, in the order they were opened."""
        for kind in list(self._windows):
            self._close(kind)

    def _close(self, kind: type[Crumb]) -> None:
        window = self._windows.pop(kind)
        self.seq += 1
        joined = {**to_wire(window.crumb), "delta": "".join(window.pieces)}
        self._log.append(Entry(self.seq, {**joined, "seq": self.seq}))

    def drain(self) -> list[Entry]:
        """The log entries that are not stored yet; the caller stores them."""
        entries, self._log = self._log, []
        return entries

    def keep(self, entries: list[Entry]) -> None:
        """Take back drained entries that the store has not taken."""
        self._log = [*entries, *self._log]

    def withdraw(self, kind: type[Crumb]) -> None:
        """Take back the staged crumbs of a kind: what they tell has not happened."""
        gone = {crumb.seq for crumb in self._staged if isinstance(crumb, kind)}
        self._staged = [crumb for crumb in self._staged if crumb.seq not in gone]
        self._log = [entry for entry in self._log if entry.seq not in gone]
        while self.seq in gone:
            self.seq -= 1

    def put_back(self, entries: list[Entry], *, above: int) -> None:
        """Number entries anew above what another process has logged meanwhile."""
        fresh: list[Entry] = []
        for number, entry in enumerate([*entries, *self._log], start=above + 1):
            value = cast("dict[str, JsonValue]", entry.value)
            fresh.append(Entry(number, {**value, "seq": number}))
        self._log = fresh
        self.seq = max(self.seq, above + len(fresh))

    def _hand_out(self, crumb: Crumb) -> None:
        if self._staged:
            self._staged.append(crumb)
            return
        for tap in self.taps:
            tap.accept(crumb)
        if self._publish is not None:
            self._publish(crumb)

    def _safe(self, value: object) -> object:
        if value is None:
            return value
        if isinstance(value, ErrorInfo):
            return ErrorInfo(
                value.code,
                self._redactor.text(value.message),
                self._redactor.text(value.why),
                value.do,
                value.retryable,
                cast("Any", self._redactor.value(cast("JsonValue", value.context))),
            )
        return self._redactor.value(cast("JsonValue", value))
