"""Suites in words: YAML files of cases and their scorers.

agent: writer                 # the agent whose folder the file lies in by default
kind: functional
scorers:                      # for every case
  - lacks: As an AI
cases:                        # or the name of a .csv or .jsonl file beside it
  - name: rye
    input: Write two sentences about rye bread.
    scorers:
      - contains: [rye, bread]
      - judge: It is two sentences, and both are about rye bread.
      - crumbs: {called: [search], turns: 3}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from pydantic import JsonValue

from bread_nb.base.wire import read_json
from bread_nb.base.yaml_text import read_yaml
from bread_nb.errors import BreadError, closest
from bread_nb.evals.case import Case, Suite
from bread_nb.evals.datasets import Columns, said_or_missing
from bread_nb.evals.scorers import contains, exact, judge, regex, schema, similar
from bread_nb.evals.scoring import MISSING, Scorer
from bread_nb.evals.trail import crumbs

__all__ = ["read_suite"]

Fields = Mapping[str, Any]

_SUITE = ("agent", "kind", "name", "scorers", "cases", "repeat", "model", "columns")
_CASE = (
    "name",
    "input",
    "expected",
    "skill",
    "scorers",
    "repeat",
    "tags",
    "decisions",
)


def read_suite(path: Path, owner: str | None) -> Suite:
    """The suite in a YAML file.

    Args:
        path: The file.
        owner: The agent whose folder it lies in.

    Raises:
        BreadError: `INVALID_SUITE`.
        yaml.YAMLError: For a file that is no YAML.
    """
    read: object = read_yaml(path.read_text(encoding="utf-8"), plain=True)
    fields = _fields(read, _SUITE, "the file")
    agent = fields.get("agent") or owner
    if not agent:
        raise _unusable("it names no agent", "agent: writer")
    cases = fields.get("cases")
    return Suite(
        agent,
        path.parent / cases if isinstance(cases, str) else _cases(cases),
        kind=fields.get("kind", "functional"),
        name=fields.get("name") or f"{agent}/{path.stem}",
        scorers=_scorers(fields.get("scorers")),
        repeat=_whole(fields.get("repeat", "1"), "repeat"),
        model=fields.get("model"),
        columns=Columns(**fields["columns"]) if "columns" in fields else None,
    )


def _cases(read: object) -> list[Case]:
    if not isinstance(read, list) or not read:
        raise _unusable("it has no cases", "cases: a list, or the name of a table")
    return [
        _case(_fields(each, _CASE, f"case {number}"), number)
        for number, each in enumerate(cast("list[object]", read), start=1)
    ]


def _case(fields: Fields, number: int) -> Case:
    if "input" not in fields:
        raise _unusable(f"case {number} has no input", "input: what the agent is given")
    decisions = cast("Mapping[str, JsonValue]", fields.get("decisions", {}))
    return Case(
        name=fields.get("name") or f"case-{number}",
        input=fields["input"],
        expected=said_or_missing(fields.get("expected")),
        skill=fields.get("skill"),
        scorers=_scorers(fields.get("scorers")),
        repeat=_whole(fields.get("repeat", "1"), "repeat"),
        tags=_listed(fields.get("tags", [])),
        decisions={tool: _decision(said) for tool, said in decisions.items()},
    )


def _decision(said: JsonValue) -> JsonValue:
    """Yes or no to a call; anything else is the answer to a question."""
    try:
        return _true(said)
    except ValueError:
        return said


def _scorers(read: object) -> list[Scorer]:
    return [_scorer(each) for each in _listed(read or [])]


def _scorer(read: object) -> Scorer:
    """`exact`, `{contains: rye}` or `{judge: {criteria: …, model: …}}`."""
    if isinstance(read, str):
        read = {read: None}
    if not isinstance(read, Mapping) or len(cast("Fields", read)) != 1:
        raise _unusable(f"{read!r} is no scorer", "contains: rye")
    ((name, value),) = cast("Fields", read).items()
    make = _MAKERS.get(name)
    if make is None:
        near = closest(name, list(_MAKERS)) or "contains"
        raise _unusable(f"there is no scorer {name!r}", f"did you mean {near}?")
    try:
        return make(value)
    except (TypeError, ValueError) as error:
        raise _unusable(
            f"{name}: {error}", f"{name}: a value, or its options"
        ) from None


def _compared(make: Callable[..., Scorer]) -> Callable[[Any], Scorer]:
    """The maker of a scorer that compares: a value, or a mapping with options.

    With nothing, or an empty text, it compares with the case's own `expected`.
    """

    def made(value: object) -> Scorer:
        if not value:
            return make()
        if isinstance(value, Mapping):
            options = dict(cast("Fields", value))
            expected = options.pop("expected", MISSING)
            return make(expected, **{k: _true(v) for k, v in options.items()})
        return make(value)

    return made


def _lacks(value: object) -> Scorer:
    return contains(value, absent=True)


def _schema(value: object) -> Scorer:
    return schema(read_json(value) if isinstance(value, str) else value)


def _judge(value: object) -> Scorer:
    if not isinstance(value, Mapping):
        return judge(str(value))
    options = dict(cast("Fields", value))
    criteria = options.pop("criteria")
    if "least" in options:
        options["least"] = float(options["least"])
    return judge(criteria, **options)


def _similar(value: object) -> Scorer:
    if isinstance(value, Mapping):
        options = dict(cast("Fields", value))
        expected = options.pop("expected", MISSING)
        return similar(expected, least=float(options.pop("least", "0.7")), **options)
    return similar(value) if value else similar()


def _crumbs(value: object) -> Scorer:
    options = dict(cast("Fields", value))
    kinds: dict[str, Callable[[Any], object]] = {
        "turns": int,
        "cost": float,
        "seconds": float,
        "only": _true,
        "ordered": _true,
        "denied": _true,
    }
    read = {name: kinds.get(name, _same)(each) for name, each in options.items()}
    return crumbs(**cast("Any", read))


def _same(value: object) -> object:
    return value


_MAKERS: dict[str, Callable[[Any], Scorer]] = {
    "exact": _compared(exact),
    "contains": _compared(contains),
    "lacks": _lacks,
    "regex": lambda value: regex(str(value)),
    "schema": _schema,
    "judge": _judge,
    "similar": _similar,
    "crumbs": _crumbs,
}


def _fields(read: object, known: Sequence[str], where: str) -> Fields:
    if not isinstance(read, Mapping):
        raise _unusable(f"{where} is no mapping", f"{known[0]}: …")
    fields = cast("Fields", read)
    for name in fields:
        if name not in known:
            near = closest(name, known)
            hint = f"did you mean {near}?" if near else f"it has {', '.join(known)}"
            raise _unusable(f"{where} has no field {name!r}", hint)
    return fields


def _listed(read: object) -> list[Any]:
    return cast("list[Any]", read) if isinstance(read, list) else [read]


def _whole(text: str, name: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise _unusable(f"{name} is {text!r}", f"{name}: 3") from None


def _true(text: object) -> bool:
    if str(text).lower() in ("true", "yes", "on"):
        return True
    if str(text).lower() in ("false", "no", "off"):
        return False
    raise ValueError(f"{text!r} is neither true nor false")


def _unusable(why: str, do: str) -> BreadError:
    return BreadError(
        "This suite cannot be used.", code="INVALID_SUITE", why=f"{why}.", do=do
    )
