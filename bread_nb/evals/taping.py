"""Recordings of suites: `first.cassette.jsonl` beside `first.yaml`.

A replay looks there as well as in the working directory. What is recorded goes there,
unless a notebook or `BREAD_CASSETTE` says where; a suite that was recorded from its
first case to its last leaves nothing of older recordings behind.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bread_nb.bread import Bread
from bread_nb.evals.case import Suite
from bread_nb.evals.evaluate import Options, Progress, evaluate
from bread_nb.evals.report import Report, SuiteReport

__all__ = ["evaluate_taped"]


@dataclass(slots=True)
class _Watched:
    """Passes progress on; `went_on` says that there were rows at the beginning."""

    options: Options
    begun: bool = False
    went_on: bool = False

    def __call__(self, progress: Progress) -> None:
        if not self.begun:
            self.begun, self.went_on = True, progress.done > 0
        if self.options.watch is not None:
            self.options.watch(progress)


async def evaluate_taped(
    bread: Bread, suites: Sequence[Suite], options: Options
) -> Report:
    """Evaluate suites, with the recordings beside their files.

    Raises:
        BreadError: As `evaluate`, and `CASSETTE_UNNAMED` for a suite of no file that
            is recorded where nothing says the name.
    """
    deck = bread.deck
    for suite in suites:
        if suite.recording is not None:
            deck.add(suite.recording)
    if deck.mode.name != "record" or deck.own() is not None:
        return await evaluate(bread, suites, options)
    done: list[SuiteReport] = []
    for path, several in _by_recording(suites):
        left = _left(options, done)
        if path is None:
            done += (await evaluate(bread, several, left)).suites
            continue
        watched = _Watched(left)
        with deck.recording_into(path):
            report = await evaluate(bread, several, replace(left, watch=watched))
        done += report.suites
        whole = all(suite.whole for suite in several) and not report.missing
        if whole and not watched.went_on:
            deck.forget_older(path)
    return Report(suites=tuple(done))


def _by_recording(suites: Sequence[Suite]) -> list[tuple[Path | None, list[Suite]]]:
    """Suites of one file together, in their order."""
    found: list[tuple[Path | None, list[Suite]]] = []
    for suite in suites:
        if found and found[-1][0] == suite.recording:
            found[-1][1].append(suite)
        else:
            found.append((suite.recording, [suite]))
    return found


def _left(options: Options, done: Sequence[SuiteReport]) -> Options:
    """The options with what was spent of the budget; once it ended, nothing is left."""
    costs = [row.cost for suite in done for row in suite.rows]
    spent = None if None in costs else sum(cost or 0.0 for cost in costs)
    ended = any(suite.stopped for suite in done)
    return replace(options, spent=math.inf if ended and spent is not None else spent)
