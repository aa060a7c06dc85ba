"""`%bread eval`: what is evaluated, how, and what becomes of the report."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar, cast

from bread_nb.errors import BreadError
from bread_nb.evals.case import Suite
from bread_nb.evals.evaluate import Options
from bread_nb.evals.finding import Target
from bread_nb.evals.ovens import bake
from bread_nb.evals.report import Report
from bread_nb.evals.watching import Tell
from bread_nb.notebook.evaluating import Evaluating
from bread_nb.notebook.parsing import EVAL_OPTIONS, identifier, money, unknown, usage
from bread_nb.notebook.stage import Stage

__all__ = ["EvalLine", "eval_command", "read_eval"]

_WORD = re.compile(r"""(?:--[^\s=]*=)?(?:"[^"]*"|'[^']*'|\S+)""")
_AT_ONCE = 8
T = TypeVar("T")


@dataclass(slots=True)
class EvalLine:
    """An evaluation as a line asks for it."""

    paths: list[str] = field(default_factory=list[str])
    tags: list[str] = field(default_factory=list[str])
    model: str | None = None
    repeat: int | None = None
    concurrency: int = _AT_ONCE
    budget: float | None = None
    pass_rate: float | None = None
    baseline: str | None = None
    out: str | None = None


def read_eval(rest: str) -> EvalLine:
    """The line after its first word; paths and options come in any order.

    Raises:
        BreadError: `USAGE`.
    """
    line = EvalLine()
    for name, value in _parts(rest):
        match name:
            case "":
                line.paths.append(value)
            case "tag":
                line.tags.append(value)
            case "model":
                line.model = value
            case "repeat" | "concurrency":
                setattr(line, name, _number(name, value, int, 1, None))
            case "budget":
                line.budget = money(value)
            case "pass-rate":
                line.pass_rate = _number(name, value, float, 0, 1)
            case "baseline":
                line.baseline = value
            case _:
                line.out = identifier("out", value)
    return line


def _parts(rest: str) -> Iterator[tuple[str, str]]:
    """Each option with its value; what belongs to no option has no name."""
    words = iter(_WORD.findall(rest))
    for word in words:
        if word == "--":
            yield from (("", _bare(each)) for each in words)
        elif not word.startswith("--"):
            yield "", _bare(word)
        else:
            name, given, value = word[2:].partition("=")
            if name not in EVAL_OPTIONS:
                raise unknown(name, EVAL_OPTIONS)
            value = value if given else next(words, "")
            if not value or (not given and value.startswith("--")):
                raise usage(
                    f"--{name} needs a value.",
                    "there is none behind it.",
                    f"--{name} VALUE",
                )
            yield name, _bare(value)


def _bare(word: str) -> str:
    quoted = len(word) > 1 and word[0] == word[-1] and word[0] in "\"'"
    return word[1:-1] if quoted else word


def _number(
    name: str, value: str, kind: Callable[[str], T], least: int, most: int | None
) -> T:
    try:
        number = kind(value)
        fits = float(value) >= least and (most is None or float(value) <= most)
    except ValueError:
        fits, number = False, cast("T", None)
    if not fits:
        bounds = f"from {least}" if most is None else f"from {least} to {most}"
        example = "0.9" if most else "5"
        raise usage(
            f"--{name} {value} is no such number.",
            f"it is a number {bounds}.",
            f"--{name} {example}",
        )
    return number


# -- the command -----------------------------------------------------------------------


def eval_command(stage: Stage, rest: str) -> Report | None:
    """Evaluate, with a live card; a report with failures is a value like any other.

    Raises:
        BreadStopped: When a person ended it.
        BreadError: `USAGE`, what finding and evaluating raise, and `EVAL_FAILED` when
            `--pass-rate` or `--baseline` asks for more than it is.
    """
    line = read_eval(rest)
    bread = stage.bread()
    before = Report.load(line.baseline) if line.baseline is not None else None
    targets = [target for path in line.paths for target in _meant(stage, path)]

    async def work(tell: Tell) -> Report:
        options = Options(
            model=line.model,
            concurrency=line.concurrency,
            budget=line.budget,
            watch=tell,
        )
        return await bake(bread, targets, options, repeat=line.repeat, tags=line.tags)

    report = Evaluating(stage, work, budget=line.budget, foreground=True).held()
    _judge(stage, line, report, before)
    if line.out is None:
        return report
    stage.space[line.out] = report
    return None


def _judge(stage: Stage, line: EvalLine, report: Report, before: Report | None) -> None:
    """Hold the report against what the line asks for; the cell keeps both."""
    if before is not None:
        stage.keep(report.compare(before))
    if before is None and line.pass_rate is None:
        return
    try:
        report.check(pass_rate=line.pass_rate, no_regressions=before)
    except BreadError:
        if line.out is not None:
            stage.space[line.out] = report
        stage.keep(report)
        raise


def _meant(stage: Stage, word: str) -> list[Target]:
    """What a word names: suites in a variable, or an agent or a path."""
    value = stage.own.get(word)
    if isinstance(value, Suite):
        return [value]
    if isinstance(value, list | tuple) and value:
        several = cast("list[object]", value)
        suites = [each for each in several if isinstance(each, Suite)]
        if len(suites) == len(several):
            return [*suites]
    return [Path(word).expanduser() if word.startswith("~") else word]
