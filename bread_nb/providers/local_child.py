"""The local model's process: one for all that use it, ended with the last of them.

It is a process of its own because the library that runs the model can neither be
stopped in mid-answer nor be closed safely inside this one.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import importlib.util
import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path

from bread_nb.errors import BreadError

__all__ = ["Child", "Serving", "children"]

_INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH")
_ON_WINDOWS = ("SYSTEMROOT", "TEMP", "USERPROFILE")
_START_SECONDS = 120.0
_CLOSE_SECONDS = 5.0
_MISSING_LIBRARY = re.compile(r"([\w+.-]+\.so[.\d]*): cannot open shared object")
_INSTALL = {"libgomp.so.1": "apt-get install libgomp1 (dnf: libgomp), then run again"}
_STDERR_LINES = 3


@dataclass(frozen=True, slots=True)
class Serving:
    """Where the model is served; the key is made up for this process alone."""

    url: str
    key: str = field(repr=False)


class Child:
    """A process that serves one file of weights.

    Args:
        path: The weights.
        alias: What the model is called in its answers, in place of the path.
    """

    def __init__(self, path: Path, alias: str) -> None:
        self.path = path
        self.alias = alias
        self.users = 0
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._serving: Serving | None = None

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        process = self._process
        return process.pid if process and process.poll() is None else None

    async def serving(self) -> Serving:
        """Where it serves; it is started when it does not run.

        Raises:
            BreadError: `LOCAL_FAILED` when it does not start.
        """
        if self._serving is not None and self.pid is not None:
            return self._serving
        try:
            async with asyncio.timeout(_START_SECONDS):
                return await asyncio.to_thread(self._start)
        except TimeoutError:
            pass
        if self._process is not None:
            self._process.kill()
        raise _failed(f"it said nothing for {_START_SECONDS:g} s.")

    def close(self) -> None:
        """End the process; it may be called twice."""
        with self._lock:
            process, self._process, self._serving = self._process, None, None
            if process is not None:
                _end(process)

    def _start(self) -> Serving:
        with self._lock:
            if self._serving is not None and self.pid is not None:
                return self._serving
            if self._process is not None:
                _end(self._process)
            with tempfile.TemporaryFile("w+", errors="replace") as stderr:
                self._process = process = _popen(stderr.fileno())
                key = secrets.token_urlsafe(32)
                order = {"path": str(self.path), "alias": self.alias, "key": key}
                answer = _ask(process, order)
                if "url" not in answer:
                    _end(process)
                    stderr.seek(0)
                    raise _failed(answer.get("error") or stderr.read())
            self._serving = Serving(answer["url"], key)
            return self._serving


def _popen(stderr: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-P", "-m", "bread_nb.providers.local_server"]
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        env=_environment(),
        start_new_session=True,
    )


def _environment() -> dict[str, str]:
    """What the child needs of the environment: no keys, and where packages are."""
    kept = {n: os.environ[n] for n in (*_INHERITED, *_ON_WINDOWS) if n in os.environ}
    places = [str(Path(__file__).parents[2])]
    for package in ("xllamacpp", "pydantic"):
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin:
            places.append(str(Path(spec.origin).parents[1]))
    kept["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(places))
    return kept


def _ask(process: subprocess.Popen[str], order: dict[str, str]) -> dict[str, str]:
    """Tell the child what to serve; its answer, empty when it ended instead."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(f"{json.dumps(order)}\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())
    except (OSError, ValueError):
        return {}


def _end(process: subprocess.Popen[str]) -> None:
    """Close the child's input, which ends it, and make sure that it did."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    try:
        process.wait(_CLOSE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _failed(evidence: str) -> BreadError:
    lines = [line.strip() for line in evidence.splitlines() if line.strip()]
    missing = _MISSING_LIBRARY.search(evidence)
    if missing is not None:
        why = f"this system has no {missing[1]}, which xllamacpp needs."
        do = _INSTALL.get(missing[1], f"install {missing[1]}, then run again")
    else:
        why = " | ".join(lines[-_STDERR_LINES:])
        do = "bread local check, then run again"
    return BreadError(
        "The local model did not start.",
        code="LOCAL_FAILED",
        why=why or "its process ended without a word.",
        do=do,
        retryable=False,
    )


class _Children:
    """The processes of this one: at most one for each file of weights."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[Path, Child] = {}
        self._watched = False

    def take(self, path: Path, alias: str) -> Child:
        """The process for these weights, shared with whoever has it."""
        with self._lock:
            if not self._watched:
                self._watched = True
                atexit.register(self.close)
            child = self._running.get(path)
            if child is None:
                child = self._running[path] = Child(path, alias)
            child.users += 1
            return child

    def give_back(self, child: Child) -> None:
        """Say that a user is done; the last one ends the process."""
        with self._lock:
            child.users -= 1
            if child.users:
                return
            self._running.pop(child.path, None)
        child.close()

    def close(self) -> None:
        """End all processes."""
        with self._lock:
            running, self._running = list(self._running.values()), {}
        for child in running:
            child.close()


children = _Children()
