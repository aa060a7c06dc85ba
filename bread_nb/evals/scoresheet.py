"""The rows of an evaluation, kept as they come, so that it can be gone on with.

An evaluation is known by what is evaluated: the agent as it is now, the model, the
cases and their scorers. As long as it is not complete, asking for the same one again
goes on with its rows; after that a new round begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import ClassVar, Literal, cast

from pydantic import JsonValue

from bread_nb.base.ids import now_ms
from bread_nb.base.wire import fingerprint
from bread_nb.errors import BreadError
from bread_nb.evals.case import Case, Suite
from bread_nb.evals.scoring import MISSING, Verdict, as_text
from bread_nb.stores.store import Entry, Record, Store

__all__ = ["EvalRow", "Item", "Sheet", "items_of", "open_sheet"]

RowStatus = Literal["passed", "failed", "error", "broken"]


class EvalSheet(Record):
    """An evaluation: which round it is in, and whether that is complete."""

    kind: ClassVar[str] = "eval"

    agent_id: str
    created_at: int
    updated_at: int
    suite: str
    round: int = 1
    complete: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One run of one case; its number is its row."""

    number: int
    case: Case
    repeat: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalRow:
    """What became of one run of one case.

    Args:
        case: The case's name.
        repeat: Which of its runs this was, from 1.
        status: `passed`, `failed`, `error` when the run failed, or `broken` when a
            scorer did.
        score: The mean of what its scorers gave, 0 to 1.
        verdicts: What each scorer said.
        answer: The output as text.
        error: What ended the run, when it did not finish.
        cost: US dollars, judges included; None when it is not known.
        tokens: Tokens in all.
        turns: Model calls.
        ms: Working time in milliseconds.
        run: The run's handle.
        tags: The tags of its case.
    """

    case: str
    repeat: int = 1
    status: RowStatus = "failed"
    score: float = 0.0
    verdicts: tuple[Verdict, ...] = ()
    answer: str = ""
    error: str | None = None
    cost: float | None = None
    tokens: int = 0
    turns: int = 0
    ms: int = 0
    run: str = ""
    tags: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every scorer let it pass."""
        return self.status == "passed"

    @property
    def why(self) -> str:
        """What was wrong with it, in one line; else what its scorers said of it."""
        said = [v for v in self.verdicts if v.passed == self.passed]
        if self.passed:
            return "; ".join(dict.fromkeys(v.why for v in said if v.why))
        parts = [self.error] if self.error else []
        parts += [f"{v.scorer}: {v.why}" if v.why else v.scorer for v in said]
        return "; ".join(parts)

    def to_json(self) -> dict[str, JsonValue]:
        """The row as plain JSON."""
        return {
            **{name: getattr(self, name) for name in _FIELDS},
            "verdicts": [verdict.to_json() for verdict in self.verdicts],
            "tags": list(self.tags),
        }

    @staticmethod
    def from_json(value: JsonValue) -> EvalRow:
        """The row that `to_json` made `value` from.

        Raises:
            ValueError: When it is no such row.
        """
        if not isinstance(value, dict):
            raise ValueError("this is no row of an evaluation")
        known = {k: v for k, v in value.items() if k in _FIELDS}
        verdicts = cast("list[dict[str, object]]", known.pop("verdicts", []))
        tags = cast("list[str]", known.pop("tags", []))
        try:
            return EvalRow(
                **known,  # type: ignore[arg-type]
                verdicts=tuple(Verdict(**each) for each in verdicts),  # type: ignore[arg-type]
                tags=tuple(tags),
            )
        except TypeError as error:
            raise ValueError(f"this is no row of an evaluation: {error}") from None


_FIELDS = tuple(each.name for each in fields(EvalRow))


@dataclass(slots=True)
class Sheet:
    """The rows of one suite's evaluation, by number."""

    key: str
    round: int
    store: Store
    rows: dict[int, EvalRow] = field(default_factory=dict[int, EvalRow])

    @property
    def log(self) -> str:
        """The log that the rows are kept in."""
        return f"evals/{self.key}/{self.round}"

    def session(self, item: Item) -> str:
        """The first part of the ids of the sessions that an item may have."""
        return f"eval-{self.key[:16]}-{self.round}-{item.number}"

    async def keep(self, item: Item, row: EvalRow) -> None:
        """Keep a row; where another process kept one meanwhile, that one stands."""
        self.rows[item.number] = row
        try:
            await self.store.append(self.log, [Entry(item.number, row.to_json())])
        except BreadError as error:
            if error.code != "STORE_CONFLICT":
                raise
            await self.read()

    async def read(self) -> None:
        """Take in the rows that are kept, those of other processes too."""
        for entry in await self.store.read(self.log):
            self.rows[entry.seq] = EvalRow.from_json(entry.value)

    async def complete(self) -> None:
        """All rows are there: the next time a new round begins."""
        change = {"complete": True, "updated_at": now_ms()}
        await self.store.claim(EvalSheet, self.key, {"round": self.round}, change)


def items_of(suite: Suite) -> list[Item]:
    """Every run of every case, in order."""
    runs = [(case, n) for case in suite.cases for n in range(1, case.repeat + 1)]
    return [
        Item(number=i, case=case, repeat=n) for i, (case, n) in enumerate(runs, start=1)
    ]


async def open_sheet(store: Store, suite: Suite, agent: JsonValue) -> Sheet:
    """The sheet of a suite: the one that is not complete yet, or a new one.

    Args:
        store: Where rows are kept.
        suite: What is evaluated.
        agent: What tells the agent as it is now, and its model, from any other.
    """
    key = fingerprint([agent, *_identity(suite)])
    kept = await store.get(EvalSheet, key)
    if kept is not None and not kept.complete:
        sheet = Sheet(key, kept.round, store)
        await sheet.read()
        return sheet
    fresh = EvalSheet(
        id=key,
        agent_id=suite.agent_id,
        created_at=kept.created_at if kept else now_ms(),
        updated_at=now_ms(),
        suite=suite.name,
        round=kept.round + 1 if kept else 1,
    )
    await store.put(fresh)
    return Sheet(key, fresh.round, store)


def _identity(suite: Suite) -> Sequence[JsonValue]:
    cases: list[JsonValue] = [
        [
            case.name,
            as_text(case.input),
            None if case.expected is MISSING else as_text(case.expected),
            case.skill,
            case.repeat,
            [[scorer.name, scorer.key] for scorer in suite.scorers_of(case)],
            dict(case.decisions),
        ]
        for case in suite.cases
    ]
    return [suite.name, suite.kind, cases]
