"""The commands that look after cassettes: show, check, prune."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from bread_nb.base.redact import Redactor, environment_secrets
from bread_nb.cli.exits import FAULT, FINISHED
from bread_nb.errors import BreadError
from bread_nb.providers.shelf import SUFFIX, cassettes, read_lines
from bread_nb.providers.tending import Entry, entries, problems, prune

__all__ = ["cassette"]

_WIDTH = 60
# What has its recording beside it: notebooks and suites.
_RECORDED = (".ipynb", ".py", ".yaml", ".yml")

_files = click.argument(
    "files", nargs=-1, type=click.Path(path_type=Path), metavar="[FILE|FOLDER]..."
)


@click.group(name="cassette")
def cassette() -> None:
    """Look after recordings of models; those of this folder by default."""


@cassette.command(name="show")
@_files
def cassette_show(files: tuple[Path, ...]) -> int:
    """Say what was asked and answered, a line each."""
    for path in _paths(files):
        click.echo(path.name)
        for entry in entries(read_lines(path)):
            click.echo(_line(entry))
    return FINISHED


@cassette.command(name="check")
@_files
def cassette_check(files: tuple[Path, ...]) -> int:
    """Find lines that cannot be played, and secrets; exit code 1 if there are any."""
    redactor, code = Redactor(environment_secrets()), FINISHED
    for path in _paths(files):
        try:
            lines = read_lines(path)
        except BreadError as error:
            click.echo(f"{path.name}: {error.what} {error.why}", err=True)
            code = FAULT
            continue
        wrong = problems(lines, redactor)
        for number, why in wrong:
            click.echo(f"{path.name}:{number}: {why}", err=True)
        if wrong:
            code = FAULT
        else:
            click.echo(f"{path.name}: {len(lines)} lines, all in order")
    return code


@cassette.command(name="prune")
@_files
def cassette_prune(files: tuple[Path, ...]) -> int:
    """Take out lines that are never played, and equal recordings of one request."""
    for path in _paths(files):
        found = prune(path)
        told = f"{found.dropped} of {found.lines} lines taken out"
        if found.dropped:
            told += f" ({found.broken} unreadable, {found.repeated} repeated)"
        click.echo(f"{path.name}: {told}")
    return FINISHED


def _paths(named: Sequence[Path]) -> list[Path]:
    """The cassettes that are named, those in folders among them.

    Raises:
        BreadError: `USAGE` when there is none.
    """
    found: list[Path] = []
    for path in named or [Path.cwd()]:
        found += cassettes(path) if path.is_dir() else [_named(path)]
    if not found:
        raise _none("There is no cassette here.")
    return found


def _named(path: Path) -> Path:
    """The cassette that a file stands for: itself, or the one beside it."""
    if path.name.endswith(SUFFIX):
        beside = path
    elif path.suffix in _RECORDED:
        beside = path.with_name(f"{path.stem}{SUFFIX}")
    elif path.is_file():
        raise _none(f"{path.name} is no cassette.")
    else:
        beside = path.with_name(f"{path.name}{SUFFIX}")
    if beside.is_file():
        return beside
    if beside != path and path.is_file():
        raise _none(f"{path.name} has no cassette.")
    raise _none(f"There is no file {path}.")


def _none(what: str) -> BreadError:
    return BreadError(
        what,
        code="USAGE",
        why=f"a cassette is a file that ends with {SUFFIX}; "
        "a notebook or a suite stands for the one beside it.",
        do="record one: bread refresh --record NOTEBOOK, or bread run --record NAME",
    )


def _line(entry: Entry) -> str:
    tokens = f"  {entry.tokens:,} tokens" if entry.tokens is not None else ""
    asked, answer = _short(entry.asked), _short(entry.answer)
    return f"{entry.number:>4}  {entry.who}  {asked}\n      {answer}{tokens}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"
