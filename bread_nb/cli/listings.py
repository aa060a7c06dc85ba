"""The commands that show what there is: agents, runs, open calls, one run, health."""

from __future__ import annotations

import click

from bread_nb.base.wire import dumps
from bread_nb.bread import Bread
from bread_nb.cli.exits import FAULT, FINISHED
from bread_nb.cli.render import as_command
from bread_nb.crumbs import to_wire
from bread_nb.project.costs import WAYS, By
from bread_nb.project.doctor import report
from bread_nb.project.listing import (
    list_agents,
    list_costs,
    list_pending,
    list_runs,
    show_run,
)

__all__ = ["agents", "cost", "doctor", "export", "pending", "runs", "show"]

_NEWEST = 20


@click.command(name="agents")
async def agents() -> int:
    """List the agents of this project, broken ones included."""
    async with Bread.load() as bread:
        click.echo(as_command(list_agents(bread).plain))
    return FINISHED


@click.command(name="runs")
@click.option("--all", "everything", is_flag=True, help="All runs, not the newest 20.")
async def runs(*, everything: bool) -> int:
    """List the newest runs."""
    async with Bread.load() as bread:
        table = await list_runs(bread, limit=None if everything else _NEWEST)
        click.echo(as_command(table.plain))
    return FINISHED


@click.command(name="cost")
@click.option("--by", type=click.Choice(WAYS), help="What each line stands for.")
@click.option("--all", "everything", is_flag=True, help="All days, not today alone.")
async def cost(*, by: By | None, everything: bool) -> int:
    """List what was spent today, by family of runs: an agent's and what they started.

    A cost that is not known is no part of a sum, and the sum says so.
    """
    async with Bread.load() as bread:
        table = await list_costs(bread, by=by, days=None if everything else 1)
        click.echo(as_command(table.plain))
    return FINISHED


@click.command(name="pending")
async def pending() -> int:
    """List the calls that wait for a person, and runs that were interrupted."""
    async with Bread.load() as bread:
        table = await list_pending(bread, answer=None)
        click.echo(as_command(table.plain))
    return FINISHED


@click.command(name="show")
@click.argument("id", default="last")
async def show(id: str) -> int:
    """Show the run ID (writer-3, or the beginning of its id; the last by default)."""
    async with Bread.load() as bread:
        click.echo(as_command(await show_run(bread, id)))
    return FINISHED


@click.command(name="export")
@click.argument("id", default="last")
async def export(id: str) -> int:
    """Print the crumbs of the run ID as they are kept, one JSON a line."""
    async with Bread.load() as bread:
        for crumb in await bread.crumbs(id):
            click.echo(dumps(to_wire(crumb)))
    return FINISHED


@click.command(name="doctor")
@click.argument("agent", required=False)
@click.option("--reach", is_flag=True, help="Ask the services of the models too.")
async def doctor(agent: str | None, reach: bool) -> int:
    """Say what is in order here and what is not, for AGENT or for all."""
    async with Bread.load() as bread:
        findings = await bread.doctor(agent, reach=reach)
        click.echo(as_command(report(findings)))
    return FAULT if any(finding.level == "bad" for finding in findings) else FINISHED
