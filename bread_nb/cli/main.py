"""The command `bread`: arguments in, exit code out.

A command is imported when it is called. One that is a coroutine runs on a loop made
here; one that returns a function gets the loop's runner, for runs turn by turn.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any, cast

import click

from bread_nb.base.ids import monotonic
from bread_nb.cli.exits import FAULT, FINISHED, INTERRUPTED, USAGE
from bread_nb.errors import BreadError, closest

__all__ = ["main"]

_SECONDS_FOR_TOOLS = 1.0
_WORKERS = "bread-worker"

_COMMANDS = {
    "run": ("commands", "Run an agent once."),
    "chat": ("chatting", "Talk with an agent in one session."),
    "agents": ("listings", "List the agents of this project."),
    "runs": ("listings", "List the newest runs."),
    "cost": ("listings", "List what was spent."),
    "pending": ("listings", "List what waits for a person."),
    "show": ("listings", "Show one run: its picture and its crumbs."),
    "export": ("listings", "Print the crumbs of a run, one JSON a line."),
    "resume": ("commands", "Answer a call that waits, and go on."),
    "recover": ("commands", "Go on with runs whose process died."),
    "cancel": ("commands", "End a run that waits or was interrupted."),
    "cassette": ("tapes", "Show, check or prune recordings of models."),
    "eval": ("eval_command", "Hold agents against their suites."),
    "refresh": ("refresh_command", "Run notebooks again and keep what they show."),
    "doctor": ("listings", "Say what is in order here and what is not."),
    "new": ("setting_up", "Make something new: an agent."),
    "install": ("setting_up", "Install the kernel 'Python (bread)'."),
    "uninstall": ("setting_up", "Remove the kernel 'Python (bread)'."),
    "local": ("setting_up", "Install, check or remove the local model."),
}


def _python_name(command: str) -> str:
    """The name of a command's function; `eval` is taken by Python."""
    return f"{command}_" if command == "eval" else command


class _Lazy(click.Group):
    """A group that knows its commands' names and imports each when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order people meet them."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command itself."""
        place = _COMMANDS.get(cmd_name)
        if place is None:
            return None
        module = import_module(f"bread_nb.cli.{place[0]}")
        return cast("click.Command", getattr(module, _python_name(cmd_name)))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is named; an unknown one with the nearest there is."""
        if args[0] not in _COMMANDS:
            near = closest(args[0], _COMMANDS)
            raise BreadError(
                f"There is no command {args[0]!r}.",
                code="USAGE",
                why=f"there are {', '.join(_COMMANDS)}.",
                do=f"bread {near} --help" if near else "bread --help",
            )
        return super().resolve_command(ctx, args)

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """The commands with their one-line helps, none of them imported."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, told[1]) for name, told in _COMMANDS.items()])


@click.group(
    cls=_Lazy,
    name="bread",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 finished, 1 fault, 2 usage, 3 waiting for a person, "
    "4 stopped at a bound.",
)
@click.version_option(package_name="bread-nb", prog_name="bread")
def _bread() -> None:
    """Run, watch, approve and test LLM agents."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out a command line; the exit code."""
    try:
        return _carried_out(arguments)
    except click.UsageError as error:
        return _misused(error, arguments)
    except BreadError as error:
        _tell(error)
        return USAGE if error.code == "USAGE" else FAULT
    except click.ClickException as error:
        _tell(BreadError(error.format_message(), code="USAGE", do="bread --help"))
        return USAGE
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has gone; so has the reason to complain about it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAULT


def _carried_out(arguments: Sequence[str] | None) -> int:
    result: object = _bread.main(
        args=None if arguments is None else list(arguments),
        prog_name="bread",
        standalone_mode=False,
    )
    if inspect.iscoroutine(result) or callable(result):
        with asyncio.Runner() as runner:
            workers = ThreadPoolExecutor(thread_name_prefix=_WORKERS)
            runner.get_loop().set_default_executor(workers)
            try:
                result = _on(runner, result)
            except KeyboardInterrupt:
                _leave_blocked_tools(workers)
                raise
    sys.stdout.flush()
    return result if isinstance(result, int) else FINISHED


def _on(runner: asyncio.Runner, result: object) -> object:
    if inspect.iscoroutine(result):
        return runner.run(cast("Coroutine[Any, Any, object]", result))
    return cast("Callable[[asyncio.Runner], object]", result)(runner)


def _leave_blocked_tools(workers: ThreadPoolExecutor) -> None:
    """End the process at once when a tool on a worker thread does not stop.

    Nothing is lost by it: the runs have ended and the store is closed.
    """
    workers.shutdown(wait=False, cancel_futures=True)
    until = monotonic() + _SECONDS_FOR_TOOLS
    for thread in threading.enumerate():
        if not thread.name.startswith(_WORKERS):
            continue
        thread.join(max(until - monotonic(), 0))
        if thread.is_alive():
            sys.stdout.flush()
            os._exit(INTERRUPTED)


def _misused(error: click.UsageError, arguments: Sequence[str] | None) -> int:
    context = error.ctx or _context_of(sys.argv[1:] if arguments is None else arguments)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return USAGE
    usage = context.get_usage().partition("Usage: ")[2]
    what = error.format_message()
    why = f"it is used like this: {' '.join(usage.split())}"
    _tell(BreadError(what, code="USAGE", why=why, do=f"{context.command_path} --help"))
    return USAGE


def _context_of(arguments: Sequence[str]) -> click.Context:
    """The command that is named, where an error was raised after it had begun."""
    command: click.Command = _bread
    context = click.Context(command, info_name="bread")
    for word in arguments:
        found = (
            command.get_command(context, word)
            if isinstance(command, click.Group)
            else None
        )
        if found is None:
            break
        command = found
        context = click.Context(found, info_name=word, parent=context)
    return context


def _tell(error: BreadError) -> None:
    render = import_module("bread_nb.cli.render")
    render.tell(error)
