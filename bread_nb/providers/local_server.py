"""The child process of the local model: loads the weights and serves them.

It is told what to do by one line of JSON on its standard input, answers with one
line of JSON on its standard output, `{"url": …}` or `{"error": …}`, and ends at once
when its input closes, as it does when the parent ends in whatever way.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import sys
import time
from importlib import import_module
from typing import Any, TextIO
from urllib.parse import urlsplit

from bread_nb.base.ids import monotonic

__all__ = ["main"]

# It has no type stubs that say what is in it.
_LIBRARY: Any = import_module("xllamacpp")

_SLOTS = 2
_CONTEXT = 4096
_HEALTH_SECONDS = 60.0


def main() -> None:
    """Serve until standard input closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answer = _own_stdout()
    order = json.loads(sys.stdin.readline())
    try:
        server = _LIBRARY.Server(settings(order))
        url = str(server.listening_address)
        _wait_until_healthy(url)
    except (RuntimeError, ValueError, OSError) as error:
        _say(answer, error=f"{type(error).__name__}: {error}")
        os._exit(1)
    _say(answer, url=url)
    sys.stdin.read()
    # Closing the server in order can hang; there is nothing in it to save.
    os._exit(0)


def settings(order: dict[str, Any]) -> object:
    """The server's settings; changing one can change what the model writes."""
    params: Any = _LIBRARY.CommonParams()
    params.model.path = order["path"]
    params.model_alias = {order["alias"]}
    params.api_keys = [order["key"]]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_parallel = _SLOTS
    params.n_ctx = _CONTEXT
    threads = max(1, (os.cpu_count() or 2) - 1)
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.cache_ram_mib = 0
    params.warmup = False
    params.verbosity = -1
    params.ui = False
    params.endpoint_slots = False
    return params


def _own_stdout() -> TextIO:
    """Standard output for our line alone; what the library prints goes to stderr."""
    ours = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return ours


def _wait_until_healthy(url: str) -> None:
    """Ask for its health once: a server closed before that can hang for good."""
    place = urlsplit(url)
    end = monotonic() + _HEALTH_SECONDS
    while monotonic() < end:
        link = http.client.HTTPConnection(str(place.hostname), place.port, timeout=10)
        try:
            link.request("GET", "/health")
            if link.getresponse().status == http.client.OK:
                return
        except OSError:
            pass
        finally:
            link.close()
        time.sleep(0.02)
    raise OSError("the server did not become healthy")


def _say(answer: TextIO, **line: str) -> None:
    answer.write(f"{json.dumps(line)}\n")
    answer.flush()


if __name__ == "__main__":
    main()
