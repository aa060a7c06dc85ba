"""One run of one case, live or as the store still has it.

Each has a session of its own, named after its row. So a run that ended before its row
was kept is found again and not paid for twice, one that broke off is gone on with, and
one that another process works on is left to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from bread_nb.bread import Bread
from bread_nb.errors import BreadError, Halt
from bread_nb.evals.case import Suite
from bread_nb.evals.scoresheet import Item
from bread_nb.evals.scoring import Attempt
from bread_nb.messages import Usage
from bread_nb.runtime.aftermath import kept_outcome
from bread_nb.runtime.agent import Agent, ModelSource
from bread_nb.runtime.bills import bills_of, total_of
from bread_nb.runtime.ending import open_checkpoints
from bread_nb.runtime.outcome import (
    Finished,
    Outcome,
    PendingCall,
    Stopped,
    Suspended,
)
from bread_nb.runtime.run import Run
from bread_nb.stores.records import RunRow, Session

__all__ = ["BUSY", "Attempts", "Spent", "told"]

# Somebody else has it in hands; what becomes of it can be seen a moment later.
BUSY = frozenset(
    {
        "CHECKPOINT_NOT_FOUND",
        "NOT_INTERRUPTED",
        "RUN_ENDED",
        "RUN_LOST",
        "SESSION_BUSY",
        "SESSION_WAITING",
    }
)


@dataclass(slots=True)
class Spent:
    """What judging one attempt cost; None as soon as a part of it is unknown.

    `busy` says that another process has one of its judges in hands.
    """

    cost: float | None = 0.0
    tokens: int = 0
    busy: bool = False

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

    @property
    def _handed(self) -> Agent | None:
        """The agent, if the suite has it itself: no project knows it by its name."""
        given = self.suite.agent
        return given if isinstance(given, Agent) else None

    async def attempt(self, item: Item, session: str) -> tuple[Attempt, Spent, str]:
        """Run a case, or take up what is there of it.

        Returns:
            The attempt, what its judges spend from now on, and the run's handle.
        """
        spent = Spent()
        name, row = await self._known(session)
        attempt, handle = await self._made(item, name, row)
        return self._judged(attempt, name, spent), spent, handle

    async def _made(
        self, item: Item, name: str, row: RunRow | None
    ) -> tuple[Attempt, str]:
        """The attempt in a session, and its run's handle."""
        if row is not None and row.status not in ("working", "waiting"):
            return await self._stored(item, row), row.handle
        run, error = None, None
        outcome = await self._waiting(row) if row is not None else None
        if outcome is None:
            run, outcome, error = await _awaited(await self._begun(item, name, row))
        while isinstance(outcome, Suspended) and (
            answers := list(self._decided(item, outcome))
        ):
            for checkpoint, answer in answers:
                run = self.bread.resume(
                    checkpoint, answer, ctx=self.suite.ctx, agent=self._handed
                )
                run, outcome, error = await _awaited(run)
        if run is not None and outcome is not None:
            return _live(item, run, outcome), run.handle
        row = await self._run_of(name)
        if row is None:
            blank = replace(_blank(item), cost=0.0)  # it never began
            return (_failed(blank, error) if error else blank), ""
        attempt = await self._stored(item, row)
        return (_failed(attempt, error) if error else attempt), row.handle

    def _decided(
        self, item: Item, outcome: Suspended
    ) -> Iterator[tuple[str, JsonValue]]:
        """The open calls that the case has an answer to, and the answers.

        A call that was at work when its process ended is made again: an evaluation
        makes every call as often as it is run.
        """
        decisions = item.case.decisions
        for call in outcome.pending:
            name = call.tool if call.tool in decisions else call.tool_name
            if call.kind == "outcome" and not self.keep_waiting:
                yield call.checkpoint_id, {"run": True}
            elif name in decisions:
                yield call.checkpoint_id, _answer(decisions[name])

    async def let_go(self, session: str) -> None:
        """End what waits for a person of a row that is kept, its judges too."""
        if self.keep_waiting:
            return
        for call in await self.bread.pending():
            if call.session_id.startswith(f"{session}-"):
                try:
                    await self.bread.cancel(call.run_id)
                except BreadError as error:
                    if error.code not in BUSY:
                        raise

    async def _known(
        self, session: str, *, void: tuple[str, ...] = ("cancelled",)
    ) -> tuple[str, RunRow | None]:
        """The session to use, and the run that it had already, if any.

        A run that a person cancelled is no attempt: the next one gets a new session.
        """
        number = 1
        while True:
            name = f"{session}-{number}"
            row = await self._run_of(name)
            if row is None or row.status not in void:
                return name, row
            number += 1

    async def _waiting(self, row: RunRow) -> Outcome | None:
        """A run that waits for a person, as whoever began it left it."""
        if row.status != "waiting":
            return None
        calls = await open_checkpoints(self.bread.store, row.id)
        if not calls:
            return None
        return kept_outcome(row, (), [PendingCall.of(call) for call in calls])

    async def _run_of(self, session: str) -> RunRow | None:
        if await self.bread.store.get(Session, session) is None:
            return None
        rows = await self.bread.store.query(
            RunRow, {"session_id": session}, newest_first=True, limit=1
        )
        return rows[0] if rows else None

    async def _begun(self, item: Item, name: str, row: RunRow | None) -> Run:
        if row is not None:
            ctx, agent = self.suite.ctx, self._handed
            for run in await self.bread.recover(row.id, ctx=ctx, agent=agent):
                return run
        return self.bread.run(
            self.suite.agent,
            item.case.input,
            session=name,
            tags={"eval": self.suite.name, "case": item.case.name},
            model=self.model or self.suite.model,
            skill=item.case.skill,
            ctx=self.suite.ctx,
        )

    async def _stored(self, item: Item, row: RunRow) -> Attempt:
        error = row.error if isinstance(row.error, dict) else None
        output: object = row.output
        if row.status == "finished":
            output = self.agent.returns.validate(row.output)
        return replace(
            _blank(item),
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
            first = f"{session}-judge-{asked}"
            name, row = await self._known(first, void=("cancelled", "failed"))
            if row is not None and row.status not in ("working", "waiting"):
                spent.add(_whole(row), Usage.of(row.usage).total)
                kept = kept_outcome(row, ())
                if not isinstance(kept, Finished):
                    return kept
                return replace(kept, output=agent.returns.validate(row.output))
            outcome = await self._waiting(row) if row is not None else None
            if outcome is None:
                try:
                    outcome = await (await self._ruling(agent, question, name, row))
                except BreadError as error:
                    spent.busy = spent.busy or error.code in BUSY
                    raise
            spent.add(_known_cost(outcome), outcome.usage.total)
            return outcome

        return attempt.asking(ask)

    async def _ruling(
        self, agent: Agent, question: str, name: str, row: RunRow | None
    ) -> Run:
        """A judge at work: the run that was cut short, or a new one."""
        if row is not None:
            for run in await self.bread.recover(row.id, agent=agent):
                return run
        tags = {"eval": self.suite.name}
        return self.bread.run(agent, question, session=name, tags=tags)


async def _awaited(run: Run) -> tuple[Run, Outcome | None, BreadError | None]:
    try:
        return run, await run, None
    except (BreadError, Halt) as error:
        if error.code in BUSY or error.code == "RUN_CANCELLED":
            raise
        return run, None, error


def _answer(said: JsonValue) -> JsonValue:
    return {"approved": said} if isinstance(said, bool) else {"answer": said}


def _blank(item: Item) -> Attempt:
    """An attempt of which nothing is known yet."""
    case = item.case
    return Attempt(
        name=case.name, input=case.input, expected=case.expected, status="failed"
    )


def _live(item: Item, run: Run, outcome: Outcome) -> Attempt:
    return replace(
        _blank(item),
        status=_status(outcome),
        crumbs=run.crumbs,
        output=outcome.output,
        text=outcome.text,
        reason=outcome.reason if isinstance(outcome, Stopped) else None,
        turns=outcome.metrics.turns,
        calls=outcome.metrics.tool_calls,
        usage=outcome.usage,
        cost=_known_cost(outcome),
        duration_ms=outcome.metrics.duration_ms,
    )


def _failed(attempt: Attempt, error: BreadError | Halt) -> Attempt:
    """The attempt with the fault that ended it."""
    text = str(error.context.get("text") or "") or attempt.text
    return replace(attempt, status="failed", error=told(error), text=text)


def told(error: BreadError) -> str:
    """What happened and why, in one line."""
    return " ".join(line.strip() for line in error.lines()[:2])


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
