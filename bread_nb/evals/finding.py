"""From what a person names to suites: agents, folders, files, and single cases.

`agents/<id>/evals/*.py` hold `Suite` objects, `*.yaml` are suites in words. A broken
file is one error that names it, its line and the mend.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import cast

import yaml

from bread_nb.base.redact import Redactor, environment_secrets
from bread_nb.bread import Bread
from bread_nb.errors import BreadError, closest
from bread_nb.evals.attacks import SECURITY, security_suites
from bread_nb.evals.case import Suite
from bread_nb.evals.suite_files import read_suite
from bread_nb.project.borders import USER_FAULTS, open_border
from bread_nb.project.mending import Place, Trouble, diagnose, trouble
from bread_nb.project.snapshots import Package, take_snapshot
from bread_nb.providers.shelf import SUFFIX

__all__ = ["Target", "find_suites"]

Target = str | Path | Suite

_AGENTS = "agents"
_EVALS = "evals"
_SUFFIXES = (".py", ".yaml", ".yml")
_CASE = "::"
_FIRST = 'cases: [{input: "Hello", scorers: [{contains: hello}]}]'


def find_suites(bread: Bread, targets: Sequence[Target] = ()) -> list[Suite]:
    """The suites that are named; those of all agents when none is.

    Args:
        bread: The project.
        targets: `Suite` objects, agents' ids, paths of folders and files,
            `security` for the suites that come with the package, and `path::case` for
            one case.

    Raises:
        BreadError: `EVAL_NOT_FOUND`, `EVAL_BROKEN` or `INVALID_SUITE`.
    """
    if not targets:
        found = [
            s for agent_id in bread.agent_ids() for s in _of_agent(bread, agent_id)
        ]
        if not found:
            raise _nothing("eval here", _first_of_all(bread))
        return found
    return [suite for target in targets for suite in _of_target(bread, target)]


def _first_of_all(bread: Bread) -> str:
    """How a project without evals gets one."""
    known = bread.agent_ids()
    if not known:
        return f"bread new agent writer, then {_first_of('writer')}"
    return _first_of(known[0])


def _first_of(agent_id: str) -> str:
    return f"write agents/{agent_id}/evals/first.yaml: {_FIRST}"


def _of_target(bread: Bread, target: Target) -> list[Suite]:
    if isinstance(target, Suite):
        return [target]
    text, _, case = str(target).partition(_CASE)
    shipped = text == SECURITY and text not in bread.agent_ids()
    found = security_suites() if shipped else _of_name(bread, text)
    if not case:
        return found
    holds = [suite for suite in found if any(c.name == case for c in suite.cases)]
    if not holds:
        known = [c.name for suite in found for c in suite.cases]
        near = closest(case, known)
        raise _nothing(
            f"case {case!r} in {text}",
            f"did you mean {near!r}?" if near else f"it has {', '.join(known[:8])}",
        )
    return [suite.select(names=[case]) for suite in holds]


def _of_name(bread: Bread, text: str) -> list[Suite]:
    if text in bread.agent_ids():
        found = _of_agent(bread, text)
        if not found:
            raise _nothing(f"eval of {text}", _first_of(text))
        return found
    path = next((p for p in (Path(text), bread.root / text) if p.exists()), None)
    if path is None:
        near = closest(text, bread.agent_ids())
        raise _nothing(text, f"bread eval {near}" if near else "bread eval PATH")
    if path.is_file():
        return _of_file(bread, path.absolute())
    files = list(_files(path.absolute()))
    if not files:
        raise _nothing(f"eval in {text}", f"write evals/first.yaml there: {_FIRST}")
    return [suite for file in files for suite in _of_file(bread, file)]


def _of_agent(bread: Bread, agent_id: str) -> list[Suite]:
    folder = bread.root / _AGENTS / agent_id / _EVALS
    if not folder.is_dir():
        return []
    return [suite for file in _files(folder) for suite in _of_file(bread, file)]


def _files(folder: Path) -> Iterator[Path]:
    """The eval files in a folder: its own when it is one of evals, else those below."""
    own = folder.name == _EVALS
    pattern = "*" if own else f"**/{_EVALS}/*"
    for path in sorted(folder.glob(pattern)):
        if path.suffix in _SUFFIXES and not path.name.startswith((".", "_")):
            yield path


def _of_file(bread: Bread, path: Path) -> list[Suite]:
    place = Place(root=bread.root, folder=path.parent, file=path.name)
    try:
        if path.suffix == ".py":
            found = list(_in_module(_loaded(bread, path)))
        elif path.suffix in _SUFFIXES:
            found = [read_suite(path, _owner(bread, path))]
        else:
            raise _nothing(f"eval in {path.name}", "it is a .py or a .yaml file")
    except yaml.YAMLError as error:
        raise _broken(_no_yaml(error, place)) from None
    except USER_FAULTS as error:
        if isinstance(error, BreadError) and error.code == "EVAL_NOT_FOUND":
            raise
        raise _broken(diagnose(error, place)) from error
    tape = path.with_name(f"{path.stem}{SUFFIX}")
    for suite in found:
        suite.recording = tape
    if not found:
        nothing = trouble(place, "has no suite", "there is no Suite in it")
        raise _broken(replace(nothing, mend="write suite = Suite(...)"))
    return found


def _no_yaml(error: yaml.YAMLError, place: Place) -> Trouble:
    """Where a file stops being YAML, and why."""
    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    shown = (place.folder / place.file).relative_to(place.root).as_posix()
    spot = (shown, mark.line + 1) if mark is not None else None
    why = getattr(error, "problem", None) or "it is no YAML"
    context = getattr(error, "context", None)
    return trouble(
        place, "does not parse", f"{context}: {why}" if context else why, spot=spot
    )


def _loaded(bread: Bread, path: Path) -> ModuleType:
    """A file's module; one in an agent's folder is imported as a part of it."""
    agents = bread.root / _AGENTS
    with open_border(bread.root):
        if path.is_relative_to(agents):
            agent_id, *rest = path.relative_to(agents).with_suffix("").parts
            package = Package(take_snapshot(agents / agent_id))
            return package.load(".".join(rest))
        module = ModuleType(f"_bread_eval_{path.stem}")
        module.__file__ = str(path)
        code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        exec(code, vars(module))
        return module


def _in_module(module: ModuleType) -> Iterator[Suite]:
    for name, value in vars(module).items():
        if name.startswith("_"):
            continue
        if isinstance(value, Suite):
            yield value
        elif isinstance(value, list | tuple):
            several = cast("Sequence[object]", value)
            yield from (each for each in several if isinstance(each, Suite))


def _owner(bread: Bread, path: Path) -> str | None:
    """The agent whose folder a file lies in."""
    agents = bread.root / _AGENTS
    return path.relative_to(agents).parts[0] if path.is_relative_to(agents) else None


def _broken(found: Trouble) -> BreadError:
    redact = Redactor(environment_secrets()).text
    return BreadError(
        redact(found.what),
        code="EVAL_BROKEN",
        why=redact(found.why),
        do=f"{redact(found.mend)}; nothing was run",
        context={"file": found.file, "line": found.line},
    )


def _nothing(what: str, do: str) -> BreadError:
    return BreadError(
        f"There is no {what}."
        if not what.startswith("an ")
        else f"There is not {what}.",
        code="EVAL_NOT_FOUND",
        why="evals are agents/<id>/evals/*.py and *.yaml.",
        do=do,
    )
