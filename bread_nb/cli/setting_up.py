"""The commands that make things ready: new, install, uninstall, local."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from bread_nb.cli import kernelspecs
from bread_nb.cli.exits import FAULT, FINISHED
from bread_nb.project.config import find_project
from bread_nb.project.scaffold import new_agent, seen_from_here
from bread_nb.providers import weights

__all__ = ["install", "local", "new", "uninstall"]

F = TypeVar("F", bound=Callable[..., object])


@click.group(name="new")
def new() -> None:
    """Make something new."""


@new.command(name="agent")
@click.argument("id")
def agent(id: str) -> int:
    """Write the first files of the agent ID."""
    here = Path.cwd()
    root = find_project(here) or here
    for path in new_agent(root, id):
        click.echo(seen_from_here(path))
    click.echo(f'Now: bread run {id} "Hello"   or in a cell: %%bread {id}', err=True)
    return FINISHED


def _place_options(fn: F) -> F:
    """The options that say where a kernel is kept."""
    fn = click.option("--prefix", metavar="DIR", help="Below this folder.")(fn)
    fn = click.option("--sys-prefix", is_flag=True, help="In this environment.")(fn)
    return click.option("--user", is_flag=True, help="For this user (default).")(fn)


@click.command(name="install")
@_place_options
@click.option("--check", is_flag=True, help="Only say whether it is installed.")
def install(*, user: bool, sys_prefix: bool, prefix: str | None, check: bool) -> int:
    """Install the kernel 'Python (bread)': this Python with %load_ext bread_nb done."""
    if check:
        click.echo(kernelspecs.check_kernel())
        return FINISHED
    file = kernelspecs.install_kernel(_folder(user, sys_prefix, prefix))
    click.echo(f"Installed {kernelspecs.TITLE}: {file}")
    return FINISHED


@click.command(name="uninstall")
@_place_options
def uninstall(*, user: bool, sys_prefix: bool, prefix: str | None) -> int:
    """Remove the kernel 'Python (bread)'."""
    folder = _folder(user, sys_prefix, prefix)
    gone = kernelspecs.remove_kernel(folder)
    click.echo(f"Removed {folder}" if gone else f"There was none in {folder}.")
    return FINISHED


def _folder(user: bool, sys_prefix: bool, prefix: str | None) -> Path:
    if [user, sys_prefix, prefix is not None].count(True) > 1:
        raise click.UsageError("Give one of --user, --sys-prefix and --prefix.")
    return kernelspecs.kernel_folder(sys.prefix if sys_prefix else prefix)


@click.group(name="local")
def local() -> None:
    """The small model that runs on this machine, without a key."""


@local.command(name="install")
def local_install() -> int:
    """Fetch the weights, once, and check them."""
    weights.install(progress=click.echo)
    if not weights.runtime_present():
        click.echo('To run them: pip install "bread-nb[local]"', err=True)
    return FINISHED


@local.command(name="check")
def local_check() -> int:
    """Read the weights through and say whether the model can run."""
    found = weights.check()
    if found.ready:
        click.echo(f"local:{weights.MODEL} can run. Weights: {found.path}")
        return FINISHED
    for well, problem, mend in (
        (found.runtime, "xllamacpp is not installed", 'pip install "bread-nb[local]"'),
        (found.path is not None, "there are no weights", "bread local install"),
        (found.sound or found.path is None, "the weights are damaged", _ANEW),
    ):
        if not well:
            click.echo(f"{problem}\n  do   {mend}", err=True)
    return FAULT


_ANEW = "bread local remove, then bread local install"


@local.command(name="remove")
def local_remove() -> int:
    """Delete the weights that were fetched."""
    gone = weights.remove()
    for path in gone:
        click.echo(f"Removed {path}")
    if not gone:
        click.echo("There were none.")
    return FINISHED
