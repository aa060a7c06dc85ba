"""A real kernel in a project of its own, driven as a front end drives one.

It runs cells, keeps what they display (updates applied), opens views on cards and
presses their buttons. Every wait has a bound and fails loudly.
"""

import copy
import itertools
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty
from typing import Any

from jupyter_client.manager import KernelManager
from jupyter_core.utils import ensure_event_loop

WIDGET = "application/vnd.jupyter.widget-view+json"
FIRST = 60.0
BOUND = 15.0
Message = dict[str, Any]
Anything = Any


@dataclass
class Result:
    """What one execution left behind."""

    msg_id: str
    status: str
    outputs: list[Message]
    error: Message | None = None
    stdout: str = ""

    @property
    def plain(self) -> list[str]:
        """The text/plain of every output that has one."""
        return [o["text/plain"] for o in self.outputs if "text/plain" in o]

    @property
    def told(self) -> str:
        """The traceback as the cell shows it."""
        return "\n".join(self.error["traceback"]) if self.error else ""


class Kernel:
    """One kernel process, as seen by one page.

    Args:
        folder: Where it runs.
        python: Of another environment, when not of this one.
        env: Variables of its environment.
    """

    def __init__(self, folder: Path, *, python: Path | None = None, **env: str) -> None:
        self.folder = folder
        self._manager = KernelManager()
        if python is not None:
            spec = self._manager.kernel_spec
            assert spec is not None
            spec.argv[0] = str(python)
        own = {
            "PYTHONDONTWRITEBYTECODE": "1",
            "IPYTHONDIR": str(folder / ".ipython"),
        }
        self._manager.start_kernel(cwd=str(folder), env={**os.environ, **own, **env})
        self.client = self._manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=FIRST)
        self.messages: list[Message] = []
        self._news = threading.Condition()
        self._open = True
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._subshell: str | None = None
        self._numbers = itertools.count(1)

    # -- the channels ------------------------------------------------------------------

    def _read(self) -> None:
        while self._open:
            try:
                message = self.client.get_iopub_msg(timeout=0.1)
            except Empty:
                continue
            with self._news:
                self.messages.append(message)
                self._news.notify_all()
        ensure_event_loop().close()

    def wait(
        self, ready: Callable[[], Any], what: str, bound: float = BOUND
    ) -> Anything:
        """Wait until `ready` gives something; look again at each message."""
        with self._news:
            found = self._news.wait_for(ready, bound)
        assert found, f"{what} did not come in {bound} s"
        return found

    def send(self, kind: str, content: Message, **header: str) -> str:
        """Send a message on the shell channel."""
        message = self.client.session.msg(kind, content)
        message["header"].update(header)
        self.client.shell_channel.send(message)
        return message["header"]["msg_id"]

    def subshell(self) -> str:
        """The subshell that this page sends its widgets' messages on."""
        if self._subshell is None:
            request = self.client.session.msg("create_subshell_request", {})
            self.client.control_channel.send(request)
            reply = self.client.get_control_msg(timeout=BOUND)
            assert reply["content"]["status"] == "ok", reply
            self._subshell = reply["content"]["subshell_id"]
        return self._subshell

    # -- cells -------------------------------------------------------------------------

    def start(self, code: str, *, cell: str | None = None, watched: bool = True) -> str:
        """Send a cell; returns at once."""
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": watched,
            "stop_on_error": True,
        }
        message = self.client.session.msg("execute_request", content)
        message["metadata"] = {"cellId": cell or f"cell-{next(self._numbers)}"}
        if not watched:
            message["metadata"] = {}
        self.client.shell_channel.send(message)
        return message["header"]["msg_id"]

    def finish(self, msg_id: str, bound: float = BOUND) -> Result:
        """Wait until a cell has ended."""

        def idle() -> bool:
            return any(
                m["msg_type"] == "status"
                and m["content"]["execution_state"] == "idle"
                and m["parent_header"].get("msg_id") == msg_id
                for m in self.messages
            )

        self.wait(idle, "the end of the cell", bound)
        while True:
            reply = self.client.get_shell_msg(timeout=BOUND)
            if reply["parent_header"].get("msg_id") == msg_id:
                return self.result(msg_id, reply["content"]["status"])

    def run(self, code: str, **options: Anything) -> Result:
        """Run a cell to its end."""
        bound = options.pop("bound", BOUND)
        return self.finish(self.start(code, **options), bound)

    def ok(self, code: str, **options: Anything) -> Result:
        """Run a cell that has to end well."""
        result = self.run(code, **options)
        assert result.status == "ok", result.told
        return result

    def result(self, msg_id: str, status: str = "") -> Result:
        """What a cell holds now."""
        result = Result(msg_id, status, [])
        places: dict[str, int] = {}
        for message in tuple(self.messages):
            kind, content = message["msg_type"], message["content"]
            display = content.get("transient", {}).get("display_id")
            if kind == "update_display_data":
                if display in places:
                    result.outputs[places[display]] = content["data"]
                continue
            if message["parent_header"].get("msg_id") != msg_id:
                continue
            if kind in ("display_data", "execute_result"):
                if display:
                    places[display] = len(result.outputs)
                result.outputs.append(content["data"])
            elif kind == "error":
                result.error = content
            elif kind == "stream":
                result.stdout += content["text"]
        return result

    def run_aside(self, code: str) -> None:
        """Run code on the page's subshell, beside whatever the main shell does."""
        content = {
            "code": code,
            "silent": True,
            "store_history": False,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": False,
        }
        self.send("execute_request", content, subshell_id=self.subshell())

    def of(self, msg_id: str, kind: str) -> list[Message]:
        """The messages of one kind that belong to a cell."""
        return [
            m
            for m in tuple(self.messages)
            if m["msg_type"] == kind and m["parent_header"].get("msg_id") == msg_id
        ]

    def interrupt(self) -> None:
        """The kernel's own interrupt."""
        self._manager.interrupt_kernel()

    def comms(self) -> set[str]:
        """The comms that are open."""
        msg_id = self.send("comm_info_request", {"target_name": "jupyter.widget"})
        while True:
            reply = self.client.get_shell_msg(timeout=BOUND)
            if reply["parent_header"].get("msg_id") == msg_id:
                return set(reply["content"]["comms"])

    # -- views -------------------------------------------------------------------------

    def card(self, msg_id: str, bound: float = BOUND) -> str:
        """The model id of the card in a cell."""

        def shown() -> str | None:
            models = [
                m["content"]["data"][WIDGET]["model_id"]
                for m in self.of(msg_id, "display_data")
                if WIDGET in m["content"]["data"]
            ]
            return models[0] if models else None

        return self.wait(shown, "the card", bound)

    def cards(self, msg_id: str) -> list[str]:
        """The model ids of all cards in a cell."""
        return [
            m["content"]["data"][WIDGET]["model_id"]
            for m in self.of(msg_id, "display_data")
            if WIDGET in m["content"]["data"]
        ]

    def view(self, model: str, *, subshell: bool = True) -> "View":
        """Open a view on a card; it says hello."""
        return View(self, model, self.subshell() if subshell else None)

    # -- the end -----------------------------------------------------------------------

    def kill(self) -> None:
        """End the process as a crash does."""
        provisioner = self._manager.provisioner
        assert provisioner is not None
        os.kill(provisioner.pid, signal.SIGKILL)
        self.close()

    def close(self) -> None:
        """End the kernel."""
        self._open = False
        self._reader.join(BOUND)
        self.client.stop_channels()
        self._manager.shutdown_kernel(now=True)
        self._manager.cleanup_resources()
        ensure_event_loop().close()


@dataclass
class View:
    """A view on a card: what the page would show, and what a person presses."""

    kernel: Kernel
    model: str
    subshell: str | None
    name: str = ""
    data: Any = field(default_factory=dict)
    components: dict[str, Any] = field(default_factory=dict)
    surface: str = ""
    seq: int = -1
    gaps: int = 0

    def __post_init__(self) -> None:
        self.name = self.name or f"view-{next(_NUMBERS)}"
        self._seen = len(self.kernel.messages)
        self.hello()

    def post(self, content: Message) -> None:
        """Send a custom message to the widget."""
        header = {"subshell_id": self.subshell} if self.subshell else {}
        data = {"method": "custom", "content": content}
        self.kernel.send("comm_msg", {"comm_id": self.model, "data": data}, **header)

    def hello(self) -> None:
        """Ask for the whole card."""
        self.post({"t": "hello", "view": self.name, "last": self.seq})

    def bye(self) -> None:
        """Go away."""
        self.post({"t": "bye", "view": self.name})

    def heard(self) -> list[Message]:
        """All custom messages of this card that this view would take."""
        found = [
            m["content"]["data"]["content"]
            for m in tuple(self.kernel.messages)
            if m["msg_type"] == "comm_msg"
            and m["content"]["comm_id"] == self.model
            and m["content"]["data"].get("method") == "custom"
        ]
        return [m for m in found if m.get("view", self.name) == self.name]

    def act(self, name: str, source: str = "root", **context: Anything) -> str:
        """Press something; returns the action's id."""
        action_id = f"action-{next(_NUMBERS)}"
        action = {
            "name": name,
            "surfaceId": self.surface,
            "sourceComponentId": source,
            "timestamp": "2030-01-01T00:00:00.000Z",
            "context": context,
        }
        message = {"version": "v0.9", "action": action}
        self.post({"t": "action", "id": action_id, "message": message})
        return action_id

    def result(self, action_id: str, bound: float = BOUND) -> Message:
        """What became of an action."""

        def come() -> Message | None:
            for message in self.heard():
                if message["t"] == "result" and message["id"] == action_id:
                    return message
            return None

        return self.kernel.wait(come, f"the result of {action_id}", bound)

    def acked(self, action_id: str, bound: float = BOUND) -> None:
        """Wait for the acknowledgement of an action."""

        def come() -> bool:
            return any(m["t"] == "ack" and m["id"] == action_id for m in self.heard())

        self.kernel.wait(come, f"the ack of {action_id}", bound)

    # -- what it shows -----------------------------------------------------------------

    def look(self) -> "View":
        """Take in every message so far, from the beginning."""
        self.data, self.components, self.seq, self.gaps = {}, {}, -1, 0
        for message in self.heard():
            if message["t"] == "snapshot":
                self.data, self.components = {}, {}
                self.seq = message["seq"]
            elif message["t"] == "frame":
                if self.seq < 0 or message["seq"] <= self.seq:
                    continue
                self.gaps += message["seq"] != self.seq + 1
                self.seq = message["seq"]
            else:
                continue
            for part in message["messages"]:
                self._apply(part)
            for path, text in message.get("append", []):
                self._put(path, (self._get(path) or "") + text)
        return self

    def _apply(self, part: Message) -> None:
        if "createSurface" in part:
            self.surface = part["createSurface"]["surfaceId"]
        elif "updateComponents" in part:
            for component in part["updateComponents"]["components"]:
                self.components[component["id"]] = component
        elif "updateDataModel" in part:
            update = part["updateDataModel"]
            self._put(update.get("path", ""), copy.deepcopy(update.get("value")))

    def _get(self, path: str) -> Anything:
        here = self.data
        for token in path.split("/")[1:]:
            here = here[int(token)] if isinstance(here, list) else here.get(token)
        return here

    def _put(self, path: str, value: Anything) -> None:
        tokens = path.split("/")[1:]
        if not tokens:
            self.data = value
            return
        here = self.data
        for token in tokens[:-1]:
            here = (
                here[int(token)]
                if isinstance(here, list)
                else here.setdefault(token, {})
            )
        if isinstance(here, list):
            at = int(tokens[-1])
            here[at : at + 1] = [value]
        else:
            here[tokens[-1]] = value

    def head(self) -> Message:
        """The card's header."""
        return self.look().data.get("head", {})

    def until(
        self, ready: Callable[["View"], Any], what: str, bound: float = BOUND
    ) -> Anything:
        """Wait until the card shows something."""
        return self.kernel.wait(lambda: ready(self.look()), what, bound)

    def state(self, state: str, bound: float = BOUND) -> None:
        """Wait until the run is in a state."""
        self.until(
            lambda v: v.data.get("head", {}).get("state") == state,
            f"state {state}",
            bound,
        )

    def forms(self) -> list[Message]:
        """The open forms that can be answered."""
        blocks = self.look().data.get("b", {})
        return [
            {**value, "id": key}
            for key, value in blocks.items()
            if value.get("state") == "open" and value.get("nonce")
        ]

    def form(self, bound: float = BOUND) -> Message:
        """Wait for the first open form."""
        return self.until(lambda v: v.forms(), "a form", bound)[0]

    def answer(self, form: Message, answer: Anything, **changed: str) -> str:
        """Answer a form; returns the action's id."""
        parts = {key: form[key] for key in ("checkpoint", "nonce", "shown")}
        return self.act("answer", form["id"], **{**parts, **changed}, answer=answer)


_NUMBERS = itertools.count(1)


@contextmanager
def kernel(folder: Path, **env: str) -> Iterator[Kernel]:
    """A kernel in a folder, ended afterwards."""
    started = Kernel(folder, **env)
    try:
        yield started
    finally:
        started.close()
