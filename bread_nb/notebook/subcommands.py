"""The commands of `%bread`: what is there, what waits, and how it goes on."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from importlib import import_module
from typing import cast

from pydantic import JsonValue

from bread_nb.base.redact import Redactor, environment_secrets
from bread_nb.errors import BreadError, closest
from bread_nb.notebook.cellruns import see_through
from bread_nb.notebook.mode_line import mode_command
from bread_nb.notebook.parsing import (
    COMMANDS,
    Options,
    first_word,
    read_options,
    usage,
)
from bread_nb.notebook.remembered import drop_rule, remembered_rules
from bread_nb.notebook.shown import Shown
from bread_nb.notebook.stage import Stage
from bread_nb.project.costs import WAYS
from bread_nb.project.decisions import refusal, resume_line, typed_answer
from bread_nb.project.listing import (
    list_agents,
    list_costs,
    list_pending,
    list_runs,
    show_run,
)
from bread_nb.project.lists import findings_table
from bread_nb.project.open_calls import asked_anew
from bread_nb.runtime.inbox import find_question
from bread_nb.runtime.run import Run
from bread_nb.stores.records import Checkpoint, RunRow

__all__ = ["run_command"]

HELP = """\
%%bread AGENT [--session S] [--model P:M] [--with a,b] [--template] [--discard]
              [--out NAME]
    the cell is the input: text, or a YAML mapping when the agent takes one
%bread AGENT the rest of the line is the input

%bread agents               the agents of this project
%bread runs [--all]         the newest runs
%bread pending              what waits for you, with its forms
%bread show [ID]            a run, whole: its card and its picture
%bread resume ID            answer: --approve | --deny [REASON] | --answer JSON
%bread recover [ID]         go on with runs whose kernel ended
%bread cancel ID            end a run
%bread reload               read all code again
%bread eval [PATH…]         hold agents against their suites: --model P:M, --repeat N,
                            --concurrency N, --budget USD, --tag T, --pass-rate X,
                            --baseline FILE, --out NAME
%bread mode [M]             how models are called: live, record NAME, replay, auto
%bread gate [drop N]        the rules you added while approving
%bread cost [--all]         what was spent today: --by agent|model|session|day|run
%bread doctor [AGENT]       what is in order and what is not; --reach: asks the services
                            of the models too; --last: the last error in full
An ID is a handle (writer-3, writer-3.a), an id or its unique beginning, or last."""


def run_command(stage: Stage, word: str, rest: str) -> object:
    """Carry out a command.

    Raises:
        BreadError: `USAGE`, or whatever the command met.
    """
    return _COMMANDS[word](stage, rest)


def _only(command: str, rest: str, *flags: str) -> Options:
    """The options of a command that takes no further words."""
    options = read_options(rest, flags=flags)
    if options.text.strip():
        raise usage(
            f"%bread {command} takes no {options.text.split()[0]!r}.",
            "nothing stands behind it.",
            f"%bread {command}",
        )
    return options


def _name(command: str, rest: str, default: str = "") -> tuple[str, str]:
    """The run or question that a command is for, and what follows it."""
    name, after = first_word(rest)
    if name.startswith("--") or not name:
        name, after = default, rest
    if not name:
        raise usage(
            f"%bread {command} which one?",
            "it needs a handle such as writer-3, an id, or last.",
            f"%bread {command} last",
        )
    return name, after


def _one(command: str, rest: str, default: str = "") -> str:
    """As `_name`, for a command that takes nothing else."""
    name, after = _name(command, rest, default)
    _only(command, after)
    return name


# -- lists -----------------------------------------------------------------------------


def _agents(stage: Stage, rest: str) -> None:
    _only("agents", rest)
    stage.list(list_agents(stage.bread()))


def _runs(stage: Stage, rest: str) -> None:
    options = _only("runs", rest, "all")
    bread = stage.bread()
    limit = None if "all" in options.flags else 20
    stage.list(stage.engine.call(lambda: list_runs(bread, limit=limit)))


def _pending(stage: Stage, rest: str) -> None:
    """What waits, as rows that can be answered, or as a list where nobody looks."""
    _only("pending", rest)
    bread, cell = stage.bread(), stage.cell()

    async def anything() -> bool:
        return bool(await bread.pending() or await bread.interrupted())

    if cell.watched and cell.in_kernel and stage.engine.call(anything):
        stage.engine.call(lambda: stage.watch.open_inbox(bread, cell))
    else:
        stage.list(stage.engine.call(lambda: list_pending(bread, answer=None)))


def _cost(stage: Stage, rest: str) -> None:
    options = read_options(rest, values=["by"], flags=["all"])
    if options.text.strip():
        raise usage(
            f"%bread cost takes no {options.text.split()[0]!r}.",
            f"it adds up by {', '.join(WAYS)}.",
            "%bread cost --by model",
        )
    by, bread = options.values.get("by"), stage.bread()
    days = None if "all" in options.flags else 1
    stage.list(stage.engine.call(lambda: list_costs(bread, by=by, days=days)))


def _doctor(stage: Stage, rest: str) -> None:
    options = read_options(rest, flags=["last", "reach"])
    if "last" in options.flags:
        stage.say(_last(stage))
        return
    agent = options.text.strip() or None
    bread = stage.bread()
    asked = "reach" in options.flags
    found = stage.engine.call(lambda: bread.doctor(agent, reach=asked))
    stage.list(findings_table(found))


def _last(stage: Stage) -> str:
    if stage.last_error is None:
        return "No error so far."
    lines = traceback.format_exception(stage.last_error)
    return Redactor(environment_secrets()).text("".join(lines).rstrip())


def _help(stage: Stage, rest: str) -> None:
    stage.say(HELP)


# -- runs ------------------------------------------------------------------------------


def _show(stage: Stage, rest: str) -> Run | None:
    bread, cell = stage.bread(), stage.cell()
    name = stage.run_name(bread, _one("show", rest, "last"))
    if not cell.in_kernel:
        stage.say(stage.engine.call(lambda: show_run(bread, name)))
        return None
    shown = stage.show(bread, name)
    stage.watch.open(shown, cell)
    shown.rest()
    return stage.engine.call(lambda: stage.run_of(shown))


def _cancel(stage: Stage, rest: str) -> None:
    bread = stage.bread()
    name = stage.run_name(bread, _one("cancel", rest))
    row = stage.engine.call(lambda: bread.cancel(name))
    shown = stage.watch.known(row.id)
    if shown is not None:
        shown.rest()
    again = f"%%bread {row.agent_id} --session {row.handle}"
    stage.say(f"{row.handle} is stopped. To go on from there: {again}")


def _recover(stage: Stage, rest: str) -> Run | list[Run] | None:
    bread = stage.bread()
    name = stage.run_name(bread, _one("recover", rest, "*"))

    async def broken_off() -> list[RunRow]:
        return (
            [await bread.find_run(name)] if name != "*" else await bread.interrupted()
        )

    rows = stage.engine.call(broken_off)
    if not rows:
        stage.say("No run was interrupted.")
        return None
    taken = [_take_up(stage, stage.show(bread, row.id)) for row in rows]
    errors = [error for shown, run in taken if (error := _watched(stage, shown, run))]
    if errors:
        raise errors[0]
    runs = [run for _, run in taken]
    return runs[0] if len(runs) == 1 else runs


def _take_up(stage: Stage, shown: Shown) -> tuple[Shown, Run]:
    runs = stage.engine.call(lambda: shown.bread.recover(shown.run_id))
    stage.watch.follow(shown, runs[0])
    return shown, runs[0]


def _watched(stage: Stage, shown: Shown, run: Run) -> BreadError | None:
    try:
        see_through(stage, shown, run)
    except BreadError as error:
        return error
    return None


def _resume(stage: Stage, rest: str) -> Run:
    word, after = _name("resume", rest)
    name = stage.run_name(stage.bread(), word)
    options = read_options(
        after, flags=["approve"], rest_of=["deny", "answer"], later=["budget"]
    )
    if "budget" in options.values:
        raise BreadError(
            "%bread resume --budget is not available yet.",
            code="NOT_AVAILABLE",
            why="this version keeps no budgets.",
            do=f"%bread resume {word} --approve",
        )
    if not options.flags and not options.values:
        return _show_forms(stage, name)
    return _answer(stage, name, options)


def _show_forms(stage: Stage, name: str) -> Run:
    """Without an answer: go on with what was interrupted, show what waits."""
    bread, cell = stage.bread(), stage.cell()
    run_name = name.rpartition(".")[0] if "." in name else name
    shown = stage.show(bread, run_name)
    if shown.state == "interrupted":
        return cast("Run", _recover(stage, shown.run_id))
    stage.watch.open(shown, cell)
    shown.rest()
    return stage.engine.call(lambda: stage.run_of(shown))


def _answer(stage: Stage, name: str, options: Options) -> Run:
    bread = stage.bread()

    async def find() -> Checkpoint:
        return await find_question(bread.store, name)

    question = stage.engine.call(find)
    answer = _meant(question, options)
    stage.deck.leave_to_cell(question.id)
    shown = stage.show(bread, question.run_id)
    run = bread.resume(question.id, answer)
    stage.watch.follow(shown, run)
    see_through(stage, shown, run)
    for anew in filter(None, map(asked_anew, run.crumbs)):
        stage.say(anew)
    return run


def _meant(question: Checkpoint, options: Options) -> JsonValue:
    """The answer that the options mean for this kind of question."""
    if "deny" in options.values:
        if question.ask == "outcome":
            raise _wrong_kind(question)
        return refusal(question.ask, options.values["deny"].strip())
    if "answer" in options.values:
        return typed_answer(question.ask, question.handle, options.values["answer"])
    if question.ask not in ("approval", "halt"):
        raise _wrong_kind(question)
    return {"approved": True}


def _wrong_kind(question: Checkpoint) -> BreadError:
    if question.ask == "outcome":
        why = "it asks what happened to a call when its kernel ended"
        do = resume_line(question.ask, question.handle)
    else:
        why = "it asks for an answer"
        do = f"%bread resume {question.handle} --answer TEXT"
    return usage(f"{question.handle} is no call to approve.", f"{why}.", do)


# -- the rest --------------------------------------------------------------------------


def _reload(stage: Stage, rest: str) -> None:
    _only("reload", rest)
    stage.bread().reload()
    stage.say("All code of the agents is read again at their next run.")


def _eval(stage: Stage, rest: str) -> object:
    """Evaluate; what evals need is imported when somebody evaluates."""
    return import_module("bread_nb.notebook.eval_line").eval_command(stage, rest)


def _gate(stage: Stage, rest: str) -> None:
    word, after = first_word(rest)
    bread = stage.bread()
    match word:
        case "":
            stage.list(stage.engine.call(lambda: remembered_rules(bread)))
        case "drop":
            number = after.strip()
            stage.say(stage.engine.call(lambda: drop_rule(bread, number)))
        case "try":
            raise BreadError(
                "%bread gate try is not available yet.",
                code="NOT_AVAILABLE",
                why="this version cannot rehearse rules.",
                do="%bread gate",
            )
        case _:
            near = closest(word, ["drop", "try"])
            do = f"%bread gate {near} 1" if near else "%bread gate drop 1"
            raise usage(f"%bread gate takes no {word!r}.", "it takes drop N.", do)


_COMMANDS: dict[str, Callable[[Stage, str], object]] = {
    "agents": _agents,
    "runs": _runs,
    "pending": _pending,
    "show": _show,
    "resume": _resume,
    "recover": _recover,
    "cancel": _cancel,
    "reload": _reload,
    "eval": _eval,
    "mode": mode_command,
    "gate": _gate,
    "cost": _cost,
    "doctor": _doctor,
    "help": _help,
}
assert set(_COMMANDS) == set(COMMANDS)
