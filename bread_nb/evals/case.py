"""What an agent is held to: a suite of cases, each with an input and its scorers."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Literal, TypeAlias, cast

from pydantic import JsonValue

from bread_nb.errors import BreadError, closest
from bread_nb.evals.datasets import Columns, read_rows
from bread_nb.evals.scoring import MISSING, Scorer
from bread_nb.runtime.agent import Agent, ModelSource

__all__ = ["KINDS", "Case", "Kind", "Suite"]

Kind: TypeAlias = Literal[
    "functional", "prompt-injection", "jailbreak", "data-exfiltration"
]
KINDS = ("functional", "prompt-injection", "jailbreak", "data-exfiltration")


@dataclass(frozen=True)
class Case:
    """One thing an agent must do.

    Args:
        name: Its name, unique in its suite.
        input: What the agent's input schema takes.
        expected: The right answer, for scorers that are given none of their own.
        skill: A skill to begin with.
        scorers: What its answer is held against; the suite's own come after them. It
            needs one, of its own or of the suite.
        repeat: How often it is run.
        tags: Words to select it by.
        decisions: Answers to calls that wait for a person, by the tool's name: True
            or False, or for a question to a person what it is answered with.
    """

    name: str
    input: object
    _: KW_ONLY
    expected: object = MISSING
    skill: str | None = None
    scorers: Sequence[Scorer] = ()
    repeat: int = 1
    tags: Sequence[str] = ()
    decisions: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise _unusable("a case has no name", 'Case(name="rye", input="…")')
        _check_repeat(self.repeat, self.name)
        for scorer in self.scorers:
            _check_scorer(scorer, self.name)


class Suite:
    """Cases for one agent.

    Args:
        agent: The agent's id, or an `Agent`.
        cases: Cases, mappings, a DataFrame, or the path of a CSV or JSONL file.
        kind: What the suite is about.
        name: Its name; the agent's and the kind by default.
        scorers: What every answer is held against, after its case's own scorers.
        repeat: How often each case is run that does not say so itself.
        model: The model to run the agent with, in place of its own.
        columns: Which columns of a table are `name`, `input`, `expected`, `skill` and
            `tags`, where their names do not say so.
        ctx: What tools and hooks get as their `ctx`, for example a mapping with a
            table in it, as `--with` gives it in a cell. It is never kept.

    A suite from a file knows where its `recording` is, beside the file; one of which
    cases were selected is not `whole`.

    Raises:
        BreadError: `INVALID_SUITE`, for a case that is held against nothing too.
    """

    scored: ClassVar[bool] = True
    recording: Path | None = None
    whole: bool = True

    def __init__(
        self,
        agent: str | Agent,
        cases: object,
        *,
        kind: Kind = "functional",
        name: str = "",
        scorers: Sequence[Scorer] = (),
        repeat: int = 1,
        model: ModelSource | None = None,
        columns: Columns | None = None,
        ctx: object = None,
    ) -> None:
        if kind not in KINDS:
            near = closest(kind, KINDS)
            raise _unusable(f"there is no kind {kind!r}", f"kind={near or KINDS[0]!r}")
        self.agent = agent
        self.agent_id = agent if isinstance(agent, str) else agent.name or "agent"
        self.kind: Kind = kind
        self.name = name or (
            self.agent_id if kind == "functional" else f"{self.agent_id} {kind}"
        )
        for scorer in scorers:
            _check_scorer(scorer, self.name)
        self.scorers = tuple(scorers)
        self.model = model
        _check_repeat(repeat, self.name)
        self.repeat = repeat
        self.ctx = ctx
        self.cases = tuple(self._distinct(_read(cases, columns)))
        if not self.cases:
            raise _unusable(f"{self.name} has no cases", "Suite(agent, [Case(…)])")

    def _distinct(self, cases: Iterable[Case]) -> Iterator[Case]:
        seen: set[str] = set()
        for case in cases:
            if case.name in seen:
                raise _unusable(
                    f"two cases of {self.name} are called {case.name!r}", "rename one"
                )
            seen.add(case.name)
            if self.scored and not self.scorers_of(case):
                raise _unusable(
                    f"{case.name} of {self.name} is held against nothing",
                    "give the case or the suite scorers, such as exact or contains",
                )
            if case.repeat == 1 and self.repeat > 1:
                case = replace(case, repeat=self.repeat)  # noqa: PLW2901
            yield case

    def scorers_of(self, case: Case) -> tuple[Scorer, ...]:
        """What a case's answer is held against."""
        return (*case.scorers, *self.scorers)

    def select(self, *tags: str, names: Sequence[str] = ()) -> Suite:
        """The same suite with the cases alone that carry all tags and are named.

        Raises:
            BreadError: `INVALID_SUITE` when none is left.
        """
        wanted = set(tags)
        kept = [
            case
            for case in self.cases
            if wanted <= set(case.tags) and (not names or case.name in names)
        ]
        if not kept:
            raise _unusable(f"no case of {self.name} is left", "select fewer tags")
        return self._with(kept, whole=self.whole and len(kept) == len(self.cases))

    def repeated(self, times: int) -> Suite:
        """The same suite with each case run so many times."""
        cases = [replace(case, repeat=times) for case in self.cases]
        return self._with(cases, whole=self.whole)

    def _with(self, cases: Sequence[Case], *, whole: bool) -> Suite:
        same = copy.copy(self)
        same.cases, same.whole = tuple(cases), whole
        return same

    def __len__(self) -> int:
        return len(self.cases)

    def __repr__(self) -> str:
        noun = "case" if len(self.cases) == 1 else "cases"
        return f"Suite({self.name!r}, {len(self.cases)} {noun})"


def _read(cases: object, columns: Columns | None) -> Iterator[Case]:
    if isinstance(cases, Case):
        yield cases
        return
    if isinstance(cases, list | tuple):
        cases = cast("Sequence[object]", cases)
        if all(isinstance(case, Case) for case in cases):
            yield from cast("Sequence[Case]", cases)
            return
    for row in read_rows(cases, columns or Columns()):
        yield Case(
            name=row.name,
            input=row.input,
            expected=row.expected,
            skill=row.skill,
            tags=row.tags,
        )


def _check_repeat(repeat: int, where: str) -> None:
    if type(repeat) is not int or repeat < 1:
        raise _unusable(f"{where} has repeat={repeat}", "repeat=1")


def _check_scorer(scorer: object, where: str) -> None:
    if not isinstance(scorer, Scorer):
        raise _unusable(
            f"{where} is held against {scorer!r}, which is no scorer",
            'contains("rye"), or custom(fn) for a function',
        )


def _unusable(why: str, do: str) -> BreadError:
    return BreadError(
        "This suite cannot be used.", code="INVALID_SUITE", why=f"{why}.", do=do
    )
