"""What ipykernel does with messages, set right where a person would wait in vain.

Both mends reach into ipykernel, where it has what is to be mended and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["listen", "pin"]

_ROUTE = "_reply_subshell_for"
_BARE = "_shell_socket"


def pin(comm: object) -> None:
    """Let a widget's messages in on the subshell that the front end sends them on.

    ipykernel 7.4 sends them where the comm was last written to, which is the main
    shell, so that a click during a blocking cell waits for its end. Other versions have
    no such route, and nothing is changed.
    """
    if hasattr(comm, _ROUTE):
        setattr(comm, _ROUTE, _as_sent)


def _as_sent(_data: object, default: object) -> object:
    return default


def listen(shell: object) -> Callable[[], None]:
    """Let no message to the shell's kernel lie unread.

    ipykernel 7.0 to 7.3 write replies on the bare socket that a stream reads requests
    from. A request that comes in meanwhile is then not told of, and neither is any that
    follows on its connection: a click, or a cell, waits for ever (ipykernel issue
    1554). Here, as in 7.4, replies go through the stream.

    Returns:
        What undoes it.
    """
    kernel: Any = getattr(shell, "kernel", None)
    thread: Any = getattr(kernel, "shell_channel_thread", None)
    if not hasattr(thread, _BARE):
        return lambda: None
    manager = thread.manager
    bare: object = getattr(manager, _BARE)
    setattr(manager, _BARE, kernel.shell_stream)
    return lambda: setattr(manager, _BARE, bare)
