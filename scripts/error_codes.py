"""Write docs/error-codes.md from the errors that the code raises.

    python scripts/error_codes.py

What a code means is said in scripts/error_codes.yaml; how it reads and what to do come
from the places that raise it. `mkdocs build` uses the same page, made anew.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "bread_nb"
MEANINGS = Path(__file__).with_suffix(".yaml")
PAGE = ROOT / "docs" / "error-codes.md"
CODE = re.compile(r"[A-Z][A-Z_]+|BreadStopped")

HEAD = """\
# Error codes

A fault is a `BreadError`. It reads in three lines: what happened with its code, why,
and what to do, where possible a thing to paste.

```text
No agent called 'writr'. [AGENT_NOT_FOUND]
  why  agents/ has analyst, publisher, writer.
  do   %%bread writer
```

Codes never change between versions, so programs may rely on them; the words around
them may. `error.code`, `error.why`, `error.do`, `error.retryable` and `error.context`
say the same to a program:

```python
from bread_nb import Agent, Bread, BreadError, Scripted

bread = Bread({"writer": Agent(model=Scripted(["Rye."]))})
try:
    await bread.run("writr", "Write about rye.")
except BreadError as error:
    print(error.code, error.retryable)
```

```text
AGENT_NOT_FOUND False
```

Not every end is an error: a run that waits for a person, or that stopped at a bound,
is a value, see [how a run ends](runs.md#how-a-run-ends).

Under each code stand what it means and the ways it is told, `…` for what differs from
case to case. This page is made from the code.
"""


@dataclass(frozen=True)
class Place:
    """One way in which the code is told: the words, and the next step."""

    what: str
    do: str


def template(node: ast.expr | None) -> str:
    """The text of an expression, with … for what is not known before."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(template(part) for part in parts)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return template(left) + template(right)
        case ast.IfExp(body=body):
            return template(body)
        case ast.BoolOp(values=values):
            return template(values[-1])
        case None:
            return ""
        case _:
            return "…"


def codes_in(tree: ast.Module) -> Iterator[tuple[str, Place]]:
    """Each code that a module names, with how it is told there."""
    named = {
        target.id: node.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Call():
                given = {k.arg: k.value for k in node.keywords if k.arg}
                for code in literals(given.get("code"), named):
                    what = template(node.args[0]) if node.args else ""
                    yield code, Place(what, template(given.get("do")))
            case ast.Tuple(elts=[ast.Constant(value=str() as code), what, do]):
                if CODE.fullmatch(code) and " " in template(what):
                    yield code, Place(template(what), template(do))
            case ast.ClassDef():
                for line in node.body:
                    match line:
                        case (
                            ast.Assign(
                                targets=[ast.Name(id="code")],
                                value=ast.Constant(value=str() as code),
                            )
                            | ast.AnnAssign(
                                target=ast.Name(id="code"),
                                value=ast.Constant(value=str() as code),
                            )
                        ):
                            yield code, Place("", "")
                        case _:
                            pass
            case _:
                pass


def literals(node: ast.expr | None, named: dict[str, str]) -> Iterator[str]:
    """The codes an expression may give."""
    match node:
        case ast.Constant(value=str() as code):
            found = [code]
        case ast.Name(id=name) if name in named:
            found = [named[name]]
        case ast.IfExp(body=body, orelse=orelse):
            found = [*literals(body, named), *literals(orelse, named)]
        case _:
            found = []
    yield from (code for code in found if CODE.fullmatch(code))


def codes() -> dict[str, list[Place]]:
    """Every stable code of the package, with the ways it is told."""
    found: defaultdict[str, list[Place]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for code, place in codes_in(ast.parse(path.read_text(encoding="utf-8"))):
            if place not in found[code]:
                found[code].append(place)
    for groups in meanings().values():
        for code in groups:
            found.setdefault(code, [])
    return dict(found)


def meanings() -> dict[str, dict[str, Any]]:
    """What each code means, in groups."""
    read: dict[str, dict[str, Any]] = yaml.safe_load(
        MEANINGS.read_text(encoding="utf-8")
    )
    return read


def told(text: str) -> str:
    """A text of the code on one line of a page."""
    line = re.sub(r"…(\s*…)+", "…", " ".join(text.split()))
    return line.removeprefix("…; ") if re.search(r"\w", line) else ""


def section(code: str, said: object, places: list[Place]) -> str:
    """The part of the page about one code."""
    meaning, do = (said["means"], said["do"]) if isinstance(said, dict) else (said, "")
    lines = [f"### {code}", "", meaning]
    if do:
        lines += ["", f"**Do:** {do}."]
    rows = {(told(place.what), told(place.do)) for place in places}
    helped = {what for what, step in rows if step}
    kept = sorted(row for row in rows if row[1] or row[0] not in {"", *helped})
    lines += ["", *(way(what, step) for what, step in kept)]
    return "\n".join(lines).rstrip()


def way(what: str, step: str) -> str:
    """One way in which a code is told, and the next step."""
    if what and step:
        return f"- {quoted(what)}\n  **Do:** {quoted(step)}"
    return f"- {quoted(what)}" if what else f"- **Do:** {quoted(step)}"


def quoted(text: str) -> str:
    """A text as code."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def whole_page() -> str:
    """The whole page."""
    found = codes()
    parts = [HEAD]
    for group, listed in meanings().items():
        parts.append(f"\n## {group}\n")
        for code, said in listed.items():
            parts.append(f"\n{section(code, said, found[code])}\n")
    return "".join(parts)


def on_page_markdown(markdown: str, *, page: Any, **_: object) -> str:  # noqa: ANN401
    """For mkdocs: the page of codes is made anew."""
    return whole_page() if page.file.src_uri == PAGE.name else markdown


if __name__ == "__main__":
    PAGE.write_text(whole_page(), encoding="utf-8")
