"""Secrets out of what a model streamed, before it is written to a cassette.

A secret may arrive in pieces, so the pieces of one text are looked at together. Where
one is found the pieces become one; everything else keeps its boundaries.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pydantic import JsonValue

from bread_nb.base.redact import MASK, Redactor
from bread_nb.base.wire import dumps, read_json
from bread_nb.errors import BreadError
from bread_nb.messages import Native
from bread_nb.providers.model import (
    CallEnd,
    CallFragment,
    Delta,
    FileChunk,
    NativeBlock,
    ReasoningChunk,
    ReasoningEnd,
    Restart,
    TextChunk,
    UsageReport,
)
from bread_nb.providers.tape import written_error

__all__ = ["masked_deltas", "masked_error"]

_BYTE_MASK = "****"


def masked_deltas(deltas: Iterable[Delta], redactor: Redactor) -> list[Delta]:
    """The deltas without a secret in them."""
    out: list[Delta | None] = list(deltas)
    words: list[int] = []
    kind: type[Delta] | None = None
    calls: dict[int, list[int]] = {}
    for place, delta in enumerate(out):
        match delta:
            case TextChunk() | ReasoningChunk():
                if type(delta) is not kind:
                    _mask_words(out, words, redactor)
                    words, kind = [], type(delta)
                words.append(place)
            case CallFragment(index=index):
                calls.setdefault(index, []).append(place)
            case UsageReport():
                pass
            case None:
                pass
            case _:
                _mask_words(out, words, redactor)
                words, kind = [], None
                out[place] = _masked(delta, redactor)
    _mask_words(out, words, redactor)
    for places in calls.values():
        _mask_arguments(out, places, redactor)
    return [delta for delta in out if delta is not None]


def masked_error(error: BreadError, redactor: Redactor) -> dict[str, JsonValue]:
    """An error as JSON, without a secret in it."""
    found = redactor.value(written_error(error))
    assert isinstance(found, dict)
    return found


def _mask_words(out: list[Delta | None], places: list[int], redactor: Redactor) -> None:
    texts = [d.text for p in places if isinstance(d := out[p], TextChunk)]
    texts += [d.text for p in places if isinstance(d := out[p], ReasoningChunk)]
    whole = "".join(texts)
    safe = redactor.text(whole)
    if safe != whole:
        kind = type(out[places[0]])
        _put_one(out, places, TextChunk(safe) if kind is TextChunk else None)
        if kind is ReasoningChunk:
            out[places[0]] = ReasoningChunk(safe)


def _mask_arguments(
    out: list[Delta | None], places: list[int], redactor: Redactor
) -> None:
    pieces = [d for p in places if isinstance(d := out[p], CallFragment)]
    whole = "".join(piece.text for piece in pieces)
    safe = _safe_arguments(whole, redactor)
    if safe != whole:
        _put_one(out, places, CallFragment(pieces[0].index, safe))


def _safe_arguments(text: str, redactor: Redactor) -> str:
    try:
        value = read_json(text)
    except ValueError:
        return redactor.text(text)
    safe = redactor.value(value)
    return text if safe == value else dumps(safe)


def _put_one(out: list[Delta | None], places: list[int], one: Delta | None) -> None:
    for place in places:
        out[place] = None
    out[places[0]] = one


def _masked(delta: Delta, redactor: Redactor) -> Delta:
    match delta:
        case NativeBlock(native=native):
            return NativeBlock(_safe_native(native, redactor))
        case ReasoningEnd(native=Native() as native):
            return ReasoningEnd(_safe_native(native, redactor))
        case CallEnd(native=Native() as native):
            return CallEnd(delta.index, _safe_native(native, redactor))
        case FileChunk(data=data):
            return FileChunk(_safe_bytes(data, redactor), delta.mime_type)
        case Restart(error=error):
            return replace(delta, error=_safe_error(error, redactor))
        case _:
            return delta


def _safe_native(native: Native, redactor: Redactor) -> Native:
    """A signed block keeps its bytes but for a secret that is known to be one."""
    return replace(native, block=redactor.known(native.block))


def _safe_bytes(data: bytes, redactor: Redactor) -> bytes:
    text = data.decode("latin-1")
    safe = redactor.known(text)
    if safe == text or not isinstance(safe, str):
        return data
    return safe.replace(MASK, _BYTE_MASK).encode("latin-1")


def _safe_error(error: BreadError, redactor: Redactor) -> BreadError:
    context = redactor.value(error.context)
    error.what, error.why = redactor.text(error.what), redactor.text(error.why)
    error.do = redactor.text(error.do)
    error.context = context if isinstance(context, dict) else {}
    return error
