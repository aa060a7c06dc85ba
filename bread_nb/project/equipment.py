"""What all runs of one project share, made of its configuration."""

from __future__ import annotations

from pathlib import Path

from bread_nb.base.redact import Redactor, environment_secrets
from bread_nb.project.config import BreadConfig, store_url
from bread_nb.providers.catalog import Catalog
from bread_nb.providers.deck import Deck
from bread_nb.runtime.leases import Owner
from bread_nb.runtime.listeners import Listeners
from bread_nb.runtime.scope import Kit
from bread_nb.stores.blobs import FolderBlobs
from bread_nb.stores.opening import open_store
from bread_nb.stores.store import Store

__all__ = ["equip"]


def equip(
    config: BreadConfig,
    root: Path,
    listeners: Listeners,
    store: Store | str | None,
    *,
    deck: Deck | None = None,
) -> Kit:
    """The kit of a project.

    Args:
        config: The project's configuration.
        root: The project's folder.
        listeners: Who is told of crumbs and faults.
        store: A store or its address, in place of the configured one.
        deck: The recordings of this process, and the mode.

    Raises:
        BreadError: For a store that cannot be opened.
    """
    deck = deck or Deck()
    where = store_url(root, config.store) if store is None else store
    if store is None and deck.fresh_store:
        where = "memory:"
    redactor = Redactor(environment_secrets())
    return Kit(
        store=open_store(where, root) if isinstance(where, str) else where,
        owner=Owner(),
        redactor=redactor,
        fault=listeners.fault,
        publish=listeners.publish,
        blob_store=config.blob_store or FolderBlobs(root / ".bread" / "blobs"),
        catalog=Catalog(
            config.providers,
            deck=deck,
            redactor=redactor,
            rates=config.rates,
            root=root,
        ),
        hooks=tuple(filter(None, [config.hooks])),
        credential_sources=tuple(filter(None, [config.credentials])),
        error_handling=config.error_handling,
        ask_timeout=config.ask_timeout,
    )
