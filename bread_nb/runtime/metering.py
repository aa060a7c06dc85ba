"""Counting what a model call takes: its tokens and its cost, each once.

The count goes into the run's row and into a crumb, which are stored together: totals
survive whatever becomes of the process. A try that was cut counts with what it had
reported; one that broke off in its answer without a report has an unknown cost.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from pydantic import JsonValue

from bread_nb.base.ids import now_ms
from bread_nb.crumbs import ModelUsed
from bread_nb.messages import Price, Usage
from bread_nb.providers.model import ChatModel, Finish, SessionReport, UsageReport
from bread_nb.providers.prices import FREE, Called, price, price_now
from bread_nb.providers.rates import Rates
from bread_nb.runtime.bills import with_call, with_session
from bread_nb.runtime.drive import Drive

__all__ = ["Meter"]


@dataclass(slots=True)
class Meter:
    """The meter of one request to a model.

    `name` is who is being asked, `report` the last report of the try under way,
    `session` that of a session that ended with it, and `said` whether anything of its
    answer has come.
    """

    drive: Drive
    model: ChatModel
    name: str
    report: UsageReport | None = None
    said: bool = False
    session: SessionReport | None = None

    @contextmanager
    def counting(self) -> Generator[None]:
        """Count what was used when the block is left without an answer."""
        answered = False
        try:
            yield
            answered = True
        finally:
            if not answered:
                self._cut()

    def restart(self, name: str | None) -> None:
        """The try under way is void and another begins, with this model if named."""
        self._cut()
        self.drive.begin_turn()
        self.name, self.report, self.said = name or self.name, None, False

    def take(self, report: UsageReport | SessionReport) -> None:
        """Know what the model reports."""
        if isinstance(report, SessionReport):
            self.session = report
        else:
            self.report = report

    def _cut(self) -> None:
        if self.said:
            self.drive.begin_turn()
        later = self.report is not None and self.report.later
        found = None if later else price_now(self._called(self.name), self._rates)
        if self.report is not None or (self.said and found != FREE):
            self._count(self.name, found, kind="cut")
        self._end_session(self.name)

    async def ended(self, name: str, finish: Finish) -> None:
        """The model has answered.

        Args:
            name: `provider:model` of who answered.
            finish: The end of its answer.
        """
        found, later = None, self.report is not None and self.report.later
        nothing = not self.said and self.report is None
        if later or self.session is not None or (finish.ended and nothing):
            if later:
                self._count(name, None, finish=finish)
            self._end_session(name)
            return
        try:
            found = await price(self._called(name, finish.model), self._rates)
        finally:
            self._count(name, found, finish=finish)

    def _end_session(self, name: str) -> None:
        """Count what a session cost as a whole, and the tokens its turns left out."""
        session, self.session = self.session, None
        if session is None:
            return
        cost = session.price
        self.drive.scope.emit(
            ModelUsed,
            model=name,
            turn=self.drive.row.turn + self.said,
            usage=_usage_json(session.usage),
            cost=cost.amount if cost else None,
            currency=cost.currency if cost else None,
            cost_source=cost.source if cost else None,
            kind="session",
            turns=session.turns,
        )
        fields = with_session(
            self.drive.row,
            name,
            session.usage,
            cost,
            turns=session.turns,
            at=now_ms(),
        )
        self.drive.journal.expect(**fields)

    @property
    def _rates(self) -> Mapping[str, Rates]:
        return self.drive.scope.kit.catalog.rates

    def _called(self, name: str, answered: str | None = None) -> Called:
        return Called(
            model=self.model, name=name, answered=answered, report=self.report
        )

    def _count(
        self,
        name: str,
        found: Price | None,
        *,
        kind: str = "turn",
        finish: Finish | None = None,
    ) -> None:
        usage = self.report.usage if self.report is not None else None
        paid = found is not None and found.source != FREE.source
        partial = kind == "cut" and paid
        self.drive.scope.emit(
            ModelUsed,
            model=name,
            turn=self.drive.row.turn + 1,
            usage=_usage_json(usage),
            stop_reason=finish.stop_reason if finish else None,
            cost=found.amount if found else None,
            currency=found.currency if paid and found else None,
            cost_source=found.source if found else None,
            partial=True if partial else None,
            kind=kind,
            temperature_dropped=(finish and finish.temperature_dropped) or None,
        )
        fields = with_call(
            self.drive.row, name, usage, found, at=now_ms(), partial=partial
        )
        self.drive.journal.expect(**fields)


def _usage_json(usage: Usage | None) -> JsonValue:
    if usage is None:
        return None
    told: dict[str, JsonValue] = {
        "input": usage.input,
        "output": usage.output,
        "cacheRead": usage.cache_read,
        "cacheWrite": usage.cache_write,
        "reasoning": usage.reasoning,
    }
    if usage.cache_write_1h:
        told["cacheWrite1h"] = usage.cache_write_1h
    return told
