"""What tells one function from another, over processes: its code and its constants."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import CodeType
from typing import cast

from pydantic import JsonValue

__all__ = ["source_of"]

_PLAIN = (str, bytes, int, float, bool, type(None))
_DEEP = 4


def source_of(function: Callable[..., object], depth: int = _DEEP) -> JsonValue:
    """The same for the same code, and another where a constant of it is another.

    What a closure holds counts where it is plain or a function; a callable that is
    no function is told by its type alone.
    """
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType):
        return type(function).__qualname__
    held = [*(getattr(function, "__defaults__", None) or ()), *_held(function)]
    return [_code(code), [_value(each, depth) for each in held]]


def _held(function: object) -> Iterable[object]:
    for cell in getattr(function, "__closure__", None) or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not filled yet
            yield None


def _code(code: CodeType) -> JsonValue:
    consts = [_value(each, 0) for each in code.co_consts]
    return [code.co_code.hex(), [*code.co_names], consts]


def _value(value: object, depth: int) -> JsonValue:
    if isinstance(value, CodeType):
        return _code(value)
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, tuple | list):
        return [_value(each, depth) for each in cast("Iterable[object]", value)]
    if isinstance(value, set | frozenset):
        return [*sorted(repr(each) for each in cast("Iterable[object]", value))]
    if depth and callable(value) and not isinstance(value, type):
        return source_of(value, depth - 1)
    return type(value).__qualname__
