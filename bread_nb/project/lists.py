"""Lists as a person reads them: agents, runs, open calls, the doctor's findings.

Each is a `Table`: aligned text, and a plain html table with the same columns. Names and
values from models and tools are shown with what is invisible in them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from bread_nb.a2ui.figures import age, clock, count, sparkline, sums
from bread_nb.a2ui.values import visible
from bread_nb.base.names import Selector
from bread_nb.errors import BreadError
from bread_nb.messages import Usage
from bread_nb.project.costs import Costs, Spent
from bread_nb.project.doctor import Finding, report
from bread_nb.project.reserved import why_hidden
from bread_nb.runtime.agent import Agent
from bread_nb.runtime.bills import Bill, bills_of, total_of
from bread_nb.runtime.outcome import PendingCall
from bread_nb.stores.records import RunRow
from bread_nb.tools.tool import Tool

__all__ = [
    "AgentLine",
    "Table",
    "agent_line",
    "agents_table",
    "broken_line",
    "cost_text",
    "costs_table",
    "findings_table",
    "pending_table",
    "resume_command",
    "runs_table",
    "spent_table",
]

_NONE = "–"
_MODEL = 18
_CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, slots=True)
class Table:
    """A list in both its forms."""

    plain: str
    html: str

    def __str__(self) -> str:
        return self.plain


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLine:
    """An agent as the list shows it; `problem` when it cannot be run."""

    id: str
    model: str = _NONE
    tools: str = _NONE
    asks: str = _NONE
    problem: BreadError | None = None


def agent_line(agent_id: str, agent: Agent) -> AgentLine:
    """The line of an agent that works."""
    fixed = [tool for tool in agent.tools if isinstance(tool, Tool)]
    more = "+" if len(fixed) < len(agent.tools) else ""
    asking = [s for s in agent.permissions.ask if isinstance(s, str)]
    selectors = [Selector.parse(text) for text in asking]
    asks = sum(any(s.matches(tool.origin) for s in selectors) for tool in fixed)
    perhaps = "+" if len(asking) < len(agent.permissions.ask) else ""
    return AgentLine(
        id=agent_id,
        model=agent.model_name,
        tools=f"{len(fixed) or ''}{more}" or _NONE,
        asks=f"{asks or ''}{perhaps}" or _NONE,
    )


def broken_line(agent_id: str, problem: BreadError) -> AgentLine:
    """The line of an agent that cannot be run."""
    return AgentLine(id=agent_id, problem=problem)


def agents_table(lines: Sequence[AgentLine]) -> Table:
    """All agents; below them what is wrong with the broken ones."""
    if not lines:
        return _nothing("No agents here. Make one: `bread new agent writer`")
    broken = [line for line in lines if line.problem is not None]
    caption = _number(len(lines), "agent")
    if broken:
        caption += f", {len(broken)} broken"
    return _table(
        caption,
        ("agent", "model", "tools", "asks", "state"),
        [_agent_cells(line) for line in lines],
        notes=[
            *(f"{line.id}: {_problem(line.problem)}" for line in broken),
            *(f"{line.id}: {why}" for line in lines if (why := why_hidden(line.id))),
        ],
    )


def _agent_cells(line: AgentLine) -> tuple[str, ...]:
    model = line.model
    if len(model) > _MODEL:
        model = f"{model[: _MODEL - 1]}…"
    state = "hidden" if why_hidden(line.id) else "ok"
    if line.problem is not None:
        state = "broken"
    return line.id, model, line.tools, line.asks, state


def _problem(error: BreadError | None) -> str:
    """Where and why in one line: `agent.py line 12: … was never closed`."""
    if error is None:
        return ""
    file, line = error.context.get("file"), error.context.get("line")
    where = f"{file} line {line}: " if line else f"{file}: " if file else ""
    return f"{where}{(error.why or error.what).rstrip('.')}"


def runs_table(
    rows: Sequence[RunRow],
    *,
    now: int,
    waiting: Mapping[str, int] | None = None,
    interrupted: Collection[str] = (),
) -> Table:
    """Runs, newest first.

    Args:
        rows: The runs.
        now: The time, in milliseconds since 1970.
        waiting: How many open questions each run has, by the run's id.
        interrupted: The ids of the runs whose process is gone.
    """
    if not rows:
        return _nothing("No runs yet. Start one: `%%bread writer`")
    cells = [
        (
            row.handle,
            _state(row, (waiting or {}).get(row.id, 0), row.id in interrupted),
            str(row.turn),
            cost_text(total_of(bills_of(row))),
            clock(row.worked_ms),
            age(now - row.created_at),
            count(Usage.of(row.usage).total),
        )
        for row in rows
    ]
    heads = ("run", "state", "turns", "cost", "time", "when", "tokens")
    return _table(_number(len(rows), "run"), heads, cells)


def _state(row: RunRow, waiting: int, interrupted: bool) -> str:
    if interrupted:
        return "interrupted"
    if row.status == "waiting":
        return f"waiting ({waiting or row.open})"
    return "stopped" if row.status == "cancelled" else row.status


def cost_text(bill: Bill) -> str:
    """What is known of a cost, as a list shows it."""
    if bill.calls == bill.free:
        return "no charge" if bill.calls else _NONE
    if bill.unpriced and not any(bill.spent.values()):
        return "unknown"
    shown = sums(bill.spent)
    return f"at least {shown}" if bill.unpriced else shown


def spent_table(spent: Sequence[Spent], *, when: str = "today") -> Table:
    """What the agents' families of runs cost.

    Args:
        spent: The families, by agent.
        when: What time it was, as a heading says it.
    """
    if not spent:
        return _nothing(f"No model was called {when}.")
    heads = ("run family", "calls", "tokens", "cost", "last 12 runs")
    lines = [(*_costs_cells(each.costs), sparkline(each.recent)) for each in spent]
    return _cost_list(heads, lines, [each.costs for each in spent], when)


def costs_table(costs: Sequence[Costs], by: str, *, when: str = "today") -> Table:
    """What was spent, added up in one way."""
    if not costs:
        return _nothing(f"No model was called {when}.")
    heads = (by, "runs", "calls", "tokens", "cost")
    lines = [
        (name, count(each.runs), *rest)
        for each in costs
        for name, *rest in [_costs_cells(each)]
    ]
    return _cost_list(heads, lines, costs, when)


def _costs_cells(costs: Costs) -> tuple[str, str, str, str]:
    tokens = count(costs.tokens.total)
    return costs.name, count(costs.calls), tokens, cost_text(costs.bill)


def _cost_list(
    heads: Sequence[str],
    lines: Sequence[Sequence[str]],
    costs: Sequence[Costs],
    when: str,
) -> Table:
    total = cost_text(total_of(each.bill for each in costs))
    note = "no charge" if total == "no charge" else f"total {total}"
    return _table(f"cost {when}", heads, lines, notes=[note])


def pending_table(
    calls: Sequence[PendingCall],
    interrupted: Sequence[RunRow] = (),
    *,
    now: int,
    answer: str | None = "form below",
) -> Table:
    """The calls that wait for a person, oldest first, and what was interrupted.

    Args:
        calls: The open calls.
        interrupted: The runs whose process is gone.
        now: The time, in milliseconds since 1970.
        answer: How each is answered; None says it with options of the command line.
    """
    if not calls and not interrupted:
        return _nothing("No run waits for you.")
    cells = [
        (
            call.handle,
            call.agent_id,
            f"{call.tool} ?" if call.kind == "outcome" else call.tool,
            age(now - call.created_at),
            answer or _options(call),
        )
        for call in calls
    ]
    cells += [
        (
            row.handle,
            row.agent_id,
            "interrupted",
            age(now - row.updated_at),
            f"%bread recover {row.handle}",
        )
        for row in interrupted
    ]
    caption = "1 call waits" if len(calls) == 1 else f"{len(calls)} calls wait"
    if interrupted:
        caption += f", {_number(len(interrupted), 'run')} interrupted"
    how = "Without a page" if answer else "Answer"
    return _table(
        caption,
        ("call", "agent", "asks", "age", "answer"),
        cells,
        notes=[f"{how}: {resume_command(call)}" for call in calls[:1]],
    )


def resume_command(call: PendingCall) -> str:
    """What to type to answer a call."""
    return f"%bread resume {call.handle} {_options(call).partition(' | ')[0]}"


def _options(call: PendingCall) -> str:
    match call.kind:
        case "approval" | "halt":
            return "--approve | --deny"
        case "outcome":
            return """--answer '{"run": true}'"""
        case _:
            return """--answer '{"answer": …}'"""


def findings_table(findings: Sequence[Finding]) -> Table:
    """What the doctor found."""
    ill = sum(finding.level != "ok" for finding in findings)
    caption = "all is well" if not ill else f"{ill} of {len(findings)} need a hand"
    rows = [(f.level, f.what, f.do or "") for f in findings]
    table = _table(caption, ("", "what", "do"), rows)
    return Table(visible(report(findings)), table.html)


def _table(
    caption: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    notes: Sequence[str] = (),
) -> Table:
    shown = [[visible(cell).replace("\n", " ") for cell in row] for row in rows]
    said = [visible(note) for note in notes]
    widths = [max(map(len, column)) for column in zip(heads, *shown, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in (heads, *shown)]
    html = [
        f"<table><caption>{escape(caption)}</caption>"
        f"<thead>{_row(heads, 'th')}</thead>",
        "<tbody>",
        *(_row(row, "td") for row in shown),
        "</tbody></table>",
        *(f"<p>{_marked(note)}</p>" for note in said),
    ]
    return Table("\n".join([*lines, *said]), "\n".join(html))


def _row(cells: Sequence[str], tag: str) -> str:
    inner = "".join(f"<{tag}>{escape(cell, quote=False)}</{tag}>" for cell in cells)
    return f"<tr>{inner}</tr>"


def _nothing(text: str) -> Table:
    return Table(text, f"<p>{_marked(text)}</p>")


def _marked(text: str) -> str:
    """Text as html, with `…` as code."""
    return _CODE.sub(r"<code>\1</code>", escape(text, quote=False))


def _number(number: int, noun: str) -> str:
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"
