"""The command that holds agents against their suites."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from bread_nb.bread import Bread
from bread_nb.cli.exits import FAULT, FINISHED, STOPPED
from bread_nb.cli.render import tell
from bread_nb.errors import BreadError
from bread_nb.evals.evaluate import Options, Progress
from bread_nb.evals.junit import write_junit
from bread_nb.evals.ovens import bake
from bread_nb.evals.report import Report
from bread_nb.evals.report_files import make_ready
from bread_nb.evals.tables import bundle, compared, figures_of

__all__ = ["eval_"]

_FILE = click.Path(dir_okay=False, path_type=Path)


class _Between(click.FloatRange):
    """A number in bounds; `nan` is in none, and a limit of `inf` is no limit."""

    def convert(
        self,
        value: Any,  # noqa: ANN401
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is no number in bounds.", param, ctx)
        return number


_AMOUNT = _Between(0, min_open=True)


@dataclass(slots=True)
class _Line:
    """One line on stderr that says how far it is; each whole tenth where none is."""

    budget: float | None
    told: int = -1

    def __call__(self, progress: Progress) -> None:
        line = figures_of(progress, self.budget).line()
        if sys.stderr.isatty():
            click.echo(f"\r\x1b[K{line}", nl=progress.ended, err=True)
            return
        tenth = 10 * progress.done // max(1, progress.total)
        if tenth != self.told:
            self.told = tenth
            click.echo(line, err=True)


@click.command(name="eval")
@click.argument("path", nargs=-1)
@click.option("--model", metavar="P:M", help="Another model for the agents.")
@click.option("--repeat", type=click.IntRange(1), help="How often each case is run.")
@click.option(
    "--concurrency",
    type=click.IntRange(1),
    default=8,
    show_default=True,
    help="How many cases run at once.",
)
@click.option("--on", metavar="dask[:ADDRESS]", help="A cluster to run the cases.")
@click.option("--record", is_flag=True, help="Record models beside the suites.")
@click.option("--budget", type=_AMOUNT, metavar="USD", help="The most it may cost.")
@click.option("--tag", "tags", multiple=True, help="Only cases that carry this tag.")
@click.option("--pass-rate", type=_Between(0, 1), help="The least to pass.")
@click.option("--baseline", type=_FILE, help="A report: what passed then must pass.")
@click.option("--junit", type=_FILE, help="Write the report there as JUnit XML.")
@click.option("--json", "kept", type=_FILE, help="Write the report there as JSON.")
async def eval_(
    *,
    path: tuple[str, ...],
    model: str | None,
    repeat: int | None,
    concurrency: int,
    on: str | None,
    record: bool,
    budget: float | None,
    tags: tuple[str, ...],
    pass_rate: float | None,
    baseline: Path | None,
    junit: Path | None,
    kept: Path | None,
) -> int:
    """Hold agents against their suites.

    PATH is an agent, a folder, a file, or FILE::CASE; every agent's evals by default.
    What was interrupted goes on where it was. `--record` calls the models and keeps
    what they say in NAME.cassette.jsonl beside NAME.yaml, for replays. The exit code is
    1 when it is not good enough, 4 when the budget ended it.
    """
    before = Report.load(baseline) if baseline is not None else None
    for place in (junit, kept):
        if place is not None:
            make_ready(place)
    options = Options(
        model=model,
        concurrency=concurrency,
        budget=budget,
        watch=_Line(budget),
        on=on,
    )
    async with Bread.load(strict=True) as bread:
        if record:
            bread.deck.choose("record", said_by="--record")
        report = await bake(bread, path, options, repeat=repeat, tags=tags)
    click.echo(bundle(report)["text/plain"])
    if junit is not None:
        write_junit(report, junit)
    if kept is not None:
        report.save(kept)
    if before is not None:
        click.echo(f"\n{compared(report.compare(before))['text/plain']}")
    return _verdict(report, pass_rate, before)


def _verdict(report: Report, pass_rate: float | None, before: Report | None) -> int:
    try:
        report.check(pass_rate=pass_rate, no_regressions=before)
    except BreadError as error:
        error.do = _next_step(report)
        tell(error)
        stopped = any(suite.stopped for suite in report.suites)
        return STOPPED if stopped else FAULT
    return FINISHED


def _next_step(report: Report) -> str:
    """How to look closer here, at the first row that did not pass."""
    missed = next((row for row in report.failures() if row.run), None)
    if missed is None:
        return "bread eval --json FILE keeps all rows"
    show = f"bread show {missed.run} tells how {missed.case} came about"
    return f"{show}; --json FILE keeps all rows, each with its run"
