"""What is in order here and what is not, each with its mend; nothing is changed."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import ClassVar, Protocol, cast

from bread_nb.errors import BreadError
from bread_nb.messages import Usage
from bread_nb.project.config import BreadConfig
from bread_nb.project.idle_rules import idle_rules
from bread_nb.project.reserved import why_hidden
from bread_nb.project.surroundings import Finding, front_end, installation, packages
from bread_nb.providers import weights
from bread_nb.providers.catalog import known_providers, resolve
from bread_nb.providers.deck import Deck
from bread_nb.providers.faults import variable
from bread_nb.providers.keys import WHOLE, wrong_with
from bread_nb.providers.model import Model, UsageReport, split_name
from bread_nb.providers.prices import Called, price
from bread_nb.providers.reach import REACHABLE
from bread_nb.providers.reach import reach as reach_service
from bread_nb.providers.shelf import cassettes, read_lines
from bread_nb.runtime.agent import Agent
from bread_nb.stores import sql
from bread_nb.stores.blobs import BlobStore
from bread_nb.stores.records import RunRow
from bread_nb.stores.store import Store

__all__ = ["Examined", "Finding", "examine", "report"]

_KEYED = ("anthropic", "gemini", "openai")
_PROBE = 65_536
_KEY_OF = {"responses": "openai"}


class Examined(Protocol):
    """What the doctor looks at: an instance of Bread."""

    @property
    def root(self) -> Path: ...
    @property
    def config(self) -> BreadConfig: ...
    @property
    def store(self) -> Store: ...
    @property
    def blob_store(self) -> BlobStore | None: ...

    common_deck: ClassVar[Deck | None]

    def agent_ids(self) -> list[str]: ...
    def agent(self, agent_id: str) -> Agent: ...
    def broken(self) -> dict[str, BreadError]: ...
    async def interrupted(self) -> list[RunRow]: ...


async def examine(
    bread: Examined, agent: str | None = None, *, reach: bool = False
) -> list[Finding]:
    """Look at everything that a run needs; it never raises.

    Args:
        bread: The instance to look at.
        agent: Only what this agent needs.
        reach: Whether to ask the services too, over the network.
    """
    agents, found = _guarded_agents(bread, agent)
    models = _guarded_models(agents, bread.config)
    used = _providers_used(models)
    return [
        *_guarded(installation),
        *_guarded(packages),
        *await _store(bread),
        *_guarded(lambda: _files(bread)),
        *_guarded(lambda: _keys(used)),
        *_guarded(lambda: _local(used)),
        *_guarded(lambda: _recordings(bread.common_deck or Deck())),
        *found,
        *_guarded(lambda: _strangers(models)),
        *_guarded(lambda: _programs(models)),
        *await _unpriced(models, bread.config),
        *(await _reached(models) if reach else []),
        *_guarded(front_end),
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


async def _store(bread: Examined) -> list[Finding]:
    path = getattr(bread.store, "path", None)
    place = str(getattr(bread.store, "place", "of its own"))
    try:
        if isinstance(path, Path) and (why := _no_room(path)):
            return [_unwritable(f"store {place}", why)]
        waiting = len(await bread.store.query(RunRow, {"status": "waiting"}))
        broken_off = await bread.interrupted()
    except Exception as error:  # noqa: BLE001
        return [_unseen(error)]
    known = f", version {sql.VERSION}" if path is not None else ""
    waits = "1 run waits" if waiting == 1 else f"{waiting} runs wait"
    found = [Finding("ok", f"store {place}{known}, {waits}")]
    if broken_off:
        names = ", ".join(row.handle for row in broken_off[:5])
        found.append(Finding("warn", f"interrupted: {names}", "bread recover"))
    return found


def _files(bread: Examined) -> Iterator[Finding]:
    """Whether files can be kept; nothing is said where they can."""
    folder = getattr(bread.blob_store, "folder", None)
    if isinstance(folder, Path) and (why := _no_room(folder / "file")):
        yield _unwritable(f"files {folder.parent.name}/{folder.name}", why)


def _unwritable(what: str, why: str) -> Finding:
    elsewhere = "BREAD_STORE=sqlite:///another/place.db"
    mend = f"make it writable, with room on the disk, or set {elsewhere}"
    return Finding("bad", f"{what} cannot be written: {why}", mend)


def _no_room(path: Path) -> str | None:
    """Why a file cannot be written or made; None when it can."""
    if path.is_dir():
        return f"{path.name} is a folder"
    if path.exists() and not os.access(path, os.W_OK):
        return f"{path.name} is read-only"
    nearest = next(place for place in path.parents if place.exists())
    if not nearest.is_dir():
        return f"{nearest.name} is a file and no folder"
    if not os.access(nearest, os.W_OK | os.X_OK):
        return f"the folder {nearest.name or nearest} is read-only"
    return _refused(nearest)


def _refused(folder: Path) -> str | None:
    """Why a folder takes no file, found out with one that has no name and is gone."""
    try:
        with TemporaryFile(dir=folder) as file:
            file.write(bytes(_PROBE))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        told = "" if error.errno == errno.ENOENT else f": {error.strerror}"
        return f"{folder.name or folder} takes no files{told}"
    return None


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
    return agents, findings + [
        Finding("warn", f"{name}: {why}", f"mv agents/{name} agents/my_{name}")
        for name in agents
        if (why := why_hidden(name))
    ] + [
        Finding("warn", f"{name}: {rule.what}", rule.do)
        for name, agent in agents.items()
        for rule in idle_rules(agent)
    ]


def _guarded_models(
    agents: Mapping[str, Agent], config: BreadConfig
) -> dict[str, list[Model]]:
    """The models of built-in providers that each agent names, those inside others too.

    What a factory of the agent or the project makes is its own affair.
    """
    found: dict[str, list[Model]] = {}
    for agent_id, agent in agents.items():
        made = {*agent.providers, *(config.providers or ())}
        with suppress(BreadError):
            named = list(_named(agent.model))
            found[agent_id] = [m for m in named if split_name(m.name)[0] not in made]
    return found


def _named(model: object) -> Iterator[Model]:
    """The models that are described somewhere in a model."""
    if isinstance(model, str):
        model = Model(model)
    described = model if isinstance(model, Model) else getattr(model, "described", None)
    if isinstance(described, Model):
        yield described
        return
    several: object = getattr(model, "models", None)
    if isinstance(several, tuple):
        for each in cast("tuple[object, ...]", several):
            yield from _named(each)
    elif (inner := getattr(model, "inner", None)) is not None:
        yield from _named(inner)


def _providers_used(models: Mapping[str, list[Model]]) -> dict[str, list[str]]:
    """The agents that need each built-in provider as it comes, key and all."""
    used: dict[str, list[str]] = {}
    for agent_id, described in models.items():
        for model in described:
            if model.api_key or model.base_url or model.client is not None:
                continue
            provider = split_name(model.name)[0]
            needs = used.setdefault(_KEY_OF.get(provider, provider), [])
            if agent_id not in needs:
                needs.append(agent_id)
    return used


def _keys(used: Mapping[str, list[str]]) -> Iterator[Finding]:
    for provider in _KEYED:
        name = variable(provider, "API_KEY")
        key = os.environ.get(name, "").strip()
        place = variable(provider, "BASE_URL")
        base_url = os.environ.get(place)
        if base_url and (wrong := wrong_with(base_url)):
            yield Finding("bad", f"{place} {wrong}", f"{place}={WHOLE}")
        if key and not (key.isascii() and key.isprintable() and " " not in key):
            mend = f"set {name} again, without quotes and line ends"
            yield Finding("bad", f"{name} holds characters that no key has", mend)
        elif key:
            yield Finding("ok", f"{name} is set")
        elif base_url:
            yield Finding("ok", f"{place} is set, no key")
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


def _recordings(deck: Deck) -> Iterator[Finding]:
    """How models are called here, and what recordings there are."""
    mode = deck.mode
    kept = cassettes(Path.cwd())
    lines = sum(len(read_lines(path)) for path in kept)
    files = "1 cassette" if len(kept) == 1 else f"{len(kept)} cassettes"
    recorded = f"{files} here with {lines} recordings" if kept else "no cassettes here"
    said = f", said by {mode.said_by}" if mode.said_by else ""
    if mode.name == "replay" and not kept:
        mend = "record here, or set BREAD_MODE=live"
        yield Finding("warn", f"mode replay{said}: {recorded}", mend)
    else:
        yield Finding("ok", f"mode {mode.name}{said}, {recorded}")


def _strangers(models: Mapping[str, list[Model]]) -> Iterator[Finding]:
    """Agents whose model has a provider that nobody knows."""
    known = known_providers()
    for agent_id, described in models.items():
        for provider in {split_name(model.name)[0] for model in described}:
            if provider not in known:
                what = (
                    f"{agent_id} asks for the provider {provider!r}, which is unknown"
                )
                yield Finding("bad", what, f"use one of {', '.join(known)}")


def _programs(models: Mapping[str, list[Model]]) -> Iterator[Finding]:
    """Whether the command-line programs that serve as models are there."""
    wanted: dict[str, list[str]] = {}
    for agent_id, described in models.items():
        for provider, command in (split_name(model.name) for model in described):
            if provider == "clipipe" and (words := command.split()):
                wanted.setdefault(words[0].strip("'\""), []).append(agent_id)
    for program, needs in wanted.items():
        if shutil.which(program):
            yield Finding("ok", f"the program {program} is there")
        else:
            what = f"no program {program} on the PATH; {', '.join(needs)} needs it"
            yield Finding("bad", what, "install it, or name it with its whole path")


async def _unpriced(
    models: Mapping[str, list[Model]], config: BreadConfig
) -> list[Finding]:
    """The models whose calls nobody has a price for."""
    named = {m.name: m for described in models.values() for m in described}
    report = UsageReport(Usage(input=1, output=1))
    unknown: list[str] = []
    try:
        for name, model in named.items():
            if split_name(name)[0] in (*_KEYED, *_KEY_OF):
                called = Called(model=resolve(model), name=name, report=report)
                if await price(called, config.rates) is None:
                    unknown.append(name)
    except Exception as error:  # noqa: BLE001
        return [_unseen(error)]
    mend = "Model(…, rates=Rates(input=…, output=…)), in US dollars a million tokens"
    words = "no price is known of {}: what it costs reads unknown"
    return [Finding("ok", words.format(name), mend) for name in unknown]


async def _reached(models: Mapping[str, list[Model]]) -> list[Finding]:
    """What the services say when they are asked, each once."""
    asked: dict[tuple[str | None, ...], Model] = {}
    for model in (model for described in models.values() for model in described):
        if split_name(model.name)[0] in REACHABLE:
            asked.setdefault((model.name, model.base_url, model.api_key), model)
    if not asked:
        return [Finding("ok", "no agent here asks a service over the network")]
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_asked(model)) for model in asked.values()]
    except Exception as error:  # noqa: BLE001
        return [_unseen(error)]
    return [task.result() for task in tasks]


async def _asked(model: Model) -> Finding:
    try:
        found = await reach_service(model)
    except Exception as error:  # noqa: BLE001
        return _unseen(error)
    level = "ok" if found.well else "warn" if found.answers else "bad"
    return Finding(level, found.what, found.do)
