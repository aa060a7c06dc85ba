"""What is in order here and what is not, each with its mend; nothing is changed."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Literal, Protocol

from bread_nb.errors import BreadError
from bread_nb.project.config import BreadConfig
from bread_nb.providers import weights
from bread_nb.providers.catalog import known_providers
from bread_nb.providers.faults import variable
from bread_nb.providers.model import Model, split_name
from bread_nb.runtime.agent import Agent
from bread_nb.stores import sql
from bread_nb.stores.records import RunRow
from bread_nb.stores.store import Store

__all__ = ["Examined", "Finding", "examine", "report"]

Level = Literal["ok", "warn", "bad"]
_KEYED = ("anthropic", "gemini", "openai")
_KEY_OF = {"responses": "openai"}
_OLDEST_KERNEL = 7
_BUNDLE = re.compile(r"bread_nb\.widget\.(\d[0-9A-Za-z.+-]*)")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at, and what to do when it is not in order."""

    level: Level
    what: str
    do: str | None = None


class Examined(Protocol):
    """What the doctor looks at: an instance of Bread."""

    @property
    def root(self) -> Path: ...
    @property
    def config(self) -> BreadConfig: ...
    @property
    def store(self) -> Store: ...
    def agent_ids(self) -> list[str]: ...
    def agent(self, agent_id: str) -> Agent: ...
    def broken(self) -> dict[str, BreadError]: ...
    async def interrupted(self) -> list[RunRow]: ...


async def examine(bread: Examined, agent: str | None = None) -> list[Finding]:
    """Look at everything that a run needs; it never raises.

    Args:
        bread: The instance to look at.
        agent: Only what this agent needs.
    """
    agents, found = _guarded_agents(bread, agent)
    kept = [finding async for finding in _store(bread)]
    used = _providers_used(agents)
    return [
        *_guarded(_installation),
        *kept,
        *_guarded(lambda: _keys(used)),
        *_guarded(lambda: _local(used)),
        *found,
        *_guarded(lambda: _strangers(agents, bread.config)),
        *_guarded(_front_end),
    ]


def report(findings: Sequence[Finding]) -> str:
    """The findings as text, a line each and one for what to do."""
    lines: list[str] = []
    for finding in findings:
        lines.append(f"{finding.level:<4}  {finding.what}")
        if finding.do:
            lines.append(f"        do: {finding.do}")
    return "\n".join(lines)


def _guarded(check: Callable[[], Iterator[Finding]]) -> list[Finding]:
    try:
        return list(check())
    except Exception as error:  # noqa: BLE001
        return [_unseen(error)]


def _unseen(error: Exception) -> Finding:
    if isinstance(error, BreadError):
        return Finding("bad", _in_one(error), error.do or None)
    return Finding("bad", f"{type(error).__name__}: {error}")


def _in_one(error: BreadError) -> str:
    """What and why of an error on one line."""
    what = error.what.rstrip(".")
    return f"{what}: {error.why.rstrip('.')}" if error.why else what


def _installation() -> Iterator[Finding]:
    """Python, the kernel and the widget's bundle: what is well on one line."""
    well = [f"Python {_short(platform.python_version())}"]
    ill: list[Finding] = []
    try:
        kernel = version("ipykernel")
    except PackageNotFoundError:
        ill.append(Finding("warn", "ipykernel is not there", "pip install ipykernel"))
    else:
        if int(kernel.partition(".")[0]) < _OLDEST_KERNEL:
            what = f"ipykernel {_short(kernel)}: Stop and forms answer after the cell"
            ill.append(Finding("warn", what, 'pip install -U "ipykernel>=7", restart'))
        else:
            well.append(f"ipykernel {_short(kernel)}")
    ours = version("bread-nb")
    built = _bundle_version(ours)
    if built == ours:
        well.append(f"widget bundle {built} = package")
    elif built is None:
        what = "the widget bundle is missing: runs go on in text"
        ill.append(Finding("warn", what, "pip install --force-reinstall bread-nb"))
    else:
        what = f"widget bundle {built}, package {ours}"
        ill.append(Finding("warn", what, "pip install -U bread-nb, reload the page"))
    yield Finding("ok", ", ".join(well))
    yield from ill


def _short(number: str) -> str:
    return ".".join(number.split(".")[:2])


def _bundle_version(ours: str) -> str | None:
    bundle = files("bread_nb") / "notebook" / "static" / "widget.js"
    if not bundle.is_file():
        return None
    text = bundle.read_text(encoding="utf-8")
    found = _BUNDLE.search(text)
    if found is not None:
        return found[1].rstrip(".")
    return ours if f'"{ours}"' in text else "of another version"


async def _store(bread: Examined) -> AsyncIterator[Finding]:
    place = str(getattr(bread.store, "place", "of its own"))
    try:
        waiting = len(await bread.store.query(RunRow, {"status": "waiting"}))
        broken_off = await bread.interrupted()
    except Exception as error:  # noqa: BLE001
        yield _unseen(error)
        return
    path = getattr(bread.store, "path", None)
    known = f", version {sql.VERSION}" if path is not None else ""
    waits = "1 run waits" if waiting == 1 else f"{waiting} runs wait"
    yield Finding("ok", f"store {place}{known}, {waits}")
    if isinstance(path, Path) and not _writable(path):
        mend = "make it writable, or set BREAD_STORE=sqlite:///another/place.db"
        yield Finding("bad", f"store {place} cannot be written", mend)
    if broken_off:
        names = ", ".join(row.handle for row in broken_off[:5])
        yield Finding("warn", f"interrupted: {names}", "bread recover")


def _writable(path: Path) -> bool:
    nearest = next(place for place in (path, *path.parents) if place.exists())
    return os.access(nearest, os.W_OK)


def _guarded_agents(
    bread: Examined, only: str | None
) -> tuple[dict[str, Agent], list[Finding]]:
    """The agents that can be run, and what is to be said of all."""
    agents: dict[str, Agent] = {}
    try:
        broken = bread.broken()
        for agent_id in [only] if only is not None else bread.agent_ids():
            if agent_id not in broken:
                agents[agent_id] = bread.agent(agent_id)
    except Exception as error:  # noqa: BLE001
        return agents, [_unseen(error)]
    wrong = [e for name, e in broken.items() if only in (None, name)]
    findings = [Finding("bad", _in_one(e), e.do) for e in wrong]
    if agents:
        count = "1 agent" if len(agents) == 1 else f"{len(agents)} agents"
        findings.insert(0, Finding("ok", f"{count}: {', '.join(agents)}"))
    elif not findings:
        none = Finding("warn", "no agents here", "bread new agent writer")
        findings.append(none)
    return agents, findings


def _providers_used(agents: Mapping[str, Agent]) -> dict[str, list[str]]:
    """The agents that need each built-in provider as it comes, key and all."""
    used: dict[str, list[str]] = {}
    for agent_id, agent in agents.items():
        model = agent.model
        if not isinstance(model, str | Model):
            continue
        if isinstance(model, Model) and (model.api_key or model.base_url):
            continue
        provider = split_name(agent.model_name)[0]
        if provider not in agent.providers:
            used.setdefault(_KEY_OF.get(provider, provider), []).append(agent_id)
    return used


def _keys(used: Mapping[str, list[str]]) -> Iterator[Finding]:
    for provider in _KEYED:
        name = variable(provider, "API_KEY")
        if os.environ.get(name, "").strip():
            yield Finding("ok", f"{name} is set")
        elif os.environ.get(variable(provider, "BASE_URL")):
            yield Finding("ok", f"{variable(provider, 'BASE_URL')} is set, no key")
        elif provider in used:
            who = ", ".join(used[provider])
            yield Finding("warn", f"{name} not set; {who} needs it", _key_mend())
        else:
            yield Finding("ok", f"{name} not set; no agent here needs it")


def _key_mend() -> str:
    there = weights.runtime_present() and weights.find() is not None
    state = "installed" if there else "bread local install"
    return f"export it, or use model local:{weights.MODEL} ({state})"


def _local(used: Mapping[str, list[str]]) -> Iterator[Finding]:
    found = weights.check()
    if found.ready:
        yield Finding("ok", f"local model {weights.MODEL} is installed")
        return
    steps = [] if found.runtime else ['pip install "bread-nb[local]"']
    if found.path is None:
        steps.append("bread local install")
        state = "is not installed"
    elif not found.sound:
        steps += ["bread local remove", "bread local install"]
        state = "is damaged"
    else:
        state = "has no runtime"
    needed = "local" in used or found.path is not None
    tail = f"; {', '.join(used['local'])} needs it" if "local" in used else ""
    what = f"local model {weights.MODEL} {state}{tail}"
    yield Finding("warn" if needed else "ok", what, ", then ".join(steps))


def _strangers(agents: Mapping[str, Agent], config: BreadConfig) -> Iterator[Finding]:
    """Agents whose model has a provider that nobody knows."""
    for agent_id, agent in agents.items():
        if not isinstance(agent.model, str | Model):
            continue
        known = known_providers(agent.providers, config.providers)
        provider = split_name(agent.model_name)[0]
        if provider not in known:
            what = f"{agent_id} asks for the provider {provider!r}, which is unknown"
            yield Finding("bad", what, f"use one of {', '.join(known)}")


def _front_end() -> Iterator[Finding]:
    """What the program that shows the notebook cannot do."""
    if "ipykernel" not in sys.modules:
        return
    for name, mark in (("VS Code", "VSCODE_"), ("Colab", "COLAB_")):
        if any(key.startswith(mark) for key in os.environ):
            what = f"{name} has no subshells: Stop works by interrupt"
            yield Finding("warn", what, "use the interrupt button to stop a cell")
