"""What came of an evaluation: rows, figures, and whether it is good enough."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import count
from os import PathLike
from pathlib import Path
from typing import Any, cast

from pydantic import JsonValue

from bread_nb.base.bounds import fits
from bread_nb.errors import BreadError
from bread_nb.evals.comparison import Comparison, Tally
from bread_nb.evals.extras import needed
from bread_nb.evals.odds import interval, pass_at, spread
from bread_nb.evals.report_files import write_whole
from bread_nb.evals.scoresheet import EvalRow

__all__ = ["Report", "SuiteReport"]

_VERSION = 1
_LISTED = 20


@dataclass(frozen=True, kw_only=True)
class SuiteReport:
    """What came of one suite.

    Args:
        name: The suite's name.
        kind: What it is about.
        agent: Who was evaluated.
        model: The model that answered for it.
        rows: One a run of a case, in order.
        expected: How many rows there should be.
        stopped: Why there are fewer, if the evaluation was stopped: `budget` or
            `budget.unpriced`.
    """

    name: str
    kind: str
    agent: str
    model: str
    rows: tuple[EvalRow, ...]
    expected: int
    stopped: str | None = None

    @property
    def missing(self) -> int:
        """Rows that should be there and are not."""
        return self.expected - len(self.rows)

    def count(self, *statuses: str) -> int:
        """How many rows have one of these statuses."""
        return sum(row.status in statuses for row in self.rows)

    @property
    def passed(self) -> int:
        """Rows that passed."""
        return self.count("passed")

    @property
    def pass_rate(self) -> float:
        """The share that passed of all rows there should be: errors are no passes."""
        return self.passed / self.expected if self.expected else 0.0

    @property
    def score(self) -> float:
        """The mean score of all rows there should be."""
        total = sum(row.score for row in self.rows)
        return total / self.expected if self.expected else 0.0

    @property
    def cost(self) -> float | None:
        """US dollars, judges included; None when a part of it is not known."""
        return _total(row.cost for row in self.rows)

    @property
    def interval(self) -> tuple[float, float]:
        """Where the true pass rate lies with 95 % confidence."""
        if all(len(runs) == 1 for runs in self.by_case.values()):
            return interval(self.passed, self.expected)
        runs = self.by_case.values()
        return spread([_share(each) for each in runs])

    @cached_property
    def by_case(self) -> dict[str, list[EvalRow]]:
        """The rows of each case."""
        found: dict[str, list[EvalRow]] = {}
        for row in self.rows:
            found.setdefault(row.case, []).append(row)
        return found

    def pass_at(self, k: int) -> float:
        """pass@k: the mean chance that one of `k` runs of a case passes."""
        runs = self.by_case.values()
        if not runs:
            return 0.0
        chances = (pass_at(k, sum(r.passed for r in each), len(each)) for each in runs)
        return sum(chances) / len(runs)

    def to_json(self) -> dict[str, JsonValue]:
        """The suite's part as plain JSON."""
        return {
            "name": self.name,
            "kind": self.kind,
            "agent": self.agent,
            "model": self.model,
            "expected": self.expected,
            "stopped": self.stopped,
            "rows": [row.to_json() for row in self.rows],
        }


@dataclass(frozen=True, kw_only=True)
class Report:
    """What came of an evaluation; it shows itself in a cell as a table."""

    suites: tuple[SuiteReport, ...]

    @property
    def rows(self) -> tuple[EvalRow, ...]:
        """All rows, in the order of the suites."""
        return tuple(row for suite in self.suites for row in suite.rows)

    @property
    def expected(self) -> int:
        """How many rows there should be."""
        return sum(suite.expected for suite in self.suites)

    @property
    def missing(self) -> int:
        """Rows that should be there and are not."""
        return sum(suite.missing for suite in self.suites)

    @property
    def passed(self) -> int:
        """Rows that passed."""
        return sum(suite.passed for suite in self.suites)

    @property
    def pass_rate(self) -> float:
        """The share that passed of all rows there should be."""
        return self.passed / self.expected if self.expected else 0.0

    @property
    def cost(self) -> float | None:
        """US dollars, judges included; None when a part of it is not known."""
        return _total(suite.cost for suite in self.suites)

    def failures(self) -> list[EvalRow]:
        """The rows that did not pass."""
        return [row for row in self.rows if not row.passed]

    def check(
        self,
        *,
        pass_rate: float | None = None,
        no_regressions: Report | str | PathLike[str] | None = None,
    ) -> Report:
        """This report, when it is good enough; a cell fails when it is not.

        Rows that are missing or broken are never good enough: nothing is known of them.

        Args:
            pass_rate: The least share of passed rows; all of them by default, unless
                `no_regressions` is given.
            no_regressions: An earlier report, or its file: what passed then must pass.

        Raises:
            BreadError: `EVAL_FAILED`, with what failed, or `INVALID_SETTING`.
        """
        if pass_rate is not None and not fits(pass_rate, 0, 1):
            raise BreadError(
                f"pass_rate cannot be {pass_rate!r}.",
                code="INVALID_SETTING",
                why="it is a share of the rows, from 0 to 1.",
                do="report.check(pass_rate=0.9)",
            )
        wrong = list(self._wrong(pass_rate, no_regressions))
        if wrong:
            raise _failed(wrong, self)
        return self

    def _wrong(
        self,
        pass_rate: float | None,
        no_regressions: Report | str | PathLike[str] | None,
    ) -> Iterator[str]:
        least = pass_rate
        if least is None and no_regressions is None:
            least = 1.0
        if least is not None and self.pass_rate < least:
            yield f"{self.passed} of {self.expected} passed, and {least:.0%} must"
        if self.missing:
            yield f"{_count(self.missing, 'row')} missing"
        if broken := sum(suite.count("broken") for suite in self.suites):
            yield f"{_count(broken, 'row')} broken, because a scorer failed"
        if no_regressions is not None:
            lost = self.compare(no_regressions).lost
            yield from (f"{name} passed before" for name in lost)

    def compare(self, other: Report | str | PathLike[str]) -> Comparison:
        """This report beside an earlier one, or its file, case by case."""
        before = other if isinstance(other, Report) else Report.load(other)
        several = max(len(before.suites), len(self.suites)) > 1
        return Comparison(before=before.tally(several), now=self.tally(several))

    def tally(self, several: bool) -> Tally:
        """What of it is compared with another.

        Args:
            several: Whether one of both has several suites; then a case is told by its
                suite's name, too.
        """
        shares: dict[str, float] = {}
        for suite in self.suites:
            for case, rows in suite.by_case.items():
                name = f"{suite.name}: {case}" if several else case
                number = next(n for n in count(1) if _numbered(name, n) not in shares)
                shares[_numbered(name, number)] = _share(rows)
        return Tally(passed=self.passed, expected=self.expected, shares=shares)

    def frame(self) -> Any:  # noqa: ANN401
        """The rows as a pandas DataFrame, one column a scorer.

        Raises:
            BreadError: `MISSING_EXTRA` without pandas.
        """
        pandas: Any = _package("pandas")
        return pandas.DataFrame([_flat(s, row) for s in self.suites for row in s.rows])

    def plot(self) -> Any:  # noqa: ANN401
        """A matplotlib figure: pass rate by case, cost and time by row.

        Raises:
            BreadError: `MISSING_EXTRA` without matplotlib.
        """
        _package("matplotlib")
        return import_module("bread_nb.evals.charts").draw(self)

    def to_json(self) -> dict[str, JsonValue]:
        """The report as plain JSON."""
        return {"version": _VERSION, "suites": [s.to_json() for s in self.suites]}

    def save(self, path: str | PathLike[str]) -> None:
        """Write the report to a JSON file, for `no_regressions` and `compare`.

        Raises:
            BreadError: `REPORT_UNWRITABLE`.
        """
        text = json.dumps(self.to_json(), ensure_ascii=False, indent=1, sort_keys=True)
        write_whole(Path(path), f"{text}\n".encode("utf-8", "backslashreplace"))

    @staticmethod
    def load(path: str | PathLike[str]) -> Report:
        """The report in a JSON file.

        Raises:
            BreadError: `INVALID_REPORT`.
        """
        try:
            found: JsonValue = json.loads(Path(path).read_text(encoding="utf-8"))
            return Report.from_json(found)
        except (OSError, RecursionError, ValueError) as error:
            raise BreadError(
                f"{Path(path).name} is no report.",
                code="INVALID_REPORT",
                why=f"{error}.",
                do="bread eval … --json FILE writes one",
            ) from None

    @staticmethod
    def from_json(value: JsonValue) -> Report:
        """The report that `to_json` made `value` from.

        Raises:
            ValueError: When it is no such report.
        """
        match value:
            case {"version": int() as version, "suites": [*suites]}:
                if version > _VERSION:
                    raise ValueError(f"it is of version {version}, newer than this one")
                return Report(suites=tuple(_suite(each) for each in suites))
            case _:
                raise ValueError("it has no suites")

    def __repr__(self) -> str:
        from_all = f"{self.passed} of {self.expected} passed"
        names = ", ".join(suite.name for suite in self.suites)
        return f"Report({names}: {from_all})"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return import_module("bread_nb.evals.tables").bundle(self)


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name} ({number})"


def _total(costs: Iterable[float | None]) -> float | None:
    """The sum of costs; None when one of them is not known."""
    total = 0.0
    for cost in costs:
        if cost is None:
            return None
        total += cost
    return total


def _share(rows: Sequence[EvalRow]) -> float:
    return sum(row.passed for row in rows) / len(rows)


def _suite(value: JsonValue) -> SuiteReport:
    match value:
        case {
            "name": str() as name,
            "kind": str() as kind,
            "agent": str() as agent,
            "model": str() as model,
            "expected": int() as expected,
            "rows": [*rows],
        }:
            return SuiteReport(
                name=name,
                kind=kind,
                agent=agent,
                model=model,
                expected=expected,
                stopped=cast("str | None", value.get("stopped")),
                rows=tuple(EvalRow.from_json(row) for row in rows),
            )
        case _:
            raise ValueError("a suite of it lacks a field")


def _flat(suite: SuiteReport, row: EvalRow) -> dict[str, object]:
    flat: dict[str, object] = {
        "suite": suite.name,
        "case": row.case,
        "repeat": row.repeat,
        "status": row.status,
        "passed": row.passed,
        "score": row.score,
        "answer": row.answer,
        "why": row.why,
        "cost": row.cost,
        "tokens": row.tokens,
        "turns": row.turns,
        "seconds": row.ms / 1000,
        "run": row.run,
        "model": suite.model,
        "tags": ", ".join(row.tags),
    }
    for verdict in row.verdicts:
        flat[f"{verdict.scorer} score"] = verdict.score
    return flat


def _failed(wrong: Sequence[str], report: Report) -> BreadError:
    failures = report.failures()
    lines = [f"{row.case}: {row.why}" for row in failures[:_LISTED]]
    if len(failures) > _LISTED:
        lines.append(f"{len(failures) - _LISTED} more")
    return BreadError(
        "The evaluation is not good enough.",
        code="EVAL_FAILED",
        why="\n       ".join(["; ".join(wrong), *lines]),
        do="%bread show RUN tells how a row came about; report.frame() has them all",
        context={
            "passed": report.passed,
            "expected": report.expected,
            "failed": [row.case for row in failures],
            "runs": [row.run for row in failures],
        },
    )


def _package(name: str) -> Any:  # noqa: ANN401
    missing = BreadError(
        f"{name} is needed for this.",
        code="MISSING_EXTRA",
        why="it is not installed.",
        do=f"pip install {name}",
    )
    return needed(name, missing)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun} is" if number == 1 else f"{number} {noun}s are"
