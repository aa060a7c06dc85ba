"""The one thing passed down: `Kit`, what all runs share, and `Scope`, one run's share.

A scope knows ids and resources and nothing of agents; `runnables` maps names to
whatever a name can run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from bread_nb.base.redact import Redactor
from bread_nb.crumbs import Crumb, HumanRequired
from bread_nb.governance.gate import Gate
from bread_nb.providers.catalog import Catalog
from bread_nb.providers.model import ChatModel, Model
from bread_nb.runtime.histories import Histories
from bread_nb.runtime.leases import Owner
from bread_nb.runtime.numbers import Numbers
from bread_nb.runtime.stream import CrumbStream
from bread_nb.stores.blobs import BlobStore
from bread_nb.stores.store import Store
from bread_nb.tools.credentials import CredentialSource
from bread_nb.tools.lifecycle import ErrorHandling, Hooks

__all__ = ["Kit", "Scope"]


@dataclass(slots=True, kw_only=True)
class Kit:
    """What a Bread instance lends to all its runs.

    `fault(error, source)` takes the faults of listeners, sinks and callbacks, which
    never end a run. `publish(crumb)` reaches the listeners. `streams` holds the crumb
    stream of every run that is being worked on in this process, `models` the models
    that were handed over for a run and have no name to find them by.
    """

    store: Store
    owner: Owner
    redactor: Redactor
    fault: Callable[[BaseException, str], None]
    publish: Callable[[Crumb], None]
    blob_store: BlobStore | None = None
    gate: Gate = field(default_factory=Gate)
    catalog: Catalog = field(default_factory=Catalog)
    hooks: Sequence[Hooks] = ()
    credential_sources: Sequence[CredentialSource] = ()
    error_handling: ErrorHandling | None = None
    ask_timeout: float | None = None
    streams: dict[str, CrumbStream] = field(default_factory=dict[str, CrumbStream])
    histories: Histories = field(default_factory=Histories)
    models: dict[str, Model | ChatModel] = field(
        default_factory=dict[str, "Model | ChatModel"]
    )
    numbers: Numbers = field(default_factory=Numbers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """One run's share of the kit: its ids, its stream, its opaque data."""

    kit: Kit
    agent_id: str
    run_id: str
    session_id: str
    stream: CrumbStream
    ctx: object = None
    skill: str | None = None
    hooks: Hooks | None = None
    on_human_required: Callable[[HumanRequired], object] | None = None

    @property
    def store(self) -> Store:
        """Where the run is kept."""
        return self.kit.store

    def emit(self, kind: type[Crumb], /, **fields: object) -> Crumb:
        """Drop a crumb of this run."""
        return self.stream.emit(kind, **fields)

    def child(self, **changes: object) -> Scope:
        """A scope of the same kit with other values for some fields."""
        return replace(self, **changes)  # type: ignore[arg-type]
