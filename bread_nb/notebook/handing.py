"""What a card hands out on request: crumbs as lines, the call as Python, a file."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable

from pydantic import JsonValue

from bread_nb.a2ui.values import masked, visible
from bread_nb.base.redact import Redactor, environment_secrets
from bread_nb.errors import BreadError
from bread_nb.notebook.letters import Action
from bread_nb.notebook.shown import Shown
from bread_nb.project.showing import crumb_line

__all__ = ["HAND_OUTS"]

Json = dict[str, JsonValue]
HandOut = Callable[[Shown, Action], Awaitable[JsonValue]]

_MOST_LINES = 2000
_LARGEST_FILE = 20_000_000


async def _crumbs(shown: Shown, action: Action) -> JsonValue:
    """The crumbs of the run, a line each, as `%bread show` numbers them."""
    crumbs = await shown.bread.crumbs(shown.run_id)
    lines = [crumb_line(crumb) for crumb in crumbs[:_MOST_LINES]]
    if len(crumbs) > _MOST_LINES:
        lines.append(f"… %bread show {shown.handle} has all {len(crumbs)}")
    return "\n".join(lines)


async def _python(shown: Shown, action: Action) -> JsonValue:
    """The call that starts such a run, to be pasted into a cell."""
    row = await shown.bread.find_run(shown.run_id)
    given = Redactor(environment_secrets()).value(masked("", row.input))
    parts = [repr(row.agent_id), repr(given)]
    if shown.session is not None:
        parts.append(f"session={shown.session!r}")
    if row.override is not None:
        parts.append(f"model={row.override!r}")
    lines = "from bread_nb import Bread", f"await Bread.load().run({', '.join(parts)})"
    return "\n\n".join(lines)


async def _command(shown: Shown, action: Action) -> JsonValue:
    """What shows the run again, in any cell."""
    return f"%bread show {shown.handle}"


async def _file(shown: Shown, action: Action) -> JsonValue:
    """A file that the run made; only addresses that the run told of are opened.

    Raises:
        BreadError: `FILE_NOT_FOUND` or `FILE_TOO_LARGE`.
    """
    uri = action.text("uri")
    made = shown.card.story.files.get(uri)
    store = shown.bread.blob_store
    blob = await store.get(uri) if made is not None and store is not None else None
    if made is None or blob is None:
        raise BreadError(
            "The file is not kept here.",
            code="FILE_NOT_FOUND",
            why="the project's file store does not have it.",
        )
    data, mime = blob
    if len(data) > _LARGEST_FILE:
        raise BreadError(
            "The file is too large for the page.",
            code="FILE_TOO_LARGE",
            why=f"it has {len(data)} bytes.",
        )
    name = visible(made.name or "file").replace("/", "_").replace("\\", "_")
    handed: Json = {"name": name.lstrip("."), "mime": mime}
    return {**handed, "base64": base64.b64encode(data).decode("ascii")}


HAND_OUTS: dict[str, HandOut] = {
    "crumbs": _crumbs,
    "python": _python,
    "command": _command,
    "file": _file,
}
