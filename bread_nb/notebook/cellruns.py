"""A cell that runs an agent: started, shown, waited for, and ended as the run ends."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pydantic import JsonValue

from bread_nb.a2ui.endings import ending
from bread_nb.base.wire import fingerprint
from bread_nb.bread import Bread
from bread_nb.errors import BreadError, BreadStopped, closest
from bread_nb.notebook.bridge import GRACE_SECONDS, hold, stopped
from bread_nb.notebook.cells import Cell
from bread_nb.notebook.given import describe, look_up
from bread_nb.notebook.parsing import (
    COMMANDS,
    RunLine,
    fill_in,
    usage,
    without_marker,
)
from bread_nb.notebook.shown import Shown
from bread_nb.notebook.stage import Stage
from bread_nb.project.inputs import read_input
from bread_nb.providers.modes import in_ci
from bread_nb.runtime.agent import Agent
from bread_nb.runtime.inbox import find_session
from bread_nb.runtime.outcome import Stopped, Suspended
from bread_nb.runtime.run import Run
from bread_nb.stores.records import RunRow

__all__ = ["run_agent_line", "see_through"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ask:
    """One request of a cell, as it can be made again."""

    stage: Stage
    bread: Bread
    cell: Cell
    line: RunLine
    agent: Agent | str
    value: object
    given: dict[str, object]

    @property
    def key(self) -> str | None:
        """What tells that the same cell asks the same thing again."""
        if self.cell.id is None:
            return None
        line = self.line
        parts: JsonValue = [self.cell.id, line.agent, repr(self.value), line.session]
        return fingerprint(parts)

    def start(self) -> Run:
        """Start the run."""
        line = self.line
        return self.bread.run(
            self.agent,
            self.value,
            session=line.session,
            skill=line.skill,
            model=line.model,
            budget=line.budget,
            ctx=self.given or None,
            names=tuple(self.given),
            cell=self.key,
            discard=line.discard,
        )

    async def waiting(self) -> list[RunRow]:
        """The runs that this very cell started earlier and that wait."""
        where: dict[str, JsonValue] = {"status": "waiting", "cell": self.key}
        rows = await self.bread.store.query(RunRow, where)
        return rows if self.key is not None else []


def run_agent_line(stage: Stage, line: RunLine, body: str | None) -> Run | None:
    """Run an agent as a line says; the body of the cell is its input, if there is one.

    Raises:
        BreadStopped: When the run was stopped, by a person or at a bound.
        BreadError: When the line cannot be carried out or the run failed.
    """
    ask = _ask(stage, line, body)
    earlier = _earlier(ask)
    if earlier is not None and not line.discard:
        run = _show_again(ask, earlier)
        return _kept(ask, run)
    if earlier is not None:
        stage.engine.call(lambda: ask.bread.cancel(earlier.run_id))
    run = ask.start()
    kept = _kept(ask, run)
    see_through(stage, stage.watch.start(run), run)
    return kept


def _kept(ask: _Ask, run: Run) -> Run | None:
    """The run as the cell's value, or in the variable it is meant for."""
    if ask.line.out is None:
        return run
    ask.stage.space[ask.line.out] = run
    return None


# -- what is asked ---------------------------------------------------------------------


def _ask(stage: Stage, line: RunLine, body: str | None) -> _Ask:
    bread = stage.bread()
    agent = _agent(stage, bread, line.agent)
    known = agent if isinstance(agent, Agent) else bread.agent(agent)
    text = line.text if body is None else _typed(stage, body)
    space = stage.own
    given = look_up(line.names, space)
    value = read_input(line.agent, known, text)
    if line.template:
        value = _filled(value, space)
    if given and isinstance(value, str) and value.strip():
        value = f"{value}\n\n{describe(given)}"
    if line.session is not None:
        name, store = line.session, bread.store
        session = stage.engine.call(lambda: find_session(store, name))
        line = replace(line, session=session)
    return _Ask(
        stage=stage,
        bread=bread,
        cell=stage.cell(),
        line=line,
        agent=agent,
        value=value,
        given=given,
    )


def _agent(stage: Stage, bread: Bread, word: str) -> Agent | str:
    """The agent a word means: a variable's before a folder's.

    Raises:
        BreadError: `AGENT_NOT_FOUND` or `AGENT_BROKEN`.
    """
    ids = bread.agent_ids()
    variable = stage.variable(word)
    if variable is not None:
        if word in ids:
            stage.say(f"{word} is the variable of this notebook, not agents/{word}.")
        return variable if variable.name else replace(variable, name=word)
    near = closest(word, COMMANDS)
    if word not in ids and near is not None and closest(word, ids) is None:
        raise usage(
            f"There is no agent and no command {word!r}.",
            f"the commands are {', '.join(COMMANDS)}.",
            f"%bread {near}",
        )
    bread.agent(word)
    changed = bread.changed(word)
    if changed:
        stage.say(f"{word} reloaded ({', '.join(changed)} changed)")
    return word


def _typed(stage: Stage, body: str) -> str:
    """The body as it was typed: IPython ends it with a line break of its own."""
    added = body.endswith("\n") and not stage.raw_cell.endswith("\n")
    if added and stage.raw_cell.endswith(body[:-1]):
        body = body[:-1]
    return without_marker(body)


def _filled(value: object, space: dict[str, object]) -> object:
    match value:
        case str():
            return fill_in(value, space)
        case dict():
            return {key: _filled(item, space) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]
        case list():
            return [_filled(item, space) for item in value]  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]
        case _:
            return value


# -- a cell whose run still waits ------------------------------------------------------


def _earlier(ask: _Ask) -> Shown | None:
    """The run of this very cell that still waits, from an earlier execution."""
    if ask.key is None:
        return None
    for row in reversed(ask.stage.engine.call(ask.waiting)):
        shown = ask.stage.show(ask.bread, row.id)
        here = [s.cell.execution == ask.cell.execution for s in shown.screens]
        if shown.state == "waiting" and not any(here):
            return shown
    return None


def _show_again(ask: _Ask, shown: Shown) -> Run:
    """Show the form that waits; nothing is started."""
    title = "This cell's run is still waiting."
    shown.note("wait", title, "Answer it, or discard it.", "discard")
    shown.again = lambda: _discard(ask, shown)
    ask.stage.watch.open(shown, ask.cell)
    shown.rest()
    return ask.stage.engine.call(lambda: ask.stage.run_of(shown))


def _discard(ask: _Ask, shown: Shown) -> None:
    """End what waits and ask anew, in the same cell, which has ended long ago."""

    async def end_and_start() -> None:
        await ask.bread.cancel(shown.run_id)
        ask.stage.watch.vacate(shown, ask.cell)
        fresh = ask.stage.watch.start(ask.start())
        ask.stage.watch.open(fresh, ask.cell)

    ask.stage.engine.submit(end_and_start, ask.cell.context)


# -- seeing it through -----------------------------------------------------------------


def see_through(stage: Stage, shown: Shown, run: Run) -> None:
    """Show a run in this cell and wait for it.

    Raises:
        BreadStopped: When it was stopped, by a person or at a bound.
        BreadError: When it failed, or waits where nobody can answer (`NO_ONE_TO_ASK`).
    """
    cell = stage.cell()

    def begun() -> None:
        shown.set_facts(foreground=True)
        stage.watch.open(shown, cell)

    try:
        hold(run, begun=begun)
    finally:
        # A quick run may have ended before the engine took up what is shown of it.
        shown.attached.wait(GRACE_SECONDS)
        shown.set_facts(foreground=False)
        if run.id or not run.done:
            shown.rest()
        else:
            stage.watch.drop(shown)
    _end(stage, shown, run, cell)


def _end(stage: Stage, shown: Shown, run: Run, cell: Cell) -> None:
    """End the cell as the run has ended."""
    if run.error is not None:
        raise run.error
    match run.outcome:
        case Stopped(reason="stopped"):
            raise stopped(run.live)
        case Stopped(reason=reason):
            raise _bound(shown, reason)
        case Suspended() as waiting if in_ci() and not cell.watched:
            if not _left_to_cells(stage, waiting):
                raise _nobody(waiting)
        case _:
            return


def _left_to_cells(stage: Stage, waiting: Suspended) -> bool:
    """Whether cells below answered all of it when it was recorded."""
    known = [stage.deck.consent(call.checkpoint_id) for call in waiting.pending]
    return all(each is not None and each.by == "cell" for each in known)


def _bound(shown: Shown, reason: str) -> BreadStopped:
    words = ending(shown.card.story)
    title = words.title or words.word
    what = title if title.endswith(".") else f"{title}."
    do = f"%bread show {shown.handle}"
    return BreadStopped(what, code=reason, why=words.note, do=do)


def _nobody(waiting: Suspended) -> BreadError:
    first = waiting.pending[0]
    tools = ", ".join(call.tool for call in waiting.pending)
    need = "needs" if len(waiting.pending) == 1 else "need"
    return BreadError(
        "The run waits and nobody can answer.",
        code="NO_ONE_TO_ASK",
        why=f"{tools} {need} a person; this is a run without a page.",
        do="record the answer (%bread mode record NAME), run it where somebody can "
        f"answer, or: %bread resume {first.handle} --approve",
        context={"handles": [call.handle for call in waiting.pending]},
    )
