"""What can go wrong with a store, each with its evidence and its mend."""

from __future__ import annotations

from bread_nb.errors import BreadError

__all__ = [
    "check_key",
    "corrupt_entry",
    "corrupt_file",
    "corrupt_record",
    "locked",
    "newer",
    "taken",
    "unwritable",
]


def check_key(text: str) -> str:
    """`text` itself when it can be the key of something kept.

    Raises:
        BreadError: `INVALID_NAME` when it holds half a character.
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BreadError(
            f"{text!a} cannot be the id of anything that is kept.",
            code="INVALID_NAME",
            why="it holds half of a character (a lone surrogate).",
            do="use whole characters in ids and in the names of sessions",
        ) from None
    return text


def locked(place: str, seconds: float, holder: int | None) -> BreadError:
    """The store was held by somebody else for too long."""
    return BreadError(
        f"The store {place} is busy.",
        code="STORE_LOCKED",
        why=f"{'another process' if holder else 'something else'} has held the lock "
        f"for {seconds:g} s.",
        do=f"close pid {holder}"
        if holder
        else f"close the other programs that use {place}, then try again",
        retryable=True,
        context={"pid": holder},
    )


def newer(place: str, version: int, known: int) -> BreadError:
    """The store was written by a newer version of this package."""
    return BreadError(
        f"The store {place} is newer than this package.",
        code="STORE_NEWER",
        why=f"store version {version}, package knows {known}.",
        do="pip install -U bread-nb. Nothing was changed",
        context={"store": version, "package": known},
    )


def unwritable(place: str, why: str) -> BreadError:
    """The store is in a place that cannot be written."""
    folder = place.rpartition("/")[0] or "."
    return BreadError(
        f"The store {place} cannot be written.",
        code="STORE_UNWRITABLE",
        why=f"{why}.",
        do=f"make {folder} and the files in it writable, with room on the disk, "
        "or set BREAD_STORE=sqlite:///another/place.db (or memory:)",
    )


def corrupt_file(place: str, why: str) -> BreadError:
    """The file is no store, or no longer one."""
    return BreadError(
        f"The store {place} cannot be read.",
        code="STORE_CORRUPT",
        why=f"{why}.",
        do=f"put a good copy in its place, or begin anew: mv {place} {place}.broken",
    )


def corrupt_record(place: str, kind: str, id: str, why: str) -> BreadError:
    """A record that does not parse."""
    return BreadError(
        f"The {kind} {id!r} in the store {place} cannot be read.",
        code="STORE_CORRUPT",
        why=f"{why}.",
        do="put a good copy of the store in its place, or forget the row: "
        f"DELETE FROM record WHERE kind = {_quoted(kind)} AND id = {_quoted(id)}",
        context={"kind": kind, "id": id},
    )


def corrupt_entry(place: str, log: str, seq: int) -> BreadError:
    """An entry of a log that does not parse."""
    return BreadError(
        f"Entry {seq} of {log!r} in the store {place} cannot be read.",
        code="STORE_CORRUPT",
        why="it is not JSON.",
        do="put a good copy of the store in its place, or forget the row: "
        f"DELETE FROM log WHERE log = {_quoted(log)} AND seq = {seq}",
        context={"log": log, "seq": seq},
    )


def taken(log: str, first: int) -> BreadError:
    """Entries were to be put where others are."""
    return BreadError(
        f"The log {log!r} has other entries from number {first} on.",
        code="STORE_CONFLICT",
        why="somebody else has added to it in the meantime.",
        do="read the log again and add after its last entry",
        retryable=True,
        context={"log": log, "seq": first},
    )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
