"""Lists as a person reads them: agents, runs, open calls, the doctor's findings.

Each is a `Table`: aligned text, and a plain html table with the same columns. Names and
values from models and tools are shown with what is invisible in them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import indent

from bread_nb.a2ui.figures import age, clock, count, sparkline, sums
from bread_nb.a2ui.values import visible
from bread_nb.base.names import Selector
from bread_nb.errors import BreadError
from bread_nb.messages import Usage
from bread_nb.project.costs import Costs, Spent
from bread_nb.project.doctor import Finding, report
from bread_nb.project.idle_rules import IdleRule, idle_rules
from bread_nb.project.reserved import why_hidden
from bread_nb.runtime.agent import Agent
from bread_nb.runtime.bills import Bill, bills_of, total_of
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
    "nothing",
    "number",
    "runs_table",
    "spent_table",
    "table",
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
    idle: Sequence[IdleRule] = ()


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
        idle=idle_rules(agent),
    )


def broken_line(agent_id: str, problem: BreadError) -> AgentLine:
    """The line of an agent that cannot be run."""
    return AgentLine(id=agent_id, problem=problem)


def agents_table(lines: Sequence[AgentLine]) -> Table:
    """All agents; below them what is wrong with the broken ones."""
    if not lines:
        return nothing("No agents here. Make one: `bread new agent writer`")
    broken = [line for line in lines if line.problem is not None]
    caption = number(len(lines), "agent")
    if broken:
        caption += f", {len(broken)} broken"
    return table(
        caption,
        ("agent", "model", "tools", "asks", "state"),
        [_agent_cells(line) for line in lines],
        notes=[
            *(f"{line.id}: {_problem(line.problem)}" for line in broken),
            *(f"{line.id}: {why}" for line in lines if (why := why_hidden(line.id))),
            *(f"{line.id}: {rule}" for line in lines for rule in line.idle),
        ],
    )


def _agent_cells(line: AgentLine) -> tuple[str, ...]:
    model = line.model
    if len(model) > _MODEL:
        model = f"{model[: _MODEL - 1]}…"
    state = "hidden" if why_hidden(line.id) else "warn" if line.idle else "ok"
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
        return nothing("No runs yet. Start one: `%%bread writer`")
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
    return table(number(len(rows), "run"), heads, cells)


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
        return nothing(f"No model was called {when}.")
    heads = ("run family", "calls", "tokens", "cost", "last 12 runs")
    lines = [(*_costs_cells(each.costs), sparkline(each.recent)) for each in spent]
    return _cost_list(heads, lines, [each.costs for each in spent], when)


def costs_table(costs: Sequence[Costs], by: str, *, when: str = "today") -> Table:
    """What was spent, added up in one way."""
    if not costs:
        return nothing(f"No model was called {when}.")
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
    return table(f"cost {when}", heads, lines, notes=[note])


def findings_table(findings: Sequence[Finding]) -> Table:
    """What the doctor found."""
    ill = sum(finding.level != "ok" for finding in findings)
    caption = "all is well" if not ill else f"{ill} of {len(findings)} need a hand"
    rows = [(f.level, f.what, f.do or "") for f in findings]
    html = table(caption, ("", "what", "do"), rows).html
    return Table(visible(report(findings)), html)


def table(
    caption: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    below: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Table:
    """Rows in columns as wide as they need.

    Args:
        caption: What a page shows above them.
        heads: The names of the columns.
        rows: The cells of each row.
        below: What stands below each of the first rows, safe to show, or nothing.
        notes: What stands below all rows.
    """
    shown = [[visible(cell).replace("\n", " ") for cell in row] for row in rows]
    said = [visible(note) for note in notes]
    widths = [max(map(len, column)) for column in zip(heads, *shown, strict=True)]
    begin, *lines = (
        "  ".join(map(str.ljust, row, widths)).rstrip() for row in (heads, *shown)
    )
    body = [_row(row, "td") for row in shown]
    for place, text in enumerate(below):
        if text:
            lines[place] += "\n" + indent(text, "  ")
            pre = f"<pre>{escape(text, quote=False)}</pre>"
            body[place] += f'\n<tr><td colspan="{len(heads)}">{pre}</td></tr>'
    html = [
        f"<table><caption>{escape(caption)}</caption>"
        f"<thead>{_row(heads, 'th')}</thead>",
        "<tbody>",
        *body,
        "</tbody></table>",
        *(f"<p>{_marked(note)}</p>" for note in said),
    ]
    return Table("\n".join([begin, *lines, *said]), "\n".join(html))


def _row(cells: Sequence[str], tag: str) -> str:
    inner = "".join(f"<{tag}>{escape(cell, quote=False)}</{tag}>" for cell in cells)
    return f"<tr>{inner}</tr>"


def nothing(text: str) -> Table:
    """A list with nothing in it, saying so."""
    return Table(text, f"<p>{_marked(text)}</p>")


def _marked(text: str) -> str:
    """Text as html, with `…` as code."""
    return _CODE.sub(r"<code>\1</code>", escape(text, quote=False))


def number(of: int, noun: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{count(of)} {noun}{'' if of == 1 else 's'}"
