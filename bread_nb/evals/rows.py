"""A row: one run of one case, scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bread_nb.base.ids import now_ms
from bread_nb.base.redact import Redactor
from bread_nb.base.retry import retrying
from bread_nb.crumbs import EvalVerdict
from bread_nb.errors import BreadError, Halt
from bread_nb.evals.attempts import BUSY, Attempts, told
from bread_nb.evals.case import Suite
from bread_nb.evals.scoresheet import EvalRow, Item
from bread_nb.evals.scoring import Attempt, Scorer, Verdict

__all__ = ["row_of"]

_PATIENCE = 100
_LONGEST_SECONDS = 1.0
_SHORTEST_SECONDS = 0.05
_BUSY = "ROW_BUSY"


async def row_of(attempts: Attempts, item: Item, session: str) -> EvalRow | None:
    """The row of an item; None when another process keeps it in hands.

    Whoever has it is waited for: until it is done, or until its lease has run out.

    Args:
        attempts: Runs the item's case.
        item: The item.
        session: The first part of its session's id.
    """

    async def once(_number: int) -> EvalRow:
        row = await _tried(attempts, item, session)
        if row is None:
            raise BreadError("Somebody else is at work on it.", code=_BUSY)
        return row

    try:
        return await retrying(once, _wait)
    except BreadError as error:
        if error.code != _BUSY:
            raise
        return None


async def _wait(error: BreadError, number: int) -> float | None:
    if error.code != _BUSY or number > _PATIENCE:
        return None
    return min(_SHORTEST_SECONDS * 2 ** (number - 1), _LONGEST_SECONDS)


async def _tried(attempts: Attempts, item: Item, session: str) -> EvalRow | None:
    """The row of an item; None when another process has it in hands."""
    suite, redactor = attempts.suite, attempts.bread.redactor
    try:
        attempt, spent, handle = await attempts.attempt(item, session)
    except BreadError as error:
        if error.code in BUSY:
            return None
        if error.code == "RUN_CANCELLED":
            raise
        name, said = item.case.name, redactor.text(told(error))
        return EvalRow(case=name, repeat=item.repeat, status="error", error=said)
    verdicts: list[Verdict] = []
    if attempt.status != "failed":
        scorers = suite.scorers_of(item.case)
        verdicts = [await _scored(scorer, attempt) for scorer in scorers]
    if spent.busy:
        return None
    row = _weighed(attempt, verdicts, _trouble(attempt, suite))
    known = attempt.cost is not None and spent.cost is not None
    row = _told(row, redactor)
    if attempt.crumbs and verdicts:
        attempts.bread.publish(_verdict(attempt, row))
    return replace(
        row,
        repeat=item.repeat,
        cost=(attempt.cost or 0.0) + (spent.cost or 0.0) if known else None,
        tokens=attempt.usage.total + spent.tokens,
        run=handle,
        tags=tuple(item.case.tags),
    )


def _verdict(attempt: Attempt, row: EvalRow) -> EvalVerdict:
    """What is told of a row: a crumb of the run that it judges."""
    first = attempt.crumbs[0]
    return EvalVerdict(
        agent_id=first.agent_id,
        run_id=first.run_id,
        timestamp=now_ms(),
        status="satisfied" if row.passed else "needs_revision",
        score=None if row.status == "broken" else row.score,
        critique=row.why or None,
    )


def _told(row: EvalRow, redactor: Redactor) -> EvalRow:
    """The row without the secrets that an answer or a scorer may have said."""
    said = (replace(v, why=redactor.text(v.why)) if v.why else v for v in row.verdicts)
    return replace(
        row,
        answer=redactor.text(row.answer),
        error=redactor.text(row.error) if row.error else None,
        verdicts=tuple(said),
    )


async def _scored(scorer: Scorer, attempt: Attempt) -> Verdict:
    try:
        return await scorer.score(attempt)
    except Halt as halt:
        return Verdict(scorer=scorer.name, passed=False, why=str(halt), broken=True)


def _trouble(attempt: Attempt, suite: Suite) -> str | None:
    """Why the run itself is no answer, if it is none."""
    if attempt.status == "failed":
        return attempt.error or "the run failed"
    if attempt.status == "finished" or suite.kind != "functional":
        return None
    if attempt.status == "waiting":
        return "it waits for a person; Case(decisions={...}) answers"
    return f"it was stopped: {attempt.reason or 'stopped'}"


def _weighed(
    attempt: Attempt, verdicts: Sequence[Verdict], trouble: str | None
) -> EvalRow:
    """The row of an attempt, as far as its scorers decide it."""
    scores = [v.score for v in verdicts if v.score is not None]
    score = sum(scores) / len(scores) if scores else float(trouble is None)
    if attempt.status == "failed":
        status, score = "error", 0.0
    elif any(verdict.broken for verdict in verdicts):
        status, score = "broken", 0.0
    elif trouble is None and all(verdict.passed for verdict in verdicts):
        status = "passed"
    else:
        status = "failed"
    return EvalRow(
        case=attempt.name,
        status=status,
        score=score,
        verdicts=tuple(verdicts),
        answer=attempt.answer if attempt.status == "finished" else attempt.text,
        error=trouble,
        turns=attempt.turns,
        ms=attempt.duration_ms,
    )
