"""What `--with` hands to a run: the objects for its tools, and words for the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from bread_nb.base.redact import Redactor, environment_secrets, secret_name
from bread_nb.notebook.parsing import missing_name

__all__ = ["describe", "look_up"]

_ROWS = 5
_LONGEST = 4000


def look_up(names: Sequence[str], space: Mapping[str, object]) -> dict[str, object]:
    """The objects of these names.

    Raises:
        BreadError: `NAME_NOT_FOUND`, naming the cell to run.
    """
    for name in names:
        if name not in space:
            raise missing_name(name, space)
    return {name: space[name] for name in names}


def describe(given: Mapping[str, object]) -> str:
    """What the model is told of the objects: name, type, and of frames a glimpse."""
    redact = Redactor(environment_secrets()).text
    return "\n\n".join(redact(_one(name, value)) for name, value in given.items())


def _one(name: str, value: object) -> str:
    head = f"`{name}` is there for the tools: a {type(value).__name__}"
    glimpse = _glimpse(cast("Any", value))
    text = f"{head}{glimpse}"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _glimpse(value: Any) -> str:  # noqa: ANN401
    """Shape, dtypes and first rows of what has them, whatever library made it."""
    shape = getattr(value, "shape", None)
    if not isinstance(shape, tuple) or not hasattr(value, "head"):
        return "."
    try:
        size = " x ".join(str(n) for n in cast("tuple[object, ...]", shape))
        rows = str(_without_secrets(value.head(_ROWS)))
    except (TypeError, ValueError, AttributeError):
        return "."
    columns = _columns(value)
    return f", {size}.{columns}\nFirst rows:\n{rows}"


def _without_secrets(head: Any) -> Any:  # noqa: ANN401
    """The rows without the columns whose names say that they hold secrets."""
    columns = getattr(head, "columns", None)
    names = [] if columns is None else list(cast("Iterable[object]", columns))
    hidden = [name for name in names if secret_name(str(name))]
    if not hidden:
        return head
    try:
        return head.drop(columns=hidden)
    except TypeError:
        return head.drop(hidden)


def _columns(value: Any) -> str:  # noqa: ANN401
    names, kinds = getattr(value, "columns", None), getattr(value, "dtypes", None)
    if names is None or kinds is None:
        return ""
    pairs = [f"{name} {kind}" for name, kind in zip(names, kinds, strict=False)]
    return f" Columns: {', '.join(pairs)}."
