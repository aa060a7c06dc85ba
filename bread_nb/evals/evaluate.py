"""Evaluating: every case run and scored, so many at once, in the order of the suite.

Each row is kept as it comes. What was interrupted goes on where it was; what is paid
for is not paid for twice. A budget ends it before a row that may go over it begins.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

from pydantic import JsonValue

from bread_nb.base.bounds import fits
from bread_nb.base.ids import monotonic
from bread_nb.bread import Bread
from bread_nb.errors import BreadError
from bread_nb.evals.attempts import Attempts
from bread_nb.evals.case import Suite
from bread_nb.evals.extras import needed
from bread_nb.evals.report import Report, SuiteReport
from bread_nb.evals.rows import row_of
from bread_nb.evals.scoresheet import EvalRow, Item, Sheet, items_of, open_sheet
from bread_nb.runtime.agent import Agent, ModelSource
from bread_nb.tools.tool import Tool

__all__ = ["Options", "Progress", "evaluate"]

_AT_ONCE = 8
_MOST = sys.float_info.max
_CRUMB = 1e-9
_TOLD = 5
Make: TypeAlias = Callable[[Attempts, Item, str], Awaitable[EvalRow | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How suites are evaluated.

    Args:
        model: The model to run the agents with.
        concurrency: How many cases run at once.
        budget: The most it may cost in US dollars, judges included; more than 0.
        spent: What was spent of it before; None when nobody knows.
        watch: Called when a case begins and after each row, and at the beginning and
            the end of all.
        on: A dask client, `"dask"` or `"dask:ADDRESS"`: who makes the rows, if not
            this process.
        keep_waiting: Whether runs that wait for a person are left to wait; else they
            are ended, so that an evaluation leaves nothing behind.

    Raises:
        BreadError: `INVALID_SETTING` for a budget that is no amount.
    """

    model: ModelSource | None = None
    concurrency: int = _AT_ONCE
    budget: float | None = None
    spent: float | None = 0.0
    watch: Callable[[Progress], None] | None = None
    on: object = None
    keep_waiting: bool = False

    def __post_init__(self) -> None:
        budget = self.budget
        if budget is not None and (not fits(budget, 0, _MOST) or budget == 0):
            raise BreadError(
                f"budget cannot be {budget!r}.",
                code="INVALID_SETTING",
                why="it is an amount in US dollars, more than 0; None is no limit.",
                do="await bread.eval(..., budget=2.0)",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far an evaluation has come.

    Args:
        name: What is evaluated.
        total: Rows in all.
        done: Rows that are there.
        passed: Those that passed.
        failed: Those that did not.
        broken: Those that say nothing, because a run or a scorer failed.
        cost: US dollars so far.
        unpriced: Rows whose cost is not known.
        seconds: Seconds since it began.
        rest: Seconds that it will take yet, if it goes on like this; None at first.
        ended: Whether it is over.
        case: The case that was begun last.
        missed: The first rows that did not pass, in the order in which they came.
    """

    name: str
    total: int
    done: int = 0
    passed: int = 0
    failed: int = 0
    broken: int = 0
    cost: float = 0.0
    unpriced: int = 0
    seconds: float = 0.0
    rest: float | None = None
    ended: bool = False
    case: str = ""
    missed: tuple[EvalRow, ...] = ()


@dataclass(slots=True)
class _Book:
    """One suite, its sheet and its attempts.

    `known` are the rows that say what a row of it costs; one that broke off before
    anything was paid says nothing of that.
    """

    suite: Suite
    sheet: Sheet
    attempts: Attempts
    items: list[Item]
    known: int = 0
    at_work: int = 0

    def learn(self, row: EvalRow) -> None:
        self.known += bool(row.cost) or row.status != "error"


async def evaluate(
    bread: Bread,
    suites: Sequence[Suite],
    options: Options,
) -> Report:
    """Evaluate suites; the rows come in their order, whatever came first.

    Args:
        bread: Who runs the agents.
        suites: What is evaluated.
        options: How.

    Raises:
        BreadError: `AGENT_NOT_FOUND`, `AGENT_BROKEN` or what the store says.
    """
    books = [await _open(bread, suite, options) for suite in suites]
    async with _hands(bread, options) as (make, at_once):
        work = _Work(books, replace(options, concurrency=at_once), make)
        await work.through()
    return Report(
        suites=tuple(
            SuiteReport(
                name=book.suite.name,
                kind=book.suite.kind,
                agent=book.suite.agent_id,
                model=_model_name(book.attempts),
                rows=tuple(book.sheet.rows[n] for n in sorted(book.sheet.rows)),
                expected=len(book.items),
                stopped=work.stopped,
            )
            for book in books
        )
    )


async def _open(bread: Bread, suite: Suite, options: Options) -> _Book:
    attempts = Attempts(bread, suite, options.model, keep_waiting=options.keep_waiting)
    given = isinstance(suite.agent, Agent)
    files = None if given else bread.definition(suite.agent_id)
    identity: JsonValue = files.id if files else _described(attempts.agent)
    sheet = await open_sheet(
        bread.store,
        suite,
        [suite.agent_id, identity, _model_name(attempts), *_circumstances(bread)],
    )
    return _Book(suite, sheet, attempts, items_of(suite))


@asynccontextmanager
async def _hands(bread: Bread, options: Options) -> AsyncGenerator[tuple[Make, int]]:
    """Who makes rows, and how many at once: this process, or a cluster."""
    if options.on is None:
        yield row_of, options.concurrency
        return
    missing = BreadError(
        "A cluster needs dask.",
        code="MISSING_EXTRA",
        why="distributed is not installed.",
        do='pip install "bread-nb[fanout]"',
    )
    cluster = needed("bread_nb.evals.fanout", missing).cluster_of(options.on, bread)
    async with cluster.listening(bread.publish):
        yield cluster.make, max(options.concurrency, cluster.room)


def _circumstances(bread: Bread) -> list[JsonValue]:
    """The mode, where its rows are not those of live models, and another judge."""
    mode, grader = bread.deck.mode.name, os.environ.get("BREAD_EVAL_MODEL")
    taped: list[JsonValue] = [mode] if mode in ("record", "replay") else []
    return [*taped, {"judge": grader}] if grader else taped


def _described(agent: Agent) -> JsonValue:
    tools = [[t.leaf, t.source] for t in agent.tools if isinstance(t, Tool)]
    return [agent.prompt, cast("JsonValue", tools), agent.steps]


def _model_name(attempts: Attempts) -> str:
    model = attempts.model or attempts.suite.model or attempts.agent.model
    return model if isinstance(model, str) else model.name


class _Work:
    """The rows still to be made, taken by so many workers."""

    def __init__(
        self, books: Sequence[_Book], options: Options, make: Make = row_of
    ) -> None:
        self._books = books
        self._make = make
        self._options = options
        self._began = monotonic()
        self._before = sum(len(book.sheet.rows) for book in books)
        self._left = deque(self._missing())
        self._freed = asyncio.Event()
        self._at_work = 0
        self._dearest = 0.0
        self._progress = self._counted()
        self.stopped: str | None = None

    def _missing(self) -> Iterator[tuple[_Book, Item]]:
        for book in self._books:
            for item in book.items:
                if item.number not in book.sheet.rows:
                    yield book, item

    def _counted(self) -> Progress:
        names = ", ".join(book.suite.name for book in self._books)
        total = sum(len(book.items) for book in self._books)
        progress = Progress(name=names, total=total)
        for book in self._books:
            for row in book.sheet.rows.values():
                progress = self._with(progress, book, row)
        return progress

    async def through(self) -> None:
        """Make every row that the budget allows."""
        self._tell()
        workers = max(1, self._options.concurrency)
        missing = self._progress.total - self._progress.done
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(workers, missing)):
                    group.create_task(self._worker())
        except BaseExceptionGroup as several:
            raise _first(several) from None
        for book in self._books:
            if len(book.sheet.rows) < len(book.items):
                await book.sheet.read()
            if len(book.sheet.rows) == len(book.items):
                await book.sheet.complete()
        self._progress = replace(self._progress, ended=True)
        self._tell()

    async def _worker(self) -> None:
        """Make rows, one after another, until none is left or the budget is used up."""
        while (taken := await self._next()) is not None:
            await self._row(*taken)

    async def _next(self) -> tuple[_Book, Item] | None:
        """The next row, as soon as the budget has room for it, counted as at work."""
        while self._left and self.stopped is None:
            book, item = self._left[0]
            if self._has_room(book):
                self._left.popleft()
                self._at_work += 1
                book.at_work += 1
                return book, item
            if self.stopped is None:
                self._freed.clear()
                await self._freed.wait()
        return None

    def _has_room(self, book: _Book) -> bool:
        """Whether one more row may begin beside those at work.

        Each may cost as much as the dearest so far. So that this is worth something,
        no more rows of a suite are at work than it has made.
        """
        budget, spent = self._options.budget, self._options.spent
        if budget is None:
            return True
        if spent is None or self._progress.unpriced:
            self.stopped = "budget.unpriced"
            return False
        paid = spent + self._progress.cost
        likely = paid + self._dearest * (self._at_work + 1)
        fits_in = likely <= budget + _CRUMB and paid < budget
        if not fits_in and not self._at_work:
            self.stopped = "budget"
        return fits_in and book.at_work < max(1, book.known)

    async def _row(self, book: _Book, item: Item) -> None:
        try:
            await self._made(book, item)
        finally:
            self._at_work -= 1
            book.at_work -= 1
            self._freed.set()

    async def _made(self, book: _Book, item: Item) -> None:
        self._progress = replace(self._progress, case=item.case.name)
        self._tell()
        session = book.sheet.session(item)
        row = await self._make(book.attempts, item, session)
        if row is None:
            return
        await book.sheet.keep(item, row)
        if not row.passed or book.suite.kind != "functional":
            await book.attempts.let_go(session)
        self._progress = self._with(self._progress, book, row)
        self._tell()

    def _with(self, progress: Progress, book: _Book, row: EvalRow) -> Progress:
        book.learn(row)
        self._dearest = max(self._dearest, row.cost or 0.0)
        return _with(progress, row)

    def _tell(self) -> None:
        if self._options.watch is None:
            return
        seconds = monotonic() - self._began
        made = self._progress.done - self._before
        left = self._progress.total - self._progress.done
        rest = seconds / made * left if made else None
        self._progress = replace(self._progress, seconds=seconds, rest=rest)
        self._options.watch(self._progress)


def _with(progress: Progress, row: EvalRow) -> Progress:
    return replace(
        progress,
        done=progress.done + 1,
        passed=progress.passed + (row.status == "passed"),
        failed=progress.failed + (row.status == "failed"),
        broken=progress.broken + (row.status in ("broken", "error")),
        cost=progress.cost + (row.cost or 0.0),
        unpriced=progress.unpriced + (row.cost is None),
        missed=progress.missed if row.passed else (*progress.missed, row)[:_TOLD],
    )


def _first(several: BaseExceptionGroup[BaseException]) -> BaseException:
    error = several.exceptions[0]
    while isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        error = group.exceptions[0]
    return error
