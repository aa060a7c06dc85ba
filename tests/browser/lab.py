"""A real JupyterLab or Notebook server, and the environments one can come from."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from browser.waiting import eventually
from fixtures.binder import BINDER_PYTHON
from jupyter_client.blocking.client import BlockingKernelClient

TOKEN = "rye"
START_SECONDS = 60
STOP_SECONDS = 15
PAGE = {
    "check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
    "extension_manager": "readonly",
    "news_url": None,
}
CONFIGURATION = {
    "IdentityProvider": {"token": TOKEN},
    "JupyterNotebookApp": PAGE,
    "LabApp": PAGE,
    "LanguageServerManager": {"autodetect": False},
    "ServerApp": {
        "allow_root": True,
        "ip": "127.0.0.1",
        "open_browser": False,
        "port": 0,
        "terminals_enabled": False,
    },
}
SETTINGS = {
    "apputils-extension/notification": {
        "checkForUpdates": False,
        "fetchNews": "false",
    },
    "docmanager-extension/plugin": {"autosave": False},
}

FrontName = Literal["lab", "binder-lab", "binder-notebook"]


@dataclass(frozen=True)
class Front:
    """A front end: the Python that runs it, and which of the two it is."""

    name: FrontName
    python: Path
    module: str

    @property
    def may_lose(self) -> bool:
        """Whether its kernels may leave a message unread (ipykernel issue 1554)."""
        return self.python == BINDER_PYTHON

    @property
    def is_lab(self) -> bool:
        return self.module == "jupyterlab"

    def page(self, path: str) -> str:
        """The address of a notebook's page, in a workspace without other tabs."""
        if not self.is_lab:
            return f"notebooks/{path}"
        workspace = re.sub(r"\W", "", path)
        return f"lab/workspaces/{workspace}/tree/{path}"


FRONTS = {
    "lab": Front("lab", Path(sys.executable), "jupyterlab"),
    "binder-lab": Front("binder-lab", BINDER_PYTHON, "jupyterlab"),
    "binder-notebook": Front("binder-notebook", BINDER_PYTHON, "notebook"),
}


def on_fronts(*names: FrontName) -> pytest.MarkDecorator:
    """Run each test of a module on these, one server after another."""
    return pytest.mark.parametrize("server", names, indirect=True, scope="module")


BOTH_LABS = on_fronts("lab", "binder-lab")
ALL_FRONTS = on_fronts("lab", "binder-lab", "binder-notebook")


@dataclass(frozen=True)
class Server:
    """A server that runs."""

    front: Front
    url: str
    folder: Path

    def address(self, path: str) -> str:
        """Where the page of a notebook under the server's folder is."""
        return f"{self.url}{self.front.page(path)}?token={TOKEN}"

    def shut_down_kernels(self) -> None:
        for kernel in json.loads(self._ask("api/kernels")):
            self._ask(f"api/kernels/{kernel['id']}", "DELETE")

    def restart_kernels(self) -> None:
        """Restart them past the pages that use them."""
        for kernel in json.loads(self._ask("api/kernels")):
            self._ask(f"api/kernels/{kernel['id']}/restart", "POST")

    def wake_kernels(self) -> None:
        """Open one more connection to each kernel, which then reads all it was sent."""
        for file in (self.folder.parent / "home/runtime").glob("kernel-*.json"):
            client = BlockingKernelClient(connection_file=str(file))
            client.load_connection_file()
            client.start_channels(iopub=False, stdin=False, hb=False, control=False)
            client.kernel_info()
            client.get_shell_msg(timeout=START_SECONDS)
            client.stop_channels()

    def _ask(self, path: str, method: str = "GET") -> bytes:
        request = urllib.request.Request(f"{self.url}{path}", method=method)
        request.add_header("Authorization", f"token {TOKEN}")
        with urllib.request.urlopen(request, timeout=START_SECONDS) as answer:
            return answer.read()


@contextmanager
def served(front: Front, folder: Path, **variables: str) -> Generator[Server]:
    """Run a server on a folder of notebooks; what it writes elsewhere is beside it."""
    home, notebooks = folder / "home", folder / "work"
    notebooks.mkdir()
    _configure(home)
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [
                str(front.python),
                "-m",
                front.module,
                f"--ServerApp.root_dir={notebooks}",
            ],
            cwd=notebooks,
            env={**_environment(front, home), **variables},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            url = _wait_for(process, home / "runtime", folder / "server.log")
            server = Server(front, url, notebooks)
            yield server
            server.shut_down_kernels()
        finally:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(STOP_SECONDS)


def _configure(home: Path) -> None:
    """Write what the server and the page are set up with."""
    files: dict[str, Mapping[str, object]] = {
        "config/jupyter_server_config.json": CONFIGURATION,
        "config/labconfig/page_config.json": {"exposeAppInBrowser": True},
    }
    for name, values in SETTINGS.items():
        files[f"settings/@jupyterlab/{name}.jupyterlab-settings"] = values
    for name, values in files.items():
        file = home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))


def _environment(front: Front, home: Path) -> dict[str, str]:
    """As a person's, but with no secrets, and at home in a folder of its own."""
    kept = ["LANG", "LC_ALL", "PATH", "TMPDIR", "TZ"]
    if front.python == Path(sys.executable):
        kept.append("PYTHONPATH")
    return {
        **{name: os.environ[name] for name in kept if name in os.environ},
        "HOME": str(home),
        "IPYTHONDIR": str(home / "ipython"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_PLATFORM_DIRS": "1",
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _wait_for(process: subprocess.Popen[bytes], runtime: Path, log: Path) -> str:
    def address() -> str | None:
        assert process.poll() is None, f"the server ended:\n{log.read_text()}"
        for file in runtime.glob("jpserver-*.json"):
            try:
                return json.loads(file.read_text())["url"]
            except ValueError:  # not written to its end yet
                return None
        return None

    return eventually(address, START_SECONDS, "the server says where it is")
