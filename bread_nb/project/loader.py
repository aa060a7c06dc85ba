"""`agents/<id>/` as an `Agent`, read again whenever its content has changed.

A broken agent is one error that names file, line and mend. It cannot be run, least of
all in an older version, and the other agents are not touched by it.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path

from bread_nb.base.ids import now_ms
from bread_nb.base.names import check_name
from bread_nb.base.redact import Redactor, environment_secrets
from bread_nb.errors import BreadError, closest
from bread_nb.project.borders import USER_FAULTS, Helpers
from bread_nb.project.folder_tools import tool_files, with_folder_tools
from bread_nb.project.mending import Place, Trouble, diagnose, trouble
from bread_nb.project.reserved import why_hidden
from bread_nb.project.snapshots import Package, Snapshot, take_snapshot
from bread_nb.runtime.agent import Agent
from bread_nb.stores.records import Definition

__all__ = ["AgentFolder", "Loaded", "unknown_agent"]

_AGENT = "agent.py"
_PROMPT = "prompt.md"
_SKILLS = "skills/*/SKILL.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """An agent from a folder, and the files it was made of."""

    id: str
    agent: Agent
    definition: Definition


@dataclass(frozen=True, slots=True)
class _Version:
    """One content of one agent's folder, loaded."""

    package: Package
    loaded: Loaded


class _Broken(Exception):
    """An agent that cannot be loaded, before the other agents have been asked."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.what)
        self.trouble = trouble


class AgentFolder:
    """The agents of a project. All methods may be called from any thread.

    Args:
        root: The project's folder.
        entrypoints: The ids to load; all folders with an `agent.py` by default.
    """

    def __init__(self, root: Path, entrypoints: Sequence[str] | None = None) -> None:
        self._root = root.absolute()
        self._home = self._root / "agents"
        self._entrypoints = entrypoints
        self._versions: dict[str, _Version] = {}
        self._told: dict[str, Snapshot] = {}
        self._helpers = Helpers(self._root)
        self._gate = threading.RLock()

    def ids(self) -> list[str]:
        """The folders with an `agent.py`, broken ones included, in order."""
        wanted = self._entrypoints
        return sorted(n for n in self._folders() if wanted is None or n in wanted)

    def load(self, agent_id: str) -> Loaded:
        """An agent as its files are now.

        Raises:
            BreadError: `AGENT_NOT_FOUND`, `INVALID_NAME`, or `AGENT_BROKEN` naming
                file, line and mend.
        """
        with self._gate:
            ids = self.ids()
            if agent_id not in ids:
                broken = [n for n in ids if not isinstance(self._try(n), Loaded)]
                raise unknown_agent(agent_id, ids, broken)
            found = self._try(agent_id)
            if isinstance(found, Loaded):
                return found
            others = [self._try(name) for name in ids if name != agent_id]
            raise _error(agent_id, found, others)

    def problems(self) -> dict[str, BreadError]:
        """What is wrong with the agents that cannot be loaded, by id."""
        with self._gate:
            tried = {agent_id: self._try(agent_id) for agent_id in self.ids()}
            missing = sorted(set(self._entrypoints or ()) - set(self._folders()))
        found: dict[str, BreadError] = {}
        for agent_id, result in tried.items():
            if not isinstance(result, Loaded):
                others = [r for name, r in tried.items() if name != agent_id]
                found[agent_id] = _error(agent_id, result, others)
        return found | {name: _no_folder(name) for name in missing}

    def changed(self, agent_id: str) -> list[str]:
        """The files of an agent that changed since this was last asked."""
        with self._gate:
            version = self._versions.get(agent_id)
            if version is None:
                return []
            now = version.package.snapshot
            before, self._told[agent_id] = self._told[agent_id], now
            return now.changes_from(before)

    def reload(self) -> None:
        """Forget all loaded code, helpers outside the agents' folders included."""
        with self._gate:
            versions, self._versions = self._versions, {}
            for version in versions.values():
                version.package.drop()
            self._helpers.forget()

    def _folders(self) -> list[str]:
        if not self._home.is_dir():
            return []
        return [
            place.name
            for place in self._home.iterdir()
            if not place.name.startswith((".", "_")) and (place / _AGENT).is_file()
        ]

    def _try(self, agent_id: str) -> Loaded | Trouble | BreadError:
        try:
            check_name(agent_id, "agent")
            return self._load(agent_id)
        except _Broken as broken:
            return broken.trouble
        except BreadError as error:
            error.do = f"{error.do} (the folder agents/{agent_id})"
            return error

    def _load(self, agent_id: str) -> Loaded:
        folder = self._home / agent_id
        place = Place(root=self._root, folder=folder, file=_AGENT)
        try:
            snapshot = take_snapshot(folder)
        except OSError as error:
            raise _Broken(_unreadable(error, place)) from error
        known = self._versions.get(agent_id)
        if known is not None and known.loaded.definition.id == snapshot.digest:
            return known.loaded
        if known is not None:
            del self._versions[agent_id]
            known.package.drop()
        version = self._read(agent_id, snapshot, place)
        self._versions[agent_id] = version
        self._told.setdefault(agent_id, snapshot)
        return version.loaded

    def _read(self, agent_id: str, snapshot: Snapshot, place: Place) -> _Version:
        package = Package(snapshot)
        place = replace(place, package=package.name)
        try:
            with self._helpers.watched():
                agent = _agent_of(package, place)
        except _Broken:
            package.drop()
            raise
        except USER_FAULTS as error:
            package.drop()
            raise _Broken(diagnose(error, place)) from error
        definition = _definition(agent_id, snapshot)
        loaded = Loaded(id=agent_id, agent=agent, definition=definition)
        return _Version(package, loaded)


def _error(
    agent_id: str,
    found: Trouble | BreadError,
    others: Sequence[Loaded | Trouble | BreadError],
) -> BreadError:
    if isinstance(found, BreadError):
        return found
    redact = Redactor(environment_secrets()).text
    return BreadError(
        redact(found.what),
        code="AGENT_BROKEN",
        why=redact(found.why),
        do=f"{redact(found.mend)}; the next run reads it again{_unharmed(others)}",
        context={"agent_id": agent_id, "file": found.file, "line": found.line},
    )


def _unharmed(others: Sequence[object]) -> str:
    """How many of the other agents work, as a sentence; nothing when none does."""
    working = sum(isinstance(other, Loaded) for other in others)
    if not working:
        return ""
    if working < len(others):
        return f". {working} other agent{' works' if working == 1 else 's work'}"
    return (
        ". The other agent works"
        if working == 1
        else (f". The other {working} agents work")
    )


def _agent_of(package: Package, place: Place) -> Agent:
    module = package.load("agent")
    found: object = getattr(module, "agent", None)
    if not isinstance(found, Agent):
        raise _Broken(_no_agent(vars(module), found, place))
    agent = found
    if agent.prompt is None and _PROMPT in package.snapshot.texts:
        try:
            prompt = package.snapshot.text(_PROMPT)
        except UnicodeDecodeError as error:
            there = replace(place, file=_PROMPT)
            raise _Broken(trouble(there, "is not UTF-8 text", f"{error}")) from error
        agent = replace(agent, prompt=prompt if prompt.strip() else "")
    return with_folder_tools(agent, package)


def _definition(agent_id: str, snapshot: Snapshot) -> Definition:
    """The files that make the agent, without the secrets that stand in them."""
    redact = Redactor(environment_secrets()).text
    return Definition(
        id=snapshot.digest,
        agent_id=agent_id,
        created_at=now_ms(),
        files={
            name: redact(snapshot.texts[name].decode("utf-8", "replace"))
            for name in _defining(snapshot)
        },
    )


def _defining(snapshot: Snapshot) -> Iterator[str]:
    yield _AGENT
    if _PROMPT in snapshot.texts:
        yield _PROMPT
    yield from tool_files(snapshot)
    yield from (n for n in sorted(snapshot.texts) if fnmatch(n, _SKILLS))


def _no_agent(names: dict[str, object], found: object, place: Place) -> Trouble:
    others = [n for n, value in names.items() if isinstance(value, Agent)]
    if found is not None:
        why = f"`agent` is a {type(found).__name__}, not an Agent"
    elif others:
        why = f"its Agent is called {others[0]}"
    else:
        why = "there is no `agent` in it"
    mend = (
        f"name it agent in {_AGENT}"
        if others
        else f"write agent = Agent(...) in {_AGENT}"
    )
    return replace(trouble(place, "has no agent", why), mend=mend)


def _unreadable(error: OSError, place: Place) -> Trouble:
    file = Path(str(error.filename)) if error.filename else place.folder
    there = replace(place, file=str(file))
    return trouble(there, "cannot be read", error.strerror or type(error).__name__)


def _no_folder(agent_id: str) -> BreadError:
    return BreadError(
        f"bread_config.py names the agent {agent_id!r}, and there is none.",
        code="AGENT_NOT_FOUND",
        why=f"there is no agents/{agent_id}/{_AGENT}.",
        do=f"take it out of entrypoints, or: bread new agent {agent_id}",
        context={"agent_id": agent_id},
    )


def unknown_agent(
    agent_id: str, known: Sequence[str], broken: Collection[str] = ()
) -> BreadError:
    """The error for an agent that is not there, with the nearest that can run."""
    working = [n for n in known if n not in broken and not why_hidden(n)]
    near = closest(agent_id, working)
    if known:
        named = [f"{n} (broken)" if n in broken else n for n in known]
        why = f"agents/ has {', '.join(named)}."
        do = f"%%bread {near or working[0]}" if working else "%bread doctor"
    else:
        why = "there are no agents here."
        do = f"bread new agent {agent_id if agent_id.isidentifier() else 'writer'}"
    return BreadError(
        f"No agent called {agent_id!r}.",
        code="AGENT_NOT_FOUND",
        why=why,
        do=do,
        context={"agent_id": agent_id, "known": list(known)},
    )
