"""The desk where stored runs are answered, taken up again and ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from pydantic import JsonValue

from bread_nb.errors import BreadError
from bread_nb.runtime.aftermath import ended_elsewhere
from bread_nb.runtime.agent import Agent
from bread_nb.runtime.closed import not_open
from bread_nb.runtime.ending import end_stopped
from bread_nb.runtime.inbox import (
    expired_questions,
    find_question,
    find_run,
    late,
    open_questions,
)
from bread_nb.runtime.outcome import Outcome, PendingCall, Suspended
from bread_nb.runtime.recovery import (
    at_work_elsewhere,
    interrupted,
    is_interrupted,
    load_drive,
    take_over,
)
from bread_nb.runtime.resuming import Reply, go_on, reply_to
from bread_nb.runtime.run import Live, Work
from bread_nb.runtime.scope import Kit
from bread_nb.stores.records import Call, Checkpoint, RunRow

__all__ = ["Desk", "Names"]

Names = Callable[[Sequence[str]], object]
_NO_ANSWER = {"approved": False, "declined": True, "reason": "no answer in time"}


class Desk:
    """Works on runs that are in the store.

    Args:
        kit: What all runs share.
        agent_of: The agent of a run, as it is now.
    """

    def __init__(self, kit: Kit, agent_of: Callable[[RunRow], Agent]) -> None:
        self._kit = kit
        self._agent_of = agent_of
        self.names: Names | None = None
        self._replayed: dict[str, PendingCall] = {}

    async def answer(
        self, name: str, answer: object, live: Live, ctx: object
    ) -> Outcome:
        """Answer the question of this name and go on with its run.

        Raises:
            BreadError: As `reply_to`, or `AGENT_NOT_FOUND`; the question stays open.
        """
        replayed = self._replayed.get(name)
        if replayed is not None:
            return await self._end_of(replayed, live)
        question = await find_question(self._kit.store, name)
        if late(question):
            await self._refuse(question)
            now = await self._kit.store.get(Checkpoint, question.id)
            raise not_open(name, now)
        return await self._answer(question, answer, live, ctx)

    async def see_through(self, work: Work, live: Live, ctx: object) -> Outcome:
        """The work of a run, and on with it where a recording has the answers.

        Code that answers such a question once more is given the end of its run.
        """
        outcome, answered = await work(), list[PendingCall]()
        while isinstance(outcome, Suspended):
            found = self._recorded(outcome)
            if found is None:
                break
            call, answer = found
            try:
                outcome = await self.answer(call.checkpoint_id, answer, live, ctx)
            except BreadError as error:
                if error.code != "CHECKPOINT_NOT_FOUND":
                    raise
                break
            self._replayed[call.checkpoint_id] = call
            answered.append(call)
        return replace(outcome, answered=tuple(answered)) if answered else outcome

    def _recorded(self, outcome: Suspended) -> tuple[PendingCall, JsonValue] | None:
        """A call that waits and a person's recorded answer to it."""
        for call in outcome.pending:
            known = self._kit.catalog.deck.consent(call.checkpoint_id)
            if known is not None and known.by == "person":
                return call, known.answer
        return None

    async def _end_of(self, call: PendingCall, live: Live) -> Outcome:
        """How the run ended whose call a recording has answered."""
        row = await self._row(call.run_id)
        live.run_id, live.handle, live.agent_id = row.id, row.handle, row.agent_id
        agent = self._agent_of(row)
        drive = await load_drive(self._kit, row, agent, live=Live(row.agent_id))
        self._kit.streams.pop(row.id, None)
        return await ended_elsewhere(drive)

    async def _answer(
        self, question: Checkpoint, answer: object, live: Live, ctx: object
    ) -> Outcome:
        row, call = await self._asked(question)
        agent = live.agent or self._agent_of(row)
        live.agent_id = row.agent_id
        ctx = self._ctx(row, ctx)
        if not _rests(row, question) and await is_interrupted(row, self._kit):
            await go_on(row, agent, self._kit, live, ctx=ctx)
            question = await find_question(self._kit.store, question.id)
            row, call = await self._asked(question)
        reply = Reply(
            checkpoint=question,
            call=call,
            row=row,
            agent=agent,
            answer=answer,
            ctx=ctx,
        )
        return await reply_to(reply, self._kit, live)

    async def _asked(self, question: Checkpoint) -> tuple[RunRow, Call | None]:
        """The run and the call that a question is about, in one trip to the store."""
        call = self._kit.store.get(Call, question.call)
        return await asyncio.gather(self._row(question.run_id), call)

    async def take_up(self, row: RunRow, live: Live, ctx: object) -> Outcome:
        """Go on with an interrupted run where it broke off."""
        agent = live.agent or self._agent_of(row)
        return await go_on(row, agent, self._kit, live, ctx=self._ctx(row, ctx))

    async def pending(self) -> list[PendingCall]:
        """The open questions, oldest first; those whose time is over are refused."""
        for question in await expired_questions(self._kit.store):
            await self._refuse(question)
        return [PendingCall.of(c) for c in await open_questions(self._kit.store)]

    async def _refuse(self, question: Checkpoint) -> None:
        """Refuse a call nobody answered in time; a fault of its run is told of."""
        try:
            await self._answer(question, _NO_ANSWER, Live(question.agent_id), None)
        except BreadError as error:
            self._kit.fault(error, "ask_timeout")

    async def broken_off(self, name: str | None) -> list[RunRow]:
        """The interrupted runs, oldest first, or the one of this name.

        Raises:
            BreadError: `RUN_NOT_FOUND`, or `NOT_INTERRUPTED` for a run at work.
        """
        if name is None:
            return await interrupted(self._kit)
        row = await find_run(self._kit.store, name)
        if await is_interrupted(row, self._kit):
            return [row]
        raise BreadError(
            f"Run {row.handle} was not interrupted.",
            code="NOT_INTERRUPTED",
            why=f"it is {row.status}.",
            do=f"%bread show {row.handle}",
        )

    async def end(self, row: RunRow) -> RunRow:
        """End a run that waits or was interrupted.

        Raises:
            BreadError: `RUN_ENDED`, or `SESSION_BUSY` when another process works on it.
        """
        if row.status not in ("waiting", "working"):
            raise _ended(row)
        if row.status == "working" and not await is_interrupted(row, self._kit):
            raise _elsewhere(row)
        if await at_work_elsewhere(row, self._kit):
            raise _elsewhere(row)
        taken = await take_over(self._kit, row)
        if taken is None:
            raise _elsewhere(row)
        live = Live(row.agent_id)
        drive = await load_drive(self._kit, taken, self._any_agent(row), live=live)
        await end_stopped(drive, "stopped", seal="[stopped]")
        if not drive.scope.stream.taps:
            self._kit.streams.pop(row.id, None)
        return await self._row(row.id)

    async def _row(self, run_id: str) -> RunRow:
        row = await self._kit.store.get(RunRow, run_id)
        if row is None:
            raise BreadError(
                "The run of this question is gone.",
                code="RUN_NOT_FOUND",
                why="its session was forgotten meanwhile.",
                do="%bread pending",
            )
        return row

    def _ctx(self, row: RunRow, ctx: object) -> object:
        """A run's opaque data, looked up again where its names came from."""
        if ctx is not None or not row.names or self.names is None:
            return ctx
        return self.names(row.names)

    def _any_agent(self, row: RunRow) -> Agent:
        """The run's agent; when it is gone, one that is good for ending the run."""
        try:
            return self._agent_of(row)
        except BreadError:
            return Agent(model=row.override or "scripted:gone")


def _rests(row: RunRow, question: Checkpoint) -> bool:
    """Whether all that is open in a run is this question: nobody works on its calls."""
    return row.status == "waiting" and row.open == 1 and question.status == "open"


def _ended(row: RunRow) -> BreadError:
    return BreadError(
        f"Run {row.handle} has ended.",
        code="RUN_ENDED",
        why=f"it is {row.status}.",
        do=f"%bread show {row.handle}",
    )


def _elsewhere(row: RunRow) -> BreadError:
    return BreadError(
        f"Run {row.handle} is at work in another process.",
        code="SESSION_BUSY",
        why="only that process can stop it while it lives.",
        do="stop it there",
    )
