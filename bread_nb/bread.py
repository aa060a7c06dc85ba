"""Bread: starts runs, takes answers, owns what they share.

The only module that knows everything. In a script, `async with Bread.load() as bread`;
in a kernel the magics and `Bread.load()` share one instance.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from bread_nb.base.later import Later
from bread_nb.crumbs import HumanRequired
from bread_nb.errors import BreadError
from bread_nb.project.archive import Archive
from bread_nb.project.config import BreadConfig, find_project, load_config
from bread_nb.project.loader import AgentFolder
from bread_nb.project.roster import Roster
from bread_nb.runtime.agent import Agent, ModelSource
from bread_nb.runtime.attachments import FileSource
from bread_nb.runtime.live import agent_in, too_many
from bread_nb.runtime.outcome import Outcome
from bread_nb.runtime.run import Here, Home, Live, Run, Work
from bread_nb.stores.records import RunRow
from bread_nb.stores.store import Store

if TYPE_CHECKING:
    from bread_nb.evals.case import Suite
    from bread_nb.evals.report import Report
    from bread_nb.project.doctor import Finding
    from bread_nb.runtime import engine
else:
    engine = Later("bread_nb.runtime.engine")

__all__ = ["Bread"]


class Bread(Archive):
    """Runs agents, keeps what they do, takes answers.

    Args:
        agents: Agents by id; those in the folders of `root` come beside them.
        config: The project's configuration.
        root: The project's folder; the current one when None.
        store: A store or its address, in place of the configured one.
        home: Where runs live; the kernel's engine thread or the running loop when None.

    Raises:
        BreadError: For a configuration that cannot be used.
    """

    shared: ClassVar[Callable[[Path | None], Bread | None] | None] = None
    common_home: ClassVar[Home | None] = None

    def __init__(
        self,
        agents: Mapping[str, Agent] | None = None,
        *,
        config: BreadConfig | None = None,
        root: Path | None = None,
        store: Store | str | None = None,
        home: Home | None = None,
    ) -> None:
        settings = config or BreadConfig()
        folder = AgentFolder(root, settings.entrypoints) if root else None
        super().__init__(
            settings, root or Path.cwd(), Roster(agents or {}, folder), store=store
        )
        self._home = home or Bread.common_home or Here()
        self._lives: dict[Live, None] = {}

    @classmethod
    def load(cls, start: Path | str | None = None, *, strict: bool = False) -> Bread:
        """The project around `start` (the current folder), with its agents.

        In a kernel that has loaded the extension this is the instance the magics use.

        Args:
            start: A folder in the project.
            strict: Whether a single broken agent is an error.

        Raises:
            BreadError: `AGENT_BROKEN` for a broken configuration, or with `strict` for
                the first broken agent.
        """
        place = Path(start) if start is not None else None
        kept = cls.shared(place) if cls.shared is not None else None
        bread = kept or cls.open(place)
        if strict:
            for error in bread.broken().values():
                raise error
        return bread

    @classmethod
    def open(cls, start: Path | None = None, *, home: Home | None = None) -> Bread:
        """A new instance for the project around `start`, or for the folder itself."""
        here = start or Path.cwd()
        root = find_project(here) or here
        return cls(config=load_config(root), root=root, home=home)

    def run(
        self,
        agent: str | Agent,
        input: object = "",
        *,
        session: str | None = None,
        tags: Mapping[str, str] | None = None,
        skill: str | None = None,
        model: ModelSource | None = None,
        budget: float | None = None,
        ctx: object = None,
        on_human_required: Callable[[HumanRequired], object] | None = None,
        files: Sequence[FileSource] = (),
        names: Sequence[str] = (),
        cell: str | None = None,
        discard: bool = False,
    ) -> Run:
        """Start a run.

        Args:
            agent: The id of an agent, or an `Agent`.
            input: What its input schema takes.
            session: The conversation to go on with; a new one by default.
            tags: Tags of a new session.
            skill: A skill to begin with.
            model: Another model for this run.
            budget: The most the run may cost, in US dollars.
            ctx: Opaque data for tools and hooks.
            on_human_required: Called with each question this run asks.
            files: What the user shows: paths, bytes or files of the blob store.
            names: The keys of `ctx` that come from the caller's namespace.
            cell: Which cell and body asked.
            discard: Whether a run that waits in this session is ended first.

        Raises:
            BreadError: `CONCURRENCY_LIMIT` or `NOT_AVAILABLE` at once; anything else
                is raised by the run.
        """
        engine.refuse_later(skill=skill, budget=budget)
        live = self._admit(agent if isinstance(agent, str) else agent.name or "agent")

        async def work() -> Outcome:
            member = self._roster.member(agent)
            start = engine.Start(
                agent_id=member.id,
                agent=member.agent,
                input=input,
                session_id=session,
                tags=tags or {},
                model=model,
                ctx=ctx,
                names=names,
                files=files,
                cell=cell,
                discard=discard,
                definition=member.definition,
                on_human_required=on_human_required,
            )
            return await engine.start_run(start, self._kit, live)

        return self._begin(live, work, ctx)

    def resume(
        self,
        checkpoint: str,
        answer: object,
        *,
        ctx: object = None,
        agent: Agent | None = None,
    ) -> Run:
        """Answer a question; the run goes on when it was the last open one.

        Args:
            checkpoint: The question's id, its handle (`writer-3.a`), or its run's.
            answer: By kind: `{"approved": bool, "reason", "args", "remember"}`,
                `{"answer": value}` or `{"declined": true}`, or for an outcome
                `{"happened": true, "result": …}`, `{"run": true}`, `{"failed": true}`.
            ctx: The run's opaque data, when it is not in this process any more.
            agent: The run's agent, when it was handed over itself.

        Raises:
            BreadError: `CONCURRENCY_LIMIT`; anything else is raised by the run.
        """
        live = self._admit(agent_in(checkpoint), agent)
        return self._begin(
            live, lambda: self._desk.answer(checkpoint, answer, live, ctx), ctx
        )

    async def recover(
        self,
        run: str | None = None,
        *,
        ctx: object = None,
        agent: Agent | None = None,
    ) -> list[Run]:
        """Take up interrupted runs where they broke off; each is a `Run` under way.

        Args:
            run: One run by its handle or id; all by default.
            ctx: The opaque data of that run.
            agent: The agent of that run, when it was handed over itself.

        Raises:
            BreadError: `RUN_NOT_FOUND`, or `NOT_INTERRUPTED` for a run at work.
        """
        rows = await self._desk.broken_off(run)
        return [self._take_up(row, ctx, agent) for row in rows]

    async def cancel(self, run: str) -> RunRow:
        """End a run: at once when it works here, for good when it waits.

        Raises:
            BreadError: `RUN_NOT_FOUND`, `RUN_ENDED`, or `SESSION_BUSY` when another
                process works on it.
        """
        row = await engine.find_run(self.store, run)
        at_work = self.at_work(row.id)
        for live in at_work:
            live.cancel()
        return row if at_work else await self._desk.end(row)

    def at_work(self, run_id: str) -> list[Live]:
        """The work that is under way on a run here, the earliest first."""
        return [live for live in tuple(self._lives) if live.run_id == run_id]

    async def eval(
        self,
        *targets: Suite | Path | str,
        model: ModelSource | None = None,
        repeat: int | None = None,
        concurrency: int = 8,
        budget: float | None = None,
        tags: Sequence[str] = (),
        on: object = None,
    ) -> Report:
        """Hold agents against their suites; one that was interrupted goes on.

        Args:
            *targets: Suites, agents' ids, or paths; every agent's evals by default.
            model: Another model for the agents.
            repeat: How often each case is run, in place of what its suite says.
            concurrency: How many cases run at once.
            budget: The most it may cost in US dollars, judges included.
            tags: Only the cases that carry all of these.
            on: A dask client, `"dask"` or `"dask:ADDRESS"`: who runs the cases.

        Raises:
            BreadError: `EVAL_NOT_FOUND`, `EVAL_BROKEN` or `INVALID_SUITE`.
        """
        oven = import_module("bread_nb.evals.ovens")
        options = oven.Options(
            model=model, concurrency=concurrency, budget=budget, on=on
        )
        return await oven.bake(self, targets, options, repeat=repeat, tags=tags)

    async def map(
        self,
        agent: str | Agent,
        inputs: Iterable[object],
        *,
        model: ModelSource | None = None,
        concurrency: int = 8,
        on: object = None,
    ) -> list[Outcome | BreadError]:
        """Run an agent on many inputs; a `map` that was interrupted goes on.

        Args:
            agent: The id of an agent, or an `Agent`.
            inputs: What it is given, one a run.
            model: Another model for it.
            concurrency: How many run at once.
            on: A dask client, `"dask"` or `"dask:ADDRESS"`: who runs them.

        Returns:
            How each ended, in the order of the inputs; the fault of one that failed.
        """
        oven = import_module("bread_nb.evals.ovens")
        options = oven.Options(model=model, concurrency=concurrency, on=on)
        return await oven.spread(self, agent, inputs, options)

    async def doctor(
        self, agent: str | None = None, *, reach: bool = False
    ) -> list[Finding]:
        """What is in order and what is not; it never raises. `reach` asks services."""
        examine = import_module("bread_nb.project.doctor").examine
        return await examine(self, agent, reach=reach)

    async def close(self) -> None:
        """Cancel what works, wait for it, and let go of the store."""
        lives = tuple(self._lives)
        for live in lives:
            live.cancel()
        ended = [asyncio.wrap_future(live.ended) for live in lives]
        await asyncio.gather(*ended, return_exceptions=True)
        await self._listeners.drain()
        await self._kit.catalog.aclose()
        await self._kit.owner.give_up(self.store)
        await self.store.close()

    async def __aenter__(self) -> Bread:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _admit(self, name: str, agent: Agent | None = None) -> Live:
        most = self.config.concurrency
        if most is not None and len(self._lives) >= most:
            raise too_many(len(self._lives), most)
        live = Live(name, keeper=self, agent=agent)
        self._lives[live] = None
        live.ended.add_done_callback(lambda _: self._lives.pop(live, None))
        return live

    def _begin(self, live: Live, work: Work, ctx: object) -> Run:
        seen = partial(self._desk.see_through, work, live, ctx)
        return Run(live, seen, self._home)

    def _take_up(self, row: RunRow, ctx: object, agent: Agent | None) -> Run:
        live = self._admit(row.agent_id, agent)
        return self._begin(live, lambda: self._desk.take_up(row, live, ctx), ctx)
