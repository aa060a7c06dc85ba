"""Stores by their address, as `BREAD_STORE` and the project's configuration say it."""

from __future__ import annotations

from pathlib import Path

from bread_nb.errors import BreadError, closest
from bread_nb.stores.in_memory import InMemoryStore
from bread_nb.stores.sqlite import SqliteStore
from bread_nb.stores.store import Store

__all__ = ["DEFAULT_STORE", "open_store"]

DEFAULT_STORE = "sqlite:///.bread/bread.db"

_POSTGRES = ("postgres", "postgresql")


def open_store(url: str, root: Path) -> Store:
    """The store at an address; nothing is opened before its first verb.

    Args:
        url: `sqlite:///path`, from `root` on unless the path is absolute, or `memory:`.
        root: The project's folder.

    Raises:
        BreadError: `INVALID_STORE`, or `NOT_AVAILABLE` for a kind that is to come.
    """
    scheme, colon, rest = url.strip().partition(":")
    if scheme == "memory" and colon and not rest.strip("/"):
        return InMemoryStore()
    if scheme.partition("+")[0] in _POSTGRES:
        raise BreadError(
            "Stores in Postgres are not available yet.",
            code="NOT_AVAILABLE",
            why=f"the address begins with {scheme}:",
            do=f"BREAD_STORE={DEFAULT_STORE}",
        )
    if scheme != "sqlite" or not colon:
        raise _bad(url, _wrong_scheme(scheme, colon))
    if not rest.startswith("///"):
        raise _bad(url, "three slashes come before the path, four before one from /")
    path = rest.removeprefix("///")
    if path == ":memory:":
        raise _bad(url, "a store without a file is memory:", do="BREAD_STORE=memory:")
    if not path or path.endswith("/") or "\0" in path:
        raise _bad(url, "it names no file")
    return SqliteStore(root / Path(path).expanduser(), root=root)


def _wrong_scheme(scheme: str, colon: str) -> str:
    near = closest(scheme, ["sqlite", "memory", "postgresql"]) if colon else None
    hint = f"; did you mean {near}:" if near else ""
    return f"a store's address begins with sqlite:///, or is memory:{hint}"


def _bad(url: str, why: str, do: str = "") -> BreadError:
    # Whatever follows the scheme may hold a password.
    head, mark, _ = url.partition("://")
    shown = f"{head}://…" if mark and not head.startswith("sqlite") else url
    return BreadError(
        f"{shown!r} is not the address of a store.",
        code="INVALID_STORE",
        why=f"{why}.",
        do=do or f"BREAD_STORE={DEFAULT_STORE}",
    )
