"""The fold of what a run is made into: sub-agents, steps, loops, tasks, and news."""

from __future__ import annotations

from typing import Literal

from pydantic import JsonValue

from bread_nb import crumbs as c
from bread_nb.a2ui.blocks import CallState, Notice, Row
from bread_nb.a2ui.telling import State, Telling
from bread_nb.a2ui.words import say

__all__ = ["PARTS", "begin", "refresh"]

_LONGEST_NAME = 120

What = Literal["agent", "step", "round", "loop", "task", "node"]


def begin(
    story: Telling,
    crumb: c.Crumb,
    what: What,
    key: str,
    *,
    name: str,
) -> Row:
    """A part of the run with a name of its own begins."""
    turn = story.turn()
    title = " ".join(name.split())[:_LONGEST_NAME]
    row = Row(
        id=story.next_id(turn), what=what, name=title, key=key, began=crumb.timestamp
    )
    story.rows[key] = row
    story.add(turn, row)
    return row


def _finish(
    story: Telling, crumb: c.Crumb, key: str, *, ms: int | None = None
) -> Row | None:
    row = story.rows.get(key)
    if row is None or row.state not in ("running", "waiting"):
        return None
    row.state = "done"
    row.ms = ms if ms is not None else max(crumb.timestamp - row.began, 0)
    story.touch(row)
    return row


def _give(row: Row | None, output: JsonValue) -> None:
    if row is not None:
        row.output, row.returned = output, True


def subagent(story: Telling, crumb: c.SubagentStart) -> None:
    """A delegated run began."""
    for call in reversed(story.running.values()):
        if call.leaf.startswith("core_"):
            call.delegates = True
            break
    own = crumb.run_id == story.run_id
    key = f"agent/{crumb.subagent_id}" if own else crumb.run_id
    row = begin(story, crumb, "agent", key, name=crumb.subagent_id)
    row.input = crumb.input


def subagent_end(story: Telling, crumb: c.SubagentEnd) -> None:
    """A delegated run ended."""
    row = story.rows.get(crumb.run_id) or _named(story, crumb.subagent_id)
    if row is not None:
        _finish(story, crumb, row.key, ms=crumb.duration_ms or None)
        _give(row, crumb.output)


def _named(story: Telling, name: str) -> Row | None:
    for row in reversed(story.rows.values()):
        if row.what == "agent" and row.name == name:
            return row
    return None


_ROW_STATES: dict[State, CallState] = {
    "waiting": "waiting",
    "finished": "done",
    "bound": "done",
    "stopped": "cut",
    "failed": "failed",
}


def refresh(story: Telling, row: Row, child: Telling) -> None:
    """The row of a sub-agent says what its own run does."""
    if not child.changes.head:
        return
    row.state = _ROW_STATES.get(child.state, "running")
    if isinstance(child.end, c.RunFailed):
        row.failure = child.end.error.message
    elif child.end is not None and not row.returned:
        row.output, row.returned = child.end.output, True
    if child.ended and row.ms is None:
        row.ms = child.elapsed(child.at)
    story.touch(row)


def step(story: Telling, crumb: c.StepStart) -> None:
    """A pipeline step began."""
    places = {"n": crumb.step_index + 1, "name": crumb.agent_id}
    key = f"step/{crumb.pipeline_id}/{crumb.step_index}"
    begin(story, crumb, "step", key, name=say("row_step", places))


def step_end(story: Telling, crumb: c.StepEnd) -> None:
    """A pipeline step ended."""
    key = f"step/{crumb.pipeline_id}/{crumb.step_index}"
    _give(_finish(story, crumb, key), crumb.output)


def loop(story: Telling, crumb: c.LoopStart) -> None:
    """An agent-driven loop began."""
    places = {"names": " → ".join(crumb.pipeline)}
    name = say("row_loop", places)
    row = begin(story, crumb, "loop", f"loop/{crumb.loop_id}", name=name)
    row.input = crumb.max_iterations


def loop_end(story: Telling, crumb: c.LoopEnd) -> None:
    """A loop ended."""
    row = _finish(story, crumb, f"loop/{crumb.loop_id}")
    _give(row, crumb.result)
    if row is not None and crumb.status == "failed":
        row.state = "failed"


def round_start(story: Telling, crumb: c.IterationStart) -> None:
    """A round of a loop began."""
    whole = story.rows.get(f"loop/{crumb.loop_id}")
    most = whole.input if whole is not None else None
    places: dict[str, str | int] = {"n": crumb.iteration}
    if isinstance(most, int):
        places["of"] = most
    name = say("row_round_of" if "of" in places else "row_round", places)
    key = f"loop/{crumb.loop_id}/{crumb.iteration}"
    begin(story, crumb, "round", key, name=name)


def round_end(story: Telling, crumb: c.IterationEnd) -> None:
    """A round of a loop ended."""
    key = f"loop/{crumb.loop_id}/{crumb.iteration}"
    _give(_finish(story, crumb, key), crumb.output)


def task(story: Telling, crumb: c.TaskStart) -> None:
    """A registered one-shot began."""
    key = f"task/{crumb.task_run_id}"
    begin(story, crumb, "task", key, name=say("row_task", {"name": crumb.task_id}))


def task_end(story: Telling, crumb: c.TaskEnd) -> None:
    """A registered one-shot ended."""
    row = _finish(story, crumb, f"task/{crumb.task_run_id}", ms=crumb.duration_ms)
    if row is not None and crumb.status == "failed":
        row.state, row.failure = "failed", crumb.error


def node(story: Telling, crumb: c.NodeStart) -> None:
    """A node of a recursion began."""
    begin(story, crumb, "node", f"node/{crumb.node_id}", name=crumb.task)


def node_end(story: Telling, crumb: c.NodeEnd) -> None:
    """A node of a recursion ended."""
    row = _finish(story, crumb, f"node/{crumb.node_id}")
    _give(row, crumb.verdict)
    if row is not None and crumb.blocker:
        row.state, row.failure = "failed", crumb.blocker


def _news(story: Telling, words: str) -> None:
    turn = story.turn()
    story.add(turn, Notice(id=story.next_id(turn), words=words))


def folded(story: Telling, crumb: c.ContextFold) -> None:
    """A stretch of the transcript was folded away."""
    _news(story, say("context_fold", {"n": crumb.messages}))


def restored(story: Telling, crumb: c.ContextRestore) -> None:
    """A folded stretch came back."""
    _news(story, say("context_restore", {"n": crumb.messages}))


def planned(story: Telling, crumb: c.PlanCreated) -> None:
    """A plan was made."""
    _news(story, say("plan", {"n": len(crumb.steps)}))


def judged(story: Telling, crumb: c.EvalVerdict) -> None:
    """A judge graded work."""
    words = say(f"verdict_{crumb.status}")
    if crumb.score is not None:
        score = {"verdict": words, "score": f"{crumb.score:g}"}
        words = say("verdict_score", score)
    _news(story, words)


def fired(story: Telling, crumb: c.ScheduleFired) -> None:
    """A due job was started."""
    _news(story, say("schedule", {"target": crumb.target}))


def skill(story: Telling, crumb: c.SkillLoaded) -> None:
    """A skill was unlocked."""
    _news(story, say("skill", {"name": crumb.skill_id}))


PARTS = {
    c.SubagentStart: subagent,
    c.SubagentEnd: subagent_end,
    c.StepStart: step,
    c.StepEnd: step_end,
    c.LoopStart: loop,
    c.LoopEnd: loop_end,
    c.IterationStart: round_start,
    c.IterationEnd: round_end,
    c.TaskStart: task,
    c.TaskEnd: task_end,
    c.NodeStart: node,
    c.NodeEnd: node_end,
    c.ContextFold: folded,
    c.ContextRestore: restored,
    c.PlanCreated: planned,
    c.EvalVerdict: judged,
    c.ScheduleFired: fired,
    c.SkillLoaded: skill,
}
