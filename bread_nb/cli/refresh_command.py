"""The command that runs notebooks again and keeps what they show."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bread_nb.cli.exits import FAULT, FINISHED
from bread_nb.cli.render import tell
from bread_nb.errors import BreadError
from bread_nb.evals.extras import for_notebooks

if TYPE_CHECKING:
    from bread_nb.evals.refresh import Refreshed

__all__ = ["refresh"]


@click.command(name="refresh")
@click.argument(
    "notebooks",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="NOTEBOOK...",
)
@click.option("--record", is_flag=True, help="Call models, and keep their answers.")
@click.option("--yes", is_flag=True, help="Write without asking.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if it would change.")
@click.option("--kernel", default="python3", show_default=True, help="A kernelspec.")
def refresh(
    *, notebooks: tuple[Path, ...], record: bool, yes: bool, check: bool, kernel: str
) -> int:
    """Run each NOTEBOOK again and keep what it shows.

    The changes are shown before anything is written. Widgets and timings are left out,
    so that every reader sees the same. Where a cell fails, the file stays as it is.
    """
    code = FINISHED
    module = for_notebooks("bread_nb.evals.refresh")
    for path in notebooks:
        again: Refreshed
        try:
            again = module.refresh(path.resolve(), record=record, kernel=kernel)
        except BreadError as error:
            tell(error)
            code = FAULT
            continue
        if not again.changed:
            click.echo(f"{path.name}: nothing changed")
        elif not _written(again, yes=yes, check=check):
            code = FAULT
    return code


def _written(again: Refreshed, *, yes: bool, check: bool) -> bool:
    """Whether the changes were agreed to and written."""
    for line in again.lines():
        click.echo(line)
    if check:
        return False
    if not yes and not click.confirm(f"Write {again.path.name}?", default=False):
        click.echo(f"{again.path.name} stays as it was.", err=True)
        return False
    again.write()
    click.echo(f"{again.path.name}: written")
    return True
