"""Where a project is and how it is set up: `bread_config.py`, `BREAD_*` variables."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import cast

from bread_nb.base.redact import Redactor, environment_secrets
from bread_nb.crumbs import Crumb
from bread_nb.errors import BreadError, not_yet
from bread_nb.project.borders import USER_FAULTS, open_border
from bread_nb.project.mending import Place, Trouble, diagnose, trouble
from bread_nb.providers.catalog import Factory
from bread_nb.providers.rates import Rates
from bread_nb.stores.blobs import BlobStore
from bread_nb.stores.store import Store
from bread_nb.tools.credentials import CredentialSource
from bread_nb.tools.lifecycle import ErrorHandling, Hooks

__all__ = ["CONFIG_FILE", "BreadConfig", "find_project", "load_config", "store_url"]

CONFIG_FILE = "bread_config.py"

_MODULE = "_bread_config"
_LATER = ("pipelines", "plugins", "gate", "remote_agents")


@dataclass(frozen=True, kw_only=True)
class BreadConfig:
    """How a project is set up; every field may be left out.

    Args:
        entrypoints: The ids of the agents to load; all folders by default.
        store: The address of the store, such as `sqlite:///runs.db`, or a store.
        blob_store: Where files are kept; `.bread/blobs` by default.
        providers: Factories by provider name, before the built-in ones.
        rates: What models cost, by `provider:model`, before any price table.
        hooks: Hooks of every run, task and tool call.
        credentials: Called with a name, gives the secret or None.
        concurrency: How many runs may be under way at once.
        error_handling: Retry for agents that say nothing of it themselves.
        crumb_filter: A crumb for which it returns False is not sent to sinks.
        ask_timeout: Seconds after which a question counts as refused; 0 is never.

    Raises:
        BreadError: `INVALID_CONFIG`, or `NOT_AVAILABLE` for a field whose capability
            has not come yet.
    """

    entrypoints: Sequence[str] | None = None
    store: str | Store | None = None
    blob_store: BlobStore | None = None
    providers: Mapping[str, Factory] = field(default_factory=dict[str, Factory])
    rates: Mapping[str, Rates] = field(default_factory=dict[str, Rates])
    pipelines: Mapping[str, object] = field(default_factory=dict[str, object])
    plugins: Sequence[object] = ()
    hooks: Hooks | None = None
    gate: object = None
    credentials: CredentialSource | None = None
    concurrency: int | None = None
    remote_agents: Mapping[str, object] = field(default_factory=dict[str, object])
    error_handling: ErrorHandling | None = None
    crumb_filter: Callable[[Crumb], bool] | None = None
    ask_timeout: float | None = None

    def __post_init__(self) -> None:
        for name in _LATER:
            if getattr(self, name):
                raise not_yet("BreadConfig", name)
        for name, fits, wanted in _RULES:
            value: object = getattr(self, name)
            if value is not None and not fits(value):
                # In place of a function the secrets themselves may stand there.
                secret = name == "credentials"
                shown = f"a {type(value).__name__}" if secret else repr(value)
                raise _unusable(f"{name} is {shown}", wanted)
        if self.ask_timeout in (0, math.inf):
            object.__setattr__(self, "ask_timeout", None)


def _names(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _address_or_store(value: object) -> bool:
    return isinstance(value, str) or hasattr(value, "atomic")


def _factories(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    return all(map(callable, cast("Mapping[str, object]", value).values()))


def _rates(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    known = cast("Mapping[object, object]", value).items()
    return all(":" in str(name) and isinstance(rate, Rates) for name, rate in known)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _seconds(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


_RULES: tuple[tuple[str, Callable[[object], bool], str], ...] = (
    ("entrypoints", _names, 'entrypoints=["writer"]'),
    ("store", _address_or_store, 'store="sqlite:///.bread/bread.db"'),
    ("providers", _factories, 'providers={"mine": lambda model_id: ...}'),
    ("rates", _rates, 'rates={"openai:my-model": Rates(input=2, output=10)}'),
    ("hooks", lambda value: isinstance(value, Hooks), "hooks=Hooks(before_run=...)"),
    ("credentials", callable, "credentials=os.environ.get"),
    ("concurrency", _whole, "concurrency=4"),
    (
        "error_handling",
        lambda value: isinstance(value, ErrorHandling),
        "error_handling=ErrorHandling(retry=RetryPolicy(attempts=3))",
    ),
    ("crumb_filter", callable, 'crumb_filter=lambda crumb: crumb.type != "text:delta"'),
    ("ask_timeout", _seconds, "ask_timeout=600"),
)


def _unusable(why: str, do: str) -> BreadError:
    return BreadError(
        "This configuration cannot be used.",
        code="INVALID_CONFIG",
        why=f"{why}.",
        do=f"for example {do}",
    )


def find_project(start: Path) -> Path | None:
    """The project around `start`: the first folder upwards with agents or settings.

    `BREAD_PROJECT` overrides the search.

    Raises:
        BreadError: `PROJECT_NOT_FOUND` when `BREAD_PROJECT` names no project.
    """
    named = os.environ.get("BREAD_PROJECT")
    if named:
        return _named_project(Path(named).expanduser().absolute(), named)
    here = start.expanduser().resolve()
    return next((place for place in (here, *here.parents) if _is_project(place)), None)


def _is_project(place: Path) -> bool:
    return (place / CONFIG_FILE).is_file() or (place / "agents").is_dir()


def _named_project(place: Path, named: str) -> Path:
    if _is_project(place):
        return place.resolve()
    there = place.is_dir()
    why = f"{named} has no {CONFIG_FILE} and no agents/" if there else "no such folder"
    raise BreadError(
        f"BREAD_PROJECT names no project: {named}.",
        code="PROJECT_NOT_FOUND",
        why=f"{why}.",
        do="unset BREAD_PROJECT, or set it to the folder that holds agents/",
    )


def load_config(root: Path) -> BreadConfig:
    """The `config` of the project's `bread_config.py`; the defaults without one.

    Raises:
        BreadError: `CONFIG_BROKEN`, naming file, line and mend.
    """
    path = root / CONFIG_FILE
    if not path.is_file():
        return BreadConfig()
    module = ModuleType(_MODULE)
    module.__file__ = str(path)
    sys.modules[_MODULE] = module
    place = Place(root=root, folder=root, file=CONFIG_FILE)
    try:
        source = path.read_bytes()
        with open_border(root):
            exec(compile(source, str(path), "exec", dont_inherit=True), vars(module))
    except USER_FAULTS as error:
        raise _broken(diagnose(error, place)) from error
    config: object = getattr(module, "config", None)
    if isinstance(config, BreadConfig):
        return config
    why = "there is no `config` in it"
    if hasattr(module, "config"):
        why = f"config is a {type(config).__name__}, not a BreadConfig"
    found = trouble(place, "has no configuration", why)
    raise _broken(replace(found, mend="write config = BreadConfig(...)"))


def _broken(found: Trouble) -> BreadError:
    return BreadError(
        found.what,
        code="CONFIG_BROKEN",
        why=Redactor(environment_secrets()).text(found.why),
        do=f"{found.mend}; nothing runs in this project before",
        context={"file": found.file, "line": found.line},
    )


def store_url(root: Path, configured: str | Store | None = None) -> str | Store:
    """The project's store: `BREAD_STORE`, the configured one, or else its own file."""
    named = os.environ.get("BREAD_STORE")
    if named:
        return named
    return configured or f"sqlite:///{root.absolute()}/.bread/bread.db"
