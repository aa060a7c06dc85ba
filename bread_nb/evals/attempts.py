"""One run of one case, live or as the store still has it.

Each has a session of its own, named after its row. So a run that ended before its row
was kept is found again and not paid for twice, one that broke off is gone on with, and
one that another process works on is left to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from bread_nb.bread import Bread
from bread_nb.errors import BreadError, Halt
from bread_nb.evals.case import Suite
from bread_nb.evals.scoresheet import Item
from bread_nb.evals.scoring import Attempt
from bread_nb.messages import Usage
from bread_nb.runtime.agent import Agent, ModelSource
from bread_nb.runtime.bills import bills_of, total_of
from bread_nb.runtime.outcome import Finished, Outcome, Stopped, Suspended
from bread_nb.runtime.run import Run
from bread_nb.stores.records import RunRow, Session

__all__ = ["BUSY", "Attempts", "Spent"]

BUSY = frozenset({"NOT_INTERRUPTED", "RUN_LOST", "SESSIONBUSY"})


@dataclass(slots=True)
class Spent:
    """What judging one attempt cost; None as soon as a part of it is unknown."""

    cost: float | None = 0.0
    tokens: int = 0

    def add(self, cost: float | None, tokens: int) -> None:
        """Add a judge's run."""
        self.cost = None if self.cost is None or cost is None else self.cost + cost
        self.tokens += tokens


@dataclass(slots=True)
class Attempts:
    """The attempts of one suite.

    Args:
        bread: Who runs agents.
        suite: What is run.
        model: A model in place of the suite's.
        keep_waiting: Whether a run that waits for a person is left to wait.
    """

    bread: Bread
    suite: Suite
    model: ModelSource | None = None
    keep_waiting: bool = False
    _agent: Agent | None = field(default=None, init=False)

    @property
    def agent(self) -> Agent:
        """The agent that is evaluated."""
        if self._agent is None:
            given = self.suite.agent
            self._agent = given if isinstance(given, Agent) else self.bread.agent(given)
        return self._agent

    async def attempt(self, item: Item, session: str) -> tuple[Attempt, Spent, str]:
        """Run a case, or take up what is there of it.

        Returns:
            The attempt, what its judges spend from now on, and the run's handle.
        """
        spent = Spent()
        name, row = await self._known(session)
        if row is not None and row.status not in ("working", "waiting"):
            attempt = await self._stored(item, row)
            return self._judged(attempt, name, spent), spent, row.handle
        run = await self._begun(item, name, row)
        run, outcome, error = await _awaited(run)
        while isinstance(outcome, Suspended):
            answers = _decided(item, outcome)
            if not answers:
                break
            for checkpoint, answer in answers:
                run = self.bread.resume(checkpoint, answer, ctx=self.suite.ctx)
                run, outcome, error = await _awaited(run)
        attempt = _live(item, run, outcome, error)
        return self._judged(attempt, name, spent), spent, run.handle

    async def _known(self, session: str) -> tuple[str, RunRow | None]:
        """The session to use, and the run that it had already, if any.

        A run that a person cancelled is no attempt: the next one gets a new session.
        """
        number = 1
        while True:
            name = f"{session}-{number}"
            row = await self._run_of(name)
            if row is None or row.status != "cancelled":
                return name, row
            number += 1

    async def _run_of(self, session: str) -> RunRow | None:
        if await self.bread.store.get(Session, session) is None:
            return None
        rows = await self.bread.store.query(
            RunRow, {"session_id": session}, newest_first=True, limit=1
        )
        return rows[0] if rows else None

    async def _begun(self, item: Item, name: str, row: RunRow | None) -> Run:
        if row is not None and row.status == "working":
            for run in await self.bread.recover(row.id, ctx=self.suite.ctx):
                return run
        return self.bread.run(
            self.suite.agent,
            item.case.input,
            session=name,
            tags={"eval": self.suite.name, "case": item.case.name},
            model=self.model or self.suite.model,
            skill=item.case.skill,
            ctx=self.suite.ctx,
            discard=row is not None,
        )

    async def _stored(self, item: Item, row: RunRow) -> Attempt:
        error = row.error if isinstance(row.error, dict) else None
        output: object = row.output
        if row.status == "finished":
            output = self.agent.returns.validate(row.output)
        return Attempt(
            name=item.case.name,
            input=item.case.input,
            expected=item.case.expected,
            status=row.status,
            output=output,
            text=row.text,
            error=_words(error) if error else None,
            reason=row.stop_reason,
            crumbs=tuple(await self.bread.crumbs(row.id)),
            turns=row.turn,
            calls=row.calls,
            usage=Usage.of(row.usage),
            cost=_whole(row),
            duration_ms=row.worked_ms,
        )

    def _judged(self, attempt: Attempt, session: str, spent: Spent) -> Attempt:
        """The attempt with a way to ask judges, each in a session of its own."""
        asked = 0

        async def ask(agent: Agent, question: str) -> Outcome:
            nonlocal asked
            asked += 1
            name = f"{session}-judge-{asked}"
            row = await self._run_of(name)
            if row is not None and row.status == "finished":
                spent.add(_whole(row), Usage.of(row.usage).total)
                return Finished(output=agent.returns.validate(row.output))
            if row is not None:
                name = f"{name}-again"
            tags = {"eval": self.suite.name, "judges": attempt.name}
            outcome = await self.bread.run(agent, question, session=name, tags=tags)
            spent.add(_known_cost(outcome), outcome.usage.total)
            return outcome

        return attempt.asking(ask)


async def _awaited(run: Run) -> tuple[Run, Outcome | None, BreadError | None]:
    try:
        return run, await run, None
    except (BreadError, Halt) as error:
        if error.code in BUSY or error.code == "RUN_CANCELLED":
            raise
        return run, None, error


def _decided(item: Item, outcome: Suspended) -> list[tuple[str, dict[str, JsonValue]]]:
    """The open calls that the case has an answer to, and the answers."""
    decisions = item.case.decisions
    return [
        (call.checkpoint_id, _answer(decisions[name]))
        for call in outcome.pending
        for name in (call.tool, call.tool_name)
        if name in decisions
    ][: len(outcome.pending)]


def _answer(said: JsonValue) -> dict[str, JsonValue]:
    return {"approved": said} if isinstance(said, bool) else {"answer": said}


def _live(
    item: Item, run: Run, outcome: Outcome | None, error: BreadError | None
) -> Attempt:
    common: dict[str, Any] = {
        "name": item.case.name,
        "input": item.case.input,
        "expected": item.case.expected,
        "status": "failed" if outcome is None else _status(outcome),
        "crumbs": run.crumbs,
    }
    if outcome is None:
        lines = error.lines() if error is not None else []
        context = error.context if error is not None else {}
        return Attempt(
            **common,
            error=" ".join(line.strip() for line in lines[:2]),
            text=str(context.get("text") or ""),
        )
    return Attempt(
        **common,
        output=outcome.output,
        text=outcome.text,
        reason=outcome.reason if isinstance(outcome, Stopped) else None,
        turns=outcome.metrics.turns,
        calls=outcome.metrics.tool_calls,
        usage=outcome.usage,
        cost=_known_cost(outcome),
        duration_ms=outcome.metrics.duration_ms,
    )


def _whole(row: RunRow) -> float | None:
    """What a stored run cost; None when a part of it is not known."""
    bill = total_of(bills_of(row))
    return None if bill.unpriced else bill.cost


def _known_cost(outcome: Outcome) -> float | None:
    return None if outcome.metrics.unpriced_calls else outcome.cost


def _status(outcome: Outcome) -> str:
    if isinstance(outcome, Suspended):
        return "waiting"
    return type(outcome).__name__.lower()


def _words(error: Mapping[str, JsonValue]) -> str:
    return f"{error.get('message')} [{error.get('code')}]"
