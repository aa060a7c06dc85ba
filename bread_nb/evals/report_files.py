"""The files that reports are written to."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from bread_nb.errors import BreadError

__all__ = ["make_ready", "write_whole"]


def make_ready(path: Path) -> None:
    """Make sure that a report can be written there; what is there stays as it is.

    Raises:
        BreadError: `REPORT_UNWRITABLE`.
    """
    with _writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        new = not path.exists()
        path.open("ab").close()
        if new:
            path.unlink()


def write_whole(path: Path, data: bytes) -> None:
    """Write a report, and make its folder where there is none.

    Raises:
        BreadError: `REPORT_UNWRITABLE`.
    """
    with _writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


@contextmanager
def _writing(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise BreadError(
            f"{path} cannot be written.",
            code="REPORT_UNWRITABLE",
            why=f"{error.strerror or type(error).__name__}.",
            do="name a file in a folder that you may write to",
        ) from None
