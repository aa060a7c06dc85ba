"""From what a person names to a report: the one way into evaluating."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from bread_nb.bread import Bread
from bread_nb.errors import BreadError
from bread_nb.evals.case import Case, Suite
from bread_nb.evals.evaluate import Options, evaluate
from bread_nb.evals.finding import Target, find_suites
from bread_nb.evals.report import Report
from bread_nb.evals.scoresheet import EvalRow
from bread_nb.evals.taping import evaluate_taped
from bread_nb.evals.watching import Tell, Watching
from bread_nb.runtime.aftermath import kept_outcome
from bread_nb.runtime.agent import Agent
from bread_nb.runtime.outcome import Outcome

__all__ = ["Options", "bake", "spread"]


class _Inputs(Suite):
    """Inputs that are run, and held against nothing."""

    scored = False


async def bake(
    bread: Bread,
    targets: Sequence[Target],
    options: Options,
    *,
    repeat: int | None = None,
    tags: Sequence[str] = (),
) -> Report:
    """Evaluate what is named.

    Args:
        bread: Who runs the agents.
        targets: Suites, agents' ids, or paths; every agent's evals when empty.
        options: How.
        repeat: How often each case is run, in place of what its suite says.
        tags: Only the cases that carry all of these.

    Raises:
        BreadError: `EVAL_NOT_FOUND`, `EVAL_BROKEN` or `INVALID_SUITE`.
    """
    suites = find_suites(bread, targets)
    if tags:
        suites = [s.select(*tags) for s in suites if _carries(s, tags)]
        if not suites:
            raise BreadError(
                f"No case is tagged {', '.join(tags)}.",
                code="EVAL_NOT_FOUND",
                why="a case must carry all of the tags.",
                do="look at the tags in the suites",
            )
    if repeat is not None:
        suites = [suite.repeated(repeat) for suite in suites]
    most = bread.config.concurrency
    if most is not None and options.concurrency > most:
        options = replace(options, concurrency=most)

    async def watched(tell: Tell) -> Report:
        return await evaluate_taped(bread, suites, replace(options, watch=tell))

    if options.watch is None and Watching.show is not None:
        return await Watching.show(watched, options.budget)
    return await evaluate_taped(bread, suites, options)


async def spread(
    bread: Bread, agent: str | Agent, inputs: Iterable[object], options: Options
) -> list[Outcome | BreadError]:
    """Run an agent on many inputs; one that was interrupted goes on where it was.

    Args:
        bread: Who runs the agent.
        agent: The agent.
        inputs: What it is given, one a run.
        options: How.

    Returns:
        How each run ended, in the order of the inputs; the fault of one that failed.
    """
    cases = [
        Case(name=f"input-{number}", input=value)
        for number, value in enumerate(inputs, start=1)
    ]
    if not cases:
        return []
    suite = _Inputs(agent, cases, name="map")
    report = await evaluate(bread, [suite], replace(options, keep_waiting=True))
    return [await _ended(bread, row) for row in report.rows]


async def _ended(bread: Bread, row: EvalRow) -> Outcome | BreadError:
    if not row.run:
        return BreadError(row.error or "The run never began.", code="RUN_FAILED")
    found = await bread.find_run(row.run)
    waiting = [call for call in await bread.pending() if call.run_id == found.id]
    try:
        return kept_outcome(found, await bread.crumbs(found.id), waiting)
    except BreadError as error:
        return error


def _carries(suite: Suite, tags: Sequence[str]) -> bool:
    return any(set(tags) <= set(case.tags) for case in suite.cases)
