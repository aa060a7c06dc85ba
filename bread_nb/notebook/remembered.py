"""The allow rules that a person added while approving: listed, and taken back."""

from __future__ import annotations

from html import escape

from bread_nb.bread import Bread
from bread_nb.notebook.parsing import usage
from bread_nb.project.lists import Table
from bread_nb.stores.records import Grant
from bread_nb.stores.store import Drop

__all__ = ["drop_rule", "remembered_rules"]

_HEADS = ("#", "rule", "for", "from")
_FROM = {"run": "you, in one run", "session": "you, in one session", "agent": "you"}


async def remembered_rules(bread: Bread) -> Table:
    """The rules, numbered as `drop_rule` takes them."""
    rules = await _rules(bread)
    if not rules:
        text = "No rules were added while approving."
        return Table(text, f"<p>{text}</p>")
    rows = [
        (str(n), f"allow {rule.selector}", rule.agent_id, _FROM[rule.scope])
        for n, rule in enumerate(rules, start=1)
    ]
    widths = [max(map(len, column)) for column in zip(_HEADS, *rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in (_HEADS, *rows)]
    plain = "\n".join([*lines, "revoke: %bread gate drop 1"])
    caption = "1 rule" if len(rows) == 1 else f"{len(rows)} rules"
    html = [f"<table><caption>{caption}</caption><thead>{_row(_HEADS, 'th')}</thead>"]
    html += ["<tbody>", *(_row(row, "td") for row in rows), "</tbody></table>"]
    html.append("<p>revoke: <code>%bread gate drop 1</code></p>")
    return Table(plain, "\n".join(html))


async def drop_rule(bread: Bread, number: str) -> str:
    """Take back the rule of this number; what was done, in words.

    Raises:
        BreadError: `USAGE` when there is no such number.
    """
    rules = await _rules(bread)
    if not number.isdecimal() or not 1 <= int(number) <= len(rules):
        raise usage(
            f"There is no rule {number or 'without a number'}.",
            f"there are {len(rules)}.",
            "%bread gate",
        )
    rule = rules[int(number) - 1]
    await bread.store.atomic(Drop(Grant, rule.id))
    return f"allow {rule.selector} for {rule.agent_id} is taken back; it asks again."


async def _rules(bread: Bread) -> list[Grant]:
    return await bread.store.query(Grant)


def _row(cells: tuple[str, ...], tag: str) -> str:
    inner = "".join(f"<{tag}>{escape(cell, quote=False)}</{tag}>" for cell in cells)
    return f"<tr>{inner}</tr>"
